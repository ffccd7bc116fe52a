"""docs/architecture.md against the build and the program: architecture.py DOCUMENT DEPENDENCY_RULES ASSAY.

Its table of rooms is what the build says. Its example prints what it shows, and the database holds what it shows.
"""
import pathlib
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile


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


def untrue_lines(path, program):
    """Lines of the example's output that are printed or stored otherwise."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    blocks = re.findall(r"^\$ (.*)\n([\s\S]*?)(?=^\n?\$ |^```)", text, re.M)
    with tempfile.TemporaryDirectory() as folder:
        database = folder + "/history.db"
        wrong = []
        for command, shown in blocks:
            words = shlex.split(command)
            if words[0] == "./assay":
                printed = subprocess.run([program, *words[1:], "--db", database], capture_output=True, text=True,
                                         check=False).stdout
                # The command to repeat is printed as it was given.
                wrong += [f"not printed: {line}" for line in shown.splitlines() if line.strip() not in ("", "…")
                          and line.rstrip() not in map(str.rstrip, printed.splitlines())]
            else:
                with sqlite3.connect(database) as connection:
                    rows = [[str(value) for value in row] for row in connection.execute(words[-1])]
                lines = [line.split() for line in shown.strip().splitlines()[2:]]
                wrong += [] if rows == lines else [f"{command}: {rows}"]
    return wrong if len(blocks) == 3 else [f"{len(blocks)} commands in the example"]


document, build = of_the_document(sys.argv[1]), of_the_build(sys.argv[2])
wrong = [f"{room}: only in the {'document' if room in document else 'build'}" for room in sorted(document.keys() ^ build.keys())]
for room in sorted(document.keys() & build.keys()):
    stated, linked = reached(document, room), reached(build, room)
    if stated != linked:
        wrong.append(f"{room}: too many {sorted(stated - linked)}, missing {sorted(linked - stated)}")
    for other in sorted(document[room]):
        if any(other in reached(document, between) for between in document[room] - {other}):
            wrong.append(f"{room}: uses {other} through another room that its row names; leave it out")
wrong += untrue_lines(sys.argv[1], sys.argv[3])
if not document:
    wrong.append("the document has no table of rooms")
print("\n".join(wrong) or f"{len(document)} rooms")
sys.exit(1 if wrong else 0)
