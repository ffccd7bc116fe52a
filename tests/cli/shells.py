"""The completions in zsh and fish themselves, as typed: shells.py SHELL ASSAY SOURCE. Exit code 77 where SHELL is missing.

bash is tested in completion_test.cpp.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

# A line that is typed, and what has to stand behind it when the shell has completed it.
TYPED = [("doct", "doctor"), ("run --quie", "--quiet"), ("run --fault bias_drop", "bias_dropped"),
         ("run concat/form=graph_input,place=bef", "concat/form=graph_input,place=before"), ("list --faul", "--faults"),
         ("converters inst", "install"), ("run --db some_fi", "some_file.db")]


def by_fish(environment, folder, line):
    script = f"source {folder}/assay.fish; complete -C 'assay {line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], env=environment, cwd=folder, text=True, capture_output=True,
                          check=True, timeout=120)
    return done.stdout


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, environment, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
        self.until("%", 20)
        self.send(f"unset zle_bracketed_paste; PS1='READY%# '; fpath=({folder} $fpath)\n")
        self.send("autoload -U compinit && compinit -u -D && echo LOAD''ED\n")
        self.until("LOADED", 60)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def until(self, wanted, seconds):
        """What the terminal shows, up to `wanted`, or all of the time."""
        seen, end = "", time.time() + seconds
        while time.time() < end and wanted not in seen:
            if select.select([self.terminal], [], [], 0.2)[0]:
                seen += os.read(self.terminal, 65536).decode(errors="replace")
                seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x08|\r|\x07", "", seen)
        return seen

    def completed(self, line, wanted):
        self.send("\x15")  # an empty line
        self.until("READY", 1)
        self.send(f"assay {line}\t")
        return self.until(wanted, 8)


def main(shell, assay, source):
    if not shutil.which(shell):
        print(f"{shell} is missing: apt-get install {shell}")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        bin_folder = pathlib.Path(folder, "bin")
        bin_folder.mkdir()
        (bin_folder / "assay").symlink_to(assay)
        environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "ASSAY_HOME": source, "TERM": "dumb", "HOME": folder,
                       "LC_ALL": "C.UTF-8"}
        pathlib.Path(folder, "some_file.db").touch()
        script = subprocess.run([assay, "completion", shell], env=environment, text=True, capture_output=True, check=True).stdout
        pathlib.Path(folder, "assay.fish" if shell == "fish" else "_assay").write_text(script, encoding="utf-8")
        zsh = Zsh(environment, folder) if shell == "zsh" else None
        for line, wanted in TYPED:
            got = zsh.completed(line, wanted) if zsh else by_fish(environment, folder, line)
            if wanted not in got:
                wrong.append(f"{shell}: \"assay {line}\" and tab: no {wanted}; got {got!r}")
        if zsh:
            zsh.send("\x15exit\n")
            os.close(zsh.terminal)
            os.waitpid(zsh.process, 0)
    print("\n".join(wrong) or f"{shell} completes {len(TYPED)} lines")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:4]))
