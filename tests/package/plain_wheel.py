"""The wheel as pip takes it, of a build that is there: what scikit-build-core puts into one, without a build of its own."""
import os
import subprocess
import sysconfig
import zipfile
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: onnx-assay\nVersion: {version}\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"
PROGRAMS = "[console_scripts]\nassay = onnx_assay.__main__:main\n"


def plain_wheel(build, root, folder):
    """Writes it into `folder`, which is empty or isn't there, and returns its path."""
    staged = Path(folder, "staged")
    subprocess.run(["cmake", "--install", build, "--prefix", staged, "--component", "program"], check=True, capture_output=True)
    version = subprocess.run([staged / "bin" / "assay", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = f"onnx_assay-{version}.dist-info"
    wheel = Path(folder, f"onnx_assay-{version}-py3-none-{platform}.whl")
    with zipfile.ZipFile(wheel, "w") as archive:
        for source in [staged, Path(root, "python", "onnx_assay")]:
            for file in sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
                archive.write(file, os.path.join("onnx_assay", file.relative_to(source)))
        archive.writestr(f"{info}/METADATA", METADATA.format(version=version))
        archive.writestr(f"{info}/WHEEL", WHEEL.format(platform=platform))
        archive.writestr(f"{info}/entry_points.txt", PROGRAMS)
        archive.writestr(f"{info}/RECORD", "")
    return wheel
