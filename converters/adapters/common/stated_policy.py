"""What a converter states of how it chooses its numbers: policies.json beside its adapter, which Assay reads as well."""

import json
from pathlib import Path

ADAPTERS = Path(__file__).resolve().parent.parent


def stated_policy(converter, variant=""):
    """The policy as protocol 1 has it; with `variant`, changed by what that variant states."""
    stated = json.loads((ADAPTERS / converter / "policies.json").read_text())
    policy = stated["policy"]
    if variant:
        policy.update(next(each for each in stated["variants"] if each["name"] == variant).get("policy", {}))
    return policy
