"""The tables of defects by version in docs/converters: defects.py ROOT [--write].

A row is a case of cases/found that some recorded version of the converter is red on, from the verdicts that lie beside
the pages. Without --write, a page whose table is another one is an error.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "converters" / "adapters" / "kit"))

from history import RED, number, opened, spans  # noqa: E402

BEGIN = "<!-- defects: begin, made by tests/docs/defects.py --write -->"
END = "<!-- defects: end -->"
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


def main(root, write):
    pages = pathlib.Path(root, "docs", "converters")
    cases = {}
    for path in pathlib.Path(root, "cases", "found").glob("*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        title = re.sub(r"\$\{?\w+\}?", "…", re.sub(r" \(\$\w+\)", "", case["title"]))
        cases[case["family"]] = title.replace("|", "\\|")
    wrong, held = [], 0
    for converter, versions in sorted(recorded(pages).items()):
        page = pages / f"{converter}.md"
        if not page.is_file():
            continue
        text = page.read_text(encoding="utf-8")
        made = "\n".join(table(versions, cases))
        known = re.search(re.escape(BEGIN) + r"[\s\S]*?" + re.escape(END), text)
        if write:
            head, _, rest = text.partition("\n")
            text = text.replace(known[0], made) if known else f"{head}\n\n## Defects by version\n\n{made}\n\n## How it was judged\n{rest}"
            page.write_text(text, encoding="utf-8")
        elif not known or known[0] != made:
            wrong.append(f"{page.name}: its table isn't that of the recorded verdicts; run {sys.argv[0]} ROOT --write")
        held += 1
    if not held:
        wrong.append("no page was looked at")
    print("\n".join(wrong) or f"{held} pages")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
