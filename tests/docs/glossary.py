"""docs/glossary.md against the words that the program prints: glossary.py SOURCE.

Every verdict, gate, stage, facet, style, artifact kind, data set, relation and recorded measure has an entry, a "## word"
of at most four sentences; entries are in order and none stands twice. So has every term that a reader meets on the
terminal, on the HTML page or in a finding: heads of columns, names beside a number and the nouns of sentences.
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
# A measure that a verdict records: metrics.push_back({tensor, data set, "name", value}).
MEASURE = r'(?:metrics|metrics_)\.push_back\(\s*\{[^;]*?"([a-z0-9]+(?:_[a-z0-9]+)+)",'
# The heads of tables on the terminal: a format of at least three columns, and what stands in them.
TABLE = r'fmt::(?:format|print)\(\s*"((?:[^"\\]|\\.)*)"((?:,\s*(?:"[^"]*"|\w+))+)\)'
# Terms of the page: heads of columns, filters, facts, keys of pictures, words of changes, and legends that begin "Word:".
PAGE = [r'(?:title|word): "([^"]+)"', r'fact\("([^"]+)"', r'el\("dt", (?:null|\{[^}]*\}), "([^"]+)"',
        r'"([a-z ]+ range): ']
PAGE_LISTS = {list_of: r'(?:^  |, )"?([a-z_-]+)"?: [{"]' for list_of in ["VERDICTS", "METRICS", "FACETS", "NEXT"]}
PAGE_LISTS["LEGENDS"] = r'^  \w+: "([A-Z][^:",]{1,30})[^:"]{0,9}: '
# Plain English that a head may be.
PLAIN = {"node", "operator", "tensor", "reason", "value", "meaning", "why not", "request", "try", "outcome", "share",
         "version", "options", "source", "started", "command", "machine", "number", "first", "count", "bytes", "nodes", "s",
         "made", "reads", "makes", "attributes", "verdict", "what changed", "failed at", "left", "turn", "by version",
         "difference", "changes", "changed", "changed in", "measure", "verdicts", "judgements", "refused", "false alarms",
         "report", "colour", "says", "#", "layer that judged", "red verdicts", "not complete", "built-in defect", "defect", "median", "correct variant", "ran in", "fail first",
         "fail now", "fails at", "commonest reason", "measured", "ranges"}
# Nouns of lines and sentences, which stand in no list. Each has to occur in a text of the program.
TERMS = ["nodes judged", "end to end", "stated policy", "correct engines", "first wrong", "fused into", "local dB", "so far",
         "expected range", "declared range", "ulp", "multiplier", "nearest", "rolled", "judged by the policy of", "accumulator", "codes",
         "tie", "style", "margin", "int8", "known converter", "over all data sets", "lost at", "data set", "steps",
         "calibration", "inputs_", "worst", "unsupported", "anchor", "series", "planned", "reproduce", "only a note",
         "which may follow from it", "exact integers", "correct quantization"]


def folded(word):
    """As `explain` compares words (harness/report/glossary.cpp)."""
    plain = re.sub(r" \(.*", "", word).strip().lower().replace("-", " ").replace("_", " ").replace("`", "")
    return re.sub(r",? db$", "", plain)


def texts_of(source, pattern):
    return [(file.name, file.read_text(encoding="utf-8")) for file in sorted(pathlib.Path(source).glob(pattern))]


def table_heads(text):
    """The first strings of the lists in each plainTable([[…], […]], …)."""
    for call in re.finditer(r"plainTable\(\[", text):
        depth, at = 1, call.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            at += 1
        yield from re.findall(r'\["([^"]+)"', text[call.end():at])


def printed_terms(source):
    """What readers meet, as (where, term)."""
    for name, text in texts_of(source, "harness/report/html/page/*.js"):
        for head in table_heads(text):
            yield name, head
        for pattern in PAGE:
            for term in re.findall(pattern, text, re.M):
                yield name, term
        for listed in re.findall(r"^const (\w+) = \{\n([\s\S]*?)^\};", text, re.M):
            for term in re.findall(PAGE_LISTS[listed[0]], listed[1], re.M) if listed[0] in PAGE_LISTS else []:
                yield name, term
    for pattern in ["harness/report/*.cpp", "harness/cli/**/*.cpp"]:
        for name, text in texts_of(source, pattern):
            for form, arguments in re.findall(TABLE, text):
                heads = re.findall(r'"([^"]*)"', arguments)
                if form.count("{:>") >= 2 and len(heads) >= 2:
                    for head in heads:
                        yield name, head
    for name, text in texts_of(source, "harness/judge/**/*.cpp"):
        for measure in re.findall(MEASURE, text):
            yield name, measure


def main(source):
    page = pathlib.Path(source, "docs", "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## (.*)\n\n([\s\S]*?)(?=^## |\Z)", page, re.M)
    words = [word for word, _ in entries]
    begin = re.search(r"^Ten words to begin with: ([\s\S]*?)\.\n\n", page, re.M)
    first = re.findall(r"\[([^]]+)\]\(#", begin[1]) if begin else []
    wrong = [f"\"{word}\" to begin with has no entry" for word in first if word not in words]
    if len(first) != 10:
        wrong.append(f"{len(first)} words to begin with, and not ten")
    wrong += [f"{word} stands twice" for word in sorted({word for word in words if words.count(word) > 1})]
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
            found = set(re.findall(r'Statistic\{"(\w+)"', declared[1])) if declared else set()
        if not found:
            wrong.append(f"{file}: no words found")
        wrong += [f"{file}: \"{word}\" has no entry" for word in sorted(found - set(words))]
    listed = re.search(r"^## relation\n\n([\s\S]*?)(?=^## )", page, re.M)[1]
    relations = re.findall(r'^\s+\{"(\w+)", "[^"]*", (?:true|false)',
                           pathlib.Path(source, "harness/metamorphic/twins.cpp").read_text(encoding="utf-8"), re.M)
    wrong += [f"relation: {word} is missing" for word in relations if f"`{word}`" not in listed]
    if not relations:
        wrong.append("no relations found")
    known = {folded(each) for word in words for each in [word, *word.split(",")]}
    plain = {folded(word) for word in PLAIN}
    terms = list(printed_terms(source))
    for where, term in sorted(set(terms)):
        if folded(term) not in known | plain:
            wrong.append(f"{where}: \"{term}\" is printed and has no entry")
    said = "\n".join(text for pattern in ["harness/**/*.cpp", "harness/**/*.js"] for _, text in texts_of(source, pattern))
    for term in TERMS:
        if folded(term) not in known and folded(term + "N") not in known:
            wrong.append(f"\"{term}\" is a word of sentences and has no entry")
        if term not in said:
            wrong.append(f"\"{term}\" is in no text of the program; take it out of TERMS")
    explained = re.search(r"const METRICS = \{([\s\S]*?)^\};", pathlib.Path(
        source, "harness/report/html/page/words.js").read_text(encoding="utf-8"), re.M)[1]
    for _, text in texts_of(source, "harness/judge/**/*.cpp"):
        wrong += [f'words.js: METRICS lacks "{each}"' for each in re.findall(MEASURE, text) if f"  {each}: " not in explained]
    if len(terms) < 100:
        wrong.append(f"only {len(terms)} printed terms were found")
    print("\n".join(wrong) or f"{len(entries)} entries")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
