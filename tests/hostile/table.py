"""What a crafted input is, and what it may do to the program."""

import dataclasses
import typing

BAD = (2,)  # the input is refused as what it is
ANY = (0, 1, 2, 77)  # it may be used, judged red, refused, or be beyond what is supported (77)


@dataclasses.dataclass(frozen=True)
class Link:
    """A symbolic link."""
    to: str


@dataclasses.dataclass(frozen=True)
class Sparse:
    """A file of `size` zero bytes that take no room."""
    size: int


class Fifo:
    """A file that never gives a byte."""


@dataclasses.dataclass(frozen=True)
class Copy:
    """What lies under this name among the shared files, copied whole."""
    of: str


@dataclasses.dataclass(frozen=True)
class Row:
    """One crafted input: the files of its folder and the command that reads them there. "ASSAY" in the command is the
    program; each command may name the shared files good.onnx, good.npz, good_q.onnx, good.cache and good.db."""
    name: str
    command: typing.Sequence[str]
    files: typing.Mapping[str, typing.Any]
    codes: typing.Sequence[int] = BAD
    says: str = ""  # a part of what is printed
    seconds: float = 10
    lacks: str = ""  # what mustn't be printed or be there as a file afterwards
