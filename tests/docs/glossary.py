"""docs/glossary.md against the words that the program prints: glossary.py SOURCE.

Every verdict, gate, stage, facet, style, artifact kind, data set, relation and recorded statistic has an entry, a "## word"
of at most four sentences; entries are in order and none stands twice.
"""
import pathlib
import re
import sys

# Where the source declares words: file, and what stands around the list.
DECLARED = [
    ("harness/judge/evidence/verdict.cpp", r"kVerdicts\{([\s\S]*?)\};"),
    ("harness/judge/evidence/verdict.cpp", r"kGates\{([\s\S]*?)\};"),
    ("harness/judge/evidence/verdict.cpp", r"kStages\{([\s\S]*?)\};"),
    ("harness/judge/evidence/verdict.cpp", r"kFacets\{([\s\S]*?)\};"),
    ("harness/judge/evidence/style_name.hpp", r"word_table<StyleName>\(([\s\S]*?)\);"),
    ("converters/converter.hpp", r"word_table<ArtifactKind>\(([\s\S]*?)\);"),
    ("harness/corpus/data_sets.cpp", r"vector<DataSet> sets\{([\s\S]*?)\};"),
    ("harness/report/explanation.cpp", r"kStatistics\{([\s\S]*?)\n\};"),
]
# Recorded, and said in words by the line that prints it.
SELF_EXPLAINING = {"accumulator_worst"}


def main(source):
    page = pathlib.Path(source, "docs", "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## (.*)\n\n([\s\S]*?)(?=^## |\Z)", page, re.M)
    words = [word for word, _ in entries]
    wrong = [f"{word} stands twice" for word in sorted({word for word in words if words.count(word) > 1})]
    if words != sorted(words, key=str.lower):
        wrong.append("the entries are not in order")
    for word, text in entries:
        plain = re.sub(r"^Example: .*$|`[^`]*`", "", text, flags=re.M)
        sentences = len(re.findall(r"[.?](?=\s|$)", plain))
        if not 1 <= sentences <= 4:
            wrong.append(f"{word}: {sentences} sentences")
    for file, pattern in DECLARED:
        declared = re.search(pattern, pathlib.Path(source, file).read_text(encoding="utf-8"))
        found = set(re.findall(r'"([a-z0-9_-]+)"', declared[1])) if declared else set()
        if file.endswith("explanation.cpp"):  # the name, not layer and meaning
            found = set(re.findall(r'Statistic\{"(\w+)"', declared[1])) - SELF_EXPLAINING if declared else set()
        if not found:
            wrong.append(f"{file}: no words found")
        wrong += [f"{file}: \"{word}\" has no entry" for word in sorted(found - set(words))]
    listed = re.search(r"^## relation\n\n([\s\S]*?)(?=^## )", page, re.M)[1]
    relations = re.findall(r'^\s+\{"(\w+)", "[^"]*", (?:true|false)',
                           pathlib.Path(source, "harness/metamorphic/twins.cpp").read_text(encoding="utf-8"), re.M)
    wrong += [f"relation: {word} is missing" for word in relations if f"`{word}`" not in listed]
    if not relations:
        wrong.append("no relations found")
    print("\n".join(wrong) or f"{len(entries)} entries")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
