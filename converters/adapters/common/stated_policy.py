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


def has_version(variant, version):
    """Whether the conditions that a variant puts on versions, ">=1.17 <1.20", hold for this one."""
    return all(COMPARE[sign](numbers(version), numbers(limit))
               for sign, limit in re.findall(r"([<>]=?)([\d.]+)", variant.get("versions", "")))


def stated_policy(converter, variant="", version=""):
    """The policy as protocol 1 has it; with `variant`, changed by what that variant states.

    Of several variants of that name it is the first that holds for `version`, one that names versions before one for all.
    """
    stated = json.loads((ADAPTERS / converter / "policies.json").read_text())
    policy = stated["policy"]
    if variant:
        named = [each for each in stated["variants"]
                 if each["name"] == variant and (not version or has_version(each, version))]
        policy.update(min(named, key=lambda each: "versions" not in each).get("policy", {}))
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
