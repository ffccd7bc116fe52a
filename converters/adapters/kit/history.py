"""What the verdicts that lie beside docs/converters say of a family of cases, and how grave a defect is."""
import contextlib
import fnmatch
import functools
import gzip
import json
import re
import sqlite3
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parents[3]
RECORDS = HOME / "docs" / "converters"
# The gravest first. A node in float where INT8 was asked for costs time and no accuracy.
SEVERITIES = ("silent-wrong", "crash", "refusal", "in-float")
RED = ("fail", "xfail", "xfail-changed", "crash", "timeout", "oom", "not-quantized", "refused")


@functools.cache
def adapter(name):
    """The adapter's adapter.json."""
    return json.loads((HOME / "converters" / "adapters" / name / "adapter.json").read_text(encoding="utf-8"))


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


# The columns of the pages' tables of defects, by what they are here.
COLUMNS = {"minimal case": "case", **dict.fromkeys(
    ("cause, argument", "cause, argument, numbers", "what happens, cause", "what is wrong", "what is wrong or limited"), "cause")}


@functools.cache
def page_rows(converter):
    """The rows of the tables on the converter's page that name cases and causes, each {"case", "cause", …: cell}."""
    page, columns, rows = RECORDS / f"{re.split('[:@]', converter)[0]}.md", [], []
    for line in page.read_text(encoding="utf-8").splitlines() if page.is_file() else ():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] if line.startswith("|") else []
        if not columns or not cells:
            columns = [COLUMNS.get(cell, cell) for cell in cells]
        elif len(cells) == len(columns) and {"case", "cause"} <= set(columns) and not set(line) <= set("|-: "):
            rows.append(dict(zip(columns, cells)))
    return rows


@functools.cache
def rows_of_route(converter):
    """Those about this variant of the converter: they name it as their route, or name no variant."""
    name, _, variant = converter.partition("@")[0].partition(":")
    rows = page_rows(converter)
    variants = adapter(name).get("variants", {}).keys() if rows else ()

    def is_meant(row):
        words = set(re.findall(r"\w+", row.get("route", "")))
        named = words & set(variants)
        return not named or variant in named or (not variant and "default" in words)
    return [row for row in rows if is_meant(row)]


def rows_naming(converter, case):
    """The rows on the converter's page that name the case, or a pattern of cases that fits it, and aren't about other variants."""
    return [row for row in rows_of_route(converter) for named in re.findall(r"`([^`]+)`", row["case"])
            if "/" in named and fnmatch.fnmatchcase(case, named.rstrip("*") + "*")]


def page_row(converter, case):
    """(group, class, cause) of the row on the converter's page that names the case, else its family; "" each where none does.
    Rows about other variants of the converter are left out."""
    family = re.escape(case.partition("/")[0])
    fits = rows_naming(converter, case) or [row for row in rows_of_route(converter)
                                            if re.search(rf"`{family}`|`{family}/[^`=]+`", row["case"])]
    row = fits[0] if fits else {}
    return row.get("group", ""), row.get("class", ""), row.get("cause", "")


LIMIT = "a limit that the product has by design, by its page in docs/converters"
OURS = "what is red is our adapter or its importer, not the product, by the page in docs/converters"


def _limit(kind, why):
    if kind.startswith("ours"):
        return OURS
    other = re.match(r"as `([^`]+)`", kind)  # a kit of that case is one of this, too
    if other:
        return f"the same cause as {other[1]}, by the page in docs/converters"
    return LIMIT if kind.startswith("limit") or re.search(r"\bLimit\b|\b(A|Documented) limit\b", why) else ""


def limit(converter, case):
    """Why the page says that it is none for a kit: LIMIT, OURS, or the same cause as another case; "" where it is a defect."""
    return _limit(*page_row(converter, case)[1:])


def limit_in_all_forms(converter, pattern):
    """The same of all that a pattern of `defects` stands for: each row that names its family or a form of it says so."""
    named = re.escape(pattern.rstrip("*").partition("/")[0])
    rows = [row for row in page_rows(converter) if re.search(rf"`{named}[`/]", row["case"])]
    if "/" in pattern:
        rows = [row for row in rows if any(pattern.startswith(case.rstrip("*")) or case.startswith(pattern.rstrip("*"))
                                           for case in re.findall(r"`([^`]+)`", row["case"]))]
    words = [_limit(row.get("class", ""), row["cause"]) for row in rows]
    return max(words, key=words.count) if words and all(words) else ""


def origins_of(case, product):
    """What a case's file says that this product was found to do."""
    return [origin for origin in case.get("origin", [])
            if origin.get("defect") and product.lower() in origin.get("reported_against", "").lower().partition(" with ")[0]]


def is_argued(converter, product, case):
    """Whether the case or the converter's page says what of this product is wrong, and not only that a verdict is red."""
    file = HOME / "cases" / "found" / f"{case.partition('/')[0]}.json"
    said = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return bool(origins_of(said, product) or page_row(converter, case)[2])


def defects(converter):
    """name of a defect → pattern of its cases: the families of cases/found, and the minimal cases that the page names
    besides."""
    found = {file.stem: file.stem + "*" for file in (HOME / "cases" / "found").glob("*.json")}
    for row in page_rows(converter):
        for case in re.findall(r"`([a-z_0-9]+/[^`]+)`", row["case"]):
            if case.partition("/")[0] not in found:
                found[re.sub(r"\W+", "_", case.rstrip("*"))] = case.rstrip("*") + "*"
    return found


def defect_of(case, named):
    """The one of `named` (from `defects`) that the case belongs to, or ""."""
    fits = [name for name, pattern in named.items() if fnmatch.fnmatchcase(case, pattern)]
    return case.partition("/")[0] if case.partition("/")[0] in named else max(fits, key=len, default="")


def stated_failures(suite):
    """The expected failures of suites/SUITE.json, those that cases state for its converters last."""
    said = json.loads((HOME / "suites" / f"{suite}.json").read_text(encoding="utf-8"))
    judged = {each.partition(":")[0] for each in said["converters"]}
    entries = list(said.get("expected_failures", []))
    for pattern in said.get("expected_failures_from", []):
        for file in sorted(HOME.glob(pattern)):
            case = json.loads(file.read_text(encoding="utf-8"))
            entries += [{"case": case["family"], **entry} for entry in case.get("expected_failures", [])
                        if judged & {re.split(r"[*@:]", word)[0] for word in entry["converter"].split()}]
    return entries


def defects_judged(converter):
    """defect → {version: whether some verdict of it is red}, versions oldest first; of a converter whose verdicts lie
    nowhere, what its suite states, under the version ""."""
    found, named = {}, defects(converter)
    for file in sorted(RECORDS.glob("*-released.db.gz")):
        with opened(file) as database:
            for case, version, verdict in database.execute(
                    "SELECT DISTINCT c.name, v.version, r.verdict FROM result r"
                    " JOIN case_version c ON c.id = r.case_version_id"
                    " JOIN converter_version v ON v.id = r.converter_version_id"
                    " JOIN converter k ON k.id = v.converter_id WHERE k.name = ?", (converter,)):
                defect = defect_of(case, named)
                if defect and (verdict == "pass" or verdict in RED):
                    judged = found.setdefault(defect, {})
                    judged[version] = judged.get(version, False) or verdict in RED
    if not found and (HOME / "suites" / f"{converter}.json").is_file():
        stated = {defect_of(each["case"], named) for each in stated_failures(converter)}
        found = {defect: {"": True} for defect in stated - {""}}
    return {defect: dict(sorted(judged.items(), key=lambda each: number(each[0]))) for defect, judged in found.items()}


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
