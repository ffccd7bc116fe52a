#!/usr/bin/env python3
"""Takes out of shared libraries the GPU kernels that one GPU doesn't run: thin_kernels.py ENVIRONMENT CAPABILITY

CUDA libraries hold each kernel once for every compute capability, as machine code and as PTX. For a machine whose GPU has
CAPABILITY (9.0, say: `nvidia-smi --query-gpu=compute_cap --format=csv`) the driver takes the machine code for it, or
compiles the PTX of the next lower one. Everything else is overwritten with zeros, in place and at the same size, which
leaves next to nothing of it in a compressed pack. The environment can then serve that one GPU only: thin a copy.
"""

import argparse
import mmap
import struct
import sys
from pathlib import Path

CONTAINER = struct.pack("<IHH", 0xBA55ED50, 1, 16)  # magic, version, size of the header; the size of the rest follows
PTX, MACHINE_CODE = 1, 2
LEAST_BYTES = 1 << 20  # smaller files aren't worth a look


def entries(data, begin, end):
    """(kind, capability, offset, size) of each kernel image in a container; none if it isn't one."""
    found = []
    while begin < end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, begin)
        capability, = struct.unpack_from("<I", data, begin + 28)
        if kind not in (PTX, MACHINE_CODE) or header < 32 or begin + header + size > end:
            return []
        found.append((kind, capability, begin + header, size))
        begin += header + size
    return found


def unneeded(images, capability):
    """Those that a GPU of that capability doesn't run: it takes its own machine code (of its major, at most its minor),
    else the newest PTX that isn't newer than itself."""
    own = [image[1] for image in images if image[0] == MACHINE_CODE and image[1] // 10 == capability // 10
           and image[1] <= capability]
    ptx = [image[1] for image in images if image[0] == PTX and image[1] <= capability]
    wanted = (MACHINE_CODE, max(own)) if own else (PTX, max(ptx)) if ptx else None
    return [image for image in images if image[:2] != wanted]


def thin(file, capability):
    """Zeroes what isn't needed in one library; returns (bytes of kernels, bytes zeroed)."""
    with open(file, "r+b") as stream, mmap.mmap(stream.fileno(), 0) as data:
        total = zeroed = 0
        at = data.find(CONTAINER)
        while at >= 0:
            size, = struct.unpack_from("<Q", data, at + len(CONTAINER))
            end = at + 16 + size
            images = entries(data, at + 16, end) if end <= len(data) else []
            for _, _, offset, length in unneeded(images, capability):
                data[offset:offset + length] = bytes(length)
                zeroed += length
            total += sum(image[3] for image in images)
            at = data.find(CONTAINER, end if images else at + 4)
    return total, zeroed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment", type=Path, metavar="ENVIRONMENT", help="a folder; it is changed")
    parser.add_argument("capability", metavar="CAPABILITY", help="compute capability of the GPU, like 9.0")
    arguments = parser.parse_args()
    major, _, minor = arguments.capability.partition(".")
    for file in sorted(arguments.environment.rglob("*.so*")):
        if file.is_symlink() or not file.is_file() or file.stat().st_size < LEAST_BYTES:
            continue
        total, zeroed = thin(file, int(major) * 10 + int(minor or 0))
        if total:
            print(f"{file.name}: {zeroed / 1e6:.0f} of {total / 1e6:.0f} MB of kernels zeroed", file=sys.stderr)


if __name__ == "__main__":
    main()
