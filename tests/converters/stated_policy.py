#!/usr/bin/env python3
"""What an adapter states of its policy is what policies.json has for the release that it runs.

stated_policy.py COMMON: converters/adapters/common
"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
from stated_policy import has_version, stated_policy


class OfARelease(unittest.TestCase):
    def test_conditions_on_versions(self):
        for versions, inside, outside in ((">=1.20", "1.20.0", "1.19.2"), ("<1.20", "1.9.1", "1.20.1"),
                                          (">=1.17 <1.20", "1.17.3", "1.16.3"), ("<=2.8.1", "2.8.1", "2.12.0")):
            self.assertTrue(has_version({"versions": versions}, inside), versions)
            self.assertFalse(has_version({"versions": versions}, outside), versions)
        self.assertTrue(has_version({}, "1.15.1"))

    def test_onnxruntime_quantizes_more_in_later_releases(self):
        for variant in ("quant_pre_process", "QuantizeBias off"):
            of = {version: stated_policy("onnxruntime", variant, version)["quantizes"]
                  for version in ("1.16.3", "1.18.1", "1.19.0", "1.32.0")}
            self.assertEqual([name for name, all in of.items() if "LayerNormalization" in all], ["1.18.1", "1.19.0", "1.32.0"])
            self.assertEqual([name for name, all in of.items() if "BatchNormalization" in all], ["1.19.0", "1.32.0"])

    def test_a_variant_without_a_version_is_the_first_of_its_name(self):
        self.assertEqual(stated_policy("onnxruntime", "QuantizeBias off")["bias"], "float")


if __name__ == "__main__":
    unittest.main()
