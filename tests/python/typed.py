"""Runs `mypy --strict`, as pyproject.toml sets it up, over the Python package of the tree ROOT: typed.py ROOT

Exit code 77 where neither this interpreter nor the system's has mypy.
"""
import subprocess
import sys
import tempfile


def main(root):
    for python in [sys.executable, "/usr/bin/python3"]:
        if subprocess.run([python, "-c", "import mypy"], capture_output=True, check=False).returncode == 0:
            with tempfile.TemporaryDirectory() as cache:
                return subprocess.run([python, "-m", "mypy", "--cache-dir", cache], cwd=root, check=False).returncode
    print("there is no mypy")
    return 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
