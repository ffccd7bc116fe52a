"""What a machine that has no zstd unpacks a pack with: this machine's zstd, its libraries and their loader, as one tar."""

import shutil
from pathlib import Path

from libraries import loaded_by, loader_of
from parts import write_archive

NAME = "unzstd.tar"


def make_unpacker(scratch, part_bytes):
    """The tar, made in `scratch`; None where there is no zstd here, or a part of so many bytes has no room beside it."""
    program = shutil.which("zstd")
    loader = loader_of(program) if program else None
    if loader is None:
        return None
    folder = scratch / "unzstd"
    folder.mkdir()
    libraries, _ = loaded_by([program])
    for name, file in {**libraries, loader.name: loader, "zstd": Path(program)}.items():
        shutil.copy(file.resolve(), folder / name)
    tar = scratch / NAME
    with open(tar, "wb") as stream:
        write_archive(stream, folder, [])
    return None if part_bytes and 2 * tar.stat().st_size > part_bytes else tar
