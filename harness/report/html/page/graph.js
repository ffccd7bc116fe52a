"use strict";
// The model before and after conversion, side by side: each node of the artifact stands at the height of the node that
// it was made from.

const BOX = {width: 190, height: 46, small: 26, gapX: 16, gapY: 26};

function isQuantizer(op) { return op === "QuantizeLinear" || op === "DequantizeLinear"; }

/// Nodes that compute from constants alone, as the DequantizeLinear of a weight does: they are drawn as part of what
/// reads them.
function foldedConstants(graph) {
  const folded = new Set(), constant = new Set();
  const read = new Set(graph.nodes.flatMap(([, , inputs]) => inputs));
  const isConstant = (name) => name === "" || constant.has(name) ||
    (Object.hasOwn(graph.shapes, name) && graph.shapes[name].startsWith("constant "));
  graph.nodes.forEach(([, , inputs, outputs], i) => {
    if (!inputs.every(isConstant) || !outputs.some((name) => read.has(name))) return;
    folded.add(i);
    outputs.forEach((name) => constant.add(name));
  });
  return folded;
}
/// The graph without them, and which of its nodes each was.
function drawnGraph(graph) {
  const folded = foldedConstants(graph);
  const at = graph.nodes.map((_, i) => i).filter((i) => !folded.has(i));
  return {nodes: at.map((i) => graph.nodes[i]), at};
}

/// Rank of each node: one more than the highest of those that it reads from.
function ranksOf(graph) {
  const maker = new Map();
  graph.nodes.forEach(([, , , outputs], i) => outputs.forEach((name) => { if (name) maker.set(name, i); }));
  const ranks = new Array(graph.nodes.length).fill(-1);
  // Nodes of an ONNX graph stand in an order in which each comes after what it reads; a broken model may not keep it.
  graph.nodes.forEach(([, , inputs], i) => {
    let rank = 0;
    for (const name of inputs) {
      const from = maker.get(name);
      if (from !== undefined && from < i) rank = Math.max(rank, ranks[from] + 1);
    }
    ranks[i] = rank;
  });
  return {ranks, maker};
}

function placed(graph, y, left) {
  const rows = new Map();
  graph.nodes.forEach((_, i) => {
    const line = Math.round(y[i]);
    if (!rows.has(line)) rows.set(line, []);
    rows.get(line).push(i);
  });
  const x = [];
  let widest = 1;
  for (const members of rows.values()) {
    members.forEach((i, slot) => { x[i] = left + slot * (BOX.width + BOX.gapX); });
    widest = Math.max(widest, members.length);
  }
  return {x, width: widest * (BOX.width + BOX.gapX)};
}

function lossColour(loss) {
  if (loss === undefined) return null;
  const share = Math.max(0, Math.min(1, loss / 12));
  return share < 0.02 ? null : "color-mix(in srgb, var(--fail-fill) " + Math.round(10 + 60 * share) + "%, var(--panel))";
}

/// `of(i)` gives {title, lines, loss, judged, tip} for a node; `onPick(i)` is called when one is chosen.
function drawSide(graph, x, y, of, onPick) {
  const {maker} = ranksOf(graph);
  const parts = [];
  const heightOf = (i) => BOX.height;
  graph.nodes.forEach(([, , inputs], i) => {
    for (const name of inputs) {
      const from = maker.get(name);
      if (from === undefined || from >= i) continue;
      const x1 = x[from] + BOX.width / 2, y1 = y[from] + heightOf(from), x2 = x[i] + BOX.width / 2, y2 = y[i];
      const bend = Math.max(10, (y2 - y1) / 2);
      parts.push(el("path.edge", {d: "M" + x1 + " " + y1 + "C" + x1 + " " + (y1 + bend) + " " + x2 + " " + (y2 - bend) + " " +
        x2 + " " + y2, "marker-end": "url(#arrow)", tip: name}));
    }
  });
  graph.nodes.forEach((_, i) => {
    const node = of(i);
    const box = el("rect.box", {x: x[i], y: y[i], width: BOX.width, height: heightOf(i), rx: 5});
    const fill = lossColour(node.loss);
    if (fill) box.style.fill = fill;
    if (node.judged === false) { box.style.strokeDasharray = "5 4"; box.style.stroke = "var(--unjudged)"; }
    if (node.judged === true) box.style.stroke = "var(--pass)";
    if (node.blamed) { box.style.stroke = "var(--fail)"; box.style.strokeWidth = "3"; }
    const cut = (text) => text.length > 27 ? text.slice(0, 13) + "…" + text.slice(-13) : text;
    const unit = el(node.blamed ? "g.unit.blamed" : "g.unit", {tabindex: 0, role: "button", tip: node.tip, "aria-label": node.tip, on: {
      click: () => onPick(i, unit), keydown: (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onPick(i, unit); }
      }}}, box, el("text.head", {x: x[i] + 8, y: y[i] + 18}, cut(node.title)),
    el("text.small", {x: x[i] + 8, y: y[i] + 36}, cut(node.line)));
    parts.push(unit);
  });
  return parts;
}

/// The picture of both graphs, and where a chosen node is described.
function graphPicture(detail, facts) {
  const original = drawnGraph(detail.original), artifact = detail.artifact && drawnGraph(detail.artifact);
  const step = BOX.height + BOX.gapY;
  const made = original.at.map((i) => artifact ? artifact.at.indexOf(detail.made?.[i] ?? -1) : -1);
  const {ranks} = ranksOf(original);
  let yOriginal = ranks.map((rank) => 44 + rank * step);
  let yArtifact = [];
  if (artifact) {
    yArtifact = ranksOf(artifact).ranks.map((rank) => 44 + rank * step);
    const {maker} = ranksOf(original);
    original.nodes.forEach(([, , inputs], i) => {
      let least = 44;
      for (const name of inputs) {
        const from = maker.get(name);
        if (from !== undefined && from < i) least = Math.max(least, yOriginal[from] + step);
      }
      yOriginal[i] = made[i] >= 0 ? Math.max(least, yArtifact[made[i]]) : least;
    });
  }
  const left = placed(original, yOriginal, 12);
  const right = artifact ? placed(artifact, yArtifact, 12 + left.width + 50) : {x: [], width: 0};
  const height = Math.max(0, ...yOriginal, ...yArtifact) + BOX.height + 16;
  const width = 12 + left.width + (artifact ? 50 + right.width : 0) + 12;
  const info = el("div.node-info", {"aria-live": "polite"}, el("p.quiet", null, "Choose a node to see what is known of it."));
  const parts = [];
  let picked = null;
  const pick = (element, content) => {
    if (picked) picked.classList.remove("is-picked");
    picked = element;
    element.classList.add("is-picked");
    info.replaceChildren(...[content].flat());
  };
  // Thin lines from each node to what was made of it.
  made.forEach((to, i) => {
    if (artifact && to >= 0) {
      parts.push(el("line", {x1: left.x[i] + BOX.width, y1: yOriginal[i] + BOX.height / 2, x2: right.x[to],
        y2: yArtifact[to] + BOX.height / 2, style: {stroke: "var(--line)", strokeDasharray: "2 4"}}));
    }
  });
  parts.push(el("text.head", {x: 12, y: 24}, "Original"));
  parts.push(...drawSide(original, left.x, yOriginal, (i) => facts.original(original.at[i]),
    (i, unit) => pick(unit, facts.describe(detail.original, original.at[i], true))));
  if (artifact) {
    parts.push(el("text.head", {x: 62 + left.width, y: 24}, "Artifact"));
    parts.push(...drawSide(artifact, right.x, yArtifact, (i) => facts.artifact(artifact.at[i]),
      (i, unit) => pick(unit, facts.describe(detail.artifact, artifact.at[i], false))));
  }
  return [el("div.keys", null,
    el("span", null, el("i", {style: {background: "var(--pass)"}}), "green frame: judged"),
    el("span", null, el("i", {style: {background: "var(--unjudged)"}}), "dashed: not judged"),
    el("span", null, el("i", {style: {background: "var(--fail)"}}), "thick red: where it failed first"),
    el("span", null, el("i", {style: {background: lossColour(12)}}), "red ground: precision lost there (12 dB or more is darkest)")),
  wideView("div.graph", {label: "graphs of the model and of the artifact",
    says: artifact ? "the artifact stands to the right of the original: scroll to the right →" : "scroll to the right →"},
    el("svg", {viewBox: "0 0 " + width + " " + height, width, height},
      el("defs", null, el("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"},
        el("path", {d: "M0 0L8 4L0 8z", style: {fill: "var(--quiet)"}}))), parts)), info];
}
/// Brings the first node that went wrong into the middle of the graph's view.
function showBlamed(content) {
  const view = content.querySelector(".graph"), box = content.querySelector(".graph .blamed .box");
  if (view && box) view.scrollTop = Number(box.getAttribute("y")) + BOX.height / 2 - view.clientHeight / 2;
}
