"""Shared libraries that programs need from the system: what `ldd` finds outside of the files that are packed anyway."""

import os
import re
import subprocess
from pathlib import Path

ELF = b"\x7fELF"
AT_A_TIME = 64  # files in one call of ldd
# Loaded by name at run time, by glibc itself or by a driver's library, and all of one build: an older or newer one of
# the machine's own beside the packed C library doesn't load.
OF_GLIBC = ["libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
            "libresolv.so.2", "libanl.so.1", "libnss_files.so.2", "libnss_dns.so.2"]
# Belongs to the kernel module of the machine it runs on.
OF_THE_DRIVER = re.compile(r"lib(cuda|nvidia-[\w-]+|nvcuvid)\.so")


def is_elf(file):
    with open(file, "rb") as stream:
        return stream.read(len(ELF)) == ELF


def loaded_by(files):
    """What the loader says of ELF files: {library's name: its path}, and the names that it doesn't find."""
    found, missing = {}, set()
    files = [str(file) for file in files]
    for begin in range(0, len(files), AT_A_TIME):
        done = subprocess.run(["ldd", *files[begin:begin + AT_A_TIME]], capture_output=True, text=True, check=False)
        for name, path in re.findall(r"^\s+(\S+) => (/\S+|not found)", done.stdout, re.MULTILINE):
            if path == "not found":
                missing.add(name)
            else:
                found.setdefault(name, Path(path))
    return found, missing


def loader_of(program):
    """The dynamic loader that a program names."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    named = re.search(r"^\s+(/\S+/ld-linux\S+) \(0x", done.stdout, re.MULTILINE)
    return Path(named[1]) if named else None


def system_libraries(files, packed):
    """Libraries to pack beside `files`: {name: file}, and the names that are nowhere, not among `packed` either.

    packed: the real paths of all files that are packed.
    """
    found, missing = loaded_by(files)
    libraries = {name: path for name, path in found.items()
                 if os.path.realpath(path) not in packed and not OF_THE_DRIVER.match(name)}
    c_library = found.get("libc.so.6")
    if c_library:
        for name in OF_GLIBC:
            if (c_library.parent / name).exists():
                libraries.setdefault(name, c_library.parent / name)
    names = {os.path.basename(path) for path in packed}
    return libraries, sorted(name for name in missing if name not in names and not OF_THE_DRIVER.match(name))
