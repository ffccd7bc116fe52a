"""The table of rooms in docs/architecture.md against the build: architecture.py DOCUMENT DEPENDENCY_RULES.

What its example prints is compared by commands.py.
"""
import re
import sys


def of_the_document(path):
    """Room → the rooms that its row says it uses."""
    row = re.compile(r"^\| `([^`]+)` \| [^|]* \| ([^|]*) ?\|$")
    with open(path, encoding="utf-8") as page:
        rooms = page.read().split("## The rooms")[1].split("\n## ")[0]
    found = filter(None, map(row.match, rooms.splitlines()))
    return {match[1]: set(re.findall(r"`([^`]+)`", match[2])) for match in found}


def of_the_build(path):
    """Folder → folders, of everything but single adapters."""
    folders, depends = {}, {}
    with open(path, encoding="utf-8") as rules:
        for line in filter(str.strip, rules):
            target, folder, names = line.strip().split("|")
            folders[target] = folder
            depends[target] = [name for name in names.split(",") if name]
    return {folders[target]: {folders[name] for name in names if name in folders}
            for target, names in depends.items() if not folders[target].startswith("converters/adapters")}


def reached(graph, room):
    seen, queue = set(), [room]
    while queue:
        for other in graph.get(queue.pop(), set()) - seen:
            seen.add(other)
            queue.append(other)
    return seen


document, build = of_the_document(sys.argv[1]), of_the_build(sys.argv[2])
wrong = [f"{room}: only in the {'document' if room in document else 'build'}" for room in sorted(document.keys() ^ build.keys())]
for room in sorted(document.keys() & build.keys()):
    stated, linked = reached(document, room), reached(build, room)
    if stated != linked:
        wrong.append(f"{room}: too many {sorted(stated - linked)}, missing {sorted(linked - stated)}")
    for other in sorted(document[room]):
        if any(other in reached(document, between) for between in document[room] - {other}):
            wrong.append(f"{room}: uses {other} through another room that its row names; leave it out")
if not document:
    wrong.append("the document has no table of rooms")
print("\n".join(wrong) or f"{len(document)} rooms")
sys.exit(1 if wrong else 0)
