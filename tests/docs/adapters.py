"""The tables of adapters and of their routes in docs/converters/README.md: adapters.py ROOT [--write].

Every folder of converters/adapters that has a page has one row in the first, which links to the page. Every row is an adapter's. The
second is made of the suites; without --write another one there is an error.
"""
import json
import pathlib
import re
import sys

HEADING = "| adapter | converter | artifact | judged | page |"
BEGIN = "<!-- routes: begin, made of the suites by tests/docs/adapters.py --write -->"
END = "<!-- routes: end -->"


def rows(text):
    """The table's rows: adapter → the file that its last column links to, one pair a row."""
    lines = text.partition(HEADING)[2].splitlines()[2:]
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        link = re.fullmatch(r"\[[^\]]+\]\(([^)]+)\)", cells[-1])
        found.append((cells[0].strip("`"), link[1] if link else None))
    return found


def routes(root, adapters):
    """The lines of the table of routes. A suite that names single cases judges none of its routes whole; one with tags judges
    weights alone."""
    whole, alone, options = {}, {}, {}
    for file in sorted(pathlib.Path(root, "suites").glob("*.json")):
        suite = json.loads(file.read_text(encoding="utf-8"))
        selects = suite.get("select", ["*"])
        on_all = selects == ["*"] or all(pathlib.Path(root, "suites", f"{name}.json").is_file() for name in selects)
        for route in suite.get("converters", []):
            name, _, variant = route.partition(":")
            if name not in adapters:
                continue
            (whole if on_all else alone).setdefault(name, []).append(variant or name)
            if on_all:
                options.setdefault(name, []).extend(each["label"] for each in suite.get("option_sets", []))

    def listed(names):
        return ", ".join(f"`{name}`" for name in dict.fromkeys(names))
    lines = [f"| `{name}` | {listed(sorted(set(each), key=lambda variant: (variant != name, variant)))} | {listed(options[name])} | "
             f"{listed(sorted(set(alone.get(name, [])) - set(each)))} |" for name, each in sorted(whole.items())]
    count = sum(len(set(each)) for each in whole.values())
    return [BEGIN, f"{len(whole)} converters in {count} ways, each under the option sets that it takes:", "",
            "| converter | ways, over all cases | option sets | on the cases of their own defects |", "| --- | --- | --- | --- |", *lines, END]


def main(root, write):
    pages = pathlib.Path(root, "docs", "converters")
    adapters = {each.parent.name for each in pathlib.Path(root, "converters", "adapters").glob("*/adapter.json")}
    listed = rows((pages / "README.md").read_text(encoding="utf-8"))
    names = [name for name, _ in listed]
    with_pages = {name for name in adapters if (pages / f"{name}.md").is_file()}
    wrong = [f"{name}.md is the page of an adapter and README.md's table has no row for it" for name in sorted(with_pages - set(names))]
    wrong += [f"README.md's table has {names.count(name)} rows for {name}" for name in sorted(set(names)) if names.count(name) > 1]
    wrong += [f"README.md's row {name} links to {page}, not to {name}.md" for name, page in listed if page != f"{name}.md"]
    wrong += [f"README.md's row {name}: no such adapter with a page" for name in names if name not in with_pages]
    if not listed:
        wrong.append("README.md has no such table")
    readme = pages / "README.md"
    text, made = readme.read_text(encoding="utf-8"), "\n".join(routes(root, adapters))
    known = re.search(re.escape(BEGIN) + r"[\s\S]*?" + re.escape(END), text)
    if known and write:
        readme.write_text(text.replace(known[0], made), encoding="utf-8")
    elif not known or known[0] != made:
        wrong.append(f"README.md: its table of routes isn't that of the suites; run {sys.argv[0]} ROOT --write")
    print("\n".join(wrong) or f"{len(listed)} rows")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
