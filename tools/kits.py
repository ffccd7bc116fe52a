"""All kits of one converter: kits.py ASSAY CONVERTER[@VERSION] FOLDER [PATTERN …].

Runs the cases (cases/found, where no pattern is given), makes a kit of the first case of each family that is red and can be
shown without Assay (`assay bundle CASE --for CONVERTER`), and writes an index of them as FOLDER/README.md.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

GREEN = ("pass", "unsupported", "unjudged", "skipped")


def red_cases(assay, converter, patterns):
    """family → [(case, options)], in the order of the run."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([assay, "run", *patterns, "--converter", converter, "--json", "--db", f"{folder}/kits.db"],
                              capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    families = {}
    for result in json.loads(done.stdout)["results"]:
        if result["verdict"] not in GREEN:
            cases = families.setdefault(result["case"].partition("/")[0], {})
            cases.setdefault(result["case"], result["options"])
    return families


def make(assay, converter, case, options, folder):
    """What the command says of the kit as {word: text}; its complaint as a string where there is none."""
    done = subprocess.run([assay, "bundle", case, str(folder), "--for", converter, "--options", options],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()
    return dict(re.findall(r"^(severity|since): (.*)$", done.stdout, re.MULTILINE))


def main(assay, converter, folder, *patterns):
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    rows, without = [], []
    for family, cases in sorted(red_cases(assay, converter, patterns or ("cases/found/*",)).items()):
        complaints = []
        for case, options in cases.items():
            said = make(assay, converter, case, options, place / family)
            if isinstance(said, dict):
                title = (place / family / "ISSUE.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
                rows.append((said["severity"], family, said["since"], title))
                break
            complaints.append(said)
        else:
            without.append((family, complaints[0].splitlines()[0]))
    maker = converter.partition("@")[0]
    lines = [f"# Kits for the makers of {converter}", "", f"{len(rows)} of {len(rows) + len(without)} defects have a kit.", "",
             "| maker | severity | kit | wrong since | defect |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {maker} | {severity} | [{family}]({family}/ISSUE.md) | {since} | {title} |"
              for severity, family, since, title in sorted(rows, key=lambda row: (row[0] != "silent-wrong", row))]
    if without:
        lines += ["", "Without a kit:", "", *(f"- {family}: {complaint}" for family, complaint in without)]
    (place / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
