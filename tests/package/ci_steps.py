"""Runs the steps of action.yml and of the GitLab template as scripts: ci_steps.py BUILD ROOT

In an environment with nothing in it, which gets a wheel of the build BUILD. Steps that are others' actions aren't run, but
must be pinned. Of the examples in docs/ci.md, what they give the action must be what it takes. Exit code 77 without PyYAML.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from plain_wheel import plain_wheel

try:
    import yaml
except ImportError:
    print("this Python has no PyYAML")
    sys.exit(77)

CASES = "'concat/form=graph_input,*' --options default"
RIGHT = CASES + " --converter-cmd 'assay worker'"
WRONG = CASES + " --converter-cmd 'assay worker --fault concat_first_scale'"
PINNED = re.compile(r"uses: [\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")

# The program `gh`: it knows one comment, once one was made, and writes down what it is asked.
GH = """#!/bin/sh
if [ -f read_only ]; then echo "HTTP 403: Resource not accessible by integration" >&2; exit 1; fi
case "$*" in
  *--paginate*) [ ! -f asked ] || echo 41 ;;
  *) printf '%s ' "$@" >> asked ;;
esac
"""


class Runner:
    """A machine of CI: a checked-out project, an environment of Python, and the steps of a job."""

    def __init__(self, folder):
        self.project, self.environment = folder / "project", folder / "venv"
        self.project.mkdir()
        venv.create(self.environment, with_pip=True)
        gh = self.environment / "bin" / "gh"
        gh.write_text(GH, encoding="utf-8")
        gh.chmod(0o755)
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "PYTHON", "CI_"))}
        self.variables["PATH"] = f"{self.environment / 'bin'}:{os.environ['PATH']}"

    def run(self, script, code=0, **variables):
        """Runs a script as a step, which must end with `code`; returns what it printed."""
        done = subprocess.run(["bash", "-e", "-c", script], cwd=self.project, env={**self.variables, **variables}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == code, f"exit code {done.returncode}, not {code}:\n{script}\n{done.stdout}"
        return done.stdout


class Action:
    """action.yml, as GitHub runs it."""

    def __init__(self, root, runner):
        self.root, self.runner = root, runner
        self.text = (root / "action.yml").read_text(encoding="utf-8")
        action = yaml.safe_load(self.text)
        self.inputs, self.steps = action["inputs"], action["runs"]["steps"]

    def check_pins(self):
        uses = re.findall(r"uses: .*", self.text)
        assert len(uses) >= 4 and all(map(PINNED.fullmatch, uses)), uses
        assert all(("uses" in step) != ("run" in step) for step in self.steps)

    def run(self, code, github, **given):
        """Runs its own steps; the last one must end with `code`. Returns what they printed and what they put out."""
        unknown = set(given) - set(self.inputs)
        assert not unknown, unknown
        output, summary = self.runner.project / "github_output", self.runner.project / "github_summary"
        output.write_text("", encoding="utf-8")
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTION_PATH": str(self.root)}
        words = {f"inputs.{name}": given.get(name, about.get("default")) for name, about in self.inputs.items()}
        words.update({f"github.{name}": value for name, value in github.items()})
        printed, outputs = "", {}

        def filled(text):
            return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: words[found[1]], text)

        for step in self.steps:
            if "run" not in step or ("if" in step and not self.holds(step["if"], words)):
                continue
            environment = {name: filled(value) for name, value in step.get("env", {}).items()}
            last = step is self.steps[-1]
            printed += self.runner.run(step["run"], code if last else 0, **files, **environment)
            outputs = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
            words.update({f"steps.job.outputs.{name}": value for name, value in outputs.items()})
        return printed, outputs

    @staticmethod
    def holds(condition, words):
        """A condition of the form A == 'b' && …"""
        parts = [re.fullmatch(r"([\w.-]+) == '(\w+)'", part) for part in condition.split(" && ")]
        assert all(parts), condition
        return all(words.get(part[1], "") == part[2] for part in parts)


def check_action(action, project):
    out, pull = project / "assay-out", {"event_name": "pull_request", "token": "t", "repository": "o/r",
                                        "event.pull_request.number": "7"}
    printed, outputs = action.run(0, {"event_name": "push"}, run=RIGHT)
    assert "exit code 0: everything is as expected" in printed and "no changes.md" in printed, printed
    assert outputs == {"exit-code": "0"}, outputs
    assert {path.name for path in out.iterdir()} == {"history.db", "report.html", "junit.xml", "assay.sarif"}, list(out.iterdir())
    printed, _ = action.run(0, {"event_name": "push"}, run=RIGHT, accept="reviewed")
    assert "are anchors now" in printed, printed
    for method in ["POST repos/o/r/issues/7/comments", "PATCH repos/o/r/issues/comments/41"]:
        printed, outputs = action.run(1, pull, run=WRONG)
        assert "exit code 1: a red verdict" in printed and "reproduce: assay run" in printed, printed
        assert outputs == {"exit-code": "1", "changes": "true"}, outputs
        asked = (project / "asked").read_text(encoding="utf-8")
        assert f"--method {method} --raw-field body=<!-- assay: assay -->" in asked and "expected scale" in asked, asked
    assert "expected scale" in (project / "github_summary").read_text(encoding="utf-8")
    # A job of a matrix has a comment of its own; without a complete run it says so in the place of an older page.
    printed, outputs = action.run(2, pull, run="--no-such-option", name="py312")
    asked = (project / "asked").read_text(encoding="utf-8")
    assert outputs["changes"] == "true" and "body=<!-- assay: py312 -->" in asked and "no verdicts" in asked, asked
    # A fork's token may not comment, which is no verdict.
    (project / "read_only").touch()
    printed, _ = action.run(1, pull, run=WRONG)
    assert "no comment: the token may not write one" in printed, printed
    (project / "read_only").unlink()
    # A job that judged nothing is not green.
    absent = action.root / "tests" / "package" / "example" / "absent.sh"
    printed, _ = action.run(5, {"event_name": "push"}, run=f"{CASES} --converter-cmd 'sh {absent}'")
    assert "--min-judged asks for 1" in printed, printed
    shutil.rmtree(out)


def check_gitlab(root, runner, wheel):
    """The template, copied as its first line says."""
    own = runner.project / "ci" / "assay"
    shutil.copytree(root / "tools" / "ci", own)
    shutil.copy(wheel, own)
    job = yaml.safe_load((own / "gitlab.yml").read_text(encoding="utf-8"))[".assay"]
    script = "\n".join(job["script"])
    printed = runner.run(script, 1, ASSAY_RUN=WRONG, **job["variables"])
    assert "exit code 1: a red verdict" in printed, printed
    kept = [*job["cache"]["paths"], job["artifacts"]["reports"]["junit"], *job["artifacts"]["paths"]]
    assert all((runner.project / path).exists() for path in kept), kept


def check_words(root, runner):
    """Every exit code is explained."""
    job = root / "tools" / "ci" / "assay_job.sh"
    codes = re.findall(r" = (\d+),", (root / "harness" / "run" / "exit_code.hpp").read_text(encoding="utf-8"))
    missing = [code for code in codes if not re.search(rf"^  {code}\) words=", job.read_text(encoding="utf-8"), re.M)]
    assert len(codes) == 8 and not missing, missing
    absent = root / "tests" / "package" / "example" / "absent.sh"
    for words, code, said in [("--no-such-option", 2, "wrong usage"), ("no_such_case", 5, "nothing matches"),
                              (f"{CASES} --only '*before' --skip-unavailable --converter-cmd 'sh {absent}'", 77, "nothing was tested")]:
        printed = runner.run(f"sh '{job}' {words}", code)
        assert f"exit code {code}: " in printed and said in printed, printed


def check_examples(root, action):
    """The examples in docs/ci.md."""
    page = (root / "docs" / "ci.md").read_text(encoding="utf-8")
    examples = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n([\s\S]*?)^```$", page, re.M)]
    uses = re.findall(r"uses: .*", page)
    ours = [step for example in examples for job in example.get("jobs", {}).values() for step in job["steps"]
            if step.get("uses", "").startswith("OWNER/assay@")]
    assert len(ours) >= 2 and all(set(step["with"]) <= set(action.inputs) for step in ours), ours
    assert all(PINNED.fullmatch(each) or "OWNER/assay@" in each for each in uses), uses
    gitlab = [job for example in examples for job in example.values() if isinstance(job, dict) and job.get("extends") == ".assay"]
    assert gitlab and all("ASSAY_RUN" in job["variables"] for job in gitlab), gitlab


def main(build, root):
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder))
        (runner.project / "dist").mkdir()
        wheel = plain_wheel(build, root, Path(folder, "wheel"))
        shutil.copy(wheel, runner.project / "dist")
        action = Action(root, runner)
        action.check_pins()
        check_action(action, runner.project)
        check_gitlab(root, runner, wheel)
        check_words(root, runner)
        check_examples(root, action)
    print("the steps of the action and of the template do what they say")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()))
