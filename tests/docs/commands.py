"""Runs the commands that pages show: commands.py ASSAY ROOT PAGE... ; --show prints what each command printed.

A block between ``` lines is run where it has lines that begin with "$ ". What follows such a line is its output, whole
and in order, standard error included, but for this:
- a line "…" stands for any number of lines, "…" within a line for any text;
- times, dates, hashes, temporary paths and run numbers are only compared as such;
- blanks at the end of lines say nothing, nor do empty lines at either end.
A block whose first line is "# needs WHAT" is run where WHAT is there, and that can only be onnxruntime: a Python with the
packages onnx and onnxruntime. Blocks that need a GPU, a network, an installed converter or minutes are not run. A line
"# in bare" says that the commands are not run and not compared, since they build the program or run the whole suite.
A page's commands run one after another in one empty folder that sees the repository. A python block that the text before
it tells to save as `NAME.py` is saved there.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What differs from run to run, and what stands for it.
VOLATILE = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?"), "DATE"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,64}\b"), "HASH"),
    (re.compile(r"(/tmp|/dev/shm)/[^\s\"',]+"), "PATH"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (cases|verdicts)/s\b"), "RATE"),
]


def plain(text):
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def fits(shown, printed):
    """Whether `printed` is what a page shows."""
    pattern = ""
    for line in plain(shown).splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.split("…"))) + r"[ ]*\n"
    return re.fullmatch(pattern, plain(printed) + "\n") is not None or plain(shown) == plain(printed)


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
        needs = re.match(r"# (needs (.*)|in bare.*)\n", text)
        parts = re.split(r"^\$ ", text, flags=re.M)[1:]
        commands = [part.partition("\n")[::2] for part in parts]
        yield "run", (needs[2] or needs[1]) if needs else None, commands


def python_with_onnxruntime():
    """The folder of a python3 that has onnx and onnxruntime, or None."""
    folders = os.environ.get("PATH", "").split(":")
    for root in filter(None, [os.environ.get("ASSAY_VENVS"), str(pathlib.Path(sys.argv[2], ".assay", "venvs"))]):
        folders += sorted((str(path) for path in pathlib.Path(root).glob("onnxruntime-*/bin")), reverse=True)
    for folder in folders:
        python = pathlib.Path(folder, "python3")
        if python.is_file() and subprocess.run([python, "-c", "import onnx, onnxruntime"], capture_output=True,
                                               check=False).returncode == 0:
            return folder
    return None


def check(page, assay, root, onnxruntime, show):
    """(wrong lines, commands run, commands left out) of one page."""
    wrong, ran, left_out = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in pathlib.Path(root).iterdir():
            if entry.name not in ("assay", "build", ".git", ".assay"):
                pathlib.Path(folder, entry.name).symlink_to(entry)
        pathlib.Path(folder, "assay").write_text(f'#!/bin/sh\nexec "{assay}" "$@"\n', encoding="utf-8")
        pathlib.Path(folder, "assay").chmod(0o755)
        environment = {**os.environ, "ASSAY_HOME": str(root), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120",
                       "NO_COLOR": "1"}
        if onnxruntime:
            environment["PATH"] = onnxruntime + ":" + environment["PATH"]
        status = 0
        for kind, what, content in blocks(page.read_text(encoding="utf-8")):
            if kind == "save":
                pathlib.Path(folder, what).write_text(content, encoding="utf-8")
                continue
            if what and (what != "onnxruntime" or not onnxruntime):
                left_out += len(content)
                continue
            for command, shown in content:
                done = subprocess.run(["bash", "-c", f"(exit {status}); {command}"], cwd=folder, env=environment,
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
    """Pages that say how many cases a suite has, against `assay list`."""
    names = {path.stem for path in pathlib.Path(root, "suites").glob("*.json")}
    said = [(page, match[1] or match[4], int((match[2] or match[3]).replace(",", "")))
            for page in pages for match in re.finditer(
                r"`(\w+)` (?:has|holds|is) (?:all )?([\d,]+) cases|([\d,]+) cases (?:of|in) `(\w+)`",
                page.read_text(encoding="utf-8"))]
    wrong, listed = [], {}
    for page, suite, count in said:
        if suite not in names:
            continue
        if suite not in listed:
            printed = subprocess.run([assay, "list", suite], capture_output=True, text=True, check=False,
                                     env={**os.environ, "ASSAY_HOME": str(root)}).stdout
            listed[suite] = len(printed.splitlines())
        if listed[suite] != count:
            wrong.append(f"{page.name}: {suite} has {listed[suite]} cases, not {count}")
    if not any(suite in names for _, suite, _ in said):
        wrong.append("no page says how many cases a suite has")
    return wrong


def main(assay, root, *words):
    self_test()
    show = "--show" in words
    pages = [pathlib.Path(root, word) for word in words if not word.startswith("--")]
    onnxruntime = python_with_onnxruntime()
    wrong, ran, left_out = [], 0, 0
    for page in pages:
        more = check(page, assay, root, onnxruntime, show)
        wrong, ran, left_out = wrong + more[0], ran + more[1], left_out + more[2]
    wrong += figures(root, assay, pages)
    if not ran:
        wrong.append("no command was run")
    print("\n".join(wrong) or f"{ran} commands as shown, {left_out} not run" + ("" if onnxruntime else ", no onnxruntime"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *sys.argv[3:]))
