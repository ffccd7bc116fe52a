"""The text that ISSUE.md is filled into, by the maker's own tracker."""
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent


def plain(text):
    """Without folders of this machine."""
    return re.sub(r"(?<![\w.:/])/(?:[\w.@+-]+/)+([\w.@+-]+)", r"…/\1", text)


def headings(name):
    """(head, text) of the template of the converter `name`: issue.md.in beside its adapter, whose first line says where its
    headings and fields come from.

    #: headings URL     the template of the makers' tracker
    #: common WHY       there is none; the text is that of kit/issue.md.in
    """
    own = (HERE.parent / name / "issue.md.in").read_text(encoding="utf-8")
    head, _, text = own.partition("\n")
    return head, (HERE / "issue.md.in").read_text(encoding="utf-8") if head.startswith("#: common ") else text


class Values(dict):
    """Of a template; `version_of_NAME` is that of an installed package, NAME in lower case with `_`."""

    def __init__(self, values, packages):
        super().__init__(values)
        pinned = [line.partition("==") for line in packages]
        self.versions = {name.lower().replace("-", "_"): version for name, _, version in pinned}

    def __missing__(self, key):
        if not key.startswith("version_of_"):
            raise KeyError(key)
        return self.versions.get(key.removeprefix("version_of_"), "not installed")
