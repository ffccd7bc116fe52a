import shlex
import sys
import xml.etree.ElementTree as ElementTree

import onnx_assay
import pytest

WITH_FAULT = ("--assay-converter-cmd", shlex.join([str(onnx_assay.program()), "worker", "--fault", "bias_dropped"]))


def run(pytester, *words):
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *words)


def test_each_case_in_each_option_set_is_a_test(pytester, home):
    done = run(pytester, "--assay-suite", "default", "-v")
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines(["assay:default::mini/stride=1[[]even[]] PASSED*"])


def test_tests_beside_it_run_where_they_are_named(pytester, home):
    pytester.makepyfile(test_other="def test_other(): pass")
    run(pytester, "--assay-suite", "default").assert_outcomes(passed=4)
    run(pytester, "--assay-suite", "default", "test_other.py").assert_outcomes(passed=5)


def test_a_red_verdict_fails_with_its_finding(pytester, home):
    done = run(pytester, "--assay-suite", "default", *WITH_FAULT, "--assay-only", "*=2", "-k", "even")
    done.assert_outcomes(failed=1, deselected=1)
    done.stdout.fnmatch_lines(["*mini/stride=2 (even, embedded 1.0.0): fail (artifact/bias)*", '*node "y" (Conv)*'])
    done.stdout.no_fnmatch_line("*Traceback*")


def test_expected_failures_are_strict(pytester, home):
    done = run(pytester, "--assay-suite", "expecting", *WITH_FAULT, "-rx")
    done.assert_outcomes(xfailed=2, failed=2)  # stride=2 isn't expected to
    done = run(pytester, "--assay-suite", "expecting")
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(["*mini/stride=1 (default, embedded 1.0.0): xpass*"])


def test_what_the_converter_cannot_do_is_skipped(pytester, home):
    converter = pytester.makepyfile(**{"float_only": """
        from onnx_assay.adapter import Adapter
        class Choosy(Adapter):
            name, supports = "choosy", {"operators": ["Relu"], "fallback": False}
    """})
    command = shlex.join([sys.executable, "-m", "onnx_assay.adapter", str(converter)])
    done = run(pytester, "--assay-suite", "default", "--assay-converter-cmd", command, "-rs", "-k", "default]")
    done.assert_outcomes(skipped=2, deselected=2)
    done.stdout.fnmatch_lines(["*SKIPPED*operator Conv*"])


def test_an_unknown_name_is_an_error_of_usage(pytester, home):
    done = run(pytester, "--assay-suite", "defualt")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--assay-suite defualt: *default*"])
    done = run(pytester, "--assay-suite", "default", "--assay-converter", "embeded", "-k", "even")
    done.assert_outcomes(failed=2, deselected=2)
    done.stdout.fnmatch_lines(["*embedded*"])


def test_junit_has_times_and_figures(pytester, home):
    run(pytester, "--assay-suite", "default", "--junitxml", "r.xml", "-k", "even").assert_outcomes(passed=2, deselected=2)
    cases = ElementTree.parse(pytester.path / "r.xml").findall(".//testcase")
    assert [case.get("name") for case in cases] == ["mini/stride=1[even]", "mini/stride=2[even]"]
    assert all(float(case.get("time")) > 0 for case in cases)
    properties = {each.get("name"): each.get("value") for each in cases[0].findall(".//property")}
    assert properties["assay.verdict"] == "pass" and float(properties["assay.sqnr_db"]) > 20


def test_it_works_over_processes(pytester, home):
    pytest.importorskip("xdist")
    done = run(pytester, "--assay-suite", "expecting", *WITH_FAULT, "-n", "2")
    done.assert_outcomes(xfailed=2, failed=2)


def test_the_fixture_prints_the_finding(pytester, network):
    pytester.makepyfile(f"""
        FLOAT, DATA = {str(network.path)!r}, {str(network.calibration_path)!r}
        def test_right(assay_check):
            assert assay_check(FLOAT, calibration=DATA).sqnr_db > 30
        def test_wrong(assay_check):
            assay_check(FLOAT, calibration=DATA, fault="per_axis_rolled@cb")
    """)
    done = run(pytester)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(['*node "cb" (Conv), weight "wb": 8 of 8 scales differ*', "*page: *assay.html*"])
