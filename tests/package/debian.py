"""Makes the Debian packages of the build BUILD and looks into them: debian.py BUILD

Exit code 77 where cpack, dpkg-deb or dpkg-shlibdeps is missing. Nothing is installed: the packages are unpacked, and the
program is run from there.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NEEDED = ["cpack", "dpkg-deb", "dpkg-shlibdeps", "file"]


def printed(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def main(build):
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    if missing:
        print(f"there is no {', '.join(missing)}")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        printed("cpack", "-G", "DEB", "--config", Path(build, "CPackConfig.cmake"), "-B", folder / "made")
        packages = {path.name.split("_")[0]: path for path in (folder / "made").glob("*.deb")}
        assert sorted(packages) == ["assay", "assay-dev"], packages
        fields = {package: dict(re.findall(r"^([\w-]+): (.*)$", printed("dpkg-deb", "--field", path), re.M))
                  for package, path in packages.items()}
        program, development = fields["assay"], fields["assay-dev"]
        assert re.fullmatch(r"[^<]+ <[^@ ]+@[^@ ]+>", program["Maintainer"]), program["Maintainer"]
        needed = {each.split()[0] for each in program["Depends"].split(", ")}
        assert {"libc6", "libonnx1", "libsqlite3-0"} <= {re.sub(r"t64$", "", each) for each in needed}, program["Depends"]
        assert f"assay (= {program['Version']})" in development["Depends"], development["Depends"]
        for package, path in packages.items():
            printed("dpkg-deb", "--extract", path, folder / package)
            written = (folder / package / "usr" / "share" / "doc" / package / "copyright").read_text(encoding="utf-8")
            assert "License: Expat\n The MIT License" in written and "\n\n\n" not in written, written
            strange = [each for each in (folder / package).rglob("*") if each.is_file() and each.relative_to(folder / package).parts[0] != "usr"]
            assert not strange, strange
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
        (folder / "empty").mkdir()
        said = printed(folder / "assay" / "usr" / "bin" / "assay", "run", "concat/form=graph_input,*", "--quiet",
                       cwd=folder / "empty", env=environment)
        assert said == "6 planned: 6 pass\n", said
        usr = folder / "assay" / "usr"
        found = printed(sys.executable, "-c", "import onnx_assay; from onnx_assay import _program; "
                        "print(_program.shared_folder())", cwd=folder / "empty",
                        env={**environment, "PYTHONPATH": str(usr / "lib" / "python3" / "dist-packages"),
                             "PATH": f"{usr / 'bin'}:{os.environ['PATH']}"})
        assert Path(found.strip()) == (usr / "share" / "assay").resolve(), found
        print(", ".join(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB" for path in packages.values()))
        return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
