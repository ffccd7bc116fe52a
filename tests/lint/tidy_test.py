#!/usr/bin/env python3
"""That tidy.py names the file of a finding that lies in a batch, for clang-tidy's checks and for the analyzer's:
tidy_test.py ROOT. Exit code 77 without clang-tidy.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import tidy

SOURCES = {
    "harness/value.hpp": "#pragma once\ninline int* none() { return nullptr; }\n",
    "harness/a_clean.cpp": "#include \"harness/value.hpp\"\nint first(int value) { return value + 1; }\n",
    "harness/b_style.cpp": "#include \"harness/value.hpp\"\nint* second() { return 0; }\n",
    "harness/c_null.cpp": "#include \"harness/value.hpp\"\nint third(const int* value) { return value == nullptr ? *value : 0; }\n",
    "harness/d_clean.cpp": "#include \"harness/value.hpp\"\nint fourth(int value) { return value - 1; }\n",
    "results/e_header.cpp": "#include \"harness/broken.hpp\"\nint fifth() { return 5; }\n",
    "harness/broken.hpp": "#pragma once\ninline int* nothing() { return 0; }\n",
    "tests/f_broken.cpp": "int sixth() { return missing; }\n",
    "tests/g_after.cpp": "int seventh() { return 7; }\n",
}


def main():
    program = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if program is None:
        print("no clang-tidy: apt-get install clang-tidy-14")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        shutil.copy(Path(sys.argv[1]) / ".clang-tidy", root)
        for name, text in SOURCES.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        sources = [name for name in SOURCES if name.endswith(".cpp")]
        command_of = {name: (name.split("/", maxsplit=1)[0], f"/usr/bin/c++ -std=c++20 -I{root}", folder) for name in sources}
        batches = tidy.write_batches(root, root / "build", sources, command_of)
        assert [names for _, names in batches] == [sources[:4], sources[4:5], sources[5:]], batches

        said, places = tidy.check(program, root, batches[0])
        assert places == {"harness/b_style.cpp", "harness/c_null.cpp"}, said
        assert "modernize-use-nullptr" in said and "clang-analyzer-core.NullDereference" in said, said
        said, places = tidy.check(program, root, batches[1])
        assert places == {"harness/broken.hpp"}, said
        # What follows an error that ends the compilation was not checked.
        said, places = tidy.check(program, root, batches[2])
        assert places == {"tests/f_broken.cpp", "tests/g_after.cpp"}, said
        clean, = tidy.write_batches(root, root / "build", [sources[0], sources[3]], command_of)
        assert tidy.check(program, root, clean) == ("", set())
    return 0


if __name__ == "__main__":
    sys.exit(main())
