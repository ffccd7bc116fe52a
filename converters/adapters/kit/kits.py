"""Kits of all found defects: kits.py ASSAY FOLDER [NAME[@VERSION] …] [--only PATTERN …] [--resume] [--jobs N].

For each converter that a suite judges, or for those that are named: its suite's cases of the found defects are run, and
where one is red, FOLDER/NAME/DEFECT becomes a kit (`assay bundle --for`), whose repro.py was run and ends with 1.
FOLDER/README.md lists them by maker, the gravest first, and says of the others why there is none; kits.json holds the
same. Converters that were not named keep their kits and rows, and so do other defects with --only. A row is written as soon
as it is known; --resume goes on behind those of the same version.
"""
import argparse
import fnmatch
import json
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

from history import (HOME, SEVERITIES, adapter, defect_of, defects, defects_judged, is_argued, limit, limit_in_all_forms,
                     number, rows_naming, stated_failures)
from tracker import plain

GREEN = ("pass", "xpass", "unsupported", "unjudged", "skipped")
SECONDS_ALLOWED = 300  # for one answer of a converter
WHY_SHOWN = 240
RUN_AT_ONCE = 8  # families of found defects in one call of `assay run`, which starts the converter once
EXECUTED_OTHERWISE = ("optimized",)  # variants that convert as the plain converter does: its own suite judges them, too
FORMS_TRIED = 3  # of a defect and a variant: where no kit can be made of one, another form or option set may show it


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def installed(assay):
    """converter → versions, the oldest first."""
    listed = json.loads(call(assay, "converters", "list", "--json").stdout)["converters"]
    return {each["name"]: sorted(each["installed"], key=number) for each in listed}


def runs_here(assay, converter):
    """Whether a converter that needs what not every machine has finds it here."""
    said = json.loads(call(assay, "doctor", "--json").stdout)["findings"]
    return any(each["what"] == f"converter {converter}" and each["usable"] for each in said)


def judged_converters():
    """Those that have a suite of their own, by name."""
    return sorted(file.parent.name for file in (HOME / "converters" / "adapters").glob("*/adapter.json")
                  if (HOME / "suites" / f"{file.parent.name}.json").is_file())


def suites_of(name):
    """The converter's own suite, and those that run variants of it which that one leaves out, by name: (suite, converters)."""
    said = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted((HOME / "suites").glob("*.json"))}
    own = said.pop(name)
    judged = [*own["converters"], *(f"{name}:{variant}" for variant in EXECUTED_OTHERWISE if variant in adapter(name).get("variants", {}))]
    others = [(suite, [each for each in held.get("converters", []) if each.partition(":")[0] == name and each not in judged])
              for suite, held in said.items()]
    return [(name, judged)] + [(suite, variants) for suite, variants in others if variants]


def other_options(name):
    """The suites that run what the converter's own suite runs under other options: (suite, converters)."""
    own = set(json.loads((HOME / "suites" / f"{name}.json").read_text(encoding="utf-8"))["converters"])
    for file in sorted((HOME / "suites").glob(f"{name}_*.json")):
        shared = [each for each in json.loads(file.read_text(encoding="utf-8")).get("converters", []) if each in own]
        if shared:
            yield file.stem, shared


def beside_suites(name, patterns):
    """family → variants that its file states a failure of and no suite runs: (family, converters)."""
    judged = {each for _, converters in suites_of(name) for each in converters}
    for file in sorted((HOME / "cases" / "found").glob("*.json")):
        entries = json.loads(file.read_text(encoding="utf-8")).get("expected_failures", [])
        stated = {word for entry in entries for word in entry["converter"].split() if word.partition(":")[0] == name and "*" not in word}
        if stated - judged and any(fnmatch.fnmatchcase(file.stem, pattern) for pattern in patterns):
            yield file.stem, sorted(stated - judged)


def verdicts(assay, name, version, patterns):
    """defect → [(converter, case, options)] that are red, the suite's first variant of the converter first, then in the order
    of the run; those that are green alone have none."""
    if not patterns:
        return {}
    by_defect = {}
    for suite, converters in suites_of(name):
        for defect, red in verdicts_of(assay, name, version, suite, converters, patterns).items():
            by_defect.setdefault(defect, []).extend(red)
    for family, converters in beside_suites(name, patterns):
        for defect, red in verdicts_of(assay, name, version, f"{family}*", converters, [f"{family}*"]).items():
            by_defect.setdefault(defect, []).extend(red)
    named = defects(name)
    for suite, converters in other_options(name):
        left = [pattern for pattern in patterns if not any(red for defect, red in by_defect.items() if named[defect] == pattern)]
        for defect, red in (verdicts_of(assay, name, version, suite, converters, left) if left else {}).items():
            by_defect.setdefault(defect, []).extend(red)
    return {defect: in_stated_order(defect, red) for defect, red in by_defect.items()}


def in_stated_order(defect, red):
    """Where variants alone are red: those that the case's file states first, first. Its words are about them."""
    file = HOME / "cases" / "found" / f"{defect}.json"
    if not file.is_file() or any(":" not in converter for converter, _, _ in red):
        return red
    stated = [word for entry in json.loads(file.read_text(encoding="utf-8")).get("expected_failures", []) for word in entry["converter"].split()]
    place = {word: index for index, word in reversed([*enumerate(stated)])}
    return sorted(red, key=lambda form: place.get(form[0].partition("@")[0], len(stated)))


def verdicts_of(assay, name, version, suite, converters, patterns):
    """The same of one suite, or of a pattern of cases, and these variants; nothing where it has no such cases."""
    named, file = defects(name), HOME / "suites" / f"{suite}.json"
    said = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    variants = [f"{each}@{version}" for each in converters]
    asked = [word for converter in variants for word in ("--converter", converter)]
    asked += [word for pattern in patterns for word in ("--only", pattern)]
    with tempfile.TemporaryDirectory() as folder:
        done = call(assay, "run", suite, *asked, "--json", "--db", f"{folder}/kits.db", "--jobs", "1",
                    "--timeout", str(SECONDS_ALLOWED))
    if not done.stdout:
        if suite != name:
            return {}
        sys.exit(done.stderr)
    options = {each["label"]: json.dumps(each["options"]) for each in said.get("option_sets", [])}
    by_defect = {}
    for result in json.loads(done.stdout)["results"]:
        defect = defect_of(result["case"], named)
        if not defect:
            continue  # a pattern of the call's that is no defect's
        found = by_defect.setdefault(defect, [])
        left_to_choose = result["verdict"] == "not-quantized" and result["gate"] != "red"  # in float, and allowed to
        of_page = "/" not in named[defect] or rows_naming(result["converter"], result["case"])  # else it has another cause
        if result["verdict"] not in GREEN and not left_to_choose and of_page:
            converter = f"{result['converter']}@{version}"
            found.append((converter, result["case"], options.get(result["options"], result["options"])))
    return {defect: sorted(found, key=lambda form: variants.index(form[0])) for defect, found in by_defect.items()}


def first_forms(forms):
    """Of each variant, each case once before any a second time under another option set."""
    chosen = []
    for variant in dict.fromkeys(converter for converter, _, _ in forms):
        own = [form for form in forms if form[0] == variant]
        cases = [case for _, case, _ in own]
        seen = [cases[:place].count(case) for place, case in enumerate(cases)]
        chosen += [form for _, form in sorted(zip(seen, own), key=lambda each: each[0])][:FORMS_TRIED]
    return chosen


def kit(assay, forms, folder):
    """The row of a kit, or {"why": …}."""
    argued = [form for form in forms if not limit(form[0].partition("@")[0], form[1])]
    if not argued:
        return {"why": limit(forms[0][0].partition("@")[0], forms[0][1])}
    argued = [form for form in argued if is_argued(form[0], product(form[0]), form[1])] or argued
    whys = []
    for converter, case, options in first_forms(argued):
        shutil.rmtree(folder, ignore_errors=True)
        done = call(assay, "bundle", case, folder, "--for", converter, "--options", options)
        if done.returncode == 0:
            said = json.loads(re.search(r"^measured: (.*)$", done.stdout, re.MULTILINE)[1])
            title = (folder / "ISSUE.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            variant = converter.partition("@")[0].partition(":")[2]
            return {"case": case, **said, "title": title, **({"variant": variant} if variant else {})}
        whys.append(re.sub(r"^.*?: ", "", done.stderr.strip().partition("\nassay:")[0], count=1))
    return {"why": textwrap.shorten(plain(whys[0]), WHY_SHOWN, placeholder=" …")}


def mended(name, defect, version, recorded):
    """Since when a release that is right is: by the verdicts that lie beside the pages, else by the versions that failures are stated for."""
    wrong = [each for each, red in recorded.items() if each and red and number(each) < number(version)]
    if wrong:
        right = [each for each, red in recorded.items() if not red and number(each) > number(wrong[-1])]
        return f"mended since {(right or [version])[0]}, the last wrong release judged is {wrong[-1]}"
    named = defects(name)
    entries = [entry for suite, _ in suites_of(name) for entry in stated_failures(suite) if defect_of(entry["case"], named) == defect]
    stated = [entry.get("versions", "") for entry in entries if any(word.partition(":")[0].rstrip("*") == name for word in entry["converter"].split())]
    ends = [re.search(r"<\s*([\d.]+)", each) for each in stated]
    if ends and all(ends) and max(number(end[1]) for end in ends) <= number(version):
        return f"mended since {max((end[1] for end in ends), key=number)}"
    return f"not wrong in {version}"


def rows(assay, converter, versions, folder, patterns, kept, jobs):
    """What there is of one converter, row by row as it is known: one for each defect that some judged release has and whose
    row of this version isn't kept."""
    name, _, version = converter.partition("@")
    recorded = defects_judged(name)
    named = defects(name)
    stated = {defect_of(entry["case"], named) for suite, _ in suites_of(name) for entry in stated_failures(suite)
              if entry["converter"].startswith(name)} if patterns else set()
    rest = sorted(defect for defect in {*stated, *(defect for defect, judged in recorded.items() if any(judged.values()))} - {""}
                  if not patterns or named.get(defect) in patterns)
    version = version or (versions[-1] if versions else "")
    if "needs" in adapter(name) and not (version in versions and runs_here(assay, f"{name}@{version}")):
        yield from ({"defect": defect, "why": f"needs {adapter(name)['needs']}"} for defect in rest)
        return
    if version not in versions:
        yield from ({"defect": defect, "why": f"{converter} is not installed: assay converters install {name}"} for defect in rest)
        return
    patterns = patterns or [*named.values()]
    red = {defect for defect in rest if recorded.get(defect, {}).get(version, recorded.get(defect, {}).get("")) and named[defect] in patterns}
    limits = {defect: why for defect in red if (why := limit_in_all_forms(name, named[defect]))}  # argued: nothing to run
    yield from ({"defect": defect, "version": version, "why": why} for defect, why in sorted(limits.items()))
    settled = {*limits, *(row["defect"] for row in kept if row.get("version") == version)}
    asked = sorted({*patterns} - {named.get(defect) for defect in settled})
    of_defect = partial(row_of, assay, name, version, folder, recorded)
    with ThreadPoolExecutor(jobs) as pool:
        families = [asked[place:place + RUN_AT_ONCE] for place in range(0, len(asked), RUN_AT_ONCE)]
        running = {pool.submit(verdicts, assay, name, version, some): some for some in families}
        while running:
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for task in ended:
                what = running.pop(task)
                if isinstance(what, str):
                    yield {"defect": what, "version": version, **task.result()}
                    continue
                wanted = {defect: forms for defect, forms in task.result().items() if defect not in settled and (forms or defect in rest)}
                settled |= {*wanted}
                running |= {pool.submit(of_defect, defect, forms): defect for defect, forms in wanted.items()}


def row_of(assay, name, version, folder, recorded, defect, forms):
    """A defect's row without its name: of its kit, or why there is none; forms are those that are red."""
    row = kit(assay, forms, folder / name / defect) if forms else {"why": mended(name, defect, version, recorded.get(defect, {}))}
    print(f"{name} {defect}: {row.get('severity') or row['why']}", flush=True)
    return row


def gravity(row):
    lost = row.get("lost_db")
    return SEVERITIES.index(row["severity"]), -(float("inf") if lost is None and "left_db" in row else lost or 0), row["defect"]


def decibels(row):
    if "left_db" not in row:
        return ""
    return "all, no numbers" if row["left_db"] is None else f"{row['lost_db']:.1f} dB, {row['left_db']:.1f} left"


def product(converter):
    name = re.split("[:@]", converter)[0]
    template = HOME / "converters" / "adapters" / name / "kit.py.in"
    return re.search(r"^#: product (.*)$", template.read_text(encoding="utf-8"), re.MULTILINE)[1] if template.is_file() else name


def table(name, rows):
    lines = ["| severity | kit | SQNR lost | wrong since | defect |", "| --- | --- | --- | --- | --- |"]
    return lines + [f"| {row['severity']} | [{row['defect']}]({name}/{row['defect']}/ISSUE.md) | {decibels(row)} | {row['since']} | "
                    + row["title"].replace("|", "\\|") + " |" for row in rows] + [""]


def large(rows):
    """What models beyond 1 kB hold, in a sentence each."""
    listed = [f"- {row['defect']}: {row['model_bytes']} bytes, {row['model_holds']}" for row in rows if "model_holds" in row]
    return ["Models beyond 1 kB, and what they hold:", "", *listed, ""] if listed else []


def index(by_converter):
    """README.md of the folder."""
    with_kit = {name: sorted((row for row in rows if "severity" in row), key=gravity) for name, rows in by_converter.items()}
    count = sum(map(len, with_kit.values()))
    lines = ["# Kits for the makers of converters", "",
             f"{count} kits; of each, repro.py was run with the release that is named and ended with 1. SQNR lost: of the output that "
             "loses the most, against the float model's output rounded to 8 bits.", ""]
    for name, rows in sorted(by_converter.items()):
        kits, others = with_kit[name], [row for row in rows if "severity" not in row]
        versions = ", ".join(sorted({row["version"] for row in rows if row.get("version")}, key=number))
        lines += [f"## {name} {versions}".rstrip(), "", f"{len(kits)} of {len(rows)} defects have a kit.", ""]
        argued = [is_argued(f"{name}:{row.get('variant', '')}", product(name), row["case"]) for row in kits]
        if any(argued):
            lines += table(name, [row for row, said in zip(kits, argued) if said])
        if not all(argued):
            lines += ["Red as well, and by nobody argued for this product; one of the above may be the cause:", ""]
            lines += table(name, [row for row, said in zip(kits, argued) if not said])
        lines += large(kits)
        if others:
            lines += ["Without a kit:", "", *(f"- {row['defect']}: {row['why']}" for row in others), ""]
    return "\n".join(lines)


def main(assay, folder, converters, patterns, resume, jobs):
    place, versions = Path(folder), installed(assay)
    place.mkdir(parents=True, exist_ok=True)
    file = place / "kits.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for converter in converters or judged_converters():
        name = converter.partition("@")[0]
        made = {row["defect"]: row for row in known.get(name, []) if patterns or resume}
        kept = [*made.values()] if resume else []
        for row in rows(assay, converter, versions.get(name, []), place, patterns, kept, jobs):
            made[row["defect"]] = row
            known[name] = [made[defect] for defect in sorted(made)]
            file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        (place / "README.md").write_text(index(known), encoding="utf-8")
    kits = sum("severity" in row for rows in known.values() for row in rows)
    print(f"{kits} kits: {place / 'README.md'}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("assay")
    parser.add_argument("folder")
    parser.add_argument("converters", nargs="*")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    sys.exit(main(arguments.assay, arguments.folder, arguments.converters, arguments.only, arguments.resume, arguments.jobs))
