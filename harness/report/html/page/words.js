"use strict";
// The words of the report: what each verdict means and how it is shown. One place for all pages.

const OUTCOMES = {
  works: {
    word: "works", sign: "✓",
    says: "The result is within every limit, or the converter refused exactly as the case expects.",
  },
  known: {
    word: "expected failure", sign: "≈",
    says: "It fails, and the suite lists this failure with its reason. It does not make a run red.",
  },
  refused: {
    word: "refused", sign: "–",
    says: "The converter declares that it does not support this, and it was not run.",
  },
  wrong: {
    word: "wrong", sign: "✗",
    says: "Something is outside its limit: structure, parameters, integers or numbers. Or the converter declined what " +
      "it should convert.",
  },
  crashed: {
    word: "crashed", sign: "!",
    says: "The converter's process died, ran out of memory, or did not answer in time.",
  },
  unjudged: {
    word: "not judged", sign: "?",
    says: "Nothing wrong was found, but no limit reaches some output, or Assay itself could not judge. Not a pass.",
  },
};

const OUTCOME_OF = {
  "pass": "works", "fail": "wrong", "crash": "crashed", "timeout": "crashed", "oom": "crashed",
  "not-quantized": "wrong", "refused": "wrong", "unsupported": "refused", "xfail": "known", "xfail-changed": "wrong",
  "xpass": "wrong", "unjudged": "unjudged", "mistrusted": "unjudged", "skipped": "unjudged", "not-run": "unjudged",
  "invalid-case": "unjudged", "harness-error": "unjudged",
};

const VERDICTS = {
  "pass": "Every limit that applies holds, or the converter refused exactly as the case expects.",
  "fail": "Something is outside its limit.",
  "crash": "The converter's process was ended by a signal.",
  "timeout": "The converter did not answer in time.",
  "oom": "The converter ran out of memory.",
  "not-quantized": "The converter reported success, but what was asked in INT8 ran in float.",
  "refused": "The converter declined what it should convert, or gave no node and no reason.",
  "unsupported": "The converter declares beforehand that it does not support this. It was not run.",
  "xfail": "It fails as the suite expects.",
  "xfail-changed": "It fails, but not as the suite expects.",
  "xpass": "The suite expects a failure, and it passes: the expectation should go.",
  "unjudged": "Nothing is wrong as far as limits reach, but some output is reached by none.",
  "mistrusted": "The case's data could not tell a wrong result from a right one.",
  "skipped": "Left out by the selection.",
  "not-run": "Planned, and missing.",
  "invalid-case": "The case itself cannot be used.",
  "harness-error": "Assay itself failed. This is never the converter's fault.",
};

const LEGENDS = {
  verdict: "Verdict: what Assay concluded about this case.",
  outcome: "Outcome: the verdict in one of six groups.",
  sqnr: "SQNR, in dB: strength of the right output over strength of the error, against float64. More is better; one bit " +
    "more of precision is about 6 dB. Of the worst output.",
  margin: "Margin: largest error of outputs and judged nodes ÷ its limit; of a red verdict in which these are within their " +
    "limits, that of the first red finding. Up to 1 is within the limit. 1.00 is no near miss: of many rounded values some lie right at the limit.",
  judged: "Judged: nodes of the float model whose results a limit checks, of all its nodes.",
  seconds: "Seconds that this case took, conversion and judging together.",
  count: "Number of verdicts.",
  version: "Converter and version.",
  options: "Option set: the conversion options that the suite asked for.",
  case: "Case: one small model with its data.",
  family: "Family: cases of one kind, such as all of Conv.",
  facet: "Facet: what was found wrong first, from structure (names, shapes) over parameters (scale, weight) to numbers.",
  stage: "Stage: the step at which it went wrong.",
  op: "Operator of the node where it went wrong.",
  cause: "Cause: verdicts that went wrong in the same way: same stage, facet, operator and message, numbers left out.",
  loss: "Lost here: dB of SQNR that the tensor lost against what its inputs had.",
  left: "SQNR of this tensor against float64, in dB.",
  scale: "Scale: real value of one quantization step.",
  zero_point: "Zero point: the quantized value that stands for 0.",
  range: "Range: the least and the largest real value that the quantized type can hold with this scale.",
  calibrated: "Calibrated range: least and largest value of this tensor over the calibration data, in float64.",
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
  l1_elements: "elements compared in exact integers",
  l1_ambiguous: "of them with more than one admissible value",
  l2_vacuous: "share of outputs whose end-to-end limit excludes nothing",
  bias_margin: "|mean error| ÷ limit, worst channel",
  variance_margin: "mean squared error ÷ limit, worst channel",
  local_margin: "largest error ÷ limit of this node alone",
  local_sqnr_db: "SQNR of this node alone, on the values before it, dB",
  accumulator_bits: "bits that the accumulator needs",
  prediction_deviation_db: "SQNR less the predicted one, dB",
  channel_deviation_db: "the same of the worst channel, dB",
  weight_deviation_db: "SQNR of the worst weight channel less the expected one, dB",
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
  scale: "Compare the declared range with the calibrated one in the table of tensors: the two should agree.",
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
