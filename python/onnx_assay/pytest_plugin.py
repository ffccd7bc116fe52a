"""For pytest: the fixture `assay_check`, and a test for each case of a suite.

    pytest --assay-suite seeds --assay-converter onnxruntime
    pytest --assay-suite my_suite --assay-converter-cmd "python3 my_converter.py" -n 4

Each case of the suite is a test in each of its option sets, `assay:SUITE::CASE[OPTIONS]`; tests of files run beside them
only where their path is given. A red verdict fails the test and the finding is what pytest prints. An expected failure of
the suite is an xfail, and strict: one that fails in another way, or passes, fails the test. What the converter says that
it can't do is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from . import _program, api
from .results import RedVerdict, Result


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("assay", "Assay: quantized ONNX converters")
    group.addoption("--assay-suite", action="append", default=[], metavar="SUITE",
                    help="a test for each case of this suite, or of this pattern on case names; may be repeated")
    group.addoption("--assay-only", action="append", default=[], metavar="PATTERN",
                    help="of these, only the cases whose name this pattern matches (* and ?); may be repeated")
    group.addoption("--assay-converter", metavar="NAME[@VERSION]",
                    help="the installed converter that these tests run (default: what the suite names)")
    group.addoption("--assay-converter-cmd", metavar="COMMAND",
                    help="the converter as a program that speaks protocol 1, with its arguments")
    group.addoption("--assay-timeout", type=float, metavar="S", help="seconds for one answer of the converter")
    group.addoption("--assay-require-judged", action="store_true", help="a verdict that could not be judged is red")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--assay-suite") and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []  # not what lies in this folder


@pytest.fixture
def assay_check(tmp_path: Path) -> Callable[..., Result]:
    """onnx_assay.check, which fails the test where the verdict is red, with the finding.

    The page about a red verdict lies in the test's tmp_path, as assay.html.
    """

    def check(*arguments: Any, **named: Any) -> Result:
        __tracebackhide__ = True
        result = api.check(*arguments, **named)
        if result.red:
            page = result.html(tmp_path / "assay.html")
            pytest.fail(f"{result}\n  page: {page}", pytrace=False)
        return result

    return check


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    for suite in config.getoption("--assay-suite"):
        items.extend(_Suite.from_parent(session, name=f"assay:{suite}", nodeid=f"assay:{suite}", suite=suite).collect())


class _Suite(pytest.Collector):
    """The cases that one --assay-suite selects."""

    def __init__(self, suite: str, **named: Any) -> None:
        super().__init__(**named)
        self.suite = suite

    def collect(self) -> Iterator[_Case]:
        try:
            only = [word for pattern in self.config.getoption("--assay-only") for word in ("--only", pattern)]
            cases = _program.call(["list", self.suite, *only])[0]["cases"]
        except (_program.AssayError, FileNotFoundError) as error:
            raise pytest.UsageError(f"--assay-suite {self.suite}: {error}") from error
        for case in cases:
            for options in case["options"]:
                yield _Case.from_parent(self, name=f"{case['case']}[{options}]", case=case["case"], options=options)


class _Case(pytest.Item):
    """One case in one option set, through one converter."""

    def __init__(self, case: str, options: str, **named: Any) -> None:
        super().__init__(**named)
        self.case, self.options = case, options

    def runtest(self) -> None:
        option = self.config.getoption
        assert isinstance(self.parent, _Suite)
        report = api.run(self.parent.suite, only=self.case, options=self.options, converter=option("--assay-converter"),
                         converter_cmd=option("--assay-converter-cmd"), timeout=option("--assay-timeout"), jobs=1,
                         require_judged=option("--assay-require-judged"))
        for result in report.results:
            self.user_properties += _properties(result)
        if report.red:
            raise RedVerdict(report.red[0])
        if report.unused_expectations:
            pytest.fail("\n".join(report.unused_expectations), pytrace=False)
        _as_outcome(report.results)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Optional[Any] = None) -> Any:
        if isinstance(excinfo.value, (RedVerdict, _program.AssayError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, Optional[int], str]:
        return self.path, None, self.name


def _properties(result: Result) -> Iterator[tuple[str, object]]:
    """What JUnit's file says of a verdict."""
    yield "assay.converter", f"{result.converter}@{result.version}"
    yield "assay.verdict", result.verdict
    for name, value in (("assay.margin", result.margin), ("assay.sqnr_db", result.sqnr_db)):
        if value is not None:
            yield name, value


def _as_outcome(results: Iterable[Result]) -> None:
    """Ends a test whose verdicts aren't red as pytest calls it."""
    by_verdict = {result.verdict: result for result in results}
    if expected := by_verdict.get("xfail"):
        pytest.xfail(expected.reason or expected.verdict)
    if by_verdict and by_verdict.keys() <= {"unsupported", "skipped"}:
        pytest.skip(next(iter(by_verdict.values())).reason or "unsupported")
