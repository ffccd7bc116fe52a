"""The table "The pages" in docs/converters/README.md: adapters.py ROOT.

Every folder of converters/adapters that has a page has one row there, which links to the page. Every row is an adapter's.
"""
import pathlib
import re
import sys

HEADING = "| adapter | converter | artifact | judged | page |"


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


def main(root):
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
    print("\n".join(wrong) or f"{len(listed)} rows")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
