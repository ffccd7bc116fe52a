"""docs/protocol.md and docs/schema/protocol.json against what the embedded converter says: protocol.py ASSAY DOCS.

The exchange of a case is recorded on its way. Every message fits the schema and has no key that the schema lacks; what
the page shows is what was said; its tables have every word of the policy, of `supports` and of the options. An answer
that is spoilt on its way is refused by the schema and is a broken protocol for Assay.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from schema import errors

CONVERTS = "concat/form=graph_input,place=before"
REFUSES = "unsupported_op/form=custom_domain,place=middle"
# (answer that is spoilt, how): Python that changes `answer`.
SPOILT = [
    (0, "answer['status'] = 'okay'"),
    (0, "del answer['version']"),
    (0, "answer['policy']['weights'] = 'nearst'"),
    (0, "answer['policy']['divisor'] = 'many'"),
    (0, "answer['policy']['fixed_ranges'] = {'Softmax': [0]}"),
    (0, "answer['supports']['artifact'] = 'qqd'"),
    (0, "answer['supports']['reports'] = 'tensors'"),
    (1, "del answer['artifact']"),
    (1, "answer['tensors'][0]['scale'] = ['small']"),
    (1, "answer['tensors'][0]['type'] = 'int9'"),
    (1, "answer['tensors'][0]['axis'] = 'last'"),
    (1, "del answer['precision'][0]['got']"),
    (1, "answer['diagnostics'] = 'none'"),
    (2, "answer['status'] = 'done'"),
    (2, "answer['trace'] = 'y'"),
]


def between(log, spoilt, change, command):
    """Stands between Assay and the converter: writes down what passes, spoils one answer."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program, \
            open(log, "a", encoding="utf-8") as file:
        for number, line in enumerate(sys.stdin):
            file.write("→ " + line)
            file.flush()
            program.stdin.write(line)
            program.stdin.flush()
            text = program.stdout.readline()
            if not text:
                break
            if number == spoilt:
                answer = json.loads(text)
                exec(change)  # pylint: disable=exec-used
                text = json.dumps(answer) + "\n"
            file.write("← " + text)
            file.flush()
            sys.stdout.write(text)
            sys.stdout.flush()


def exchange(assay, case, spoilt=-1, change=""):
    """The messages of a run of `case`, and the run's verdict."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        words = [sys.executable, __file__, "--between", str(log), str(spoilt), change, assay, "worker"]
        command = " ".join('"' + word.replace('"', '\\"') + '"' for word in words)
        ran = subprocess.run([assay, "run", case, "--options", "default", "--converter-cmd", command, "--json", "--jobs", "1",
                              "--no-sandbox",  # what stands between writes its log outside its job
                              "--db", folder + "/history.db"], capture_output=True, text=True, check=False)
        # A converter whose description can't be read is asked nothing: the run ends with 2.
        result = ({"verdict": "not run", "reason": ran.stderr} if ran.returncode == 2
                  else json.loads(ran.stdout)["results"][0])
        return log.read_text(encoding="utf-8").splitlines(), result


def forms(schema, message):
    """The form that a message is to have, by what it asks for or answers."""
    if "do" in message:
        return schema["$defs"][message["do"]]
    if message["status"] != "ok":
        return schema["$defs"]["declined"]
    return schema["$defs"]["description" if "name" in message else "converted" if "artifact" in message else "executed"]


def untrue_lines(page, lines):
    """Lines of the page's exchanges that were not said like that: what stands between two … must follow one another."""
    said = [re.sub(r'"/[^"]*?/(calibration_|out_|in_|outputs_|model\.onnx)', r'"JOB/\1', line) for line in lines]
    wrong = []
    shown = [line for block in re.findall(r"^```\n([→←][\s\S]*?)^```", page, re.M) for line in block.splitlines()]
    for line in shown:
        pattern = ".*".join(map(re.escape, line.split("…")))
        if not any(re.fullmatch(pattern, each) for each in said):
            wrong.append(f"not said: {line}")
    return wrong if len(shown) > 10 else [*wrong, "the page shows no exchange"]


def first_words(page, heading):
    """What the first column of the tables below a heading names."""
    part = re.split(r"^## ", page.split(f"\n## {heading}", 1)[1], flags=re.M)[0]
    return {word for row in re.findall(r"^\| (`[^|]*) \|", part, re.M) for word in re.findall(r"`([^`]+)`", row)}


def main(assay, docs):
    page = pathlib.Path(docs, "protocol.md").read_text(encoding="utf-8")
    schema = json.loads(pathlib.Path(docs, "schema", "protocol.json").read_text(encoding="utf-8"))
    wrong, lines = [], []
    for case in (CONVERTS, REFUSES):
        said, result = exchange(assay, case)
        lines += said
        if result["verdict"] != "pass":
            wrong.append(f"{case}: {result['verdict']}: {result['reason']}")
        for line in said:
            message = json.loads(line[2:])
            faults = errors(schema, message) or errors(forms(schema, message), message, schema, strict=True)
            wrong += [f"{line[:80]}…: {fault}" for fault in faults]
    verbs = {json.loads(line[2:])["do"] for line in lines if line.startswith("→")}
    if verbs != {"describe", "convert", "execute", "quit"}:
        wrong.append(f"only {verbs} were asked")
    wrong += untrue_lines(page, lines)

    described = json.loads(next(line for line in lines if '"name":"embedded"' in line)[2:])
    for what, heading in (("policy", "`policy`"), ("supports", "`supports`"), ("options", "Options")):
        known = set(schema["$defs"][what]["properties"])
        if missing := known - first_words(page, heading):
            wrong.append(f"{what}: the page has no row for {missing}")
        if what == "policy" and known != set(described[what]):
            wrong.append(f"policy: the schema and the converter differ in {known ^ set(described[what])}")

    for number, change in SPOILT:
        said, result = exchange(assay, CONVERTS, number, change)
        spoilt = json.loads([line for line in said if line.startswith("←")][number][2:])
        if not errors(schema, spoilt):
            wrong.append(f"{change}: the schema takes it")
        if result["verdict"] != ("not run" if number == 0 else "crash") or "protocol: " not in result["reason"]:
            wrong.append(f"{change}: Assay takes it: {result['verdict']}: {result['reason']}")
    print("\n".join(wrong) or f"{len(lines)} messages, {len(SPOILT)} spoilt ones")
    return 1 if wrong else 0


if sys.argv[1] == "--between":
    between(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:])
else:
    sys.exit(main(*sys.argv[1:]))
