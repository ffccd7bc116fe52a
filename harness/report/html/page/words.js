"use strict";
// The words of the report: what each verdict means and how it is shown. One place for all pages.

/// Each verdict in the order in which they are shown, with its sign and the colour that its kind has; CSS knows the
/// colours by these names. The words are those that the program prints.
const VERDICTS = {
  "pass": {sign: "✓", colour: "pass",
    says: "Every limit that applies holds, or the converter refused exactly as the case expects."},
  "xfail": {sign: "≈", colour: "xfail",
    says: "It fails exactly as the suite lists with a reason, so that a run doesn't become red."},
  "unsupported": {sign: "–", colour: "unsupported",
    says: "The converter declares beforehand that it doesn't do this, or Assay's reference doesn't have it. Neutral."},
  "fail": {sign: "✗", colour: "fail", says: "Something is outside its limit: structure, parameters, integers or numbers."},
  "xfail-changed": {sign: "≉", colour: "fail", says: "It fails, but not as the suite lists. Red."},
  "xpass": {sign: "↑", colour: "fail", says: "The suite lists a failure, and it passes: the entry should go. Red."},
  "refused": {sign: "⊘", colour: "fail",
    says: "The converter declined what it should convert, or didn't say why. Red."},
  "not-quantized": {sign: "ƒ", colour: "fail", says: "The conversion succeeded, and what was asked in INT8 ran in float."},
  "crash": {sign: "!", colour: "crash", says: "The converter's process ended by a signal or with an error. Red."},
  "timeout": {sign: "⧗", colour: "crash", says: "The converter did not answer in time, twice. Red."},
  "oom": {sign: "∎", colour: "crash", says: "The converter ran out of memory. Red."},
  "unjudged": {sign: "?", colour: "unjudged",
    says: "Nothing is wrong as far as limits reach, but some output is reached by none. Not a pass."},
  "mistrusted": {sign: "⁇", colour: "unjudged", says: "The case's data could not tell a wrong result from a right one."},
  "skipped": {sign: "·", colour: "unjudged", says: "Left out by the selection."},
  "not-run": {sign: "∅", colour: "unjudged", says: "Planned, and has no result."},
  "invalid-case": {sign: "⚠", colour: "unjudged", says: "The case file itself can't be used."},
  "harness-error": {sign: "⚒", colour: "unjudged", says: "Assay itself failed. This is never the converter's fault."},
};
/// Of a verdict that a newer Assay wrote: nothing is known but its word.
const UNKNOWN_VERDICT = {sign: "?", colour: "unjudged", says: "This page doesn't know this verdict."};
/// The verdicts that were counted, in the order of VERDICTS.
function verdictsIn(counts) {
  const order = Object.keys(VERDICTS);
  const place = (verdict) => order.indexOf(verdict) < 0 ? order.length : order.indexOf(verdict);
  return Object.keys(counts).filter((verdict) => counts[verdict]).sort((a, b) => place(a) - place(b));
}
function verdictOf(word) { return Object.hasOwn(VERDICTS, word) ? VERDICTS[word] : UNKNOWN_VERDICT; }

const LEGENDS = {
  verdict: "Verdict: what Assay concluded about this case.",
  sqnr: "SQNR, in dB: strength of the right output over strength of the error, against float64. More is better; one bit " +
    "more of precision is about 6 dB. Of the worst output. Over which data is said beside it.",
  margin: "Margin: largest error of an output ÷ its limit; of a red verdict in which these are within their " +
    "limits, that of the first red finding. Up to 1 is within the limit. 1.00 is no near miss: of many rounded values some lie right at the limit.",
  judged: "Judged: nodes of the float model whose results a limit checks, of all its nodes.",
  seconds: "Seconds that this case took, conversion and judging together.",
  version: "Converter and version.",
  options: "Option set: the conversion options that the suite asked for.",
  case: "Case: one small model with its data.",
  family: "Family: cases of one kind, such as all of Conv.",
  facet: "Facet: what was found wrong first, from structure (names, shapes) over parameters (scale, weight) to numbers.",
  stage: "Stage: the step at which it failed.",
  op: "Operator of the node where it failed.",
  cause: "Cause: verdicts that failed in the same way: same stage, facet, operator and message, numbers left out.",
  loss: "Lost here: dB of SQNR that the tensor lost against what its inputs had.",
  left: "SQNR of this tensor against float64, in dB, on the data set on which most tensors were measured; else over all data sets or on the worst one.",
  scale: "Scale: real value of one quantization step.",
  zero_point: "Zero point: the quantized value that stands for 0.",
  range: "Range: the least and the largest real value that the quantized type can hold with this scale.",
  expected: "Expected range: what the expected scale and zero point hold, which follow from the calibration data, the method " +
    "and the stated policy. The data themselves may reach less far: a symmetric or shared range, or zero, widens it.",
  program: "Program: hash of the files that the converter's command names. Several programs under one name and version are told apart by it.",
  days: "Days left until the expected failure has to be looked at again.",
  delta: "Difference to the version or the anchor compared with.",
  started: "When the verdict was made (UTC).",
  layer: "Layer that judged: L0 parameters, L1 exact integers, L2 error against float64, L3 changed models that must " +
    "give the same.",
};

const METRICS = {
  sqnr_db: "SQNR of this tensor on this data set, dB",
  sqnr_loss_db: "dB that were lost at this tensor",
  range_loss_db: "dB that the tensor's own narrow range costs",
  worst_sqnr_db: "least SQNR over outputs and data sets, dB",
  whole_sqnr_db: "SQNR over all data sets together, dB",
  predicted_sqnr_db: "SQNR that correct quantization would have, dB",
  cosine: "cosine between the right and the actual output",
  max_error: "largest absolute error",
  channel_sqnr_db: "least SQNR of an output channel, dB",
  ranges_doubted: "ranges that differ from the calibration data's, where nearly all do",
  findings_left_out: "findings of one check beyond the ten that are kept",
  l1_elements: "elements compared in exact integers",
  l1_ambiguous: "of them with more than one admissible value",
  l2_vacuous: "share of outputs whose end-to-end limit excludes nothing",
  bias_margin: "|mean error| ÷ limit, worst channel",
  variance_margin: "mean squared error ÷ limit, worst channel",
  local_margin: "largest error ÷ limit of this node alone",
  output_margin: "largest error ÷ limit of an output",
  local_sqnr_db: "SQNR of this node alone, on the values before it, dB",
  accumulator_bits: "bits that the accumulator needs",
  prediction_deviation_db: "SQNR less the predicted one, dB",
  channel_deviation_db: "the same of the worst channel, dB",
  weight_deviation_db: "SQNR of the worst weight channel less the expected one, dB",
  inner_deviation_db: "SQNR of this inner tensor less the predicted one, dB",
  settled_deviation_db: "noise beyond the predicted one where no choice of rounding is open, dB",
  drawn_deviation_db: "how far the noise stays below the largest that draws of roundings allow, dB",
  prediction_limit_db: "how far the noise may exceed the mean of the draws, dB",
  prediction_gates: "1: a loss against the prediction is red",
  gain_margin: "|difference in size| ÷ limit, worst channel",
  noise_ratio: "noise ÷ the noise that INT8 must leave",
  accumulator_worst: "largest accumulator that any data could give, in units of 2³¹",
  l1_not_followed: "elements that exact integers could not follow",
};

/// What a facet says in a line of its own, where its name does not.
const FACETS = {
  diagnostics: "error without node or reason", precision: "ran in another precision", numerics: "error too large",
  zero_point: "zero point", axis: "axis of the scales", integers: "integer results", count: "number of scales or outputs",
  weight: "weight values", nan: "NaN or infinity", determinism: "not deterministic",
};
const STATUS = {
  convert: "conversion failed", execute: "execution failed", artifact: "artifact unusable", load: "model not loaded",
  calibrate: "calibration failed",
};

/// What to do about a verdict, by facet first.
const NEXT = {
  scale: "Compare the declared range with the expected one in the table of tensors: the two should agree.",
  zero_point: "Check symmetric against asymmetric: 0 must be an exact quantized value, and the type's ends must match.",
  axis: "The scales run along another axis than the output channels. Look at the axis that the converter passes on.",
  weight: "Quantize the weight from the declared scale by hand and compare the first channel that differs.",
  bias: "A bias has scale (input scale × weight scale). Check which input scale was taken.",
  integers: "The artifact is right and its execution is not: look at the kernel that ran the named node.",
  numerics: "Look for the first node with a large loss in the graph: what comes before it is still right.",
  names: "Inputs and outputs must keep their names.",
  count: "The number of inputs or outputs changed.",
  shape: "A shape changed. Look at the named node's attributes.",
  dtype: "A graph output changed its element type.",
  precision: "The node ran in another precision than asked. Look at the converter's list of supported operators.",
  status: "Run the command below by itself; the converter's own message stands in the reason.",
  diagnostics: "The converter failed without naming node and reason. A user can't act on this message.",
  nan: "NaN or infinity came out. Look at the calibration data and at scales of 0.",
  determinism: "Two conversions or executions of the same gave different results. Look for uninitialized memory.",
  resources: "A file or process was left behind.",
};
/// Of the scales of a weight.
const NEXT_WEIGHT_SCALE = "Look at the weight in the charts of “Weights by channel”: the declared scales and what the weights give " +
  "should agree.";
