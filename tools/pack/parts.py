"""A folder as one compressed archive, cut into parts that each lie in a folder of their own."""

import hashlib
import lzma
import os
import shutil
import subprocess
import tarfile
import threading

# Of a part's folder, for run.sh and the manifest.
BESIDE_BYTES = 64 << 10
BLOCK_BYTES = 1 << 20


class Parts:
    """A file to write to: its bytes go to part-01, part-02 … of at most `part_bytes` each, the first of `taken` less."""

    def __init__(self, folder, part_bytes, taken=0):
        self.folder, self.part_bytes, self.taken = folder, part_bytes, taken
        self.parts = []  # [file, bytes, sha256]
        self.stream = None

    def write(self, data):
        data = memoryview(data)
        while len(data):
            if self.stream is None:
                self.begin()
            file, written, digest = self.parts[-1]
            most = self.part_bytes - (self.taken if len(self.parts) == 1 else 0)
            room = most - written if self.part_bytes else len(data)
            piece, data = data[:room], data[room:]
            self.stream.write(piece)
            digest.update(piece)
            self.parts[-1][1] += len(piece)
            if self.part_bytes and self.parts[-1][1] == most:
                self.end()

    def begin(self):
        file = self.folder / f"{len(self.parts) + 1:03d}"
        self.parts.append([file, 0, hashlib.sha256()])
        self.stream = open(file, "wb")

    def end(self):
        if self.stream:
            self.stream.close()
            self.stream = None


def plain(entry):
    """The same archive from the same files: no times, no owners; a file can be executed or not."""
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    if not entry.issym():
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def paths_below(folder, first):
    """The paths below a folder in the order of the archive: `first`, then the others, each with all below it."""
    names = sorted(os.listdir(folder), key=lambda name: (first.index(name) if name in first else len(first), name))
    for name in names:
        yield name
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            for child in paths_below(folder / name, first):
                yield f"{name}/{child}"


def write_archive(stream, folder, first):
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        for path in paths_below(folder, first):
            archive.add(folder / path, path, recursive=False, filter=plain)


def compress(folder, first, parts, level, with_zstd):
    """Writes the folder as tar.zst or tar.xz. Blocks begin anew, so that what stands in front of a change stays the same."""
    if with_zstd:
        command = ["zstd", "--compress", "--stdout", "--quiet", "--threads=0", f"-{max(level, 1)}"]
    elif shutil.which("xz"):
        command = ["xz", "--compress", "--stdout", "--threads=0", f"-{level}"]
    else:
        with lzma.open(parts, "wb", preset=level) as stream:
            write_archive(stream, folder, first)
        return
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        def take():
            while block := process.stdout.read(BLOCK_BYTES):
                parts.write(block)
        taker = threading.Thread(target=take)
        taker.start()
        write_archive(process.stdin, folder, first)
        process.stdin.close()
        taker.join()
    if process.returncode != 0:
        raise OSError(f"{command[0]} ended with exit status {process.returncode}")


def write_parts(source, folder, first, part_bytes, level, script, unpacked_bytes, unpacker=None):
    """Makes folder/part-01, part-02 …, each with its part, the script run.sh and the manifest of all parts.

    part_bytes: the most that a part's folder holds, 0 for one part. unpacker: a file to unpack zstd with (unpacker.py),
    which goes beside the first part; where there is none, xz compresses. Returns [(name, bytes of its part)].
    """
    folder.mkdir()
    taken = unpacker.stat().st_size if unpacker else 0
    parts = Parts(folder, part_bytes and part_bytes - BESIDE_BYTES, taken)
    compress(source, first, parts, level, unpacker is not None)
    parts.end()
    width = max(2, len(str(len(parts.parts))))
    names = [f"part-{number:0{width}d}" for number in range(1, len(parts.parts) + 1)]
    lines = [f"{name} {digest.hexdigest()} {size}" for name, (_, size, digest) in zip(names, parts.parts)]
    lines += [f"{unpacker.name} {hashlib.sha256(unpacker.read_bytes()).hexdigest()} {taken}"] if unpacker else []
    whole = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    manifest = "\n".join(["assay-pack 1", f"pack {whole}", f"unpacked {unpacked_bytes}", *lines, ""])
    if part_bytes and len(manifest) + script.stat().st_size > BESIDE_BYTES:
        raise OSError(f"{len(names)} parts are too many for a manifest; take larger ones")
    for name, (file, _, _) in zip(names, parts.parts):
        home = folder / name
        home.mkdir()
        file.rename(home / f"{name}.bin")
        shutil.copy(script, home / "run.sh")
        (home / "manifest").write_text(manifest)
    if unpacker:
        shutil.copy(unpacker, folder / names[0] / unpacker.name)
    return [(name, size) for name, (_, size, _) in zip(names, parts.parts)]
