"use strict";
// All verdicts: filters, search and order stand in the address.

const FILTERS = {
  verdict: {title: "Verdict", of: (row) => textOf("verdict", row), all: () => verdictsIn(countVerdicts(NEWEST))},
  converter: {title: "Converter", of: (row) => D.versions[C.version[row]][0], all: () => [...CONVERTERS.keys()]},
  version: {title: "Version", of: (row) => D.versions[C.version[row]][1],
    all: (parameters) => [...new Set(D.versions.filter(([name]) => !parameters.converter || name === parameters.converter)
      .map(([, version]) => version))]},
  options: {title: "Options", of: (row) => textOf("options", row), all: () => distinct("options")},
  family: {title: "Family", of: (row) => textOf("family", row), all: () => distinct("family")},
  facet: {title: "Facet", of: (row) => textOf("facet", row), all: () => distinct("facet").filter((f) => f !== "")},
  stage: {title: "Stage", of: (row) => textOf("stage", row), hidden: true},
  gate: {title: "Gate", of: (row) => textOf("gate", row), hidden: true},
  case: {title: "Case", of: (row) => textOf("case", row), hidden: true},
  cause: {title: "Cause", of: (row) => textOf("cause", row), hidden: true},
  refusal: {title: "Refusal", hidden: true, test: (row) => isRefusal(row)},
  operator: {title: "Operator", hidden: true, test: (row, value) => countsFor(row, value)},
};
function distinct(column) {
  return [...new Set(C[column])].map((number) => D.strings[number]).sort();
}

/// Whether a verdict says something about operator `name`: what failed at a named operator says it about that one.
function countsFor(row, name) {
  const op = textOf("op", row);
  if (op !== "") return op === name;
  return coverageOf(row).some(([other]) => other === name);
}

const SEARCHED = ["case", "options", "family", "reason", "node", "op", "facet", "verdict"];
/// Every word has to stand somewhere in the row. Each distinct string is looked at once.
function searchTest(query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const tests = words.map((word) => {
    const hits = new Uint8Array(D.strings.length);
    D.strings.forEach((text, i) => { if (text.toLowerCase().includes(word)) hits[i] = 1; });
    const versions = D.versions.map(([name, version]) => (name + "@" + version).toLowerCase().includes(word));
    return (row) => versions[C.version[row]] || SEARCHED.some((column) => hits[C[column][row]] === 1);
  });
  return (row) => tests.every((test) => test(row));
}

function filteredRows(parameters) {
  let rows = parameters.all === "1" ? EVERY_ROW : NEWEST;
  for (const [name, filter] of Object.entries(FILTERS)) {
    const value = parameters[name];
    if (value === undefined || value === "") continue;
    rows = rows.filter(filter.test ? (row) => filter.test(row, value) : (row) => filter.of(row) === value);
  }
  return parameters.q ? rows.filter(searchTest(parameters.q)) : rows;
}

const COLUMNS = [
  {name: "verdict", title: "Verdict", legend: "verdict", width: 10.5, cell: (row) => verdictBadge(textOf("verdict", row)),
    value: (row) => textOf("verdict", row)},
  {name: "case", title: "Case", legend: "case", width: 19, share: 3, cell: (row) => textOf("case", row),
    hover: (row) => textOf("case", row), value: (row) => textOf("case", row)},
  {name: "options", title: "Options", legend: "options", width: 7, cell: (row) => textOf("options", row),
    hover: (row) => textOf("options", row), value: (row) => textOf("options", row)},
  {name: "version", title: "Converter", legend: "version", width: 12, cell: versionName,
    value: (row) => C.version[row], numeric: true},
  {name: "facet", title: "Facet", legend: "facet", width: 7, cell: (row) => textOf("facet", row),
    value: (row) => textOf("facet", row)},
  {name: "op", title: "Operator", legend: "op", width: 9, cell: (row) => textOf("op", row),
    value: (row) => textOf("op", row)},
  {name: "judged", title: "Judged", legend: "judged", width: 5.5, number: true, numeric: true,
    cell: (row) => { const [judged, nodes] = judgedOf(row); return nodes ? judged + "/" + nodes : "–"; },
    value: (row) => { const [judged, nodes] = judgedOf(row); return nodes ? judged / nodes : null; }},
  {name: "sqnr", title: "SQNR dB", legend: "sqnr", width: 6.5, number: true, numeric: true,
    cell: (row) => decibels(C.sqnr[row]), value: (row) => C.sqnr[row]},
  {name: "margin", title: "Margin", legend: "margin", width: 6, number: true, numeric: true,
    cell: (row) => digits(C.margin[row]), value: (row) => C.margin[row]},
  {name: "seconds", title: "s", legend: "seconds", width: 5, number: true, numeric: true,
    cell: (row) => C.seconds[row].toFixed(2), value: (row) => C.seconds[row]},
  {name: "reason", title: "Reason", width: 20, share: 4, cell: (row) => textOf("reason", row).split("\n")[0],
    hover: (row) => textOf("reason", row).slice(0, 600), value: (row) => textOf("reason", row)},
];

function sortedRows(rows, sort) {
  const column = COLUMNS.find((each) => each.name === sort.replace(/^-/, ""));
  if (!column) return rows;
  const down = sort[0] === "-" ? -1 : 1;
  const values = new Map(rows.map((row) => [row, column.value(row)]));
  const missing = (value) => value === null || value === undefined || value === "";
  return rows.slice().sort((a, b) => {
    const x = values.get(a), y = values.get(b);
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    return down * (column.numeric ? x - y : x < y ? -1 : x > y ? 1 : 0);
  });
}

function caseAddress(row) {
  return address("case", {case: textOf("case", row), options: textOf("options", row), of: versionName(row),
    run: C.newest[row] ? "" : D.runs[C.run[row]].id});
}

function showResults(content, parameters) {
  const state = {...parameters};
  const focus = state.focus === "1";
  delete state.focus;
  const count = el("p.quiet", {"aria-live": "polite", id: "count"});
  const table = new LongTable({columns: COLUMNS, rows: [], sort: state.sort || "", name: "Verdicts",
    linkOf: caseAddress, onSort: (sort) => { state.sort = sort; location.hash = address("results", state); }});
  const refresh = () => {
    const rows = filteredRows(state);
    count.replaceChildren();
    append(count, [plural(rows.length, "verdict"), " of ",
      whole(state.all === "1" ? ROWS : NEWEST.length), state.all === "1" ? ", older ones of a version too" : "",
      ". Arrow keys and Enter open one."]);
    table.setRows(sortedRows(rows, state.sort || ""));
  };
  let timer = 0;
  const search = el("input", {type: "search", id: "search", placeholder: "name, reason, operator …",
    autocomplete: "off", spellcheck: "false", on: {input: () => {
      clearTimeout(timer);
      timer = setTimeout(() => { state.q = search.value; keepAddress("results", state); refresh(); }, 120);
    }}});
  search.value = state.q || "";
  const selects = Object.entries(FILTERS).filter(([, filter]) => !filter.hidden).map(([name, filter]) => {
    const values = filter.all(state);
    if (state[name] && !values.includes(state[name])) values.push(state[name]);
    if (values.length < 2 && !state[name]) return null;
    const select = el("select", {id: "filter-" + name, on: {change: () => {
      state[name] = select.value;
      if (name === "converter") state.version = "";
      location.hash = address("results", state);
    }}}, el("option", {value: ""}, "all"), values.map((value) => el("option", {value}, value)));
    select.value = state[name] || "";
    return el("label", null, filter.title, select);
  });
  const hidden = Object.entries(FILTERS).filter(([name, filter]) => filter.hidden && state[name])
    .map(([name, filter]) => el("p", null, filter.title, ": ", el("code", null, state[name].slice(0, 300)), " ",
      el("a", {link: address("results", {...state, [name]: ""})}, "remove")));
  const old = el("input", {type: "checkbox", id: "filter-all", on: {change: () => {
    state.all = old.checked ? "1" : "";
    location.hash = address("results", state);
  }}});
  old.checked = state.all === "1";
  append(content, [el("h1", null, "Results"),
    el("div.filters", null, el("label", null, "Search", search), selects,
      ROWS > NEWEST.length ? el("label.tick", null, old, "older runs too") : null,
      Object.values(state).some((value) => value) ? el("a", {link: "#/results"}, "clear all") : null),
    hidden, count, table.element]);
  refresh();
  if (focus) search.focus();
}
