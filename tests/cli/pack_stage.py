#!/usr/bin/env python3
"""What tools/pack/pack.py puts together: pack_stage.py TOOLS_PACK"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(TOOLS))
from pack import LARGE_BYTES, Stage  # noqa: E402
from parts import write_archive, write_parts  # noqa: E402
from unpacker import make_unpacker  # noqa: E402

# What run.sh asks of the other machine, with tar's own need of sh and xz's stand-in, python3.
COREUTILS = ("sh", "dirname", "mkdir", "cp", "mv", "rm", "cmp", "cat", "cut", "sha256sum", "tar", "uname")


class Twins(unittest.TestCase):
    def test_a_large_file_of_two_environments_is_packed_once(self):
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            library = bytes(range(256)) * (LARGE_BYTES // 256)
            files = {"one/lib.so": library, "two/lib.so": library, "two/other.so": library[::-1],
                     "two/small": b"same", "one/small": b"same", "two/program": library}
            for path, contents in files.items():
                (root / path).parent.mkdir(exist_ok=True)
                (root / path).write_bytes(contents)
            (root / "two/program").chmod(0o755)
            stage = Stage(root / "stage")
            for path in files:
                stage.add(root / path, path)
            stream = io.BytesIO()
            write_archive(stream, root / "stage", [])
            with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as archive:
                linked = {entry.name: entry.linkname for entry in archive if entry.islnk()}
                archive.extractall(root / "there")
            self.assertEqual(linked, {"two/lib.so": "one/lib.so"})
            self.assertEqual(stage.bytes, 3 * LARGE_BYTES + 2 * len(b"same"))
            for path, contents in files.items():
                self.assertEqual((root / "there" / path).read_bytes(), contents, path)
            self.assertTrue((root / "there/two/program").stat().st_mode & 0o100)
            self.assertEqual((root / "one/lib.so").stat().st_nlink, 3)  # itself, and both in the stage


class Parts(unittest.TestCase):
    """Made here, unpacked where there are coreutils and tar alone."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "stage").mkdir()
        self.noise = os.urandom(9 << 20)  # no compressor makes it smaller
        (self.root / "stage/noise").write_bytes(self.noise)
        (self.root / "stage/run.words").write_text("default\n")
        (self.root / "bin").mkdir()

    def there(self, *programs):
        for program in (*COREUTILS, *programs):
            if shutil.which(program):
                (self.root / "bin" / program).unlink(missing_ok=True)
                (self.root / "bin" / program).symlink_to(shutil.which(program))

    def make(self, part_bytes, unpacker):
        return write_parts(self.root / "stage", self.root / "pack", [], part_bytes, 1, TOOLS / "run.sh", len(self.noise), unpacker)

    def arrive(self, part):
        done = subprocess.run([shutil.which("sh"), self.root / "pack" / part / "run.sh", self.root / "target", "--no-run"],
                              env={"PATH": str(self.root / "bin")}, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def unpacked(self):
        self.assertEqual((self.root / "target/pack/noise").read_bytes(), self.noise)
        self.assertEqual({entry.name for entry in (self.root / "target").iterdir()}, {"manifest", "pack", "run.sh"})

    def test_zstd_is_brought_along_beside_the_first_part(self):
        unpacker = make_unpacker(self.root, 0)
        if unpacker is None:
            self.skipTest("no zstd")
        part_bytes = 2 * unpacker.stat().st_size
        names = [name for name, _ in self.make(part_bytes, unpacker)]
        self.assertEqual(make_unpacker(Path(tempfile.mkdtemp(dir=self.root)), part_bytes - 1), None)
        for name in names:
            self.assertLessEqual(sum(file.stat().st_size for file in (self.root / "pack" / name).iterdir()), part_bytes, name)
        self.there()
        away = self.root / "away"
        (self.root / "pack" / names[0]).rename(away)
        status, said = self.arrive(names[-1])
        self.assertEqual(status, 20)
        self.assertIn("still missing: part-01 unzstd.tar", said)
        away.rename(self.root / "pack" / names[0])
        status, said = self.arrive(names[0])
        self.assertEqual(status, 0, said)
        self.unpacked()

    def test_a_damaged_unpacker_is_not_started(self):
        unpacker = make_unpacker(self.root, 0)
        if unpacker is None:
            self.skipTest("no zstd")
        self.make(0, unpacker)
        with open(self.root / "pack/part-01/unzstd.tar", "ab") as stream:
            stream.write(b"more")
        self.there()
        status, said = self.arrive("part-01")
        self.assertEqual(status, 21, said)
        self.assertIn("unzstd.tar is damaged", said)

    def test_without_zstd_xz_or_python3_unpacks(self):
        self.make(0, None)
        self.there()
        status, said = self.arrive("part-01")
        self.assertEqual(status, 22)
        self.assertIn("neither xz nor python3 is here", said)
        for program in ("xz", "python3"):
            shutil.rmtree(self.root / "target")
            shutil.rmtree(self.root / "bin")
            (self.root / "bin").mkdir()
            self.there(program)
            status, said = self.arrive("part-01")
            self.assertEqual(status, 0, said)
            self.unpacked()


if __name__ == "__main__":
    unittest.main()
