#!/usr/bin/env python3
"""A suite's expected failures against the verdicts that a results file recorded before they were stated.

stated_failures.py SUITE RESULTS MENDED [RESULTS MENDED …]; a MENDED is JSON, {case: why a verdict that its RESULTS hold is
history}. Every other red verdict of the suite's option sets has an entry about its version, every other entry meets one,
and none is about a verdict that isn't red.
"""

import functools
import gzip
import json
import operator
import re
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "converters" / "adapters" / "kit"))

from history import stated_failures  # noqa: E402

ASK = """select name, version, options, gate, stage, facet, reason, coalesce(margin, 0) from result
         join case_version on case_version.id = case_version_id join run on run.id = run_id
         join converter_version on converter_version.id = converter_version_id where suite like ?"""
COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq}


@functools.cache
def pattern(text):
    """Of a case's name: `*` and `?`."""
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in text), re.DOTALL)


@functools.cache
def numbers(version):
    return tuple(int(part) for part in version.split("."))


def speaks_of(entry, version):
    """Whether an entry's ranges, ">=8.6 <8.7", hold a version."""
    return all(COMPARE[sign](numbers(version), numbers(limit))
               for sign, limit in re.findall(r"([<>=]+)\s*([\d.]+)", entry.get("versions", "")))


def verdicts(suite, results):
    """Of the runs whose selection begins with the suite's first word: the suite, a shard or another choice of its cases."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        file.write(gzip.decompress(Path(results).read_bytes()))
        file.flush()
        return sqlite3.connect(file.name).execute(ASK, (Path(suite).stem.split("_")[0] + "%",)).fetchall()


def check(entries, rows, history, used):
    """What doesn't agree between entries and verdicts; the entries that met one go to `used`."""
    complaints, seen = [], set()
    for name, version, options, gate, stage, facet, reason, margin in rows:
        about = [i for i, entry in enumerate(entries) if entry.get("options") == options
                 and speaks_of(entry, version) and pattern(entry["case"]).fullmatch(name)]
        met = [i for i in about if entries[i]["stage"] == stage and entries[i]["facet"] == facet
               and re.search(entries[i]["reason"], reason) and margin <= entries[i].get("margin", margin)]
        if name in history and (not met if gate == "red" else about):
            seen.add(name)
            used.update(about if gate != "red" else [])
            continue
        used.update(met)
        if gate == "red" and not met:
            complaints.append(f"{name} ({options}, {version}): red, and nothing is stated: {reason[:120]}")
        if gate != "red" and about:
            complaints.append(f"{name} ({options}, {version}): {gate}, and stated as a failure by "
                              f"\"{entries[about[0]]['case']}\"")
    return complaints + [f"{name}: said to be history, and what is recorded is what is stated"
                         for name in history if name not in seen]


def main(suite, *files):
    entries = stated_failures(Path(suite).stem)
    complaints, used, count = [], set(), 0
    for results, mended in zip(files[::2], files[1::2], strict=True):
        rows = verdicts(suite, results)
        count += len(rows)
        complaints += check(entries, rows, json.loads(Path(mended).read_text()), used)
        if not rows:
            complaints.append(f"{results}: no verdict of {suite}")
    complaints += [f"\"{entry['case']}\" ({entry['options']}, {entry.get('versions', '')}): no verdict meets it"
                   for i, entry in enumerate(entries) if i not in used]
    print("\n".join(complaints) or f"{count} verdicts, {len(entries)} entries")
    return 1 if complaints or not count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
