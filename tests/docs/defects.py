"""The tables of defects in docs/converters: defects.py ROOT [--write].

By version, on each converter's page: a row is a case of cases/found that some recorded version of the converter is red on,
from the verdicts that lie beside the pages. The gravest, on README.md: from kits.json there, which `assay kits` wrote. Passes with little SQNR, there: from the verdicts.
Without --write, a page whose table is another one is an error, and so is another count of cases with a public thread.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "converters" / "adapters" / "kit"))

from history import RED, is_argued, number, opened, page_row, page_rows, spans  # noqa: E402

BEGIN = "<!-- defects: begin, made by tests/docs/defects.py --write -->"
END = "<!-- defects: end -->"
GRAVEST_BEGIN = "<!-- gravest: begin, made of kits.json by tests/docs/defects.py --write -->"
GRAVEST_END = "<!-- gravest: end -->"
GRAVEST_SHOWN = 20
CASES_OF_ONE_CAUSE = 3  # that a row of a converter's page names; one that names more lists what is known from elsewhere
LOW_BEGIN = "<!-- low: begin, made by tests/docs/defects.py --write -->"
LOW_END = "<!-- low: end -->"
LOW_DB = 3
RECORDS = ("onnxruntime-released.db.gz", "others-released.db.gz")


def recorded(folder):
    """converter → version → family → whether some verdict is red; unsupported ones count for neither."""
    found = {}
    for name in RECORDS:
        with opened(pathlib.Path(folder, name)) as database:
            rows = database.execute(
                "SELECT k.name, v.version, c.family, r.verdict, r.gate FROM result r"
                " JOIN case_version c ON c.id = r.case_version_id"
                " JOIN converter_version v ON v.id = r.converter_version_id JOIN converter k ON k.id = v.converter_id")
            for converter, version, family, verdict, gate in rows:
                families = found.setdefault(converter, {}).setdefault(version, {})
                if verdict in RED and (gate == "red" or verdict == "xfail"):
                    families[family] = True
                elif verdict == "pass":
                    families.setdefault(family, False)
    return found


def listed(versions, wrong):
    """Versions as ranges of those that were judged: "1.17.3 to 1.31.1", "all"."""
    if len(wrong) == len(versions):
        return "all" if len(versions) > 1 else versions[0]
    return spans(versions, wrong)


def table(versions, cases):
    """The lines of a page's table; `versions` is version → family → red."""
    ordered = sorted(versions, key=number)
    rows = []
    for family, title in sorted(cases.items()):
        judged = [version for version in ordered if family in versions[version]]
        wrong = [version for version in judged if versions[version][family]]
        if wrong:
            right = [version for version in judged if version not in wrong]
            rows.append(f"| `{family}` | {title} | {listed(judged, wrong)} | {listed(judged, right) if right else ''} |")
    said = ordered[0] if len(ordered) == 1 else f"{len(ordered)} versions, {ordered[0]} to {ordered[-1]}"
    return [BEGIN, f"Cases of `cases/found` that are red; judged: {said}. What the page calls a limit is among them.", "",
            "| case | what it is about | wrong in | right in |", "| --- | --- | --- | --- |", *rows, END]


def product_and_words(row):
    """Of a kit's title."""
    return re.fullmatch(r"(?:\[\w+\]:? )?([^:]*): (.*)", row["title"]).groups()


def route(converter, row):
    return f"{converter}:{row['variant']}" if row.get("variant") else converter


def words(root, makers):
    """What is wrong: as the case says it of these products, each for itself where it says different things of them, else of another
    one, else the first sentence that the first converter's page argues it with, else the first kit's title without the product."""
    file = pathlib.Path(root, "cases", "found", f"{makers[0][1]['case'].partition('/')[0]}.json")
    origin = json.loads(file.read_text(encoding="utf-8")).get("origin", []) if file.is_file() else []
    said = [each for each in origin if each.get("defect")]
    own = {}
    for converter, row in makers:
        product = product_and_words(row)[0].lower()
        for each in said:
            if product in each["reported_against"].lower().partition(" with ")[0]:
                own.setdefault(each["defect"], []).append(converter)
                break
    if len(own) > 1:
        found = "; ".join(f"{', '.join(converters)}: {defect}" for defect, converters in own.items())
    else:
        argued = re.split(r"\.\s|\.$|; ", page_row(makers[0][0], makers[0][1]["case"])[2])[0]
        found = next(filter(None, [*own, *(each["defect"] for each in said), argued, product_and_words(makers[0][1])[1]]))
    return found.replace("|", "\\|")


def one_cause(converter, case, other):
    """Whether one row of the converter's page argues both cases."""
    for row in page_rows(converter):
        named = [each.rstrip("*") for each in re.findall(r"`([a-z_0-9]+(?:/[^`]*)?)`", row["case"])]
        if len(named) <= CASES_OF_ONE_CAUSE and all(any(each == name or each.startswith((f"{name}/", f"{name},")) for name in named)
                                                    for each in (case, other)):
            return True
    return False


def gravest(root, kits):
    """The lines of README.md's table: silent and wrong defects, those that lose more SQNR first. An output of no numbers is
    left out: whoever runs the model sees it. So are a converter whose case and page don't argue what is red, and a case whose
    cause is that of one above in all converters that have it."""
    defects = {}
    for converter, rows in kits.items():
        for row in rows:
            if row.get("severity") == "silent-wrong" and row.get("lost_db") is not None:
                if is_argued(route(converter, row), product_and_words(row)[0], row["case"]):
                    defects.setdefault(row["defect"], []).append((row["lost_db"], converter, row))
    ordered = sorted(defects.items(), key=lambda each: (-max(lost for lost, *_ in each[1]), each[0]))
    lines = [GRAVEST_BEGIN, "| case | defect | SQNR left, and lost | wrong since |", "| --- | --- | --- | --- |"]
    above = []  # of what is shown, each its converters and their cases
    for _, makers in ordered:
        cases = {converter: row["case"] for _, converter, row in makers}
        if any(all(converter in known and one_cause(converter, case, known[converter]) for converter, case in cases.items()) for known in above):
            continue
        above.append(cases)
        if len(above) > GRAVEST_SHOWN:
            break
        makers.sort(key=lambda each: (-each[0], each[1]))
        figures = "; ".join(f"{route(converter, row)} {row['version']}: {row['left_db']:.1f} dB, {lost:.1f} lost" for lost, converter, row in makers)
        since = "; ".join(f"{route(converter, row)} {row['since']}" for _, converter, row in makers)
        lines.append(f"| `{makers[0][2]['case']}` | {words(root, [(route(converter, row), row) for _, converter, row in makers])} | {figures} | {since} |")
    return [*lines, GRAVEST_END]


def low_passes(folder):
    """The lines of README.md's table of passes whose outputs have less than LOW_DB of SQNR."""
    found = {}
    for name in RECORDS:
        with opened(pathlib.Path(folder, name)) as database:
            for case, converter, version, sqnr in database.execute(
                    "SELECT c.name, k.name, v.version, r.sqnr_db FROM result r"
                    " JOIN case_version c ON c.id = r.case_version_id"
                    " JOIN converter_version v ON v.id = r.converter_version_id JOIN converter k ON k.id = v.converter_id"
                    " WHERE r.verdict = 'pass' AND r.sqnr_db < ?", (LOW_DB,)):
                found.setdefault(case, {}).setdefault(converter, []).append((sqnr, version))
    lines = [LOW_BEGIN, f"| passes below {LOW_DB} dB | SQNR | converters |", "| --- | --- | --- |"]
    for case, converters in sorted(found.items()):
        figures = [sqnr for each in converters.values() for sqnr, _ in each]
        ends = sorted({f"{min(figures):.1f}", f"{max(figures):.1f}"}, key=float)
        names = [f"{converter} {said}" for converter, each in sorted(converters.items())
                 for ordered in [sorted({version for _, version in each}, key=number)]
                 for said in [ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"]]
        lines.append(f"| `{case}` | {' to '.join(ends)} dB | {', '.join(names)} |")
    return [*lines, LOW_END]


def held(page, begin, end, made, write):
    """What is wrong with the block of `page` between `begin` and `end`, or None; with `write` it becomes `made`."""
    text = page.read_text(encoding="utf-8")
    known = re.search(re.escape(begin) + r"[\s\S]*?" + re.escape(end), text)
    if known and known[0] == made:
        return None
    if write and known:
        page.write_text(text.replace(known[0], made), encoding="utf-8")
        return None
    return f"{page.name}: its table isn't what it is made of; run {sys.argv[0]} ROOT --write"


def main(root, write):
    pages = pathlib.Path(root, "docs", "converters")
    cases, reported = {}, 0
    for path in pathlib.Path(root, "cases", "found").glob("*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        title = re.sub(r"\$\{?\w+\}?", "…", re.sub(r" \(\$\w+\)", "", case["title"]))
        cases[case["family"]] = title.replace("|", "\\|")
        reported += any(origin.get("upstream") for origin in case.get("origin", []))
    wrong, pages_held = [], 0
    wrong += filter(None, [held(pages / "README.md", "Threads were found for ", "cases.",
                                f"Threads were found for {reported} of\nthe {len(cases)} cases.", write)])
    kits = json.loads((pages / "kits.json").read_text(encoding="utf-8"))
    wrong += filter(None, [held(pages / "README.md", GRAVEST_BEGIN, GRAVEST_END, "\n".join(gravest(root, kits)), write)])
    wrong += filter(None, [held(pages / "README.md", LOW_BEGIN, LOW_END, "\n".join(low_passes(pages)), write)])
    for converter, versions in sorted(recorded(pages).items()):
        page = pages / f"{converter}.md"
        if not page.is_file():
            continue
        wrong += filter(None, [held(page, BEGIN, END, "\n".join(table(versions, cases)), write)])
        pages_held += 1
    if not pages_held:
        wrong.append("no page was looked at")
    print("\n".join(wrong) or f"{pages_held} pages")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
