"use strict";
// Charts: uPlot for lines over versions or nodes, small drawings of our own for bars.

const charts = [];
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
const LINE_COLOURS = ["accent", "fail", "pass", "xfail", "unjudged", "crash", "unsupported"];

/// lines: [{name, values, dash, band: broad and pale, under another line, bare: without points}] over the labels of the horizontal axis. marks: [{at, text}] as upright lines.
/// Below stand the values under the pointer, at first those of the last label. Lines may have a `link`.
function lineChart({labels, lines, unit, marks = [], height = 260, name, limit}) {
  const holder = el("div.chart", {role: "img", "aria-label": name});
  const colourOf = (line, i) => line.colour || LINE_COLOURS[i % LINE_COLOURS.length];
  const place = el("b"), values = lines.map(() => el("b"));
  const read = (at) => {
    place.textContent = clean(labels[at]);
    values.forEach((value, i) => { value.textContent = digits(lines[i].values[at]); });
  };
  read(labels.length - 1);
  const legend = el("p.chart-legend", null, "at ", place, ": ", lines.map((line, i) => [el("span.chart-line", null,
    el("i", {style: {background: "var(--" + colourOf(line, i) + ")"}}),
    line.link ? el("a", {link: line.link}, line.name) : line.name, " ", values[i]), " "]));
  const chart = {holder, make: () => {
    const narrow = document.documentElement.clientWidth < 640;
    const width = Math.max(300, Math.min(1100, (holder.clientWidth || main.clientWidth) - 8));
    const axis = {stroke: colour("ink"), grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line")}};
    const longest = labels.reduce((most, label) => Math.max(most, label.length), 0);
    const fit = Math.max(1, Math.floor((width - 90) / (longest * 7.5 + 14)));
    const every = Math.ceil(labels.length / fit);
    return new uPlot({
      width, height: narrow ? Math.min(height, 220) : height,
      scales: {x: {time: false, range: [-0.3, labels.length - 0.7]}},
      axes: [
        {...axis, splits: () => labels.map((_, i) => i).filter((i) => i % every === 0),
          values: (_, splits) => splits.map((i) => labels[i])},
        {...axis, label: unit, size: 58, labelSize: 20, values: (_, splits) => splits.map((value) => digits(value))},
      ],
      legend: {show: false},
      series: [{}].concat(lines.map((line, i) => ({
        stroke: colour(colourOf(line, i)) + (line.band ? "66" : ""), width: line.band ? 9 : 2, dash: line.dash, spanGaps: true,
        points: {show: !line.bare && !line.band, size: 6, fill: colour("ground")},
      }))),
      hooks: {setCursor: [(u) => read(u.cursor.idx ?? labels.length - 1)], draw: [(u) => {
        const context = u.ctx;
        context.save();
        context.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
        for (const mark of marks) {
          const x = u.valToPos(mark.at, "x", true);
          context.strokeStyle = context.fillStyle = colour(mark.colour || "quiet");
          context.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
          context.beginPath();
          context.moveTo(x, u.bbox.top);
          context.lineTo(x, u.bbox.top + u.bbox.height);
          context.stroke();
          context.fillText(mark.text, x + 4 * devicePixelRatio, u.bbox.top + 12 * devicePixelRatio);
        }
        if (limit !== undefined) {
          const y = u.valToPos(limit, "y", true);
          context.strokeStyle = colour("fail");
          context.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
          context.beginPath();
          context.moveTo(u.bbox.left, y);
          context.lineTo(u.bbox.left + u.bbox.width, y);
          context.stroke();
        }
        context.restore();
      }]},
    }, [labels.map((_, i) => i)].concat(lines.map((line) => line.values.map((value) =>
      Number.isFinite(value) ? value : null))), holder);
  }};
  charts.push(chart);
  requestAnimationFrame(() => { if (charts.includes(chart)) chart.plot = chart.make(); });
  return [holder, legend];
}
function redrawCharts() {
  for (const chart of charts) {
    if (chart.plot) chart.plot.destroy();
    chart.plot = chart.holder.isConnected ? chart.make() : null;
  }
}
function destroyCharts() {
  for (const chart of charts) if (chart.plot) chart.plot.destroy();
  charts.length = 0;
}
let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === lastWidth) return;
  lastWidth = window.innerWidth;
  redrawCharts();
});

/// One bar out of parts: counts by verdict.
function verdictBar(counts, most) {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const scale = 240 / (most || all || 1);
  let x = 0;
  const parts = [];
  for (const verdict of verdictsIn(counts)) {
    const width = Math.max(2, counts[verdict] * scale);
    parts.push(el("rect." + verdictOf(verdict).colour, {x, y: 0, width, height: 16,
      tip: whole(counts[verdict]) + " " + verdict + ", " + percent(counts[verdict], all)}));
    x += width;
  }
  return el("svg.bar", {viewBox: "0 0 " + Math.max(240, x) + " 16", preserveAspectRatio: "none", role: "img",
    "aria-label": verdictsIn(counts).map((verdict) => counts[verdict] + " " + verdict).join(", ")}, parts);
}
function verdictKeys(counts, leftOut = [], more = []) {
  const keys = verdictsIn(counts).filter((verdict) => !leftOut.includes(verdict)).map((word) => ({...verdictOf(word), word}));
  return el("div.keys", null, [...keys, ...more].map(({colour, says, sign, word}) => el("span." + colour, {tip: says, tabindex: 0},
    el("i"), el("span.sign", {"aria-hidden": "true"}, sign), word)));
}
/// A line of values without axes.
function sparkline(values, name) {
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length < 2) return el("span.quiet", null, "–");
  let low = Math.min(...known), high = Math.max(...known);
  if (high - low < 0.5) { const middle = (low + high) / 2; low = middle - 0.25; high = middle + 0.25; }
  const points = values.map((value, i) => Number.isFinite(value)
    ? (3 + 114 * i / (values.length - 1)).toFixed(1) + "," + (19 - 16 * (value - low) / (high - low)).toFixed(1) : null)
    .filter((point) => point !== null);
  return el("svg", {viewBox: "0 0 120 22", width: 120, height: 22, role: "img", "aria-label": name},
    el("polyline", {points: points.join(" "), class: "spark", style: {fill: "none", stroke: "var(--accent)", strokeWidth: "1.6"}}));
}
