#!/usr/bin/env python3
"""The HTML report in a real Chromium. browser_test.py PART ASSAY TREE FOLDER

PART is pages (what one sees and does), hostile (names that try to be markup), sizes (how fast large ones open).
Exit code 77 where there is no Chromium, driver or selenium.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("selenium is missing: apt-get install python3-selenium")
    sys.exit(77)

PART, ASSAY, TREE, FOLDER = sys.argv[1:5]
sys.path.insert(0, os.path.join(TREE, "tests", "support"))
from schema_14 import unpacked  # noqa: E402
CASES = ["concat/form=graph_input,place=before", "conv/form=auto_pad*", "gemm_matmul/*"]
FAULTED = "concat/form=graph_input,place=before"
HOSTILE = "\"'><img src=x onerror=\"window.injected=1\"></script><script>window.injected=2</script>\u202egnp"
# Text smaller than this has to stand out by 4.5, larger one by 3 (WCAG 2.1, AA).
CONTRAST = """
const parse = (text) => {
  const numbers = text.match(/[\\d.]+/g).map(Number);
  if (text.startsWith('color(srgb')) return [numbers[0] * 255, numbers[1] * 255, numbers[2] * 255, numbers[3] ?? 1];
  return [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
};
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
const ground = (node) => {
  const layers = [];
  for (let at = node; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
  }
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
};
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !node.checkVisibility() || /^(SCRIPT|STYLE|NOSCRIPT|OPTION)$/.test(node.tagName)) continue;
  const style = getComputedStyle(node);
  let alpha = 1;
  for (let at = node; at; at = at.parentElement) alpha *= Number(getComputedStyle(at).opacity);
  const ink = parse(node.namespaceURI.endsWith('svg') ? style.fill : style.color);
  const under = ground(node);
  const top = over([ink[0], ink[1], ink[2], ink[3] * alpha], under);
  const [a, b] = [light(top), light(under)].sort((x, y) => y - x);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
  const decoration = node.closest('[aria-hidden="true"], .lane.none');
  if (!decoration && (a + .05) / (b + .05) < (large ? 3 : 4.5)) {
    poor.push([walker.currentNode.textContent.trim().slice(0, 40), node.className.baseVal ?? node.className, ((a + .05) / (b + .05)).toFixed(2)]);
  }
}
return poor.slice(0, 10);
"""


def need(condition, what):
    if not condition:
        raise AssertionError(what)


class Page:
    """A report in a browser of its own."""

    def __init__(self, width=1280, height=900, theme="light"):
        binary = next((path for path in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if path), None)
        driver = shutil.which("chromedriver")
        if not binary or not driver:
            print("no Chromium here: apt-get install chromium chromium-driver")
            sys.exit(77)
        options = Options()
        options.binary_location = binary
        for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]:
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(service=Service(driver), options=options)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": theme}]})
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.quit()

    def resize(self, width, height=900):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition, what, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            if condition():
                return
            time.sleep(0.02)
        raise AssertionError("never: " + what)

    def turn(self):
        return int(self.run("return document.body && document.body.dataset.turn || 0"))

    def open(self, file, route="overview"):
        self.browser.get("about:blank")
        start = time.time()
        self.browser.get("file://" + file + ("#/" + route if route else ""))
        self.wait(lambda: self.turn() > 0, "the page is shown", 60)
        self.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.time() - start

    def go(self, route):
        before = self.turn()
        self.run("location.hash = '#/' + arguments[0]", route)
        self.wait(lambda: self.turn() != before, "the page " + route)

    def click(self, selector):
        before = self.turn()
        self.browser.find_element(By.CSS_SELECTOR, selector).click()
        self.wait(lambda: self.turn() != before, "a page behind " + selector)

    def text(self, selector="main"):
        return self.run("return document.querySelector(arguments[0])?.innerText || ''", selector)

    def hash(self):
        return self.run("return location.hash")

    def shot(self, name, whole=True):
        size = self.run("return [innerWidth, Math.min(5000, document.documentElement.scrollHeight)]")
        if whole:
            self.resize(size[0], max(900, size[1]))
            time.sleep(0.3)
        os.makedirs(FOLDER, exist_ok=True)
        self.browser.save_screenshot(os.path.join(FOLDER, name + ".png"))
        self.resize(size[0])

    def check(self, name):
        """What holds for every page: no error, nothing wider than the window, contrast."""
        errors = [line["message"] for line in self.browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
        need(not errors, f"{name}: the console says {errors}")
        wider = self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        need(wider <= 0, f"{name}: {wider} pixels wider than the window")
        poor = self.run(CONTRAST)
        need(not poor, f"{name}: hard to read: {poor}")


def assay(*words, codes=(0,)):
    environment = dict(os.environ, ASSAY_HOME=TREE)
    done = subprocess.run([ASSAY, *words], env=environment, capture_output=True, text=True, check=False)
    need(done.returncode in codes, f"assay {words}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def made_report(folder):
    """A database with passes, red verdicts, two versions and an anchor; its report."""
    database = os.path.join(folder, "results.db")
    assay("run", *CASES, "--options", "default", "--db", database, "--quiet")
    assay("accept", "--reason", "reviewed", "--db", database)
    # The same again under the name of an older version, so that there is something to compare.
    with sqlite3.connect(database) as db:
        db.execute("UPDATE converter_version SET version = '0.9.0'")
    db.close()
    assay("run", *CASES, "--options", "default", "--fault", "concat_first_scale", "--db", database, "--quiet", codes=(1,))
    file = os.path.join(folder, "report.html")
    assay("report", "--db", database, "--html", file)
    return database, file


def pages(folder):
    database, file = made_report(folder)
    case_route = "case?case=" + FAULTED.replace("/", "%2F").replace("=", "%3D").replace(",", "%2C")
    routes = {"overview": "overview", "results": "results", "drift": "drift", "case": case_route, "assay": "assay"}
    for theme in ("light", "dark"):
        for width in (1280, 390):
            with Page(width, theme=theme) as page:
                page.open(file)
                for name, route in routes.items():
                    page.go(route + ("&" if "?" in route else "?") + "x=" + theme)
                    time.sleep(0.3)
                    page.check(f"{name}, {theme}, {width} pixels")
                    page.shot(f"{name}-{theme}-{width}")
    with Page() as page:
        page.open(file)
        words(page, database)
        clicks(page, file, case_route)
        keyboard(page)
        case_page(page, case_route, database)
    checked_model(folder)
    told_apart(folder, database)
    many_versions(folder, database)


HEADS = """
return [...document.querySelectorAll('table')].map((table) => [...table.querySelectorAll('thead th')]
  .map((th) => [th.innerText, th.dataset.tip || (LEGENDS[th.dataset.legend] ?? '')]))
"""


def words(page, database):
    """The page has the program's verdicts for words, and each column of numbers says what it counts."""
    with sqlite3.connect(database) as db:
        recorded = {row[0] for row in db.execute("SELECT DISTINCT verdict FROM result")}
    db.close()
    shown = set(page.run("return [...document.querySelectorAll('.tile')].map((tile) => tile.lastChild.textContent)"))
    need(shown == recorded, f"tiles {shown} for the verdicts {recorded}")
    for route in ["overview", "drift"]:
        page.go(route + "?x=words")
        for heads in page.run(HEADS):
            said = [tip for _, tip in heads if tip]
            need(len(said) == len(set(said)), f"{route}: two columns of one table say the same: {heads}")
            need(all(tip for head, tip in heads if head in ("pass", "fail", "Planned", "Reported", "Missing", "now fails",
                                                            "now passes", "worse", "better", "other change", "Changes")),
                 f"{route}: a column says nothing: {heads}")
        high = page.run("return Math.max(...[...document.querySelectorAll('thead th')].filter((th) => th.innerText && !th.querySelector('.upright'))"
                        ".map((th) => th.getBoundingClientRect().height / parseFloat(getComputedStyle(th).lineHeight)))")
        need(high < 2, f"{route}: a header of {high} lines")
    page.go("overview")


def many_versions(folder, original):
    """Eighteen versions of one kind: on a phone the newest is seen first, equal lines are one, and nothing red is said
    together with what the suite lists."""
    database, file = os.path.join(folder, "versions.db"), os.path.join(folder, "versions.html")
    shutil.copy(original, database)
    unpacked(database)
    multiplied(database, 1)
    with sqlite3.connect(database) as db:
        db.execute("DELETE FROM result WHERE converter_version_id NOT IN (SELECT id FROM converter_version WHERE version LIKE '2.%')")
        db.execute("UPDATE result SET verdict = 'xfail', gate = 'green' WHERE verdict = 'fail'")
        failing, = db.execute("SELECT id FROM result WHERE verdict = 'xfail' ORDER BY id LIMIT 1").fetchone()
        kinds = ["while running Conv node", "while running Gemm node"]
        for number, kind in enumerate(kinds):
            passing = [row[0] for row in db.execute("SELECT min(id) FROM result WHERE verdict = 'pass' GROUP BY converter_version_id")]
            for row in passing:
                db.execute("UPDATE result SET verdict = 'xfail', stage = 'execute', facet = 'status', op = '', reason = ? WHERE id = ?",
                           ("data set \"typical\": execution ended with error: RuntimeException: "
                            "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned " + kind + ". Status Message: "
                            "/onnxruntime_src/core/providers/cpu/somewhere.cc:110 void f(const Tensor&) of many words that say "
                            "nothing to whoever reads the cause, and here what happened", row))
        for row in [row[0] for row in db.execute("SELECT min(id) FROM result WHERE verdict = 'pass' GROUP BY converter_version_id")]:
            db.execute("UPDATE result SET verdict = 'xfail', stage = 'convert', facet = 'status', op = '', reason = ? WHERE id = ?",
                       ("expected a conversion, but it ended with an error\n  RuntimeError: no room for it", row))
        db.execute("UPDATE result SET sqnr_db = 150 WHERE sqnr_db IS NOT NULL AND verdict = 'pass'")
    db.close()
    assay("report", "--db", database, "--html", file)
    with Page(400) as page:
        page.open(file)
        need(page.text("h1") == "Nothing unexpected; 4 of " + str(page.run("return newestVersions().length")) +
             " verdicts of 2.17.0 are expected failures", "the headline: " + page.text("h1"))
        said = page.text("#expected")
        need("1 case × 18 versions" in said, "a cause's count says what makes it: " + said)
        rows = page.run("return [...document.querySelectorAll('#changes tbody tr')].map((tr) => [tr.innerText, tr.querySelectorAll('a').length])")
        need(all(links >= 2 for _, links in rows), f"versions without a change have no line, the others a link: {rows}")
        page.go("drift")
        page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        time.sleep(0.3)
        for selector in ["#bars .scroll", "#lanes .scroll"]:
            left, view, whole = page.run("const v = document.querySelector(arguments[0]); return [v.scrollLeft, v.clientWidth, v.scrollWidth]", selector)
            need(whole > view and left + view >= whole - 1, f"{selector} starts at {left} of {whole - view}")
        need(page.run("return [...document.querySelectorAll('.hint')].filter((h) => !h.hidden).every((h) => h.innerText.includes('scroll'))"
                      " && document.querySelectorAll('.hint:not([hidden])').length >= 2"), "it is said that one can scroll")
        lines = page.run("return [...document.querySelectorAll('#lanes td.name')].map((td) => td.textContent)")
        need(all("ONNXRuntimeError" not in line for line in lines) and len(set(lines)) == len(lines) and
             any("while running Conv node" in line for line in lines), f"causes can't be told apart: {lines}")
        need(any("no room for it" in line for line in lines), f"an error's own words stand for its cause: {lines}")
        need(all("_src/" not in line for line in lines) and any(line.endswith("here what happened") for line in lines),
             f"a cause shows no path, and its end: {lines}")
        need("144.5" in page.text("#families") and "150" not in page.text("#families"), "an exact output has 144.5 dB")
        need("Since 2.0.0" in page.text("#families"), "a difference says from which version")
        need("worst 10 %, median" in page.text("#suite"), "equal lines are one: " + page.text("#suite"))
        page.go("drift?family=gemm_matmul")
        said = page.text("#family")
        need("with the same values" in said and "Value" not in said, "equal series are one line: " + said)
        page.check("many versions, 400 pixels")
        page.shot("versions-light-400")


def clicks(page, file, case_route):
    need("red verdict" in page.text("h1"), "the overview says first that something is red: " + page.text("h1"))
    need("reported:" in page.text() and "missing" not in page.text(".lead"), "planned = reported")
    need(page.run("return document.querySelectorAll('#red details').length") >= 1, "red verdicts stand by cause")
    page.browser.find_element(By.CSS_SELECTOR, "#red details summary").click()
    need("./assay explain" in page.text("#red details[open]"), "a cause shows its smallest case with the command")
    page.click("a.tile.fail")
    need("verdict=fail" in page.hash(), "a number leads to its verdicts")
    listed = page.text("#count")
    page.run("const s = document.getElementById('search'); s.value = 'concat'; s.dispatchEvent(new Event('input'))")
    page.wait(lambda: "q=concat" in page.hash(), "the search stands in the address")
    before = page.text(".long-row.here")
    page.run("location.reload()")
    page.wait(lambda: page.turn() > 0 and page.text("#count") != "", "the page after reloading")
    need(page.text(".long-row.here") == before and page.run("return document.getElementById('search').value") == "concat",
         "a reloaded page is as it was")
    need(listed != "" and page.text("#count").startswith("1 verdict"), "one verdict has that name: " + page.text("#count"))
    page.go("results")
    page.click(".long-head [role=columnheader]:nth-child(8) button")
    need("sort=sqnr" in page.hash(), "sorting stands in the address")
    values = page.run("return [...document.querySelectorAll('.long-row')].map((r) => r.children[7].innerText)")
    numbers = [float(value.replace("−", "-").replace("∞", "inf")) for value in values if value != "–"]
    need(numbers == sorted(numbers) and len(numbers) > 5, f"sorted by SQNR: {numbers}")
    page.run("const s = document.getElementById('filter-family'); s.value = 'conv'; s.dispatchEvent(new Event('change'))")
    page.wait(lambda: "family=conv" in page.hash(), "a filter stands in the address")
    page.wait(lambda: page.turn() and all(name.startswith("conv") for name in page.run(
        "return [...document.querySelectorAll('.long-row')].map((r) => r.children[1].innerText)")), "only that family is listed")
    page.browser.back()
    page.wait(lambda: "family" not in page.hash(), "back goes back")
    page.go("drift")
    need("0.9.0" in page.text("#bars") or page.run("return document.querySelectorAll('#bars svg text').length") > 2, "versions are drawn")
    need("Against the accepted anchors" in page.text(), "what left its anchor is listed")
    need(page.run("return document.querySelectorAll('#suite canvas').length") == 1, "the suite is drawn")
    theme = page.run("return getComputedStyle(document.body.parentElement).backgroundColor")
    page.browser.find_element(By.ID, "theme").click()
    page.browser.find_element(By.ID, "theme").click()
    need(page.run("return getComputedStyle(document.body.parentElement).backgroundColor") != theme, "the switch changes the colours")
    page.browser.find_element(By.ID, "theme").click()
    page.check("after clicks")


def keyboard(page):
    page.go("overview")
    body = page.browser.find_element(By.TAG_NAME, "body")
    body.send_keys("/")
    page.wait(lambda: page.run("return document.activeElement.id") == "search", "/ leads to the search")
    page.run("document.querySelector('.long-view').focus()")
    view = page.browser.find_element(By.CSS_SELECTOR, ".long-view")
    view.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.PAGE_DOWN, Keys.HOME, Keys.END, Keys.ARROW_UP)
    name = page.run("return document.querySelector('.long-row.here').children[1].innerText")
    before = page.turn()
    view.send_keys(Keys.ENTER)
    page.wait(lambda: page.turn() != before, "Enter opens a line")
    need(name in page.text("h1"), f"it opens {name}: {page.text('h1')}")
    page.run("document.querySelector('.tile[data-legend=sqnr]').focus()")
    need("SQNR" in page.text("#tip"), "a number says what it is when it has the focus")
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    need(page.run("return document.getElementById('tip').hidden"), "Escape hides that")


def case_page(page, route, database):
    with sqlite3.connect(database) as db:
        recorded, = db.execute("SELECT margin FROM result JOIN case_version ON case_version.id = case_version_id "
                               "WHERE name = ? AND verdict = 'fail'", (FAULTED,)).fetchone()
    db.close()
    margin = f"{recorded:.4g}"
    page.go(route)
    text = page.text()
    for word in ["expected scale", "Derivation", "Repeat it", "./assay bundle", "--fault concat_first_scale", "Original", "Artifact"]:
        need(word in text or word in page.run("return document.querySelector('main').textContent"), f"the case's page has {word}")
    need(page.run("return document.querySelectorAll('.graph .unit').length") > 4, "both graphs are drawn")
    need(page.run("return [...document.querySelectorAll('.graph .box')].some((b) => b.style.strokeWidth === '3')"),
         "the node that went wrong is marked")
    page.run("document.querySelector('.graph .unit').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    need("reads" in page.text(".node-info"), "a node says what it reads")
    need(page.run("return document.querySelectorAll('#tensors svg rect').length") > 1, "ranges are drawn")
    need("expected range" in page.text("#tensors .keys"), "and have a legend")
    sqnr = page.run("""
      const children = {metrics: [["a", "typical", "sqnr_db", 30], ["b", "typical", "sqnr_db", 31], ["y", "typical", "sqnr_db", 20],
        ["y", "saturate", "sqnr_db", 5], ["y", "", "sqnr_db", 6]]};
      const by = metricsBy(children).get("sqnr_db");
      return [by.get("a").value, by.get("y").value, comparedText(children), listText([3, 1, 2, 9])]""")
    need(sqnr == [30, 20, 'on data set "typical"', "1 … 9 (4)"], f"tensors are compared on one data set; scales by their ends: {sqnr}")
    first = page.text("#tensors tbody tr")
    need("✗ scale" in first and "expected 0.081" in first and "expected 21" in first,
         "the wrong tensor comes first, with the scale and zero point that it should have: " + first)
    need("which may follow from it" in page.run("return document.querySelector('#wrong').textContent"), "what follows is said")
    tiles = page.text(".tiles")
    need("margin, data set" in tiles, "the margin is of a data set that no finding names: " + tiles)
    need(margin in tiles and "data set \"typical\"" in tiles and "worst data set" in tiles,
         f"the margin is {margin}, and each SQNR says of which data it is: {tiles}")
    shared = page.run("""
      const params = (scale) => ({type: 'int8', axis: null, scale: [scale], zero_point: [0]});
      const rows = tensorTable({}, {tensors: [{tensor: 'pooled', expected: params(0.5), declared: [params(0.25)], same_as: 'x'}]},
        new Map());
      return rows.flat().map((part) => part?.querySelector?.('tbody')?.textContent ?? '').join(' ')""")
    need("shares the scale of x" in shared and "expected" not in shared and "✗" not in shared,
         "a scale that is shared with another tensor is not wrong: " + shared)
    page.check("a case")
    page.resize(390)
    time.sleep(0.3)
    need("the artifact stands to the right" in page.text("#graph"), "a graph that is cut off says so")
    page.resize(1280)


def checked_model(folder):
    """assay check --html: the page of one model, here one that a case holds."""
    model = os.path.join(folder, "model")
    assay("bundle", FAULTED, model)
    onnx = next(os.path.join(root, name) for root, _, names in os.walk(model) for name in names if name.endswith(".onnx"))
    file = os.path.join(folder, "check.html")
    assay("check", onnx, "--html", file, codes=(0, 1))
    with Page() as page:
        page.open(file, "")
        page.wait(lambda: "#/case" in page.run("return location.hash"), "the model's page, which is the only one")
        need(" from :" not in page.run("return document.getElementById('foot').textContent"), "no name where there is none")
        need("Original" in page.run("return document.querySelector('main').textContent"), "a passing model's graph is there too")
        need("./assay check" in page.text(), "and the command")
        need(page.run("return document.querySelectorAll('#nav a').length") == 0, "a page of one verdict has no tabs")
        page.check("check")
        page.shot("check-light-1280")
    assay("check", onnx, "--html", file, "--fault", "per_axis_rolled", codes=(1,))
    with Page() as page:
        page.open(file, "")
        need("scales differ; of the right scales, the output channels are rolled" in page.text(".lead"),
             "what is wrong stands first: " + page.text(".lead"))
        need("Weights by channel" in page.text("#wrong"), "the chart of a weight is what to look at: " + page.text("#wrong"))
        drawn = page.run("return [...document.querySelectorAll('.graph .unit')].map((unit) => unit.dataset.tip)")
        need(any(tip.startswith("Conv") for tip in drawn) and not any("w_DequantizeLinear" in tip for tip in drawn),
             f"what is computed from constants is part of what reads it: {drawn}")
        seen = page.run("""
          const view = document.querySelector('.graph').getBoundingClientRect();
          const box = document.querySelector('.graph .blamed .box').getBoundingClientRect();
          return box.top >= view.top && box.bottom <= view.bottom""")
        need(seen, "the node that went wrong is in view")
        page.resize(390)
        time.sleep(0.3)
        head = page.run("return [...document.querySelectorAll('#tensors th')].map((th) => [th.textContent, th.getBoundingClientRect().right])")
        need([name for name, _ in head[:3]] == ["Tensor", "Lost dB", "Ranges"] and head[2][1] <= 390,
             f"loss and ranges are seen without scrolling: {head}")
        page.check("a wrong model on a phone")


def told_apart(folder, original):
    """A refusal that a case expects is no sign that an operator works; two programs under one version are marked."""
    database, file = os.path.join(folder, "apart.db"), os.path.join(folder, "apart.html")
    shutil.copy(original, database)
    unpacked(database)
    with sqlite3.connect(database) as db:
        first, second = [row[0] for row in db.execute("SELECT id FROM result WHERE verdict = 'pass' ORDER BY id DESC LIMIT 2")]
        db.execute("UPDATE result SET op = 'CumSum', layers = '', reason = 'refused as expected: node \"s\" (CumSum)' WHERE id = ?", (first,))
        db.execute("DELETE FROM coverage WHERE result_id = ?", (first,))
        columns = [row[1] for row in db.execute("PRAGMA table_info(converter_version)") if row[1] not in ("id", "hash")]
        db.execute(f"INSERT INTO converter_version (hash, {', '.join(columns)}) SELECT 'feedfeedfeedfeed', {', '.join(columns)} FROM "
                   "converter_version WHERE id = (SELECT converter_version_id FROM result WHERE id = ?)", (second,))
        db.execute("UPDATE result SET converter_version_id = last_insert_rowid() WHERE id = ?", (second,))
    db.close()
    assay("report", "--db", database, "--html", file)
    with Page() as page:
        page.open(file)
        line = page.run("return [...document.querySelectorAll('#operators tbody tr')].map((tr) => tr.textContent)"
                        ".find((text) => text.startsWith('CumSum'))")
        need(line and "⊘1" in line and "✓" not in line, f"an expected refusal isn't a tick: {line}")
        need("refused as expected" in page.text("#operators .keys"), "and has a key")
        href = page.run("return [...document.querySelectorAll('#operators tbody tr')].find((tr) => tr.textContent.startsWith('CumSum'))"
                        ".querySelector('a').getAttribute('href')")
        page.go(href.split("#/", 1)[1])
        need(page.text("#count").startswith("1 verdict"), "it leads to the refusals alone: " + page.text("#count"))
        page.go("overview?x=2")
        need("2 programs" in page.text("#versions"), "two programs are marked")


def hostile(folder):
    database, file = made_report(folder)
    unpacked(database)
    with sqlite3.connect(database) as db:
        for table, column in [("case_version", "name"), ("case_version", "family"), ("converter", "name"),
                              ("converter_version", "version"), ("result", "options"), ("result", "node"), ("result", "op"),
                              ("result", "reason"), ("result", "signature"), ("result", "facet"), ("result", "style"),
                              ("result", "layers"), ("result", "judged_as"), ("finding", "node"), ("finding", "message"),
                              ("metric", "tensor"), ("metric", "data_set"), ("metric", "name"), ("parameter", "tensor"),
                              ("coverage", "op"), ("run", "command"), ("anchor", "reason"), ("precision", "node")]:
            db.execute(f"UPDATE {table} SET {column} = {column} || ?", (HOSTILE,))
        db.execute("UPDATE job SET case_name = case_name || ?, options = options || ?, converter = converter || ?, "
                   "version = version || ?", (HOSTILE,) * 4)
        for row, packed in db.execute("SELECT result_id, packed FROM detail").fetchall():
            detail = json.loads(zlib.decompress(packed))
            detail["explanation"] += HOSTILE
            for node in detail["original"]["nodes"] + detail["artifact"]["nodes"]:
                node[0], node[1], node[4] = node[0] + HOSTILE, node[1] + HOSTILE, node[4] + HOSTILE
            for tensor in detail["tensors"]:
                tensor["tensor"] += HOSTILE
            text = json.dumps(detail).encode()
            db.execute("UPDATE detail SET size_bytes = ?, packed = ? WHERE result_id = ?", (len(text), zlib.compress(text), row))
        db.execute("INSERT INTO expectation (case_pattern, options, converter, versions, stage, facet, reason, url, until) "
                   "VALUES (?, '', '', '', '', '', ?, ?, '2020-01-01')", (HOSTILE, HOSTILE, "javascript:window.injected=3"))
        db.execute("UPDATE result SET verdict = 'xfail', gate = 'green', expectation_id = last_insert_rowid() WHERE id = "
                   "(SELECT min(id) FROM result)")
    db.close()
    assay("report", "--db", database, "--html", file)
    with Page() as page:
        page.open(file)
        for route in ["overview", "results", "drift", "assay"]:
            page.go(route + "?x=1")
            page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            page.wait(lambda: HOSTILE.split("\u202e")[0] in page.run("return document.querySelector('main').textContent"),
                      f"the name is shown as text on {route}", 5) if route != "assay" else None
            intact(page, route)
        page.go("results?sort=verdict")
        for at in range(page.run("return Math.min(12, document.querySelectorAll('.long-row').length)")):
            page.go("results?x=" + str(at))
            page.run("location.hash = document.querySelectorAll('.long-row')[arguments[0]].getAttribute('href')", at)
            page.wait(lambda: page.run("return document.body.dataset.shown") == "case", "a case")
            time.sleep(0.1)
            intact(page, "case")
        page.go("case?case=%3Cimg%20src%3Dx%20onerror%3Dwindow.injected%3D4%3E")
        intact(page, "a case that isn't there")
        page.go("results?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.injected%3D5%3E&verdict=%3Cb%3E")
        intact(page, "a search")
        page.shot("hostile", whole=False)


def intact(page, where):
    need(page.run("return window.injected") is None, f"{where}: a name was run as script")
    need(page.run("return document.querySelectorAll('img, iframe, object, embed, base').length") == 0, f"{where}: a name became an element")
    need(page.run("return [...document.querySelectorAll('a')].every((a) => !/^javascript:/i.test(a.getAttribute('href') || ''))"),
         f"{where}: a link runs script")
    need(page.run("return [...document.querySelectorAll('*')].every((e) => [...e.attributes].every((a) => !/^on/.test(a.name)))"),
         f"{where}: a handler in markup")
    need("\u202e" not in page.run("return document.querySelector('main').textContent"), f"{where}: a mark that turns text round")
    errors = [line["message"] for line in page.browser.get_log("browser") if line["level"] == "SEVERE"]
    need(not errors, f"{where}: {errors}")


def multiplied(database, wanted, versions=18):
    """Copies the newest run's verdicts with all that belongs to them, as more cases by `versions` versions, until there
    are about `wanted`."""
    db = sqlite3.connect(database)
    db.execute("PRAGMA synchronous = OFF")
    run, = db.execute("SELECT id FROM run ORDER BY rowid DESC LIMIT 1").fetchone()
    before, = db.execute("SELECT count(*) FROM result WHERE run_id = ?", (run,)).fetchone()
    cases = 1 + wanted // (before * versions)
    ids, = db.execute("SELECT max(id) + 1 FROM result").fetchone()
    case_ids, = db.execute("SELECT max(id) + 1 FROM case_version").fetchone()
    first, = db.execute("SELECT max(id) + 1 FROM converter_version").fetchone()
    db.execute("CREATE TEMP TABLE copy (number INTEGER, case_copy INTEGER, version INTEGER, name TEXT)")
    db.executemany("INSERT INTO copy VALUES (?, ?, ?, ?)", [(1 + c * versions + v, c + 1, first + v, f"2.{v}.0")
                                                            for c in range(cases) for v in range(versions)])
    db.execute("CREATE TEMP TABLE base AS SELECT * FROM result WHERE run_id = ?", (run,))
    db.execute("INSERT INTO converter_version SELECT DISTINCT version, (SELECT min(id) FROM converter), name, '' FROM copy")
    db.execute(f"INSERT INTO case_version SELECT id + {case_ids} * case_copy, name || '~' || case_copy, family, hash FROM "
               "case_version, (SELECT DISTINCT case_copy FROM copy)")
    changed = {"id": f"base.id + {ids} * number", "case_version_id": f"base.case_version_id + {case_ids} * case_copy",
               "converter_version_id": "copy.version"}
    names = [row[1] for row in db.execute("PRAGMA table_info(result)")]
    db.execute(f"INSERT INTO result ({','.join(names)}) SELECT {','.join(changed.get(name, name) for name in names)} FROM base, copy")
    db.execute("INSERT INTO job SELECT run_id, case_name || '~' || case_copy, options, converter, name, '', position, state "
               "FROM job, copy WHERE run_id = ?", (run,))
    for table in ["finding", "metric", "parameter", "precision", "coverage", "unjudged", "detail"]:
        rest = ",".join(row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "result_id")
        db.execute(f"INSERT INTO {table} (result_id, {rest}) SELECT result_id + {ids} * number, {rest.replace('name', table + '.name')}"
                   f" FROM {table}, copy WHERE result_id IN (SELECT id FROM base)")
    count, = db.execute("SELECT count(*) FROM result").fetchone()
    db.commit()
    db.close()
    return count


def sizes(folder):
    original, file = made_report(folder)
    for wanted, seconds in ((10_000, 2), (100_000, 5)):
        database = os.path.join(folder, "many.db")
        shutil.copy(original, database)
        unpacked(database)
        count = multiplied(database, wanted)
        start = time.time()
        assay("report", "--db", database, "--html", file)
        made = time.time() - start
        size = os.path.getsize(file) / 1e6
        with Page() as page:
            times = [page.open(file) for _ in range(3)]
            page.go("results?q=conv&sort=-margin")
            nodes = page.run("return document.querySelectorAll('*:not(script)').length")
            page.go("drift")
            page.check(f"{count} verdicts")
        print(f"{count} verdicts: made in {made:.1f} s, {size:.1f} MB, opened in {min(times):.2f} s (of {times}), "
              f"{nodes} elements in the list")
        need(size < 60, f"{size} MB")
        need(min(times) < seconds, f"{count} verdicts open in {min(times)} s, not in {seconds}")
        need(nodes < 1500, f"{nodes} elements: one for each line")


def main():
    with tempfile.TemporaryDirectory() as folder:
        {"pages": pages, "hostile": hostile, "sizes": sizes}[PART](folder)


if __name__ == "__main__":
    main()
