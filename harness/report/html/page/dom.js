"use strict";
// Elements. Every text that comes out of the data goes through text(): it becomes a text node, never markup.

/// Characters that would change how the text around them is shown are made visible.
function clean(value) {
  return String(value).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (c) => "⟨U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "⟩");
}

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "rect", "line", "path", "circle", "text", "polyline", "title", "marker", "defs"]);
const PLAIN_ATTRIBUTES = new Set(["class", "id", "role", "type", "tabindex", "colspan", "rowspan", "scope", "for",
  "value", "placeholder", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "width", "height", "viewBox",
  "points", "transform", "text-anchor", "marker-end", "preserveAspectRatio", "open", "selected", "checked", "hidden",
  "dominant-baseline", "orient", "refX", "refY", "markerWidth", "markerHeight", "autocomplete", "spellcheck"]);

/// el("td.number", {legend: "sqnr"}, "3.1"): attributes are limited to harmless ones. `link` is a place in this report,
/// `url` a page outside, which becomes a link only where it is one of the web.
function el(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = tag === "svg-link" ? document.createElementNS(SVG, "a")
    : SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "link") node.setAttribute("href", value.startsWith("#") ? value : "#/");
    else if (key === "url") {
      if (/^https?:\/\//i.test(value)) {
        node.setAttribute("href", value);
        node.setAttribute("rel", "noopener noreferrer");
        node.setAttribute("target", "_blank");
      }
    } else if (key === "legend") node.dataset.legend = value;
    else if (key === "tip") node.dataset.tip = clean(value);
    else if (key === "style") Object.assign(node.style, value);
    else if (key === "on") for (const [event, action] of Object.entries(value)) node.addEventListener(event, action);
    else if (key.startsWith("aria-") || key.startsWith("data-") || PLAIN_ATTRIBUTES.has(key)) {
      node.setAttribute(key, value === true ? "" : clean(value));
    } else throw new Error("el: no attribute " + key);
  }
  append(node, children);
  return node;
}
function append(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(clean(child)));
  }
  return node;
}

/// At most four digits; ∞ for what isn't finite.
function digits(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(2).replace("e+", "e").replace("-", "−");
  if (Number.isInteger(value) && size < 1e5) return whole(value);
  return String(Number(value.toPrecision(size >= 1000 ? 5 : 4))).replace("-", "−");
}
function decibels(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  return value.toFixed(1).replace(/^-0\.0$/, "0.0").replace("-", "−");
}
function whole(value) { return value.toLocaleString("en-US"); }
function plural(count, word) { return whole(count) + " " + word + (count === 1 || word.endsWith("series") ? "" : "s"); }
function percent(part, all) {
  if (all === 0) return "–";
  const share = 100 * part / all;
  return (share > 99.9 && part < all ? "99.9" : share < 0.1 && part > 0 ? "0.1" : String(Number(share.toPrecision(3)))) +
    " %";
}

/// A number with its legend, for hover, focus and tap.
function figure(text, legend, more) { return el("span.figure", {legend, tip: more, tabindex: 0}, text); }

function verdictBadge(verdict) {
  const {sign, colour, says} = verdictOf(verdict);
  return el("span.badge." + colour, {tip: says}, el("span.sign", {"aria-hidden": "true"}, sign), " ", verdict);
}
function section(title, id, ...children) {
  return el("section", {id, "aria-label": title}, el("h2", null, title), ...children);
}
/// Columns: [title, the name of a legend or what the column says, class].
function plainTable(head, rows, name) {
  const help = (text) => Object.hasOwn(LEGENDS, text) ? {legend: text} : {tip: text};
  return wideView("div.scroll", {label: name || "table", says: "more columns: scroll to the right →"}, el("table", null,
    el("thead", null, el("tr", null, head.map(([title, text, look]) => el("th", {scope: "col", ...(text ? help(text) : {}),
      class: look || "", tabindex: text ? 0 : null}, title)))),
    el("tbody", null, rows)));
}
/// What may be wider than the window: it scrolls, and `says` so where it does. `end`: its right end is seen first.
function wideView(name, {label, says, end = false}, ...children) {
  const view = el(name, {tabindex: 0, role: "region", "aria-label": label}, ...children);
  const hint = el("p.quiet.hint", {hidden: true}, says);
  let width = 0;
  new ResizeObserver(() => {
    hint.hidden = view.scrollWidth <= view.clientWidth + 1;
    if (view.clientWidth !== width) view.scrollLeft = end ? view.scrollWidth : 0;
    width = view.clientWidth;
  }).observe(view);
  return el("div", null, hint, view);
}
/// What runs from the oldest version to the newest: the `first` end is seen first.
function overVersionsView(label, first, ...children) {
  return wideView("div.scroll", first === "newest" ? {label, says: "← older versions: scroll to the left", end: true}
    : {label, says: "newer versions: scroll to the right →"}, ...children);
}

function shellWord(text) {
  return /^[A-Za-z0-9_\-./=,:+@%]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
}
/// A command to copy: `words` are quoted as a shell needs it, `rest` stands behind them as it is.
function command(words, rest = "") {
  const text = words.map(shellWord).join(" ") + rest;
  const button = el("button", {type: "button", class: "copy", on: {click: async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el("textarea", {class: "off"});
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    button.textContent = done ? "copied" : "can't copy";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  }}}, "copy");
  return el("div.command", null, el("code", null, text), button);
}
