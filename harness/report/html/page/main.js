"use strict";
// Pages by the address: #/results?q=conv&sort=-margin. What is filtered, sorted and opened stands in it.

const PAGES = {
  overview: {title: "Overview", show: showOverview},
  results: {title: "Results", show: showResults},
  drift: {title: "Drift", show: showDrift},
  case: {title: "Case", show: showCase, hidden: true},
  assay: {title: "Assay itself", show: showItself},
};

function address(page, parameters) {
  const query = Object.entries(parameters || {}).filter(([, value]) => value !== "" && value !== null &&
    value !== undefined).map(([key, value]) => encodeURIComponent(key) + "=" + encodeURIComponent(value)).join("&");
  return "#/" + page + (query ? "?" + query : "");
}
function parsedAddress() {
  const text = location.hash.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const page = mark < 0 ? text : text.slice(0, mark);
  const parameters = {};
  if (mark >= 0) {
    for (const pair of text.slice(mark + 1).split("&")) {
      const [key, value] = pair.split("=");
      try {
        parameters[decodeURIComponent(key)] = decodeURIComponent((value || "").replace(/\+/g, " "));
      } catch { /* an address that somebody cut */ }
    }
  }
  return {page: Object.hasOwn(PAGES, page) ? page : "overview", parameters};
}
/// Changes the address without leaving the page, and without an entry in the browser's history.
function keepAddress(page, parameters) { history.replaceState(null, "", address(page, parameters)); }

const main = document.getElementById("main");
let shown = 0;
async function showPage() {
  const {page, parameters} = parsedAddress();
  const turn = ++shown;
  hideTip();
  document.querySelectorAll("#nav a").forEach((link) => {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  destroyCharts();
  const content = el("div", null);
  main.replaceChildren(content);
  document.title = PAGES[page].title + " · Assay report";
  await PAGES[page].show(content, parameters, () => turn === shown);
  if (turn !== shown) return;
  document.body.dataset.shown = page;
  document.body.dataset.turn = String(turn);
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("assay-theme", theme); } catch { /* a file's page may have no storage */ }
  document.getElementById("theme").textContent = {auto: "◐ as the system", light: "☀ light", dark: "☾ dark"}[theme];
  document.getElementById("theme").setAttribute("aria-label", "Colours: " + theme + ". Change.");
  redrawCharts();
}
(function start() {
  for (const [name, page] of Object.entries(PAGES)) {
    // Of one verdict there is nothing to look over.
    if (page.hidden || ROWS === 1) continue;
    document.getElementById("nav").append(el("a", {link: "#/" + name, "data-page": name}, page.title));
  }
  let theme = "auto";
  try { theme = localStorage.getItem("assay-theme") || "auto"; } catch { /* as above */ }
  const themes = ["auto", "light", "dark"];
  if (!themes.includes(theme)) theme = "auto";
  setTheme(theme);
  document.getElementById("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    setTheme(theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      return;
    }
    event.preventDefault();
    const search = document.getElementById("search");
    if (search) search.focus();
    else location.hash = "#/results?focus=1";
  });
  append(document.getElementById("foot"), [
    "Made ", D.made_at.slice(0, 16).replace("T", " "), " UTC by Assay ",
    [...new Set(D.runs.map((run) => run.assay_version))].slice(-1)[0] || "",
    D.database ? [" from ", el("code", null, D.database)] : null, ": ", plural(ROWS, "verdict"), " of ",
    plural(D.runs.length, "run"), ". ", ROWS === 1 ? null : ["Press ", el("kbd", null, "/"), " to search. "], "Charts: uPlot (MIT licence, © Leon Sorokin)."]);
  window.addEventListener("hashchange", showPage);
  if (!location.hash && ROWS === 1) {
    keepAddress("case", {case: textOf("case", 0), options: textOf("options", 0), of: versionName(0)});
  }
  showPage();
})();
