"use strict";
// The report's data: one table of verdicts in columns. Strings are numbered; D.strings[n] is the text.

const D = JSON.parse(document.getElementById("table").textContent);
const C = D.columns;
const ROWS = C.case.length;
const EVERY_ROW = Array.from({length: ROWS}, (_, i) => i);

/// Columns that hold numbers of strings.
const TEXT_COLUMNS = ["case", "options", "program", "family", "content", "verdict", "gate", "stage", "facet", "node",
  "op", "reason", "cause", "style", "layers", "artifact", "judged_as", "coverage", "started_at"];

function textOf(column, row) { return D.strings[C[column][row]]; }
function versionName(row) { const v = D.versions[C.version[row]]; return v[0] + "@" + v[1]; }
/// The programs that were judged under a version's name: numbers of their hashes.
const PROGRAMS = new Map();
for (const row of EVERY_ROW) {
  if (!PROGRAMS.has(C.version[row])) PROGRAMS.set(C.version[row], new Set());
  PROGRAMS.get(C.version[row]).add(C.program[row]);
}
function programsOf(version) { return PROGRAMS.get(version) ?? new Set(); }
function programText(row) { return textOf("program", row).slice(0, 12); }
const NEWEST = EVERY_ROW.filter((row) => C.newest[row] === 1);

/// [[operator, judged, nodes], …] of a row.
const coverageCache = new Map();
function coverageOf(row) {
  const number = C.coverage[row];
  if (!coverageCache.has(number)) {
    const text = D.strings[number];
    coverageCache.set(number, text === "" ? [] : text.split("\n").map((line) => {
      const at = line.lastIndexOf(" ");
      const [judged, nodes] = line.slice(at + 1).split("/").map(Number);
      return [line.slice(0, at), judged, nodes];
    }));
  }
  return coverageCache.get(number);
}
function judgedOf(row) {
  let judged = 0, nodes = 0;
  for (const [, j, n] of coverageOf(row)) { judged += j; nodes += n; }
  return [judged, nodes];
}

/// Versions by converter, oldest first: [[number, version], …].
const CONVERTERS = (() => {
  const all = new Map();
  D.versions.forEach(([name, version], number) => {
    if (!all.has(name)) all.set(name, []);
    all.get(name).push([number, version]);
  });
  return all;
})();

/// What belongs to a row besides its columns: findings, metrics, parameters, precision, attempts, unjudged.
const parts = new Map();
async function unpacked(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
async function childrenOf(row) {
  const part = Math.floor(row / D.part_rows);
  if (!parts.has(part)) parts.set(part, unpacked("p" + part));
  const all = await parts.get(part);
  return all ? all[row % D.part_rows] : {};
}
async function detailOf(row) { return unpacked("d" + row); }

/// Rows of the same case content, options and converter, oldest version first.
function seriesOf(row, rows = NEWEST) {
  return rows.filter((other) => C.case[other] === C.case[row] && C.content[other] === C.content[row] &&
    C.options[other] === C.options[row] && D.versions[C.version[other]][0] === D.versions[C.version[row]][0])
    .sort((a, b) => C.version[a] - C.version[b]);
}
