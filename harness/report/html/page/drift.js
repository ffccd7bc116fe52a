"use strict";
// What changed over the versions of a converter: how many verdicts are wrong, by which causes, and the numbers of a
// suite, a family or a case as lines.

const TURNS = {
  fails: {word: "now fails", colour: "fail", says: "Series that passed in the version before and fail in this one, expected or not."},
  passes: {word: "now passes", colour: "pass", says: "Series that failed in the version before and pass in this one."},
  worse: {word: "worse", colour: "unjudged", says: "Series with the same verdict and less SQNR, or a margin that rose beyond 1."},
  better: {word: "better", colour: "pass", says: "Series with the same verdict and more SQNR, or a margin that fell below 1."},
  stops: {word: "now unsupported", colour: "unsupported",
    says: "Series that were judged in the version before, and that this one declares beforehand not to do."},
  starts: {word: "now supported", colour: "pass",
    says: "Series that the version before declared not to do, and that this one is judged on."},
  other: {word: "other change", colour: "unsupported",
    says: "Series with another failure or refusal than in the version before, or with other parameters."},
};
/// Whether a verdict says that something failed, expected or not.
function failed(row) { return ["fail", "crash", "xfail"].includes(verdictOf(textOf("verdict", row)).colour); }
function changeTurn([from, to, changes]) {
  if (textOf("verdict", from) === "pass" && failed(to)) return "fails";
  if (failed(from) && textOf("verdict", to) === "pass") return "passes";
  const declared = [from, to].map((row) => textOf("verdict", row) === "unsupported");
  if (declared[0] !== declared[1]) return declared[1] ? "stops" : "starts";
  for (const [kind, delta] of changes) {
    if (delta === null) continue;
    if (kind === "sqnr") return delta < 0 ? "worse" : "better";
    if (kind === "margin") return delta > 0 ? "worse" : "better";
  }
  return "other";
}

function median(values) {
  const known = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  if (!known.length) return null;
  const middle = known.length >> 1;
  return known.length % 2 ? known[middle] : (known[middle - 1] + known[middle]) / 2;
}

/// Bars of verdicts, one for each version, with what changed between two of them.
const NOT_IN_BARS = ["pass", "unsupported"];
function versionBars(name, versions, by) {
  const narrow = document.documentElement.clientWidth < 640;
  const most = Math.max(...versions.map(([number]) => (by.get(number) || []).length));
  const counted = new Map(versions.map(([number]) => [number, countVerdicts(by.get(number) || [])]));
  const shown = verdictsIn(countVerdicts(versions.flatMap(([number]) => by.get(number) || [])))
    .filter((verdict) => !NOT_IN_BARS.includes(verdict));
  const failing = ([number]) => shown.reduce((sum, verdict) => sum + (counted.get(number)[verdict] || 0), 0);
  const unsupported = ([number]) => whole(counted.get(number).unsupported || 0);
  const tick = niceStep(Math.max(1, ...versions.map(failing)));
  const worst = tick * Math.ceil(Math.max(1, ...versions.map(failing)) / tick);
  const step = narrow ? 30 : Math.max(34, Math.min(64, Math.floor(1080 / versions.length)));
  const left = 48, height = 210, top = 18, width = left + versions.length * step + 10;
  const y = (count) => top + height * (1 - count / worst);
  const parts = [];
  for (let count = 0; count <= worst; count += tick) {
    parts.push(el("line", {x1: left, x2: width, y1: y(count), y2: y(count), style: {stroke: "var(--line)"}}),
      el("text", {x: left - 6, y: y(count) + 4, "text-anchor": "end"}, whole(count)));
  }
  versions.forEach(([number, version], i) => {
    const members = by.get(number) || [];
    const counts = counted.get(number);
    let sum = 0;
    const x = left + i * step + 5;
    for (const verdict of shown) {
      const count = counts[verdict] || 0;
      if (!count) continue;
      parts.push(el("svg-link", {link: address("results", {converter: name, version, verdict})},
        el("rect." + verdictOf(verdict).colour, {x, width: step - 10, y: y(sum + count), height: Math.max(1, y(sum) - y(sum + count)),
          tip: version + ": " + whole(count) + " of " + whole(members.length) + " " + verdict})));
      sum += count;
    }
    parts.push(el("text", {x: x + (step - 10) / 2, y: y(sum) - 4, "text-anchor": "middle"}, members.length ? whole(sum) : "–"));
    parts.push(el("text", {transform: "translate(" + (x + (step - 10) / 2 + 4) + " " + (top + height + 8) + ") rotate(-90)",
      "text-anchor": "end"}, version));
  });
  return [overVersionsView("verdicts by version", "newest", el("svg", {viewBox: "0 0 " + width + " " + (top + height + 74), width, height: top + height + 74,
      style: {maxWidth: "none"}, role: "img", "aria-label": "verdicts other than pass, by version"}, parts)),
  el("p.quiet", null, "Out of ", whole(most), " verdicts for each version. Not counted: pass, and unsupported (",
    unsupported(versions[0]), " verdicts of the oldest and ", unsupported(versions[versions.length - 1]), " of the newest version).")];
}
/// A round distance of lines, three to five of them.
function niceStep(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  const lead = most / power;
  return Math.max(1, (lead > 5 ? 2 : lead > 2 ? 1 : 0.5) * power);
}

/// Causes in lines, versions in columns: where a defect begins and ends is seen at once.
function causeLanes(name, versions, by) {
  const lanes = new Map();
  versions.forEach(([number]) => {
    for (const row of by.get(number) || []) {
      if (!failed(row)) continue;
      const words = causeWords(row), key = C.cause[row];
      if (!lanes.has(key)) lanes.set(key, {words, row, at: words.at, message: words.message, counts: new Map(), colour: verdictOf(textOf("verdict", row)).colour});
      const counts = lanes.get(key).counts;
      counts.set(number, (counts.get(number) || 0) + 1);
    }
  });
  const all = [...lanes.values()];
  withoutSharedBeginnings(all).forEach((message, i) => { all[i].shown = message; });
  const presence = (lane) => versions.map(([number]) => lane.counts.has(number));
  const kinds = {gone: [], came: [], both: [], always: []};
  for (const lane of all) {
    const here = presence(lane);
    lane.first = here.indexOf(true);
    lane.last = here.lastIndexOf(true);
    lane.most = Math.max(...lane.counts.values());
    if (here.every((each) => each)) kinds.always.push(lane);
    else if (lane.last === versions.length - 1) kinds.came.push(lane);
    else if (lane.first === 0) kinds.gone.push(lane);
    else kinds.both.push(lane);
  }
  const line = (lane) => el("tr", null,
    el("td.name", {tip: lane.words.whole}, el("a", {link: address("results", {converter: name,
      cause: textOf("cause", lane.row)})}, lane.words.at), " ", el("span.quiet", null, shortened(lane.shown, 160))),
    versions.map(([number, version]) => {
      const count = lane.counts.get(number) || 0;
      if (!count) return el("td", null, el("span.lane.none", {"aria-label": version + ": none"}, "·"));
      const cell = el("a.lane." + lane.colour, {link: address("results", {converter: name, version,
        cause: textOf("cause", lane.row)}), tip: version + ": " + plural(count, "verdict")}, whole(count));
      cell.style.background = "color-mix(in srgb, var(--own-fill) " + Math.round(25 + 60 * Math.sqrt(count / lane.most)) +
        "%, var(--ground))";
      return el("td", null, cell);
    }));
  const table = (list, label, first) => overVersionsView(label, first,
    el("table.lanes", null, el("thead", null, el("tr", null, el("th", null, ""), versions.map(([, version]) =>
      el("th", {scope: "col"}, el("span.upright", null, version))))), el("tbody", null, list.map(line))));
  const order = {
    gone: ["Failed at first and no longer", (a, b) => a.last - b.last || b.most - a.most],
    came: ["Began later and still fails", (a, b) => a.first - b.first || b.most - a.most],
    both: ["Began later and no longer", (a, b) => a.first - b.first || a.last - b.last],
    always: ["In every version", (a, b) => b.most - a.most],
  };
  return Object.entries(order).filter(([kind]) => kinds[kind].length).map(([kind, [title, compare]]) => {
    const list = kinds[kind].sort(compare);
    const body = table(list, title, kind === "gone" ? "oldest" : "newest");
    const summary = title + ": " + list.length + (list.length === 1 ? " cause" : " causes");
    return el("details", {open: kind !== "always" && list.length <= 40}, el("summary", null, summary), el("div", null, body));
  });
}

const DRIFT_MEASURES = {
  // Beyond this an output is exact but for float32's own rounding (docs/drift.md).
  sqnr: {word: "SQNR", unit: "SQNR, dB", column: "sqnr", most: 20 * Math.log10(2 ** 24)},
  margin: {word: "margin", unit: "margin (error ÷ limit)", column: "margin", limit: 1},
};
/// What a verdict has of a measure; no number where it was not measured.
function measured(measure, row) {
  const value = C[measure.column][row];
  return Number.isFinite(value) && measure.most !== undefined ? Math.min(value, measure.most) : value;
}
/// Medians of a measure over versions, for each group of rows.
function mediansOver(versions, rows, measure) {
  const by = grouped(rows, (row) => C.version[row]);
  return versions.map(([number]) => median((by.get(number) || []).map((row) => measured(measure, row))));
}
/// Series that have a value in every version: medians over these are of the same cases throughout.
function completeSeries(versions, rows, measure) {
  const series = grouped(rows, (row) => C.case[row] + "|" + C.content[row] + "|" + C.options[row]);
  return [...series.values()].filter((members) => members.filter((row) => Number.isFinite(measured(measure, row))).length ===
    versions.length).flat();
}
function anchorMarks(versions, rows) {
  const mine = new Set(rows);
  const at = new Set(D.anchors.filter(([from]) => mine.has(from)).map(([from]) =>
    versions.findIndex(([number]) => number === C.version[from])));
  return [...at].filter((i) => i >= 0).map((i) => ({at: i, text: "anchor", colour: "accent"}));
}

function suiteChart(versions, rows, measure) {
  const same = completeSeries(versions, rows, measure);
  if (!same.length) return el("p.quiet", null, "No case has this number in every version.");
  const at = (share) => versions.map(([number]) => {
    const values = same.filter((row) => C.version[row] === number).map((row) => measured(measure, row)).sort((a, b) => a - b);
    return values[Math.min(values.length - 1, Math.floor(share * values.length))];
  });
  const count = same.length / versions.length;
  const lines = [
    {name: "worst 1 %", values: at(measure.column === "sqnr" ? 0.01 : 0.99), colour: "fail"},
    {name: "worst 10 %", values: at(measure.column === "sqnr" ? 0.1 : 0.9), colour: "unjudged"},
    {name: "median", values: at(0.5), colour: "accent"},
  ];
  return [lineChart({labels: versions.map(([, version]) => version), unit: measure.unit, limit: measure.limit,
    name: "suite: " + measure.word + " by version", marks: anchorMarks(versions, rows),
    // Lines of the same values would hide one another.
    lines: [...grouped(lines, ({values}) => values.map(digits).join(" ")).values()].map((equal) =>
      ({...equal[0], name: equal.map(({name}) => name).join(", ")}))}), el("p.quiet", null, "Over the ", plural(count, "series"), " that were measured in every version, so that the lines are of the same cases throughout.")];
}
function familyChart(versions, rows, measure) {
  const labels = versions.map(([, version]) => version);
  const series = [...grouped(rows, (row) => textOf("case", row) + "  " + textOf("options", row))].map(([name, members]) => {
    const values = mediansOver(versions, members, measure);
    const known = values.filter((value) => Number.isFinite(value));
    return {name, values, members, spread: known.length ? Math.max(...known) - Math.min(...known) : 0, known: known.length};
  }).filter(({known}) => known > 0).sort((a, b) => b.spread - a.spread);
  // Series of the same values would be one line over another.
  const lines = [...grouped(series, ({values}) => values.map(digits).join(" ")).values()];
  const few = lines.slice(0, 6);
  if (!few.length) return el("p.quiet", null, "Nothing of this family was measured.");
  return [lineChart({labels, unit: measure.unit, limit: measure.limit, marks: anchorMarks(versions, rows),
    name: "cases of the family by version", lines: few.map((same) => ({
      name: same[0].name + (same.length > 1 ? " and " + whole(same.length - 1) + " more with the same values" : ""),
      link: same.length > 1 ? address("results", {family: textOf("family", same[0].members[0])})
        : caseAddress(same[0].members[same[0].members.length - 1]), values: same[0].values}))}),
  lines.length > few.length ? el("p.quiet", null, "The " + few.length + " lines of " + whole(lines.length) + " that move most.") : null];
}

function familyTable(name, versions, rows, parameters, measure) {
  const changed = grouped(D.changes.filter(([, to]) => D.versions[C.version[to]][0] === name), ([, to]) => textOf("family", to));
  const lines = [...grouped(rows, (row) => textOf("family", row))].map(([family, members]) => {
    const same = completeSeries(versions, members, measure);
    const values = mediansOver(versions, same, measure);
    const known = values.filter((value) => Number.isFinite(value));
    const wrong = versions.map(([number]) => members.filter((row) => C.version[row] === number && failed(row)).length);
    const turns = changed.get(family) || [];
    return {family, values, known, wrong, turns, shift: known.length > 1 ? known[known.length - 1] - known[0] : null};
  }).sort((a, b) => b.turns.length - a.turns.length || (a.family < b.family ? -1 : 1));
  return plainTable([["Family", "family"],
    ["Fail first", "Verdicts that fail in the oldest version, expected or not.", "number"],
    ["Fail now", "Verdicts that fail in the newest version, expected or not.", "number"],
    ["Median " + measure.word, measure.column, "number"],
    ["Since " + versions[0][1], "How far the median of the newest version lies above that of the oldest, " + versions[0][1] + ".", "number"],
    ["By version"],
    ["Changes", "Changes of a series from one version to the next.", "number"],
    ["Changed in", "The first and the last version in which a series of the family changed."]], lines.map((line) => {
    const at = line.turns.map(([, to]) => C.version[to]).sort((a, b) => a - b);
    return el("tr", {class: line.family === parameters.family ? "picked" : ""},
      el("td", null, el("a", {link: address("drift", {...parameters, family: line.family})}, line.family)),
      el("td.number", null, whole(line.wrong[0])), el("td.number", null, whole(line.wrong[line.wrong.length - 1])),
      el("td.number", null, digits(line.known[line.known.length - 1])),
      el("td.number", null, line.shift === null ? "–" : (line.shift > 0 ? "+" : "") + digits(Math.round(line.shift * 1000) / 1000)),
      el("td", null, sparkline(line.values, line.family + " over versions")),
      el("td.number", null, whole(line.turns.length)),
      el("td", null, at.length ? [...new Set([D.versions[at[0]][1], D.versions[at[at.length - 1]][1]])].join(", ") : "–"));
  }), "families");
}

function changeList(changes, parameters) {
  const columns = [
    {title: "Turn", width: 8.5, name: "turn", cell: (i) => el("span.badge." + TURNS[changeTurn(changes[i])].colour,
      {tip: TURNS[changeTurn(changes[i])].says}, TURNS[changeTurn(changes[i])].word)},
    {title: "Version", width: 11, name: "version", legend: "version", cell: (i) => {
      const [from, to] = changes[i];
      return D.versions[C.version[from]][1] + " → " + D.versions[C.version[to]][1];
    }},
    {title: "Case", width: 20, share: 3, name: "case", legend: "case", cell: (i) => textOf("case", changes[i][1])},
    {title: "Options", width: 7, name: "options", legend: "options", cell: (i) => textOf("options", changes[i][1])},
    {title: "What changed", width: 24, share: 4, name: "what",
      cell: (i) => changes[i][2].map(([kind, , detail]) => kind + ": " + detail).join("; "),
      hover: (i) => changes[i][2].map(([kind, , detail]) => kind + ": " + detail).join("\n").slice(0, 800)},
  ];
  const table = new LongTable({columns, rows: changes.map((_, i) => i), name: "Changes", sort: "",
    linkOf: (i) => caseAddress(changes[i][1]), onSort: () => {}});
  table.view.style.height = Math.min(480, 70 + changes.length * ROW_HEIGHT) + "px";
  table.view.style.minHeight = "0";
  return [el("p.quiet", {id: "changes-count"}, plural(changes.length, "change"),
    parameters.version || parameters.turn ? [", only ", [parameters.version, parameters.turn && TURNS[parameters.turn]?.word]
      .filter((word) => word).join(", "), " (", el("a", {link: address("drift", {...parameters, version: "", turn: ""})},
      "all"), ")"] : null, "."), changes.length ? table.element : null];
}

function showDrift(content, parameters) {
  const most = [...CONVERTERS].sort(([, a], [, b]) => b.length - a.length);
  const name = CONVERTERS.has(parameters.converter) ? parameters.converter : most[0][0];
  const versions = CONVERTERS.get(name);
  const numbers = new Set(versions.map(([number]) => number));
  const rows = NEWEST.filter((row) => numbers.has(C.version[row]));
  const by = grouped(rows, (row) => C.version[row]);
  const measure = DRIFT_MEASURES[parameters.measure] || DRIFT_MEASURES.sqnr;
  const pick = el("select", {id: "drift-converter", on: {change: () => {
    location.hash = address("drift", {converter: pick.value});
  }}}, most.map(([each, all]) => el("option", {value: each}, each + " (" + plural(all.length, "version") + ")")));
  pick.value = name;
  const measures = el("select", {id: "drift-measure", on: {change: () => {
    location.hash = address("drift", {...parameters, measure: measures.value});
  }}}, Object.entries(DRIFT_MEASURES).map(([key, {word}]) => el("option", {value: key}, word)));
  measures.value = Object.keys(DRIFT_MEASURES).find((key) => DRIFT_MEASURES[key] === measure);
  append(content, [el("h1", null, "Drift of ", name),
    el("div.filters", null, el("label", null, "Converter", pick), el("label", null, "Number", measures))]);
  const anchored = D.anchors.filter(([from]) => D.versions[C.version[from]][0] === name);
  const drifted = anchored.filter(([, , changes]) => changes.length);
  if (parameters.against === "anchor" || drifted.length) {
    append(content, section("Against the accepted anchors", "anchors", el("p", null, plural(anchored.length, "anchor"),
      ", ", plural(drifted.length, "series"), " differ."), changeList(drifted, {})));
  }
  if (versions.length < 2) {
    append(content, el("p", null, "One version of ", name, " is recorded, so that nothing can be compared. ",
      "A run of another version into the same database makes this page."),
    command([D.assay, "run", "default", "--converter", name + "@VERSION,VERSION"]));
  } else {
    const failing = ([number]) => (by.get(number) || []).filter(failed).length;
    const turns = D.changes.filter(([, to]) => numbers.has(C.version[to])).map(changeTurn);
    const count = (which) => whole(turns.filter((turn) => turn === which).length);
    append(content, [
      el("p.lead", null, "From ", versions[0][1], " to ", versions[versions.length - 1][1], ": ",
        el("b", null, whole(failing(versions[0])), " → ", whole(failing(versions[versions.length - 1]))),
        " verdicts fail (expected failures counted). A series is one case under one option set, over the versions: on the way ",
        count("passes"), " times a series failed and passed in the next version, and ", count("fails"), " times it was the other way."),
      section("What did not pass, by version", "bars", verdictKeys(countVerdicts(rows), NOT_IN_BARS),
        versionBars(name, versions, by)),
      section("Causes, by version", "lanes", el("p.quiet", null,
        "A line is one cause, whatever the tensors are called; a number is how many verdicts show it in that version.", EXAMPLE_NOTE),
        causeLanes(name, versions, by)),
    ]);
  }
  if (versions.length > 1) {
    append(content, [
      section("The suite: " + measure.word, "suite", suiteChart(versions, rows, measure)),
      parameters.family ? section("Family " + parameters.family, "family", familyChart(versions,
        rows.filter((row) => textOf("family", row) === parameters.family), measure)) : null,
      section("Families", "families", el("p.quiet", null, "Choose one to see its cases as lines. Medians are over the series that were measured in every version."),
        familyTable(name, versions, rows, parameters, measure)),
      section("Every change from one version to the next", "changes", changeList(D.changes.filter((change) =>
        D.versions[C.version[change[1]]][0] === name &&
        (!parameters.version || D.versions[C.version[change[1]]][1] === parameters.version) &&
        (!parameters.turn || changeTurn(change) === parameters.turn)), parameters)),
    ]);
    if (parameters.family) requestAnimationFrame(() => document.getElementById("family")?.scrollIntoView());
    else if (parameters.turn || parameters.version) {
      requestAnimationFrame(() => document.getElementById("changes")?.scrollIntoView());
    }
  }
}
