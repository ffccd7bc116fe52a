"""Runs the commands that pages show: commands.py ASSAY ROOT PAGE...; --show prints what each command printed.

A PAGE that is a folder stands for its pages, below it too. Beside the commands, what pages say of the number of cases
in a suite is compared with `assay list`, and the score's figures in README.md with those in docs/score.md. Files and
headings that pages link to must exist.

A block between ``` lines is run where it has lines that begin with "$ ". What follows such a line is its output, whole
and in order, standard error included, with these exceptions:
- a line "…" stands for any number of lines, "…" within a line for any text;
- the folder of ./assay stands for any;
- times, dates, hashes, temporary paths and run numbers are only compared as such;
- blanks at the end of lines say nothing, nor do empty lines at either end.
A block whose first line is "# needs WHAT" is run where WHAT is there, and that can be onnxruntime, a Python with the
packages onnx and onnxruntime, or pytest, one with pytest, numpy and onnx, which has the package onnx_assay of the source
tree and its plugin. Blocks that need a GPU, a network, an installed converter or minutes are not run.
A page's commands run one after another in one empty folder that sees the repository. A python block that the text before
it tells to save as `NAME.py` is saved there. Where sqlite3 isn't installed, Python's stands in.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What differs from run to run, and what stands for it.
VOLATILE = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?"), "DATE"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,64}\b"), "HASH"),
    (re.compile(r"(?<=[\s`])/\S*/assay(?= )"), "./assay"),
    (re.compile(r"(/tmp|/dev/shm)/[^\s\"',]+"), "PATH"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (cases|verdicts)/s\b"), "RATE"),
]

SOME = 0.05  # what "some 800 cases" may be off by: a new case needs no new page

# sqlite3 -header -column FILE QUERY, by Python.
SQLITE3 = """#!/usr/bin/env python3
import sqlite3, sys
cursor = sqlite3.connect(sys.argv[-2]).execute(sys.argv[-1])
rows = [[str(name[0]) for name in cursor.description], *([str(value) for value in row] for row in cursor)]
widths = [max(map(len, column)) for column in zip(*rows)]
for row in [rows[0], ["-" * width for width in widths], *rows[1:]]:
    print("  ".join(word.ljust(width) for word, width in zip(row, widths)))
"""


def plain(text):
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def fits(shown, printed):
    """Whether `printed` is what a page shows."""
    lines, runs = plain(printed).splitlines(), [[]]
    for line in plain(shown).splitlines():
        if line.strip() == "…":
            runs.append([])
        else:
            runs[-1].append(re.compile(".*?".join(map(re.escape, line.split("…"))) + " *"))

    def at(place, run):
        return place >= 0 and place + len(run) <= len(lines) and all(
            pattern.fullmatch(line) for pattern, line in zip(run, lines[place:]))

    if len(runs) == 1:
        return len(lines) == len(runs[0]) and at(0, runs[0])
    place, end = len(runs[0]), len(lines) - len(runs[-1])
    if not at(0, runs[0]) or not at(end, runs[-1]):
        return False
    for run in runs[1:-1]:
        found = next((start for start in range(place, end - len(run) + 1) if at(start, run)), None)
        if found is None:
            return False
        place = found + len(run)
    return place <= end


def blocks(page):
    """(needs, [(command, shown)]) for each block with commands; a file to save comes as ("save", name, text)."""
    fence = re.compile(r"^```(\w*)\n([\s\S]*?)^```$", re.M)
    for found in fence.finditer(page):
        language, text = found.groups()
        told = re.findall(r"[Ss]ave this as `([\w.]+)`", page[:found.start()].rsplit("\n\n", 2)[-2] if language else "")
        if told:
            yield "save", told[0], text
            continue
        if not re.search(r"^\$ ", text, re.M):
            continue
        needs = re.match(r"# needs (.*)\n", text)
        parts = re.split(r"^\$ ", text, flags=re.M)[1:]
        commands = [part.partition("\n")[::2] for part in parts]
        yield "run", needs[1] if needs else None, commands


NEEDS = {"onnxruntime": "import onnx, onnxruntime", "pytest": "import pytest, numpy, onnx"}


def python_for(need, root):
    """The folder of a python3 that has what NEEDS says, or None."""
    folders = os.environ.get("PATH", "").split(":")
    for venvs in filter(None, [os.environ.get("ASSAY_VENVS"), os.path.join(root, ".assay", "venvs")]):
        folders += sorted((str(path) for path in pathlib.Path(venvs).glob("onnxruntime-*/bin")), reverse=True)
    for folder in folders:
        python = pathlib.Path(folder, "python3")
        if python.is_file() and subprocess.run([python, "-c", NEEDS[need]], capture_output=True,
                                               check=False).returncode == 0:
            return folder
    return None


def check(page, assay, root, pythons, show):
    """(wrong lines, commands run, commands left out) of one page."""
    wrong, ran, left_out = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in pathlib.Path(root).iterdir():
            if entry.name not in ("assay", "build", ".git", ".assay"):
                pathlib.Path(folder, entry.name).symlink_to(entry)
        pathlib.Path(folder, "assay").write_text(f'#!/bin/sh\nexec "{assay}" "$@"\n', encoding="utf-8")
        pathlib.Path(folder, "assay").chmod(0o755)
        tools = pathlib.Path(folder, ".tools")
        tools.mkdir()
        if shutil.which("sqlite3") is None:
            pathlib.Path(tools, "sqlite3").write_text(SQLITE3, encoding="utf-8")
            pathlib.Path(tools, "sqlite3").chmod(0o755)
        environment = {**os.environ, "ASSAY_HOME": str(root), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120",
                       "NO_COLOR": "1"}
        environment.pop("PYTHONPATH", None)
        lent = {"pytest": {"PYTHONPATH": os.path.join(root, "python"), "PYTEST_PLUGINS": "onnx_assay.pytest_plugin"}}
        paths = {need: ":".join(filter(None, [folder, str(tools), pythons.get(need or "onnxruntime"), environment["PATH"]]))
                 for need in (None, *pythons)}
        status = 0
        for kind, what, content in blocks(page.read_text(encoding="utf-8")):
            if kind == "save":
                pathlib.Path(folder, what).write_text(content, encoding="utf-8")
                continue
            if what and not pythons.get(what):
                left_out += len(content)
                continue
            for command, shown in content:
                done = subprocess.run(["bash", "-c", f"(exit {status}); {command}"], cwd=folder,
                                      env={**environment, "PATH": paths[what], **lent.get(what, {})},
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, check=False)
                status = done.returncode
                ran += 1
                if show:
                    print(f"$ {command}\n{done.stdout}")
                if not fits(shown, done.stdout):
                    wrong.append(f"{page.name}: `{command}` prints now:\n{done.stdout}")
    return wrong, ran, left_out


def self_test():
    """The comparison at its edges."""
    assert fits("a 1.5 s\n…\nlast\n", "a 27 s\nx\ny\nlast\n")
    assert fits("a … z\n", "a b z\n") and fits("…\n", "") and fits("", "\n")
    assert not fits("a\n", "a\nb\n") and not fits("a\nc\n", "a\nb\nc\n") and not fits("1 pass\n", "2 pass\n")
    assert not fits("b\na\n", "a\nb\n") and not fits("a\n", "")


def figures(root, assay, pages):
    """What pages say of the number of cases in a suite, and README.md of the score."""
    names = {path.stem for path in pathlib.Path(root, "suites").glob("*.json")}
    said = re.compile(r"`([\w-]+)` (?:has|holds) (some )?([\d,]+) cases|suite `([\w-]+)`\s\((some )?([\d,]+)\scases")
    wrong, listed = [], {}
    for page in pages:
        for match in said.finditer(page.read_text(encoding="utf-8")):
            suite, count = match[1] or match[4], int((match[3] or match[6]).replace(",", ""))
            apart = SOME * count if match[2] or match[5] else 0
            if suite in names and suite not in listed:
                printed = subprocess.run([assay, "list", suite], capture_output=True, text=True, check=False,
                                         env={**os.environ, "ASSAY_HOME": str(root)}).stdout
                listed[suite] = len(printed.splitlines())
            if suite not in names or abs(listed[suite] - count) > apart:
                wrong.append(f"{page.name}: `{suite}` has {listed.get(suite, 'no')} cases, not {count}")
    if not listed:
        wrong.append("no page says how many cases a suite has")
    readme, score = (pathlib.Path(root, *path).read_text(encoding="utf-8") for path in (["README.md"], ["docs", "score.md"]))
    shown = re.findall(r"\(`(\w+)`\) \| (\d+ of \d+) \|", readme)
    wrong += [f"README.md: {kind} {figure} is not in score.md" for kind, figure in shown
              if not re.search(rf"\| `{kind}` \| {figure}\b", score)]
    def listed_json(*words):
        return json.loads(subprocess.run([assay, "list", *words, "--json"], capture_output=True, text=True, check=False,
                                         env={**os.environ, "ASSAY_HOME": str(root)}).stdout)

    claims = (len({fault for case in listed_json("default")["cases"] for fault in case["kills"]}),
              len(listed_json("--faults")["faults"]))
    for name, text in ("README.md", readme), ("score.md", score):
        for claimed in re.findall(r"(\d+) of the (\d+) faults", text) or [("none", "none")]:
            if claimed != tuple(map(str, claims)):
                wrong.append(f"{name}: suite default claims {claims[0]} of the {claims[1]} faults, not {claimed[0]} of {claimed[1]}")
    judgements = re.search(r"correct variants gave ([\d,]+) judgements", readme)
    lines = len(re.findall(r"\S.*\n", pathlib.Path(root, "docs", "examples", "converter.py").read_text(encoding="utf-8")))
    if f"in {lines} lines" not in pathlib.Path(root, "docs", "converter.md").read_text(encoding="utf-8"):
        wrong.append(f"converter.md: the example has {lines} lines")
    if len(shown) != 3 or not judgements or f"{judgements[1]} judgements" not in score:
        wrong.append("README.md: the score's figures are not those of score.md")
    return wrong


def anchor(heading):
    """What a heading is linked by."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).strip().replace(" ", "-")


def dead_links(pages):
    wrong = []
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```[\s\S]*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"))):
            file, _, part = link.partition("#")
            target = page.parent / file if file else page
            if re.match(r"\w+:", link):
                continue
            if not target.exists():
                wrong.append(f"{page.name}: links to {link}, which isn't there")
            elif part and target.suffix == ".md":
                text = re.sub(r"```[\s\S]*?```", "", target.read_text(encoding="utf-8"))
                if part not in map(anchor, re.findall(r"^#+ (.*)", text, re.M)):
                    wrong.append(f"{page.name}: links to {link}, but there is no such heading")
    return wrong


def main(assay, root, *words):
    self_test()
    show = "--show" in words
    given = [pathlib.Path(root, word) for word in words if not word.startswith("--")]
    pages = [page for path in given for page in (sorted(path.rglob("*.md")) if path.is_dir() else [path])]
    pythons = {need: python_for(need, root) for need in NEEDS}
    wrong, ran, left_out = [], 0, 0
    for page in pages:
        more = check(page, assay, root, pythons, show)
        wrong, ran, left_out = wrong + more[0], ran + more[1], left_out + more[2]
    if any(path.is_dir() for path in given):
        wrong += figures(root, assay, pages) + dead_links(pages)
    if not ran:
        wrong.append("no command was run")
    print("\n".join(wrong) or f"{ran} commands as shown, {left_out} not run" + "".join(f", no {need}" for need, python in pythons.items() if not python))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *sys.argv[3:]))
