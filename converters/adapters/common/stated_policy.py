"""What a converter states of how it chooses its numbers: policies.json beside its adapter, which Assay reads as well."""

import json
import operator
import re
import sys
from pathlib import Path

ADAPTERS = Path(__file__).resolve().parent.parent
COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def has_version(stated, version):
    """Whether the conditions that "versions" of `stated` puts on them, ">=1.17 <1.20", hold for this one."""
    return all(COMPARE[sign](numbers(version), numbers(limit))
               for sign, limit in re.findall(r"([<>]=?)([\d.]+)", stated.get("versions", "")))


def stated_policy(converter, variant="", version=""):
    """The policy as protocol 1 has it, of that release; with `variant`, changed by what that variant states."""
    stated = json.loads((ADAPTERS / converter / "policies.json").read_text())
    policy = stated["policy"]
    if version:
        policy.update(next((older["policy"] for older in stated.get("older", []) if has_version(older, version)), {}))
    if variant:
        policy.update(next(each for each in stated["variants"]
                           if each["name"] == variant and (not version or has_version(each, version))).get("policy", {}))
    return policy


def asked_variant(variants):
    """The variant that `--variant NAME` asks for, "" without one.

    Errors   SystemExit, where it is none of `variants` or the command line says something else.
    """
    words = sys.argv[1:]
    if not words:
        return ""
    if len(words) == 2 and words[0] == "--variant" and words[1] in variants:
        return words[1]
    sys.exit(f"usage: {sys.argv[0]} [--variant NAME], which is one of: {', '.join(filter(None, variants))}")


def variant_name(converter, variant):
    """The converter's name as `describe` says it: "quark:xint8", or "quark" without a variant."""
    return f"{converter}:{variant}" if variant else converter
