#!/usr/bin/env python3
"""A suite's expected failures against the verdicts that a results file recorded before they were stated.

stated_failures.py SUITE RESULTS MENDED; MENDED is JSON, {case: why its recorded verdict is history}. Every other red verdict
of the suite's option sets has an entry, every entry of these option sets meets one, and none meets a verdict that isn't red.
"""

import gzip
import json
import re
import sqlite3
import sys
import tempfile
from pathlib import Path

ASK = """select name, options, gate, stage, facet, reason, coalesce(margin, 0) from result
         join case_version on case_version.id = case_version_id join run on run.id = run_id where suite like ?"""


def pattern(text):
    """Of a case's name: `*` and `?`."""
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in text), re.DOTALL)


def main(suite, results, mended):
    entries = json.loads(Path(suite).read_text())["expected_failures"]
    history = json.loads(Path(mended).read_text())
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        file.write(gzip.decompress(Path(results).read_bytes()))
        file.flush()
        rows = sqlite3.connect(file.name).execute(ASK, (Path(suite).stem + "%",)).fetchall()
    complaints, used, seen = [], set(), set()
    for name, options, gate, stage, facet, reason, margin in rows:
        if name in history and gate == "red":
            seen.add(name)
            continue
        about = [i for i, entry in enumerate(entries)
                 if entry.get("options") == options and pattern(entry["case"]).fullmatch(name)]
        met = [i for i in about if entries[i]["stage"] == stage and entries[i]["facet"] == facet
               and re.search(entries[i]["reason"], reason) and margin <= entries[i].get("margin", margin)]
        used.update(met)
        if gate == "red" and not met:
            complaints.append(f"{name} ({options}): red, and nothing is stated: {reason[:120]}")
        if gate != "red" and about:
            complaints.append(f"{name} ({options}): {gate}, and stated as a failure by \"{entries[about[0]]['case']}\"")
    complaints += [f"\"{entry['case']}\" ({entry['options']}): no verdict meets it"
                   for i, entry in enumerate(entries) if i not in used]
    complaints += [f"{name}: said to be mended, and no red verdict is recorded" for name in history if name not in seen]
    if not rows or complaints:
        print("\n".join(complaints) or f"{results}: no verdict of {suite}")
        return 1
    print(f"{len(rows)} verdicts, {len(entries)} entries, {len(history)} mended since")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
