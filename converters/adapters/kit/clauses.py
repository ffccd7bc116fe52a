"""What a defect is against: the pages that the case and the suites of the converter name, and the operator's own."""
import fnmatch
import json
import operator
import re
import urllib.parse

from history import HOME, number, stated_failures

ONNX = re.compile(r"https://(onnx\.ai|github\.com/onnx/onnx)/")
COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def suites_of(name):
    """The suites that judge this converter or a variant of it."""
    for file in sorted((HOME / "suites").glob("*.json")):
        converters = json.loads(file.read_text(encoding="utf-8")).get("converters", [])
        if name in [each.partition(":")[0] for each in converters]:
            yield file.stem


def is_of(patterns, converter):
    """"esp_ppq esp_ppq:espdl", "ai_edge_quantizer* !ai_edge_quantizer:int16"."""
    words = patterns.split()
    return (any(fnmatch.fnmatchcase(converter, word) for word in words)
            and not any(fnmatch.fnmatchcase(converter, word[1:]) for word in words if word.startswith("!")))


def holds(versions, version):
    """">=1.18 <1.21", or "1.20.*,1.21.*"."""
    ranges = re.findall(r"([<>]=?)\s*([\d.]+)", versions)
    if ranges:
        return all(COMPARE[sign](number(version), number(limit)) for sign, limit in ranges)
    return not versions or any(fnmatch.fnmatchcase(version, each) for each in versions.split(","))


def stated(bundle):
    """The pages that suites name beside this case, converter and verdict."""
    case, label = bundle.case["name"], bundle.json["options"]["label"]
    pages = [entry["url"] for suite in suites_of(bundle.converter.partition(":")[0]) for entry in stated_failures(suite)
             if entry.get("url") and fnmatch.fnmatchcase(case, entry["case"]) and is_of(entry["converter"], bundle.converter)
             and holds(entry.get("versions", ""), bundle.version) and entry.get("options") in (None, label)
             and entry.get("facet") in (None, bundle.headline.get("facet"))]
    return [*dict.fromkeys(pages)]


def kind_of(url):
    """"docs" or "source" of a product, "" of a page that says nothing of one defect: a start page, a report."""
    place = urllib.parse.urlsplit(url)
    if place.netloc == "github.com":
        file = re.fullmatch(r"/[^/]+/[^/]+/(?:blob|tree)/[^/]+/(.+)", place.path)
        return "" if not file else "docs" if re.search(r"\.(md|rst)$", file[1]) else "source"
    return "docs" if place.path.strip("/") else ""


def operator_page(bundle):
    """ONNX's page of the operator at which it is wrong, or ""."""
    kind, opset = bundle.headline.get("op", ""), {each.domain: each.version for each in bundle.model.opset_import}
    own = {node.op_type for node in bundle.model.graph.node if node.domain in ("", "ai.onnx")}
    return f"https://onnx.ai/onnx/operators/onnx__{kind}.html" if kind in own and opset.get("", 0) else ""


def clauses(bundle):
    """One line each: ONNX's text, the product's documentation, and the file of the product, as far as they are named."""
    origins = [origin["url"] for origin in bundle.case["file"].get("origin", [])]
    pages = stated(bundle)
    onnx = [*dict.fromkeys(url for url in (*origins, *pages) if ONNX.match(url))]
    page = operator_page(bundle)
    lines = [f"ONNX's text: {url}" for url in onnx or filter(None, [page])]
    for kind, words in (("docs", "The product's documentation"), ("source", "Where it seems to lie")):
        lines += [f"{words}: {url}" for url in pages if not ONNX.match(url) and kind_of(url) == kind]
    return lines
