"""The reports of docs/reported.md that have no case: reported.py ROOT.

The counts in its first lines are those of its tables, each report stands in one table and has its reason, and few that wait or
can't be made do so for another reason than a format that nothing here writes.
"""
import pathlib
import re
import sys

MOST = 20  # that have no case, but for formats


def rows(text):
    """(report, url, reason) of a table."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [tuple(row) for row in cells if len(row) == 3 and row[1].startswith("https://")]


def main(root):
    text = pathlib.Path(root, "docs", "reported.md").read_text(encoding="utf-8")
    covered = set(re.findall(r"^\| (https://\S+) \|", text, re.M))
    not_made, waiting = (rows(re.search(rf"^## {title}$([\s\S]*?)(?=^## |\Z)", text, re.M)[1]) for title in ("Not made", "Waiting"))
    said = re.search(r"Of (\d+) reports .* (\d+) are covered, (\d+) can't be made, and (\d+) waits?\b", text)
    wrong = []
    if not said:
        wrong.append("the first lines don't say how many reports are covered, can't be made and wait")
    else:
        total, made, left_out, waits = map(int, said.groups())
        if (left_out, waits) != (len(not_made), len(waiting)):
            wrong.append(f"{len(not_made)} reports can't be made and {len(waiting)} wait, not {left_out} and {waits}")
        if made > len(covered) or total != made + left_out + waits:
            wrong.append(f"{made} covered, {left_out} not made and {waits} waiting aren't {total}, or there are fewer rows ({len(covered)})")
    wrong += [f"{name}: has no reason" for name, _, reason in not_made + waiting if len(reason.split()) < 3]
    urls = [url for _, url, _ in not_made + waiting]
    wrong += [f"{url}: stands in two tables" for url in sorted(set(urls)) if urls.count(url) > 1 or url in covered]
    others = [name for name, _, reason in not_made + waiting if not re.search(r"\bformat\b", reason)]
    if len(others) > MOST:
        wrong.append(f"{len(others)} reports have no case for another reason than a format: {', '.join(others)}")
    print("\n".join(wrong) or f"{len(covered)} covered, {len(not_made)} not made, {len(waiting)} waiting; {len(others)} but for formats")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
