"""Layers: what several converters need and what is large, installed once beside the converters' environments.

A layer `torch==2.14.1` is the environment layer-torch-2.14.1, with exactly the packages that layers/torch-2.14.1.txt
pins. A converter's environment sees them through a .pth file; pip takes them for installed there. The layers that an
environment uses stand in its layers.txt.

A list may leave out what its packages ask for but don't need here, CUDA's gigabytes above all: their metadata then no
longer asks for it, and the shared libraries that are missing are stood in for by ones whose functions end the process.
"""

import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

from environments import PARTIAL, SITE_PACKAGES, Failed, freeze, package_name, read_pins, say
from locks import pip_install_locked

LISTS = Path(__file__).resolve().parent / "layers"
LAST_WORDS = """long write(int, const void*, unsigned long);
_Noreturn void abort(void);
static void say(const char* text) {
  unsigned long length = 0;
  while (text[length]) ++length;
  if (write(2, text, length) < 0) abort();
}
static void last_words(const char* name) {
  say("called "), say(name), say(", which is in no library here: what it belongs to was left out\\n");
  abort();
}
"""
STAND_IN = "libassay_left_out.so"  # has every function of the libraries that are left out
OF_THE_DRIVER = "libcuda.so"  # a library that links to the driver is loaded where there is a GPU only


def ask_for_pins_only(site_packages, pins):
    """Takes out of the packages' metadata what they ask for and the list leaves out."""
    known = {package_name(pin) for pin in pins}
    for file in site_packages.glob("*.dist-info/METADATA"):
        header, blank, description = file.read_text(encoding="utf-8").partition("\n\n")
        asked = "Requires-Dist: "
        lines = [line for line in header.splitlines()
                 if not line.startswith(asked) or package_name(line.removeprefix(asked)) in known]
        file.write_text("\n".join(lines) + blank + description, encoding="utf-8")


def ldd(library):
    """What the dynamic loader says about a library among those of its folder: what it links to, and the symbols that
    are nowhere."""
    beside = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
    done = subprocess.run(["ldd", "-r", library], capture_output=True, text=True, check=False, env=beside)
    return done.stdout + done.stderr


def compile_library(file, source, *words):
    command = ["cc", "-shared", "-nostdlib", f"-Wl,-soname,{file.name}", "-o", file, "-x", "c", "-", "-x", "none", *words]
    try:
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise Failed("a layer without all of its libraries needs a C compiler, \"cc\"") from missing
    if done.returncode != 0:
        raise Failed(f"no stand-in for {file.name}: {done.stderr}")


def stand_ins(functions):
    """Source of functions that say their names and end the process; libc is there when a program loads them."""
    return LAST_WORDS + "".join(f'void {name}(void) {{ last_words("{name}"); }}\n' for name in functions)


def stand_in_for_missing_libraries(folder):
    """Makes a shared library for each one that those of the folder link to and that is nowhere."""
    libraries = [library for library in sorted(folder.glob("lib*.so*")) if OF_THE_DRIVER not in ldd(library)]
    missing = sorted({name for library in libraries for name in re.findall(r"(\S+) => not found", ldd(library))})
    if not missing:
        return
    say("left out: " + ", ".join(missing))
    for name in missing:
        compile_library(folder / name, "")
    symbols = {symbol for library in libraries for symbol in re.findall(r"undefined symbol: (\w+)", ldd(library))}
    compile_library(folder / STAND_IN, stand_ins(symbol for symbol in sorted(symbols)
                                                 if not re.match("_?Py", symbol)))  # Python's own it brings itself
    for name in missing:
        compile_library(folder / name, "", "-Wl,--no-as-needed", folder / STAND_IN, "-Wl,-rpath,$ORIGIN")


def install_layer(layer, root, unlocked=False):
    """The folder of the layer NAME==VERSION, installed if it isn't there."""
    title = layer.replace("==", "-")
    file = LISTS / f"{title}.txt"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in LISTS.glob("*.txt")))
        raise Failed(f"there is no layer \"{layer}\"; there are: {known}")
    folder, partial = root / f"layer-{title}", root / f"{PARTIAL}layer-{title}"
    if (folder / "packages.txt").is_file() and (folder / SITE_PACKAGES).is_dir():
        say(f"{folder.name} is there already")
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    say(f"installing {folder.name} …")
    venv.create(partial, with_pip=True, symlinks=True)
    pins = read_pins(file)
    pip_install_locked(partial, folder.name, "--no-deps", *pins, unlocked=unlocked)
    ask_for_pins_only(partial / SITE_PACKAGES, pins)
    package = layer.partition("==")[0]
    stand_in_for_missing_libraries(partial / SITE_PACKAGES / package / "lib")
    imports = [partial / "bin" / "python", "-c", f"import {package}"]
    done = subprocess.run(imports, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{layer} is installed but can't be imported:\n{done.stderr[-2000:]}")
    freeze(partial)
    partial.rename(folder)
    return folder


def add_layers(environment, layers):
    """Makes the layers' packages visible in an environment beside them."""
    site_packages = environment / SITE_PACKAGES
    paths = [os.path.relpath(layer / SITE_PACKAGES, site_packages) for layer in layers]
    (site_packages / "assay_layers.pth").write_text("".join(path + "\n" for path in paths))
    (environment / "layers.txt").write_text("".join(layer.name + "\n" for layer in layers))
