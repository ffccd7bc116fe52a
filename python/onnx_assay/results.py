"""What verdicts hold, as frozen dataclasses with the keys of `--json` (docs/schema): the program decides, not these."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional, TypeVar, Union

T = TypeVar("T")


def _number(value: Any) -> Any:
    """A number; the words "NaN" and "Infinity" of JSON become floats."""
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def _read(kind: type[T], json: Mapping[str, Any], **known: Any) -> T:
    """`json` as a dataclass: what is in `known` is taken from there, and keys of a later version are left out."""
    names = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    plain = {key: _number(value) for key, value in json.items() if key in names and not isinstance(value, (list, dict))}
    return kind(**{**plain, **known})


class RedVerdict(AssertionError):
    """A verdict that is red; the text says what is wrong and where. `result` holds all of it."""

    def __init__(self, result: Result) -> None:
        super().__init__(str(result))
        self.result = result


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    stage: str
    facet: str
    layer: str  #: L0 (parameters), L1 (integers), L2 (errors), L3 (relations), or empty
    node: str
    op: str
    tensor: str
    data_set: str
    message: str  #: several lines: expected and actual
    margin: float  #: error divided by its limit
    amber: bool = False  #: allowed and not required: never red by itself


@dataclass(frozen=True)
class Unjudged:
    """A node that nothing could judge, and why."""

    node: str
    op: str
    reason: str


@dataclass(frozen=True)
class Judged:
    """How much of the model the verdict speaks of."""

    nodes: int
    of: int
    outputs: float  #: the least share of an output's elements that a limit reaches
    unjudged: tuple[Unjudged, ...] = ()


@dataclass(frozen=True)
class Loss:
    """Where accuracy goes: what the SQNR loses at a tensor, and what is left there."""

    tensor: str
    loss_db: float
    sqnr_db: Optional[float]


@dataclass(frozen=True)
class Node:
    """A node of the float model as `check` sees it in the artifact."""

    node: str
    op: str
    precision: Optional[str]
    local_sqnr_db: Optional[float]  #: its own noise
    sqnr_db: Optional[float]  #: what all nodes up to it have left
    loss_db: Optional[float]
    margin: Optional[float]
    wrong: bool
    fused_into: Optional[str]  #: the node with which it is judged as one


@dataclass(frozen=True)
class Result:
    """One verdict. Every word is in docs/glossary.md."""

    case: str
    options: str
    converter: str
    version: str
    verdict: str  #: pass, fail, crash, timeout, oom, not-quantized, refused, unsupported, xfail, unjudged …
    gate: str  #: green, amber, red or neutral
    stage: str
    facet: Optional[str]  #: the first that differs
    node: Optional[str]
    reason: str  #: what is wrong, several lines; empty for a pass
    margin: Optional[float]  #: largest error divided by its limit
    sqnr_db: Optional[float]  #: against float64, the smallest over the outputs
    whole_sqnr_db: Optional[float]
    predicted_whole_sqnr_db: Optional[float]
    worst_sqnr_db: Optional[float]
    predicted_worst_sqnr_db: Optional[float]
    worst_data_set: Optional[str]
    layers: tuple[str, ...]
    judged: Optional[Judged]
    style: str
    seconds: float
    findings: tuple[Finding, ...]
    lost_at: tuple[Loss, ...]
    made_by: str = ""  #: of an artifact: by whose policy it was judged
    changed: str = ""  #: what the adapter changed before the converter saw the model
    converter_hash: str = ""
    nodes: tuple[Node, ...] = ()  #: of `check`
    data: Mapping[str, Any] = field(default_factory=dict)  #: of `check` and `audit`: where the data come from
    _files: Optional[TemporaryDirectory[str]] = field(default=None, repr=False, compare=False)

    @property
    def red(self) -> bool:
        """Whether a pipeline fails."""
        return self.gate == "red"

    def raise_if_red(self) -> Result:
        """This verdict. Errors   RedVerdict, an AssertionError that prints the finding."""
        if self.red:
            raise RedVerdict(self)
        return self

    def html(self, path: Union[str, Path]) -> Path:
        """Writes the page about this verdict of `check`, for a browser. Errors   ValueError, where there is none."""
        page = Path(self._files.name, "page.html") if self._files else None
        if page is None or not page.is_file():
            raise ValueError("only a verdict of check() has a page")
        return Path(shutil.copyfile(page, path))

    def __str__(self) -> str:
        where = self.stage + (f"/{self.facet}" if self.facet else "")
        judged = f", judged {self.judged.nodes}/{self.judged.of}" if self.judged else ""
        lines = [f"{self.case} ({self.options}, {self.converter} {self.version}): {self.verdict} ({where}){judged}"]
        lines += ["    " + line for line in self.reason.splitlines()]
        for finding in self.findings:
            if finding.message != self.reason:
                lines.append(f"  also {finding.facet}" + (f" ({finding.layer})" if finding.layer else "") + ":")
                lines += ["    " + line for line in finding.message.splitlines()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """All verdicts of a run."""

    run: str
    planned: int
    verdicts: Mapping[str, int]
    unsupported: Mapping[str, int]  #: reason → how many
    results: tuple[Result, ...]
    unused_expectations: tuple[str, ...]
    exit_code: int  #: of the program: 0 as expected, 1 red, 4 drift, 6 an expected failure was not met, 77 unsupported

    @property
    def red(self) -> tuple[Result, ...]:
        """The red verdicts."""
        return tuple(result for result in self.results if result.red)

    def raise_if_red(self) -> Report:
        """This report. Errors   AssertionError with every red verdict and every expected failure that was not met."""
        wrong = [*map(str, self.red), *self.unused_expectations]
        if wrong:
            raise AssertionError("\n".join(wrong))
        return self


@dataclass(frozen=True)
class Extent:
    """How large a model and its data are."""

    nodes: int
    bytes: int
    calibration_batches: int
    data_sets: int


@dataclass(frozen=True)
class Reduction:
    """A smaller model that fails alike."""

    kept: str  #: what stayed of the verdict
    before: Extent
    after: Extent
    checks: int
    known: int
    seconds: float
    folder: Path  #: holds model.onnx and its data
    reproduce: str  #: the command that shows the verdict
    stopped_by: str = ""  #: why no smaller part of a ready artifact was taken


def read_result(json: Mapping[str, Any], **known: Any) -> Result:
    """One entry of `results`."""
    judged = json["judged"]
    return _read(
        Result, json,
        layers=tuple(json["layers"]),
        judged=judged and _read(Judged, judged, unjudged=tuple(_read(Unjudged, each) for each in judged["unjudged"])),
        findings=tuple(_read(Finding, each) for each in json["findings"]),
        lost_at=tuple(_read(Loss, each) for each in json["lost_at"]),
        **known)


def read_nodes(json: Mapping[str, Any]) -> tuple[Node, ...]:
    return tuple(_read(Node, each) for each in json["nodes"])


def read_report(json: Mapping[str, Any], exit_code: int) -> Report:
    """What `run` prints."""
    return _read(Report, json, verdicts=json["verdicts"], unsupported=json["unsupported"],
                 results=tuple(map(read_result, json["results"])),
                 unused_expectations=tuple(json["unused_expectations"]), exit_code=exit_code)


def read_reduction(json: Mapping[str, Any]) -> Reduction:
    """What `reduce` prints."""
    return _read(Reduction, json, before=_read(Extent, json["before"]), after=_read(Extent, json["after"]),
                 folder=Path(json["folder"]))
