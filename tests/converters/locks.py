#!/usr/bin/env python3
"""Converters are installed by checksums: locks.py ADAPTERS_FOLDER

A wheel of our own making stands in for the package index; nothing is fetched.
"""

import hashlib
import os
import sys
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path

ADAPTERS = Path(sys.argv.pop(1))
sys.path.insert(0, os.fspath(ADAPTERS))
import fetched  # noqa: E402
import locks  # noqa: E402
from environments import SITE_PACKAGES, Failed, read_pins  # noqa: E402


def make_wheel(folder, content):
    """The file of a package with one module, and its checksum."""
    file = folder / "tiny_thing-1.0-py3-none-any.whl"
    info = "tiny_thing-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("tiny_thing.py", content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"tiny_thing.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return hashlib.sha256(file.read_bytes()).hexdigest()


class Installing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.environment = Path(cls.folder.name, "environment")
        venv.create(cls.environment, with_pip=True)

    def setUp(self):
        site = self.environment / SITE_PACKAGES
        for file in [*site.glob("tiny_thing-1.0.dist-info/*"), *site.glob("tiny_thing.py")]:
            file.unlink()
        for folder in site.glob("tiny_thing-1.0.dist-info"):
            folder.rmdir()
        root = Path(tempfile.mkdtemp(dir=self.folder.name))
        self.packages = root / "packages"
        self.packages.mkdir()
        self.checksum = make_wheel(self.packages, "real = True\n")
        os.environ.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=os.fspath(self.packages))
        locks.LOCKS = root / "locks"
        locks.LOCKS.mkdir()
        locks.locked.__defaults__ = (locks.LOCKS,)
        locks.read_checksums.__defaults__ = (locks.LOCKS,)

    def lock(self, checksum):
        (locks.LOCKS / "thing-1.0.txt").write_text("tiny-thing==1.0\n")
        (locks.LOCKS / locks.CHECKSUMS).write_text(f"tiny-thing==1.0 {checksum}\n" if checksum else "")

    @property
    def is_there(self):
        return (self.environment / SITE_PACKAGES / "tiny_thing.py").is_file()

    def test_takes_the_file_that_was_tried(self):
        self.lock(self.checksum)
        locks.pip_install_locked(self.environment, "thing-1.0", "tiny-thing")
        self.assertTrue(self.is_there)
        self.assertEqual(locks.installed(self.environment), ["tiny-thing==1.0"])

    def test_refuses_another_file_of_that_version(self):
        self.lock(self.checksum)
        make_wheel(self.packages, "import os  # somebody else's\n")
        with self.assertRaisesRegex(Failed, "--unlocked"):
            locks.pip_install_locked(self.environment, "thing-1.0", "tiny-thing")
        self.assertFalse(self.is_there)
        locks.pip_install_locked(self.environment, "thing-1.0", "tiny-thing", unlocked=True)
        self.assertTrue(self.is_there)

    def test_a_lock_that_lacks_a_checksum_is_an_error(self):
        self.lock("")
        with self.assertRaisesRegex(Failed, "no checksum"):
            locks.pip_install_locked(self.environment, "thing-1.0", "tiny-thing")

    def test_a_version_without_a_lock_is_taken_by_its_name(self):
        locks.pip_install_locked(self.environment, "thing-2.0", "tiny-thing")
        self.assertTrue(self.is_there)


class Kept(unittest.TestCase):
    def test_every_pin_has_a_checksum_and_none_is_left_over(self):
        kept = ADAPTERS / "locks"
        checksums = locks.read_checksums(kept)
        pins = {pin for file in kept.glob("*.txt") if file.name != locks.CHECKSUMS for pin in read_pins(file)}
        self.assertEqual(pins, set(checksums))
        self.assertGreater(len(pins), 200)
        for pin, sums in checksums.items():
            self.assertTrue(sums and all(len(each) == 64 for each in sums), pin)

    def test_files_that_suit(self):
        for tags in ("py3-none-any", "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", "cp38-abi3-manylinux1_x86_64",
                     "cp312-cp312-linux_aarch64", "py2.py3-none-any"):
            self.assertRegex(f"a-1-{tags}.whl", locks.SUITS)
        for tags in ("cp311-cp311-win_amd64", "cp39-cp39-manylinux2014_x86_64", "cp311-cp311-macosx_11_0_arm64",
                     "cp311-cp311-musllinux_1_2_x86_64"):
            self.assertNotRegex(f"a-1-{tags}.whl", locks.SUITS)


class FindingAPython(unittest.TestCase):
    """Versions that need another CPython than ours. Scripts stand in for it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(kept)))
        self.path, pyenv = Path(folder.name, "path"), Path(folder.name, "pyenv")
        self.installed = pyenv / "versions" / "9.8.1" / "bin"
        self.path.mkdir()
        self.installed.mkdir(parents=True)
        os.environ.update(PATH=f"{self.path}:/usr/bin:/bin", PYENV_ROOT=os.fspath(pyenv))

    @staticmethod
    def write(folder, command):
        file = folder / "python9.8"
        file.write_text(f"#!/bin/sh\n{command}\n")
        file.chmod(0o755)
        return file

    def test_takes_the_one_in_the_path(self):
        expected = self.write(self.path, "echo 9.8")
        self.write(self.installed, "echo 9.8")
        self.assertEqual(fetched.find_python("9.8"), expected)

    def test_takes_pyenvs_where_what_is_in_the_path_starts_none(self):
        self.write(self.path, "exit 127")
        expected = self.write(self.installed, "echo 9.8")
        self.assertEqual(fetched.find_python("9.8"), expected)

    def test_says_so_where_there_is_none(self):
        self.write(self.path, "echo 9.7")
        with self.assertRaisesRegex(Failed, 'for CPython 9.8 only, and there is no "python9.8" here'):
            fetched.run_with_its_python({"python": "9.8"})


if __name__ == "__main__":
    unittest.main()
