"""What the verdicts that lie beside docs/converters say of a family of cases."""
import contextlib
import gzip
import re
import sqlite3
import tempfile
from pathlib import Path

RECORDS = Path(__file__).resolve().parents[3] / "docs" / "converters"
RED = ("fail", "xfail", "xfail-changed", "crash", "timeout", "oom", "not-quantized", "refused")


def number(version):
    return [int(part) for part in re.findall(r"\d+", version)]


@contextlib.contextmanager
def opened(file):
    """A connection to a copy of the packed database `file`."""
    with tempfile.NamedTemporaryFile() as copy:
        copy.write(gzip.decompress(Path(file).read_bytes()))
        copy.flush()
        with sqlite3.connect(copy.name) as database:
            yield database


def spans(versions, chosen):
    """Those of `versions` that are `chosen`, as ranges: "1.17.3 to 1.31.1, 1.32.0"."""
    parts, run = [], []
    for version in [*versions, None]:
        if version in chosen:
            run.append(version)
        elif run:
            parts.append(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}")
            run = []
    return ", ".join(parts)


class History:
    def __init__(self, converter, family):
        self.verdicts = {}  # (case, options) → {version: red or not}
        for file in sorted(RECORDS.glob("*-released.db.gz")):
            self._read(file, converter, family)

    def _read(self, file, converter, family):
        with opened(file) as database:
            for case, options, version, verdict in database.execute(
                    "SELECT c.name, r.options, v.version, r.verdict FROM result r"
                    " JOIN case_version c ON c.id = r.case_version_id"
                    " JOIN converter_version v ON v.id = r.converter_version_id"
                    " JOIN converter k ON k.id = v.converter_id WHERE k.name = ? AND c.family = ?", (converter, family)):
                if verdict == "pass" or verdict in RED:
                    self.verdicts.setdefault((case, options), {})[version] = verdict in RED

    def versions(self, case, options=None):
        """{version: whether it is wrong there}, oldest first; of any option set where none is named."""
        found = {}
        for (name, label), by_version in self.verdicts.items():
            if name == case and options in (None, label):
                for version, red in by_version.items():
                    found[version] = found.get(version, False) or red
        return {version: found[version] for version in sorted(found, key=number)}

    def mended(self, case, version):
        """"; mended since VERSION" where an older release was wrong, or nothing."""
        before = {each: red for each, red in self.versions(case).items() if number(each) <= number(version)}
        wrong = [each for each, red in before.items() if red]
        if not wrong:
            return ""
        right = [each for each in before if number(each) > number(wrong[-1])]
        return f"; mended since {right[0] if right else version}, the last wrong release judged is {wrong[-1]}"

    def since(self, case, options, version):
        """({version: wrong}, versions oldest first, index of the first from which on to `version` all are wrong)."""
        known = {**self.versions(case, options), version: True}
        ordered = sorted(known, key=number)
        begin = ordered.index(version)
        while begin > 0 and known[ordered[begin - 1]]:
            begin -= 1
        return known, ordered, begin

    def since_words(self, case, options, version):
        """"1.21.1", or "1.15.1 or before" where that is the oldest that was judged."""
        _, ordered, begin = self.since(case, options, version)
        return ordered[begin] if begin else f"{ordered[0]} or before"

    def urgency(self, case, options, version):
        """A sentence: a regression or not."""
        known, ordered, begin = self.since(case, options, version)
        later = [each for each in ordered[ordered.index(version):] if not known[each]]
        mended = f" It is right in {later[0]}." if later else ""
        if len(ordered) == 1:
            return "Other releases were not judged."
        if begin == 0:
            wrong = spans(ordered, [each for each in ordered if known[each]])
            return f"No regression that is known: wrong since the oldest release that was judged ({wrong}).{mended}"
        return f"A regression: the last good release is {ordered[begin - 1]}, the first bad one {ordered[begin]}.{mended}"
