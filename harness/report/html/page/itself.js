"use strict";
// How well Assay itself does: which of its converter's built-in defects it finds, and what it calls wrong without cause.

function newestScore(has) {
  return [...D.scores].reverse().find(({measured}) => measured[has] !== undefined);
}

function killMatrix(measured) {
  const kinds = Object.keys(measured.matrix);
  const faults = [...new Set(kinds.flatMap((kind) => Object.keys(measured.matrix[kind])))].sort();
  const rows = faults.map((fault) => el("tr", null, el("td", null, el("code", null, fault)),
    kinds.map((kind) => {
      const entry = measured.matrix[kind][fault];
      if (!entry) return el("td.number", null, "–");
      const kills = Array.isArray(entry.kills) ? entry.kills : Object.keys(entry.kills || {});
      return el("td.number", null, el("span.badge." + (kills.length ? "pass" : "fail"), {tip: kills.length
        ? "found by " + kills.slice(0, 12).join(", ") + (kills.length > 12 ? " …" : "") : "found by no case", tabindex: 0},
      kills.length ? "✓ " : "✗ ", whole(kills.length)), el("span.quiet", null, " of ", whole(entry.concerned)));
    }),
    el("td.number", null, measured.effects?.[fault] ? digits(measured.effects[fault].median_db) : "–")));
  return plainTable([["Built-in defect"], ...kinds.map((kind) => [kind, null, "number"]), ["Median effect, dB", "delta", "number"]], rows,
    "kill matrix");
}

/// Runs with built-in defects switched on are in the database as any others: their commands say which.
function faultRuns() {
  const rows = [];
  D.runs.forEach((run, number) => {
    const faults = [...run.command.matchAll(/--fault ([^\s]+)/g)].map((match) => match[1]);
    if (!faults.length) return;
    const members = EVERY_ROW.filter((row) => C.run[row] === number);
    const red = members.filter((row) => textOf("gate", row) === "red").length;
    rows.push(el("tr", null, el("td", null, el("code", null, faults.join(", "))), el("td.number", null,
      el("span.badge." + (red ? "pass" : "fail"), null, red ? "✓ " : "✗ ", whole(red))), el("td.number", null, whole(members.length))));
  });
  return rows.length ? section("Runs with a built-in defect switched on", "fault-runs", plainTable([["Defect"],
    ["Red verdicts", "Red verdicts of the run; none would say that the defect is not seen.", "number"],
    ["Verdicts", "All verdicts of the run.", "number"]], rows, "runs with defects")) : null;
}

function showItself(content) {
  const faults = newestScore("matrix"), variants = newestScore("variants");
  append(content, [el("h1", null, "Assay itself"), el("p.lead", null,
    "Assay's own converter has named defects that can be switched on, and correct variants. Assay is measured by which defects it finds and by what it calls wrong in the correct variants.")]);
  if (!faults && !variants) {
    append(content, [el("p", null, "You don't need this page to judge a converter: it answers how far a verdict can be trusted. Assay's ",
      "docs/score.md has the figures of its last release. This database holds no measurement; this command, which takes ",
      "an hour or more, makes one and keeps it here:"),
      command([D.assay, "score", "--db", D.database])]);
  }
  if (faults) {
    const measured = faults.measured, kinds = Object.keys(measured.by_artifact);
    append(content, section("Defects found", "kills",
      el("div.tiles", null, kinds.map((kind) => {
        const share = measured.by_artifact[kind];
        return el("div.tile." + (share.killed === share.faults ? "pass" : "fail"), {tabindex: 0,
          tip: "What the judge sees of the artifact: " + kind + "."},
        el("b", null, whole(share.killed), " of ", whole(share.faults)), "found, artifact ", kind);
      })),
      kinds.map((kind) => measured.by_artifact[kind].survivors.length ? el("p", null, "Not found, artifact ", kind, ": ",
        measured.by_artifact[kind].survivors.map((name, i) => [i ? ", " : "", el("code", null, name)])) : null),
      killMatrix(measured), el("p.quiet", null, "Measured ", faults.made_at.slice(0, 16).replace("T", " "), " by ", el("code", null, "assay " + faults.command),
        ", ", whole(measured.trials || 0), " conversions, ", whole(measured.judgements || 0), " judgements.")));
  }
  if (variants) {
    const measured = variants.measured;
    append(content, section("False alarms", "alarms",
      el("p", null, figure(whole((measured.false_alarms || []).length), null, "Correct variants that were called wrong."), " false alarms in ",
        whole(measured.false_alarm_judgements), " judgements; with 95 % confidence at most ",
        digits(100 * measured.false_alarm_upper_95), " % of such judgements."),
      (measured.false_alarms || []).length ? plainTable([["Variant"], ["Case"], ["Options"], ["Reason"]],
        measured.false_alarms.slice(0, 100).map((alarm) => el("tr", null, el("td", null, alarm.variant), el("td", null, alarm.case),
          el("td", null, alarm.options), el("td.name", null, alarm.reason))), "false alarms") : null,
      plainTable([["Correct variant"], ["Judgements", "Conversions with this variant that were judged.", "number"],
        ["Same artifact", "Judgements whose artifact is that of the plain converter, so that they show nothing new.", "number"],
        ["Refused", "Conversions that the variant refused.", "number"], ["False alarms", "Judgements that were red without cause.", "number"]], measured.variants.map((each) => el("tr", null, el("td", null, el("code", null, each.variant)),
        el("td.number", null, whole(each.judgements)), el("td.number", null, whole(each.same)), el("td.number", null, whole(each.refused)),
        el("td.number", null, each.alarms ? el("span.badge.fail", null, whole(each.alarms)) : "0"))), "correct variants")));
  }
  append(content, [faultRuns(), section("What was judged", "coverage", coverageSummary(newestVersions()))]);
}
