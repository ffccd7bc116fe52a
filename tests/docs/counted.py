"""Counts before nouns in what the program says: counted.py SOURCE.

"{} nodes" reads "1 nodes" of one; core::counted (harness/core/counted.hpp) says "1 node". No format string of the rooms that
phrase text for people may hold a bare count before a plural.
"""
import pathlib
import re
import sys

ROOMS = ["bundles", "cli", "data", "fuzz", "localize", "new_cases", "programs", "report", "run", "score", "suites"]
NOUNS = ["nodes", "verdicts", "cases", "findings", "values", "elements", "channels", "products", "operators", "faults", "weights",
         "tensors", "runs", "versions", "families", "files", "entries", "batches", "models", "outputs", "inputs", "anchors",
         "checks", "artifacts", "converters", "graphs", "seeds", "variants", "data sets", "programs", "defects", "causes",
         "ranges", "relations", "judgements", "option sets", "packages", "rows", "conversions", "signatures", "suites", "trials",
         "false alarms", "expected failures"]
BARE = re.compile(r"\{\} (?:(?:more|other|wrong|red|whole) )?(?:" + "|".join(NOUNS) + r")\b(?![={])")
# Numbers that are never one, and words that are no nouns here.
ALLOWED = {"{} different programs", "{} was {} programs", "the {} models", "of {} nodes are drawn", "run {} converters",
           "see {} converters"}


def main(source):
    wrong = []
    for room in ROOMS:
        for file in sorted(pathlib.Path(source, "harness", room).rglob("*.cpp")):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                    if BARE.search(text) and not any(each in text for each in ALLOWED):
                        wrong.append(f"{file.relative_to(source)}:{number}: \"{text}\"")
    print("\n".join(wrong) or "every count is counted()")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
