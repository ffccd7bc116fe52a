#!/usr/bin/env python3
"""What tools/pack/pack.py puts together: pack_stage.py TOOLS_PACK"""

import io
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, sys.argv.pop(1))
from pack import LARGE_BYTES, Stage  # noqa: E402
from parts import write_archive  # noqa: E402


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


if __name__ == "__main__":
    unittest.main()
