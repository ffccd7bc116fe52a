"use strict";
// What one wants to know first: is anything wrong, what is it, and what changed.

function countVerdicts(rows) {
  const counts = {};
  for (const row of rows) counts[textOf("verdict", row)] = (counts[textOf("verdict", row)] || 0) + 1;
  return counts;
}
function grouped(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    const name = key(row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  return groups;
}
/// Rows of the newest version of each converter.
function newestVersions() {
  const last = new Set([...CONVERTERS.values()].map((versions) => versions[versions.length - 1][0]));
  return NEWEST.filter((row) => last.has(C.version[row]));
}
function countLink(count, verdict, parameters) {
  if (!count) return el("span.zero", null, "0");
  return el("a", {link: address("results", {...parameters, verdict}), tip: plural(count, "verdict") + " " + verdict},
    el("span.badge." + verdictOf(verdict).colour, null, whole(count)));
}

function runsTable() {
  return plainTable([["Run"], ["Selection"],
    ["Planned", "Verdicts that the run was to have: cases × option sets × converters.", "number"],
    ["Reported", "Verdicts that the run has recorded.", "number"],
    ["Missing", "Planned verdicts without a result, since the run was interrupted.", "number"], ["Machine"]], D.runs.map((run) => {
    const missing = run.started + run.waiting;
    return el("tr", null, el("td", null, run.started_at.slice(0, 16).replace("T", " "), run.finished_at ? "" : ", unfinished"),
      el("td.name", null, el("code", null, run.command)),
      el("td.number", null, whole(run.done + missing)), el("td.number", null, whole(run.done)),
      el("td.number", null, missing ? el("span.badge.fail", null, whole(missing)) : "0"),
      el("td.quiet", null, run.machine));
  }), "runs");
}

function causeGroups(rows) {
  return [...grouped(rows, (row) => C.cause[row])].map(([, members]) => {
    const smallest = members.reduce((best, row) => {
      const size = (each) => judgedOf(each)[1] * 1000 + textOf("case", each).length;
      return size(row) < size(best) ? row : best;
    });
    return {members, smallest, versions: new Set(members.map((row) => C.version[row])),
      cases: new Set(members.map((row) => C.case[row]))};
  }).sort((a, b) => b.members.length - a.members.length);
}
/// "bias, Gemm", and what one verdict of the cause says.
function causeWords(row) {
  const [stage, facet, op] = textOf("cause", row).split("|");
  const what = facet === "status" ? STATUS[stage] || stage : FACETS[facet] || facet || stage;
  // Of a traceback the end says what happened: "expected a conversion … ValueError: …". Details of a sentence are indented.
  const lines = textOf("reason", row).trimEnd().split("\n"), last = lines[lines.length - 1];
  const traced = lines.length > 1 && !last.startsWith(" ");
  // "expected a conversion, but it ended with an error" is said of all that end so; which one stands below it.
  const first = facet === "status" && lines.length > 1 && /^expected a conversion, but/.test(lines[0]) ? lines[1].trim() : lines[0];
  // An error has no field for the operator; its words may name it.
  const running = / running (\w+) node/.exec(traced ? last : lines[0]);
  return {at: [what, op || (running ? running[1] : "")].filter((word) => word).join(", ") || textOf("verdict", row),
    whole: lines[0] + (traced ? " … " + last : ""),
    message: (traced && facet === "status" ? last : first)
      .replace(/^data set "[^"]*": execution ended with error: /, "")
      // What stands before the sentence: `RuntimeException: [ONNXRuntimeError] : 1 : FAIL : `, and the operator once more.
      .replace(/^(\w+: )?\[\w+\] : \d+ : \w+ : /, "").replace(/^node "[^"]*" \([^)]*\)[,:] /, "")
      .replace(ABSOLUTE_PATH, "$1…")};
}
/// A path that begins at a root, and of a line of a source file the function behind it: where somebody's files lie is not
/// what failed.
const ABSOLUTE_PATH = /(^|[\s"'(])\/[^\s"'()/]+\/[^\s"'()]*( [\w:&*<>, ]+\([^()]*\))?/g;
/// The begin of a message and its end, which says what happened.
function shortened(text, most) {
  const head = Math.floor(most / 3);
  return text.length <= most ? text : text.slice(0, head).trimEnd() + " … " + text.slice(text.length - (most - head)).trimStart();
}
function versionsText(numbers) {
  const names = [];
  for (const [name, versions] of CONVERTERS) {
    const has = versions.filter(([number]) => numbers.has(number));
    if (!has.length) continue;
    const first = has[0], last = has[has.length - 1];
    const between = versions.filter(([number]) => number >= first[0] && number <= last[0]);
    names.push(name + " " + (has.length === 1 ? first[1] : between.length === has.length ? first[1] + " to " + last[1]
      : plural(has.length, "version") + " from " + first[1] + " to " + last[1]));
  }
  return names.join("; ");
}
/// Messages of one place (`at`) often begin alike and differ far behind: what a line shares with another one is left out
/// but for two words. [{at, message}, …] → messages in the same order.
function withoutSharedBeginnings(lines) {
  const words = lines.map(({at, message}) => [at, ...message.split(" ")]);
  const order = lines.map((_, i) => i).sort((a, b) => {
    const x = words[a].join(" "), y = words[b].join(" ");
    return x < y ? -1 : x > y ? 1 : 0;
  });
  const shared = (a, b) => {
    if (a === undefined || b === undefined) return 0;
    let n = 0;
    while (n < words[a].length && words[a][n] === words[b][n]) ++n;
    return n === words[a].length ? 0 : n;
  };
  const messages = [];
  order.forEach((line, i) => {
    // Of words that begin alike the neighbours in the order share most. The first word is `at`.
    const drop = Math.max(shared(line, order[i - 1]), shared(line, order[i + 1])) - 3;
    messages[line] = drop > 2 ? "… " + words[line].slice(1 + drop).join(" ") : lines[line].message;
  });
  return messages;
}
const EXAMPLE_NOTE = " What a line says is from one of its cases; … stands for what other lines say, too.";
/// "12×", and where one version does not make all of them what does.
function countText({members, cases, versions}) {
  if (versions.size === 1) return whole(members.length) + "×";
  const product = cases.size * versions.size === members.length;
  return product ? plural(cases.size, "case") + " × " + whole(versions.size) + " versions"
    : whole(members.length) + "× in " + whole(versions.size) + " versions";
}
function causeDetails(group, filter, message) {
  const words = causeWords(group.smallest);
  return el("details.cause", null,
    el("summary", null, el("span.cause-count", {tip: plural(group.members.length, "verdict") + " of this cause"},
      countText(group)), " ", el("span.cause-at", null, words.at), " ", el("span.quiet", null, shortened(message, 220))),
    el("div", null,
      el("p", null, plural(group.cases.size, "case"), ", ", versionsText(group.versions), ". ",
        el("a", {link: address("results", {cause: textOf("cause", group.smallest), ...filter})}, "All of them"),
        ". Smallest case: ", el("a", {link: caseAddress(group.smallest)}, textOf("case", group.smallest)), ", ",
        textOf("options", group.smallest), ", ", versionName(group.smallest), ":"),
      el("pre", null, textOf("reason", group.smallest)),
      repeatCommands(group.smallest).slice(0, 2)));
}
function converterWords(row) {
  const [name, version] = D.versions[C.version[row]];
  return name === "embedded" ? [] : ["--converter", name + "@" + version];
}
/// The first `limit` groups, and a button for the rest.
function causeList(groups, filter, limit = 20) {
  const messages = withoutSharedBeginnings(groups.map((group) => causeWords(group.smallest)));
  const lines = (from, to) => groups.slice(from, to).map((group, i) => causeDetails(group, filter, messages[from + i]));
  const list = el("div", null, lines(0, limit));
  if (groups.length > limit) {
    const more = el("button", {type: "button", on: {click: () => {
      more.remove();
      append(list, lines(limit));
    }}}, "show " + (groups.length - limit) + " more causes");
    list.append(more);
  }
  return list;
}

/// A mark where verdicts under one name and version are of several programs.
function severalPrograms(number) {
  const count = programsOf(number).size;
  return count < 2 ? null : [" ", el("span.badge.unjudged", {tabindex: 0, tip: "The verdicts under this name and version are of " +
    "several programs: files that the command names differed, or its arguments did. A case's page says which."},
  plural(count, "program"))];
}
/// What isn't on a page of a large database.
function olderNote() {
  if (!D.older.length) return null;
  return el("p.quiet", null, "Of ", plural(D.older.length, "older version"), " this page has the counts alone; everything else on it is of the " +
    "newest versions. More of them: ", el("code", null, D.assay + " report --html FILE --db " + D.database + " --versions " +
    (D.older.length + D.versions.length)), ".");
}
/// The versions of a converter that the page only counts: [[version, {verdict: count}], …], oldest first.
function olderOf(name) { return D.older.filter(([converter]) => converter === name).map(([, version, counts]) => [version, counts]); }
function versionsMatrix() {
  const used = countVerdicts(NEWEST), all = {...used};
  for (const [, , counts] of D.older) for (const verdict of Object.keys(counts)) all[verdict] = (all[verdict] || 0) + counts[verdict];
  const shown = verdictsIn(all);
  const by = grouped(NEWEST, (row) => C.version[row]);
  const rows = [];
  for (const [name, versions] of CONVERTERS) {
    const older = olderOf(name), lines = versions.length + older.length;
    const head = (first) => first ? el("th", {rowspan: lines, scope: "rowgroup"}, name) : null;
    older.forEach(([version, counts], i) => {
      rows.push(el("tr", null, head(i === 0), el("td", null, version), el("td", null, verdictBar(counts)),
        shown.map((verdict) => el("td.number", null, counts[verdict] ? el("span.badge." + verdictOf(verdict).colour, null,
          whole(counts[verdict])) : el("span.zero", null, "0"))),
        el("td.number", null, whole(Object.values(counts).reduce((sum, count) => sum + count, 0)))));
    });
    versions.forEach(([number, version], i) => {
      const members = by.get(number) || [];
      const counts = countVerdicts(members);
      rows.push(el("tr", null, head(i === 0 && !older.length),
        el("td", null, el("a", {link: address("results", {converter: name, version})}, version), severalPrograms(number)),
        el("td", null, verdictBar(counts)),
        shown.map((verdict) => el("td.number", null, countLink(counts[verdict], verdict, {converter: name, version}))),
        el("td.number", null, whole(members.length))));
    });
  }
  return [olderNote(), verdictKeys(all), plainTable([["Converter"], ["Version"], ["Share"],
    ...shown.map((verdict) => [verdict, verdictOf(verdict).says, "number"]),
    ["verdicts", "All verdicts of this version.", "number"]], rows, "converters and versions")];
}

/// A pass that says that the converter refuses what it should refuse: not that an operator works.
function isRefusal(row) { return textOf("verdict", row) === "pass" && textOf("reason", row).startsWith("refused as expected"); }
const EXPECTED_REFUSAL = {sign: "⊘", colour: "unsupported", word: "refused as expected",
  says: "A pass: the converter refused what the case expects it to refuse. Nothing ran."};
function operatorsMatrix(rows) {
  const withCoverage = rows.some((row) => coverageOf(row).length > 0);
  const names = new Map();
  const note = (name, row) => {
    if (!names.has(name)) names.set(name, new Map());
    const versions = names.get(name);
    if (!versions.has(C.version[row])) versions.set(C.version[row], {});
    const counts = versions.get(C.version[row]), key = isRefusal(row) ? "refusal" : textOf("verdict", row);
    counts[key] = (counts[key] || 0) + 1;
  };
  for (const row of rows) {
    if (!withCoverage) { note(textOf("family", row), row); continue; }
    if (textOf("op", row) !== "") note(textOf("op", row), row);
    // Each operator of a model has a line, also where all its verdicts failed at another one.
    for (const [op] of coverageOf(row)) {
      if (textOf("op", row) === "") note(op, row);
      else if (!names.has(op)) names.set(op, new Map());
    }
  }
  const versions = [...new Set(rows.map((row) => C.version[row]))].sort((a, b) => a - b);
  const bad = (counts) => Object.keys(counts).filter((verdict) => !["pass", "refusal", "unsupported"].includes(verdict))
    .reduce((sum, verdict) => sum + counts[verdict], 0);
  const order = [...names].sort(([a, x], [b, y]) => {
    const sum = (map) => [...map.values()].reduce((all, counts) => all + bad(counts), 0);
    return sum(y) - sum(x) || (a < b ? -1 : 1);
  });
  const line = ([name, by]) => el("tr", null, el("td", null, name), versions.map((version) => {
    const counts = by.get(version);
    if (!counts) return el("td", null, el("span.zero", null, "–"));
    const filter = {converter: D.versions[version][0], version: D.versions[version][1],
      [withCoverage ? "operator" : "family"]: name};
    return el("td", null, verdictsIn(counts).map((word) => {
      const {sign, colour} = word === "refusal" ? EXPECTED_REFUSAL : verdictOf(word);
      const tip = word === "refusal" ? plural(counts[word], "refusal") + ", as the cases expect; nothing ran" : plural(counts[word], "verdict") + " " + word;
      return [el("a", {link: address("results", {...filter, ...word === "refusal" ? {refusal: "expected"} : {verdict: word}})},
        el("span.badge." + colour, {tip}, el("span.sign", {"aria-hidden": "true"}, sign), whole(counts[word]))), " "];
    }));
  }));
  const body = order.map(line);
  const few = 25;
  const table = plainTable([[withCoverage ? "Operator" : "Family"],
    ...versions.map((version) => [D.versions[version].join("@")])], body.slice(0, few), "operators and converters");
  const more = body.length > few ? el("button", {type: "button", on: {click: () => {
    table.querySelector("tbody").append(...body.slice(few));
    more.remove();
  }}}, "show " + (body.length - few) + " more") : null;
  return [el("p.quiet", null, withCoverage
    ? "A verdict that failed at a named operator counts for that one, every other for all operators of its model. Newest version of each converter."
    : "The verdicts in this database don't say which operators a model has: families of cases instead. Newest version of each converter.",
  " What has most against it comes first."), verdictKeys(countVerdicts(rows), [], rows.some(isRefusal) ? [EXPECTED_REFUSAL] : []),
  table, more];
}

function daysLeft(until) {
  if (!until) return null;
  const then = Date.parse(until);
  return Number.isNaN(then) ? null : Math.ceil((then - Date.now()) / 86400000);
}
function expectationsTable() {
  const by = grouped(NEWEST.filter((row) => C.expectation[row] >= 0), (row) => C.expectation[row]);
  const unnamed = NEWEST.filter((row) => textOf("verdict", row) === "xfail" && C.expectation[row] < 0).length;
  const rows = D.expectations.map((expectation, number) => ({expectation, members: by.get(number) || []}))
    .filter(({members}) => members.length)
    .sort((a, b) => (a.expectation.until || "9") < (b.expectation.until || "9") ? -1 : 1)
    .map(({expectation, members}) => {
      const days = daysLeft(expectation.until);
      return el("tr", null,
        el("td.name", null, el("code", null, expectation.pattern), " ", el("span.quiet", null,
          [expectation.converter, expectation.versions, expectation.options].filter((word) => word).join(", "))),
        el("td", null, [expectation.stage, expectation.facet].filter((word) => word).join(", ")),
        el("td.name", null, expectation.reason),
        el("td", null, expectation.url ? el("a", {url: expectation.url}, expectation.url.replace(/^https?:\/\//, "").slice(0, 60)) : "–"),
        el("td.number", null, days === null ? "no end" : days < 0 ? el("span.badge.fail", null, "over for " + -days + " d")
          : whole(days) + " d"),
        el("td.number", null, whole(members.length)));
    });
  return [rows.length ? plainTable([["Case"], ["Fails at", "facet"], ["Reason"], ["Source"], ["Left", "days", "number"],
    ["Verdicts", "Verdicts that this entry of the suite covers.", "number"]], rows, "expected failures") : null,
  unnamed ? el("p", null, plural(unnamed, "expected failure"), D.versions.length > 1 ? " over all versions" : "",
    ", whose runs did not record what the suite says of them: ", el("a", {link: address("results", {verdict: "xfail"})}, "list"), ".") : null];
}

function changesSummary() {
  const rows = [], happened = new Set(D.changes.map(changeTurn));
  const shown = Object.keys(TURNS).filter((turn) => happened.has(turn));
  for (const [name, versions] of CONVERTERS) {
    for (const [number, version] of versions.slice(1)) {
      const mine = D.changes.filter(([, to]) => C.version[to] === number);
      if (!mine.length) continue;
      const turns = mine.map(changeTurn);
      const count = (turn) => turns.filter((each) => each === turn).length;
      rows.push(el("tr", null, el("td", null, name), el("td", null,
        el("a", {link: address("drift", {converter: name, version})}, version)),
        shown.map((turn) => el("td.number", null, count(turn)
          ? el("a", {link: address("drift", {converter: name, version, turn})},
            el("span.badge." + TURNS[turn].colour, null, whole(count(turn))))
          : el("span.zero", null, "0")))));
    }
  }
  const anchored = D.anchors.filter(([, , changes]) => changes.length);
  return [D.anchors.length ? el("p", null, plural(D.anchors.length, "accepted anchor"), ", ",
    anchored.length ? [plural(anchored.length, "series"), " differ from theirs: ", el("a", {link: address("drift",
      {against: "anchor"})}, "show"), "."] : "none of them drifted.") : el("p.quiet", null,
    "Nothing was accepted as an anchor (assay accept); each version is compared with the one before it."),
  rows.length ? plainTable([["Converter"], ["Version"], ...shown.map((turn) =>
    [TURNS[turn].word, TURNS[turn].says, "number"])], rows, "changes by version")
    : D.versions.length > CONVERTERS.size ? el("p", null, "Nothing changed from any version to the next.") : null];
}

function coverageSummary(rows) {
  let judged = 0, nodes = 0;
  const by = new Map();
  for (const row of rows) {
    for (const [op, j, n] of coverageOf(row)) {
      judged += j; nodes += n;
      const sum = by.get(op) || [0, 0];
      by.set(op, [sum[0] + j, sum[1] + n]);
    }
  }
  if (nodes === 0) return [el("p.quiet", null, "This database does not say which nodes were judged.")];
  const short = [...by].filter(([, [j, n]]) => j < n).sort(([, a], [, b]) => (b[1] - b[0]) - (a[1] - a[0]));
  const reasons = new Map(D.unjudged.map(([op, reason, count]) => [op, [reason, count]]));
  return [el("p", null, figure(whole(judged), "judged"), " of ", figure(whole(nodes), "judged"), " nodes were judged (",
    percent(judged, nodes), ")", short.length ? ". These operators were not all judged:" : "."),
  short.length ? plainTable([["Operator"], ["Nodes", "Nodes with this operator in all models.", "number"], ["Judged", "judged", "number"],
    ["Commonest reason"]], short.slice(0, 30).map(([op, [j, n]]) => el("tr", null, el("td", null, op),
    el("td.number", null, whole(n)), el("td.number", null, whole(j)),
    el("td.name", null, reasons.has(op) ? reasons.get(op)[0] : "–"))), "operators not judged") : null];
}

/// What a green run may hide: failures that the suite lists.
function headlineWithoutRed() {
  const rows = newestVersions(), known = rows.filter((row) => textOf("verdict", row) === "xfail").length;
  if (!known) return "Nothing is red";
  const versions = [...CONVERTERS.values()].map((all) => all[all.length - 1][1]);
  return "Nothing unexpected; " + whole(known) + " of " + plural(rows.length, "verdict") + " of " +
    (versions.length === 1 ? versions[0] : "the newest versions") + (known === 1 ? " is an expected failure" : " are expected failures");
}
function showOverview(content) {
  const counts = countVerdicts(NEWEST);
  const red = NEWEST.filter((row) => textOf("gate", row) === "red");
  const known = NEWEST.filter((row) => textOf("verdict", row) === "xfail");
  const redCauses = causeGroups(red), knownCauses = causeGroups(known);
  const planned = D.runs.reduce((sum, run) => sum + run.done + run.started + run.waiting, 0);
  const done = D.runs.reduce((sum, run) => sum + run.done, 0);
  const unfinished = D.runs.filter((run) => run.started + run.waiting > 0).length;
  append(content, [
    el("h1", null, red.length ? plural(red.length, "red verdict") + " of " + plural(redCauses.length, "cause")
      : headlineWithoutRed()),
    el("p.lead", null, plural(NEWEST.length, "verdict"), " by ", plural(CONVERTERS.size, "converter"), " in ",
      plural(D.versions.length, "version"), ROWS > NEWEST.length
        ? " (the newest of each case; " + whole(ROWS - NEWEST.length) + " older ones are kept)" : "", ". ",
      planned === done ? "Everything that was planned was reported: " + whole(done) + " = " + whole(planned) + "."
        : el("span.badge.fail", null, plural(unfinished, "run"), unfinished === 1 ? " is" : " are", " not complete: ",
          whole(planned - done), " of ", whole(planned), " planned verdicts are missing.")),
    el("div.tiles", null, verdictsIn(counts).map((verdict) => el("a.tile." + verdictOf(verdict).colour,
      {link: address("results", {verdict}), tip: verdictOf(verdict).says}, el("b", null, whole(counts[verdict])), verdict))),
    red.length ? section("Red, by cause", "red", el("p.quiet", null,
      "Verdicts that failed in the same way are one line. Open one for its smallest case.", EXAMPLE_NOTE),
    causeList(redCauses, {gate: "red"})) : null,
    section("Converters and versions", "versions", versionsMatrix()),
    section("What changed from version to version", "changes", changesSummary()),
    known.length ? section("Expected failures", "expected", expectationsTable(),
      el("h3", null, "By cause"), el("p.quiet", null, EXAMPLE_NOTE.trim()), causeList(knownCauses, {verdict: "xfail"}, 10)) : null,
    section("Operators and converters", "operators", operatorsMatrix(newestVersions())),
    section("What was judged", "coverage", coverageSummary(newestVersions())),
    section("Runs", "runs", runsTable()),
  ]);
}
