"use strict";
// One verdict: what is wrong, where, why, and how to repeat it.

function caseRow(parameters) {
  const wanted = EVERY_ROW.filter((row) => textOf("case", row) === parameters.case &&
    (!parameters.options || textOf("options", row) === parameters.options) &&
    (!parameters.of || versionName(row) === parameters.of) &&
    (!parameters.run || D.runs[C.run[row]].id === parameters.run));
  // Of several versions the newest.
  const newest = wanted.filter((row) => C.newest[row]).sort((a, b) => C.version[b] - C.version[a]);
  return newest[0] ?? wanted[wanted.length - 1];
}

const TYPE_ENDS = {int8: [-128, 127], uint8: [0, 255], int4: [-8, 7], uint4: [0, 15], int16: [-32768, 32767],
  uint16: [0, 65535]};
/// Least and largest real value under parameters [type, axis, scales, zero points].
function rangeOf(params) {
  // An int32 bias is a sum's addend, and has no range.
  const ends = params && TYPE_ENDS[params.type];
  if (!ends || !params.scale.length) return null;
  let low = Infinity, high = -Infinity;
  params.scale.forEach((scale, i) => {
    const zero = params.zero_point[i] ?? params.zero_point[0] ?? 0;
    low = Math.min(low, (ends[0] - zero) * scale);
    high = Math.max(high, (ends[1] - zero) * scale);
  });
  return [low, high];
}
function rangeText(range) { return range ? "[" + digits(range[0]) + ", " + digits(range[1]) + "]" : "–"; }
const FEW_VALUES = 3;
function listText(values) {
  if (values.length <= FEW_VALUES) return values.map(digits).join(", ");
  const known = values.filter((value) => value !== null);
  const least = known.reduce((a, b) => Math.min(a, b), Infinity), most = known.reduce((a, b) => Math.max(a, b), -Infinity);
  return digits(least) + (least === most ? "" : " … " + digits(most)) + " (" + values.length + ")";
}
/// The expected range above the declared one, on one scale.
function rangesPicture(wanted, declared) {
  if (!wanted && !declared) return null;
  const all = [wanted, declared].filter((range) => range).flat().filter(Number.isFinite);
  const low = Math.min(0, ...all), high = Math.max(0, ...all);
  const x = (value) => 2 + 156 * (value - low) / (high - low || 1);
  const bar = (range, y, fill, name) => range ? el("rect", {x: x(range[0]), y, width: Math.max(1.5, x(range[1]) - x(range[0])),
    height: 7, style: {fill}, tip: name + " " + rangeText(range)}) : null;
  return el("svg", {viewBox: "0 0 160 22", width: 160, height: 22, role: "img", "aria-label": "expected " +
    rangeText(wanted) + ", declared " + rangeText(declared)}, bar(wanted, 2, "var(--pass-fill)", "expected"),
  bar(declared, 12, "var(--accent)", "declared"), el("line", {x1: x(0), x2: x(0), y1: 0, y2: 22, style: {stroke: "var(--quiet)"}}));
}

function rangesKeys() {
  return el("div.keys", null, el("span", null, el("i", {style: {background: "var(--pass-fill)"}}), "expected range: what the expected scale and zero point hold"),
    el("span", null, el("i", {style: {background: "var(--accent)"}}), "declared range: what scale and zero point hold"),
    el("span", null, "upright line: 0"));
}

/// The data set on which the SQNR of most tensors was measured ("": over all of them), so that tensors along a model can be
/// compared: inner ones are often measured on one data set only, and outputs on each.
function comparedSet(children) {
  const tensors = new Map();
  for (const [tensor, dataSet, name] of children.metrics || []) {
    if (name !== "sqnr_db") continue;
    if (!tensors.has(dataSet)) tensors.set(dataSet, new Set());
    tensors.get(dataSet).add(tensor);
  }
  const order = [...tensors].sort(([a, x], [b, y]) => y.size - x.size || (a === "" ? -1 : b === "" ? 1 : 0));
  return order.length ? order[0][0] : "";
}
function comparedText(children) {
  const set = comparedSet(children);
  return set === "" ? "over all data sets together" : "on data set \"" + set + "\"";
}
/// Of each measure and tensor what it is on the compared data set, where it was measured there; else over all data sets;
/// else on the worst one.
function metricsBy(children) {
  const by = new Map(), compared = comparedSet(children);
  for (const [tensor, dataSet, name, value] of children.metrics || []) {
    if (!by.has(name)) by.set(name, new Map());
    const known = by.get(name).get(tensor);
    if (dataSet === compared && name.startsWith("sqnr")) { by.get(name).set(tensor, {value, dataSet}); continue; }
    if (known && known.dataSet === compared && name.startsWith("sqnr")) continue;
    if (known && known.dataSet === "" && dataSet !== "") continue;
    if (dataSet === "") { by.get(name).set(tensor, {value, dataSet}); continue; }
    const worse = known === undefined || (name.includes("loss") || name.includes("margin") || name === "max_error"
      ? value > known.value : value < known.value);
    if (worse) by.get(name).set(tensor, {value, dataSet});
  }
  return by;
}

/// Red findings by the tensor that they name: what is wrong with it.
function faultsByTensor(children) {
  const by = new Map();
  for (const [, facet, , , tensor, , , message, , amber] of children.findings || []) {
    if (amber || tensor === "") continue;
    if (!by.has(tensor)) by.set(tensor, new Map());
    if (!by.get(tensor).has(facet)) by.get(tensor).set(facet, message);
  }
  return by;
}
function differ(a, b) { return Math.abs(a - b) > 1e-6 * Math.max(Math.abs(a), Math.abs(b)); }
/// What is declared, and below it what was expected in its place; of a list that is shown by its ends, how many differ.
function besideExpected(declared, expected, show) {
  const alike = declared && expected && declared.length === expected.length;
  const unlike = alike ? declared.filter((each, i) => differ(each, expected[i])).length : 0;
  const says = declared && declared.length > FEW_VALUES ? unlike + " of " + declared.length + " differ"
    : ["expected ", expected ? show(expected) : ""];
  return [declared ? show(declared) : "–", unlike ? el("div.quiet", null, says) : null];
}
/// The SQNR of the verdict, and over which data it is.
function sqnrTile(children, row) {
  const value = C.sqnr[row];
  if (value === null) return ["–", "SQNR"];
  const same = (each) => Math.abs(each - value) < 1e-9;
  const whole = (children.metrics || []).find(([, , name, each]) => name === "whole_sqnr_db" && same(each));
  const set = (children.metrics || []).find(([, dataSet, name, each]) => name === "sqnr_db" && dataSet !== "" && same(each));
  return [decibels(value) + " dB", "SQNR" + (whole ? ", all data sets" : set ? ", data set \"" + set[1] + "\"" : "")];
}
/// The margin of the verdict, and what it is of: as the program's margin_of_text() says it.
function marginTile(children, row) {
  const value = C.margin[row], output = (children.metrics || []).find(([, , name]) => name === "output_margin");
  const own = (children.findings || []).find(([, , , , , , , , margin, amber]) => !amber && margin === value);
  const of = !(value > 1) ? "" : output && output[3] === value ? ", data set \"" + output[1] + "\"" : own ? " of the " + own[1] : "";
  const nodes = (children.metrics || []).filter(([, , name]) => name === "local_margin").sort((a, b) => b[3] - a[3]);
  const further = value !== null && nodes.length && nodes[0][3] > Math.max(value, 1) && digits(nodes[0][3]) !== digits(value)
    ? "; " + digits(nodes[0][3]) + " at " + nodes[0][0] : "";
  return [digits(value), "margin" + of + further];
}
function worstSetTile(children) {
  const worst = (children.metrics || []).find(([, , name]) => name === "worst_sqnr_db");
  return worst ? [decibels(worst[3]) + " dB", "SQNR, worst data set: \"" + worst[1] + "\""] : null;
}

function tensorTable(children, detail, metrics) {
  const lines = new Map();
  const line = (name) => {
    if (!lines.has(name)) lines.set(name, {name});
    return lines.get(name);
  };
  for (const [tensor, type, axis, scale, zeroPoint] of children.parameters || []) {
    line(tensor).declared = {type, axis, scale, zero_point: zeroPoint};
  }
  for (const {tensor, expected, declared, same_as} of detail?.tensors || []) {
    if (expected) line(tensor).expected = expected;
    line(tensor).sameAs = same_as;
    if (declared.length) line(tensor).declared = declared[0];
  }
  for (const [name, key] of [["sqnr_db", "left"], ["sqnr_loss_db", "loss"]]) {
    for (const [tensor, {value}] of metrics.get(name) || []) line(tensor)[key] = value;
  }
  const faults = faultsByTensor(children);
  for (const name of faults.keys()) line(name).faults = faults.get(name);
  // What is wrong comes first; a tensor that isn't quantized and of which nothing was measured is left out.
  const all = [...lines.values()].filter((each) => each.declared || each.faults || each.left !== undefined).sort((a, b) => (b.faults ? 1 : 0) - (a.faults ? 1 : 0));
  if (!all.length) return el("p.quiet", null, "Nothing was recorded of the tensors.");
  const few = 60;
  const row = (each) => {
    const wanted = rangeOf(each.expected), declared = rangeOf(each.declared);
    const shared = each.sameAs && !each.faults;
    const expected = (key) => shared ? null : each.expected?.[key];
    return el("tr", {class: each.faults ? "wrong" : ""}, el("td.name", null, el("code", null, each.name),
      each.faults ? [" ", el("span.badge.fail", {tip: [...each.faults.values()][0].slice(0, 600), tabindex: 0},
        "✗ ", [...each.faults.keys()].join(", "))] : null,
      shared ? el("div.quiet", null, "shares the scale of ", el("code", null, each.sameAs)) : null),
    el("td.number", null, each.loss >= 0.05 ? el("span.badge." + (each.loss > 6 ? "fail" : "unjudged"), null, decibels(each.loss)) :
      decibels(each.loss)), el("td", null, rangesPicture(wanted, declared)), el("td.number", null, decibels(each.left)),
      el("td.number", null, besideExpected(each.declared?.scale, expected("scale"), listText)),
      el("td.number", null, besideExpected(each.declared?.zero_point, expected("zero_point"), listText)),
      el("td.number", null, rangeText(declared)), el("td.number", null, rangeText(wanted)),
      el("td", null, each.declared?.type || "–"));
  };
  const table = plainTable([["Tensor"], ["Lost dB", "loss", "number"], ["Ranges"], ["SQNR dB", "left", "number"],
    ["Scale", "scale", "number"], ["Zero point", "zero_point", "number"], ["Declared range", "range", "number"],
    ["Expected range", "expected", "number"], ["Type"]], all.slice(0, few).map(row), "tensors");
  return [rangesKeys(), table, all.length > few ? el("button", {type: "button", on: {click: (event) => {
    event.target.remove();
    table.querySelector("tbody").append(...all.slice(few).map(row));
  }}}, "show " + (all.length - few) + " more tensors") : null];
}

function weightCharts(detail) {
  return (detail.weights || []).slice(0, 8).map(({tensor, axis, scale, largest, ends}) => [
    el("h3", null, el("code", null, tensor), ", axis ", axis ?? "–"),
    lineChart({labels: largest.map((_, i) => String(i)), unit: "scale", name: "scales of " + tensor + " by channel", height: 200,
      lines: [{name: "declared", values: scale.length === 1 ? largest.map(() => scale[0]) : scale, colour: "accent", band: true},
        {name: "what the weights give: largest ÷ " + ends, values: largest.map((value) => value / ends), colour: "fail", dash: [5, 4], bare: true}]}),
  ]);
}

function errorChart(detail, metrics) {
  const left = metrics.get("sqnr_db") || new Map();
  const loss = metrics.get("sqnr_loss_db") || new Map();
  let names = detail ? detail.original.nodes.flatMap(([, , , outputs]) => outputs) : [...left.keys()];
  names = names.filter((name) => left.has(name) || loss.has(name));
  if (names.length < 2) return null;
  return lineChart({labels: names.map((name) => clean(name.length > 18 ? "…" + name.slice(-17) : name)), unit: "dB",
    name: "precision along the model", lines: [
      {name: "SQNR so far", values: names.map((name) => left.get(name)?.value)},
      {name: "lost here", values: names.map((name) => loss.get(name)?.value), colour: "fail"}]});
}

function nodeFacts(detail, metrics, row) {
  const loss = metrics.get("sqnr_loss_db") || new Map(), left = metrics.get("sqnr_db") || new Map();
  const judged = new Map((detail.judged || []).map(([node, op, layer, reason]) => [node, {layer, reason}]));
  const blamed = textOf("node", row);
  const lossOf = (outputs) => outputs.map((name) => loss.get(name)?.value).find((value) => value !== undefined);
  const line = ([name, , , outputs], lost) => (lost >= 0.05 ? "lost " + decibels(lost) + " dB  " : "") + (name || outputs[0] || "");
  return {
    original: (i) => {
      const node = detail.original.nodes[i], [name, op, , outputs] = node, lost = lossOf(outputs);
      const known = judged.get(name) || judged.get(outputs[0]);
      return {title: op, line: line(node, lost), loss: lost, judged: known ? known.layer !== "" : undefined,
        blamed: blamed !== "" && (blamed === name || outputs.includes(blamed)),
        tip: op + " " + name + (known ? known.layer ? ", judged by " + known.layer : ", not judged: " + known.reason : "") +
          (lost > 0 ? ", lost " + decibels(lost) + " dB" : "")};
    },
    artifact: (i) => {
      const node = detail.artifact.nodes[i], [name, op, , outputs] = node;
      const lost = isQuantizer(op) ? undefined : lossOf(outputs);
      return {title: op, line: line(node, lost), loss: lost,
        blamed: blamed !== "" && (blamed === name || outputs.includes(blamed)), tip: op + " " + name};
    },
    describe: (graph, i, isOriginal) => {
      const [name, op, inputs, outputs, attributes] = graph.nodes[i];
      const known = isOriginal ? judged.get(name) || judged.get(outputs[0]) : null;
      const constants = foldedConstants(graph);
      const folded = (each) => graph.nodes.some(([, , , made], k) => constants.has(k) && made.includes(each));
      const tensor = (each) => [el("code", null, each || "(none)"), folded(each) ? " of constants" : "", Object.hasOwn(graph.shapes, each) ? " " + graph.shapes[each] : "", " "];
      return [el("h3", null, op, " ", el("code", null, name)), el("dl.facts", null,
        el("dt", null, "reads"), el("dd", null, inputs.map(tensor)), el("dt", null, "makes"), el("dd", null, outputs.map(tensor)),
        attributes ? [el("dt", null, "attributes"), el("dd", null, attributes)] : null,
        known ? [el("dt", null, "judged"), el("dd", null, known.layer ? "by " + known.layer : "no: " + known.reason)] : null,
        outputs.filter((each) => left.has(each)).map((each) => [el("dt", null, "SQNR"), el("dd", null, decibels(left.get(each).value), " dB",
          loss.has(each) ? ", lost here " + decibels(loss.get(each).value) + " dB" : "")]))];
    },
  };
}

/// Who is to be asked, as options of a command: by name and version, or by the program and the defects that the run's
/// own command names.
function askedText(row) {
  const own = D.runs[C.run[row]].command.match(/ --(fault|variant|converter-cmd|execute-with) ('(?:[^']|'\\'')*'|\S+)/g) || [];
  const named = own.some((word) => word.startsWith(" --converter-cmd")) ? [] : converterWords(row);
  return named.map((word) => " " + shellWord(word)).join("") + own.join("");
}
/// What else decides the verdict of a run: its options on judging and its limits.
function decidingText(row) {
  return (D.runs[C.run[row]].command.match(/ --(metamorphic|require-judged)(?= |$)| --(timeout|memory) \S+/g) || []).join("");
}
/// The case, out of the suite where that expects a failure: only the suite knows it.
function selectedText(row) {
  const name = shellWord(textOf("case", row));
  if (!textOf("verdict", row).startsWith("x")) return " " + name;
  return " " + D.runs[C.run[row]].suite.replace(/ --only .*/, "") + " --only " + name;
}
/// Whether the verdict is of a user's model, and not of a case in a suite.
function isOfModel(row) { return /^(check|audit) /.test(D.runs[C.run[row]].command); }
/// What is wrong in a sentence or two: how the reason begins, and what it says of the cause.
function leadOf(row) {
  const [first, second] = textOf("reason", row).split("\n");
  const told = second && /^ {2}[a-z]/.test(second) && !/expected .*actual/.test(second) ? "; " + second.trim() : "";
  return (first || verdictOf(textOf("verdict", row)).says) + told;
}
/// What to do about a verdict: of the scales of a weight its chart shows the most.
function nextOf(row, children, detail) {
  const facet = textOf("facet", row), reason = textOf("reason", row);
  const headline = (children.findings || []).find(([, , , , , , , message]) => message === reason);
  const charted = headline && (detail?.weights || []).some(({tensor}) => tensor === headline[4]);
  return facet === "scale" && charted ? NEXT_WEIGHT_SCALE : NEXT[facet];
}
/// The commands that make this verdict again, by how it was made.
function repeatCommands(row) {
  const run = D.runs[C.run[row]];
  if (isOfModel(row)) return [command([D.assay], " " + run.command)];
  const common = [textOf("case", row)], rest = " --options " + shellWord(textOf("options", row)) + askedText(row);
  return [el("p", null, "In numbers, why the verdict is what it is:"), command([D.assay, "explain", ...common], rest),
    el("p", null, "The verdict again:"), command([D.assay, "run"], selectedText(row) + rest + decidingText(row)),
    el("p", null, "As a folder that can be sent, with the model and the data:"),
    command([D.assay, "bundle", ...common, "bundle"], rest)];
}

async function showCase(content, parameters, current) {
  const row = caseRow(parameters);
  if (row === undefined) {
    append(content, [el("h1", null, "No such verdict"), el("p", null, "This report has none for ",
      el("code", null, parameters.case || ""), ". ", el("a", {link: "#/results"}, "All results"))]);
    return;
  }
  const [children, detail] = await Promise.all([childrenOf(row), detailOf(row)]);
  if (!current()) return;
  const metrics = metricsBy(children);
  const verdict = textOf("verdict", row), [judged, nodes] = judgedOf(row), reason = textOf("reason", row), facet = textOf("facet", row);
  const follows = new Set(detail?.follows || []), worst = worstSetTile(children);
  const findings = (children.findings || []).map((finding, i) => [...finding, follows.has(i)])
    .filter(([, , , , , , , message]) => message !== reason);
  const leftOut = (children.metrics || []).filter(([, , name]) => name === "findings_left_out").reduce((sum, each) => sum + each[3], 0);
  const expectation = D.expectations[C.expectation[row]], ofModel = isOfModel(row), next = nextOf(row, children, detail);
  const alike = C.cause[row] ? EVERY_ROW.filter((each) => C.cause[each] === C.cause[row]).length : 0;
  const fact = (name, value, legend) => value === "" || value === null ? null : [el("dt", {legend}, name), el("dd", null, value)];
  const changed = "changed before the conversion: ";
  const judgedAs = (text) => text.startsWith(changed) ? fact("changed before the conversion", text.slice(changed.length))
    : fact("policy of", text.replace(/^judged by the policy of /, ""));
  append(content, [
    el("h1", null, verdictBadge(verdict), " ", textOf("case", row)),
    verdict === "pass" ? el("p.quiet", null, verdictOf(verdict).says) : el("p.lead", null, leadOf(row)),
    el("div.tiles", null, [[...sqnrTile(children, row), "sqnr"], worst && worst[0] !== sqnrTile(children, row)[0] ? [...worst, "sqnr"] : null,
      [...marginTile(children, row), "margin"], [nodes ? judged + " of " + nodes : "–", "nodes judged", "judged"],
      [textOf("layers", row) || "–", "layers", "layer"]].filter((tile) => tile).map(([value, name, legend]) =>
      el("div.tile", {legend, tabindex: 0}, el("b", null, value), name))),
    C.newest[row] ? null : el("p", null, el("span.badge.unjudged", null, "An older verdict."), " ",
      el("a", {link: address("case", {...parameters, run: ""})}, "The newest of this version")),
    reason || findings.length ? section(verdict === "pass" ? "Notes" : "What is wrong", "wrong", reason ? el("pre", null, reason) : null,
      findings.length ? el("details", {open: findings.length <= 3}, el("summary", null, plural(findings.length, "more finding")),
        el("div", null, findings.map(([stage, its, node, op, tensor, dataSet, layer, message, margin, amber, follow]) => [el("p", null,
          el("b", null, its), layer ? " (" + layer + ")" : "", ", ", stage,
          amber ? ", only a note" : follow ? ", which may follow from it" : ""), el("pre", null, message)]),
        leftOut ? el("p", null, "… and " + plural(leftOut, "more finding")) : null)) : null,
      verdict !== "pass" && next ? el("p", null, el("b", null, "Next: "), next) : null,
      expectation ? el("p", null, el("b", null, "Expected: "), expectation.reason, " ", expectation.url ?
        el("a", {url: expectation.url}, expectation.url) : null, expectation.until ? " until " + expectation.until : "") : null,
      alike > 1 ? el("p", null, el("a", {link: address("results", {cause: textOf("cause", row)})}, "All verdicts of this cause")) : null) : null,
    el("dl.facts", null, ofModel ? null : fact("converter", versionName(row), "version"),
      programsOf(C.version[row]).size > 1 ? fact("program", programText(row), "program") : null, fact("options", textOf("options", row), "options"),
      ofModel ? null : fact("family", el("a", {link: address("results", {family: textOf("family", row)})}, textOf("family", row))),
      verdict === "pass" || verdict === "unsupported" ? null : fact("failed at", [textOf("stage", row), facet, textOf("op", row), textOf("node", row)].filter((word) => word).join(", ")),
      ofModel ? null : fact("rounding style", textOf("style", row)), judgedAs(textOf("judged_as", row)),
      fact("made", textOf("started_at", row).slice(0, 19).replace("T", " ") + ", " + digits(C.seconds[row]) + " s")),
    (children.unjudged || []).length ? section("Not judged", "unjudged", plainTable([["Node"], ["Operator"], ["Why not"]],
      children.unjudged.slice(0, 100).map(([node, op, why]) => el("tr", null, el("td", null, el("code", null, node)), el("td", null, op),
        el("td.name", null, why))), "nodes not judged")) : null,
  ]);
  if (detail) {
    append(content, [section("The model, before and after", "graph", graphPicture(detail, nodeFacts(detail, metrics, row)),
      detail.cut ? el("p.quiet", null, detail.cut) : null)]);
    showBlamed(content);
  } else {
    append(content, el("p.quiet", {id: "no-detail"}, "Graphs, weights and the derivation are kept for verdicts that are red or not judged, ",
      "and for all with ", el("code", null, "--keep-detail"), " on ", el("code", null, "run"), " and ", el("code", null, "check"),
      ". This one has none; the first command below shows its numbers."));
  }
  const error = errorChart(detail, metrics);
  append(content, [
    error ? section("Precision along the model", "error", el("p.quiet", null,
      "SQNR " + comparedText(children) + "; a tensor that has none there shows that of its worst data set. Where a node joins a branch with less error, it rises again."), error) : null,
    section("Tensors", "tensors", tensorTable(children, detail, metrics)),
    detail && detail.weights?.length ? section("Weights by channel", "weights", el("p.quiet", null,
      "A declared scale below the dashed line cuts weights off; far above it wastes precision."), weightCharts(detail)) : null,
    detail && detail.explanation ? section("Derivation", "derivation", el("pre", null, detail.explanation)) : null,
    section(ofModel ? "Command" : "Repeat it", "repeat", repeatCommands(row)),
    overVersions(row), otherVerdicts(row),
    (children.metrics || []).length ? el("details", null, el("summary", null, "All " + plural(children.metrics.length, "measure")),
      el("div", null, plainTable([["Measure"], ["Tensor"], ["Data set"], ["Value", null, "number"], ["Meaning"]],
        children.metrics.slice(0, 400).map(([tensor, dataSet, name, value]) => el("tr", null, el("td", null, name),
          el("td", null, el("code", null, tensor)), el("td", null, dataSet), el("td.number", null, digits(value)),
          el("td.name", null, METRICS[name] || ""))), "measures"))) : null,
    (children.precision || []).length ? el("details", null, el("summary", null, "Precision of each node, as the converter reports it"),
      el("div", null, plainTable([["Node"], ["Operator"], ["Ran in"]], children.precision.slice(0, 400).map(([node, op, got]) =>
        el("tr", null, el("td", null, el("code", null, node)), el("td", null, op), el("td", null, got))), "precision"))) : null,
    (children.attempts || []).length > 1 ? el("details", null, el("summary", null, "Tries"), el("div", null,
      plainTable([["Request"], ["Try", null, "number"], ["Outcome"], ["Reason"], ["s", "seconds", "number"]],
        children.attempts.map(([request, number, result, why, seconds]) => el("tr", null, el("td", null, request),
          el("td.number", null, number), el("td", null, result), el("td.name", null, why), el("td.number", null, digits(seconds)))), "tries"))) : null,
  ]);
}

function overVersions(row) {
  const series = seriesOf(row);
  if (series.length < 2) return null;
  const labels = series.map((each) => D.versions[C.version[each]][1]);
  const anchors = D.anchors.filter(([from]) => series.includes(from)).map(([from]) => ({at: series.indexOf(from), text: "anchor", colour: "accent"}));
  const measured = series.some((each) => Number.isFinite(C.sqnr[each]));
  return section("Over the versions", "over-versions",
    measured ? lineChart({labels, unit: "SQNR, dB", height: 200, name: "SQNR of this case over versions", marks: anchors,
      lines: [{name: "SQNR", values: series.map((each) => C.sqnr[each])}]}) : null,
    plainTable([["Version", "version"], ["Verdict", "verdict"], ["SQNR dB", "sqnr", "number"], ["Margin", "margin", "number"], ["Reason"]],
      series.map((each) => el("tr", {class: each === row ? "picked" : ""}, el("td", null, el("a", {link: caseAddress(each)}, D.versions[C.version[each]][1])),
        el("td", null, verdictBadge(textOf("verdict", each))), el("td.number", null, decibels(C.sqnr[each])),
        el("td.number", null, digits(C.margin[each])), el("td.name", null, textOf("reason", each).split("\n")[0].slice(0, 160)))), "versions"));
}
function otherVerdicts(row) {
  const others = EVERY_ROW.filter((each) => each !== row && C.case[each] === C.case[row] &&
    (C.options[each] !== C.options[row] || C.version[each] !== C.version[row] || !C.newest[each]) &&
    (C.newest[each] ? D.versions[C.version[each]][0] !== D.versions[C.version[row]][0] || C.options[each] !== C.options[row] : true) &&
    (C.version[each] === C.version[row] || C.options[each] === C.options[row])).slice(-60);
  if (!others.length) return null;
  return section("Other verdicts on this case", "others", plainTable([["Converter", "version"], ["Options", "options"], ["Verdict", "verdict"],
    ["SQNR dB", "sqnr", "number"], ["Margin", "margin", "number"], ["Made", "started"]], others.map((each) => el("tr", null,
    el("td", null, el("a", {link: caseAddress(each)}, versionName(each))), el("td", null, textOf("options", each)),
    el("td", null, verdictBadge(textOf("verdict", each))), el("td.number", null, decibels(C.sqnr[each])),
    el("td.number", null, digits(C.margin[each])), el("td", null, textOf("started_at", each).slice(0, 16).replace("T", " ")))), "other verdicts"));
}
