"""What a converter states of how it chooses its numbers: policies.json beside its adapter, which Assay reads as well."""

import json
import sys
from pathlib import Path

ADAPTERS = Path(__file__).resolve().parent.parent


def stated_policy(converter, variant=""):
    """The policy as protocol 1 has it; with `variant`, changed by what that variant states."""
    stated = json.loads((ADAPTERS / converter / "policies.json").read_text())
    policy = stated["policy"]
    if variant:
        policy.update(next(each for each in stated["variants"] if each["name"] == variant).get("policy", {}))
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
