"""Crafted data files, case and suite files, bundles, caches, databases and adapters."""

import copy
import io
import json
import sqlite3
import struct
import zipfile

import wire
from table import ANY, BAD, Copy, Fifo, Link, Row, Sparse

DEEP = "[" * 100000 + "]" * 100000
ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202e\u2066\x9b31m"
FORGED = "x\n2382 planned: 2382 pass"


def some_floats(count):
    return struct.pack(f"<{count}f", *(0.1 * (i % 21 - 10) for i in range(count)))


def npy(shape, data, descr="'<f4'", order="False", header=None):
    text = "(" + "".join(f"{extent}, " for extent in shape) + ")"
    header = header or f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {text}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npz(arrays, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in arrays.items():
            archive.writestr(name + ".npy", data)
    return out.getvalue()


def bomb(size):
    """A small archive that unpacks to `size` zero bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as entry:
            for _ in range(size >> 20):
                entry.write(bytes(1 << 20))
    return out.getvalue()


def lying_size(archive, size):
    """An archive whose directory says that its first entry unpacks to `size` bytes."""
    at = archive.index(b"PK\x01\x02") + 24
    return archive[:at] + struct.pack("<I", size) + archive[at + 4:]


def data_rows():
    good = npy((1, 3, 4, 4), some_floats(48))
    arrays = {
        "nothing": b"",
        "magic alone": good[:8],
        "header cut": good[:60],
        "data cut": good[:-1],
        "too much": good + b"x",
        "128 bytes of shape 10^12,0,3,8,7": npy((10**12, 0, 3, 8, 7), b""),
        "shape 2^63": npy((2**63, 1), b""),
        "shape 2^32 x 2^32": npy((2**32, 2**32), b""),
        "negative": npy((-1, 3), b""),
        "rank 70": npy((1,) * 70, b"\0\0\0\0"),
        "objects": npy((1, ), b"x" * 8, "'|O'"),
        "text": npy((1, ), b"x" * 4, "'<U1'"),
        "records": npy((1, ), b"x" * 8, "[('a', '<f4'), ('b', '<f4')]"),
        "big endian": npy((1, 3, 4, 4), some_floats(48), "'>f4'"),
        "column order": npy((1, 3, 4, 4), some_floats(48), order="True"),
        "column order 10^12": npy((10**12, 0), b"", order="True"),
        "no shape": npy((), b"", header="{'descr': '<f4', 'fortran_order': False}"),
        "shape of words": npy((), b"", header="{'descr': '<f4', 'fortran_order': False, 'shape': (a, b), }"),
        "no end": npy((), b"", header="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3"),
        "not finite": npy((1, 3, 4, 4), struct.pack("<f", float("nan")) * 48),
        "version 9": good[:6] + b"\x09\x00" + good[8:],
        "header of 2^32": b"\x93NUMPY\x02\x00" + b"\xff" * 4 + good[10:],
    }
    check = lambda file, option="--calibration": ["ASSAY", "check", "good.onnx", option, file]
    for name, content in arrays.items():
        codes = ANY if name in ("column order", ) else BAD
        yield Row(f"npy: {name}", check("d.npy"), {"d.npy": content}, codes)
        yield Row(f"npz: {name}", check("d.npz"), {"d.npz": npz({"x": content})}, codes)
        yield Row(f"inputs: {name}", check("d.npy", "--inputs"), {"d.npy": content}, codes)
    relu = wire.model(wire.graph([wire.node("Relu", ["x"], ["y"])], [wire.info("x", ["N", 3])], [wire.info("y", ["N", 3])]))
    yield Row("npy: 10^8 batches of nothing", ["ASSAY", "check", "m.onnx", "--calibration", "d.npy"],
              {"m.onnx": wire.encode(relu), "d.npy": npy((10**8, 0, 3), b"")}, says="at most")
    archive = npz({"x": good})
    for name, content in {
            "bomb of 3 GiB": bomb(3 << 30), "lies: 2^32-1": lying_size(archive, 2**32 - 1),
            "lies: 10 bytes": lying_size(archive, 10), "an archive cut": archive[:-30], "an archive of text": npz({
                "../../x": good
            }), "no archive": b"PK\x03\x04" + b"x" * 100, "no entries": b"PK\5\6" + bytes(18), "names of bytes":
                npz({"x\x1b[2J\n2382 planned: 2382 pass": good}), "twice": archive[:0] + npz({"x": good, "X": good})
    }.items():
        yield Row(f"npz: {name}", check("d.npz"), {"d.npz": content}, ANY if name == "lies: 10 bytes" else BAD, seconds=30)
    for name, content in {"fifo": Fifo(), "2^40 bytes": Sparse(2**40), "2^31 bytes": Sparse(2**31),
                          "a link to nothing": Link("nothing"), "a link to /dev/zero": Link("/dev/zero"),
                          "a link to itself": Link("d.npz")}.items():
        for suffix in ("npz", "npy"):
            yield Row(f"{suffix}: {name}", check(f"d.{suffix}"), {f"d.{suffix}": content}, seconds=30)
        yield Row(f"model: {name}", ["ASSAY", "exec", "d.npz"], {"d.npz": content}, seconds=30)
        yield Row(f"artifact is {name}", ["ASSAY", "check", "good.onnx", "--artifact", "d.npz", "--calibration",
                                          "good.npz"], {"d.npz": content}, (1, 2, 77), seconds=30)
        yield Row(f"tensor: {name}", check("d"), {"d/0000/input_0.pb": content}, seconds=30)
        yield Row(f"case file is {name}", ["ASSAY", "run", "./d.json"], {"d.json": content}, (2, 5), seconds=30)
        yield Row(f"cache is {name}", ["ASSAY", "audit", "good.onnx", "--cache", "d", "--calibration", "good.npz"],
                  {"d": content}, seconds=30)
        yield Row(f"database is {name}", ["ASSAY", "report", "--db", "d.db"], {"d.db": content}, seconds=30)
        yield Row(f"results are {name}", ["ASSAY", "import-results", "d.gz", "--db", "own.db"], {"d.gz": content},
                  ANY if name == "a link to /dev/zero" else BAD, seconds=60)
        yield Row(f"bundle.json is {name}", ["ASSAY", "replay", "d"], {"d/bundle.json": content}, seconds=30)
    for name, fields in {
            "no name": [(1, 1), (2, 1), (9, b"\0\0\0\0")], "no type": [(1, 1), (8, "x"), (9, b"\0\0\0\0")],
            "negative": [(1, -1), (2, 1), (8, "x")], "huge": [(1, 2**40), (2, 1), (8, "x")],
            "string": [(1, 1), (2, 8), (8, "x"), (6, b"x")], "escapes": [(1, 1), (2, 1), (8, ESCAPES), (9, b"\0\0\0\0")],
            "forged": [(1, 1), (2, 1), (8, FORGED), (9, b"\0\0\0\0")], "no UTF-8": [(1, 1), (2, 1), (8, b"\xff"),
                                                                                  (9, b"\0\0\0\0")],
            "external": [(1, 1), (2, 1), (8, "x"), (14, 1), (13, [(1, "location"), (2, "/etc/passwd")])]
    }.items():
        yield Row(f"tensor: {name}", check("d"), {"d/0000/input_0.pb": wire.encode(fields)})


CASE = {
    "family": "hostile", "title": "a case", "opset": 13,
    "graph": ["agraph (float[1,3,4,4] x) => (float[1,3,4,4] y) {", "  a = Conv <kernel_shape=[1,1]> (x, w)",
              "  y = Relu (a)", "}"],
    "initializers": {"w": {"shape": [3, 3, 1, 1], "std": 0.5}},
    "inputs": {"x": {"data": ["typical"], "range": [-1, 1]}},
    "calibration": {"batches": 2, "seed": 3},
    "options": {"activation": "int8"},
    "expect": {"precision": {"Conv": "int8"}, "diagnostics": []},
    "tags": ["Conv"], "kills": [],
}
OTHERS = (None, True, 0, -1, 2**63, -2**63, 1e300, "", "text", ESCAPES, FORGED, [], {}, [[[]]], {"x": {"y": 1}},
          "$", "${", "$x", "NaN", "x" * 100000)


def json_paths(value, at=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield at + (key,)
        yield from json_paths(inner, at + (key,))


def json_mutations(value, others, deepest=9):
    for at in json_paths(value):
        if len(at) > deepest:
            continue
        for index in range(-1, len(others)):
            changed = copy.deepcopy(value)
            inner = changed
            for key in at[:-1]:
                inner = inner[key]
            if index < 0:
                del inner[at[-1]]
            else:
                inner[at[-1]] = others[index]
            yield ".".join(map(str, at)) + (" gone" if index < 0 else f" other {index}"), changed


def case_rows():
    run = ["ASSAY", "run", "./c.json", "--db", "own.db"]
    for name, case in json_mutations(CASE, OTHERS):
        yield Row(f"case: {name}", run, {"c.json": json.dumps(case)}, ANY + (5, 77), seconds=20)
    texts = {
        "nothing": "", "deep": DEEP, "deep objects": '{"a":' * 100000 + "1" + "}" * 100000, "deep and cut": "[" * 10**6,
        "a deep value": json.dumps(CASE)[:-1] + ', "seed": ' + DEEP + "}", "bytes": b"\xff\xfe{}", "a NUL": "\0",
        "keys twice": '{"family": "a", "family": "b"}', "a list": "[]", "a number": "1e999", "no UTF-8":
            json.dumps(CASE).encode().replace(b"hostile", b"host\xff"), "16 MiB": " " * (17 << 20), "a model": wire.encode(
                [(1, 7)])
    }
    for name, text in texts.items():
        yield Row(f"case file: {name}", run, {"c.json": text})
        yield Row(f"lint: {name}", ["ASSAY", "lint", "./c.json"], {"c.json": text})
        yield Row(f"options: {name}", ["ASSAY", "check", "good.onnx", "--options"] + [
            text if isinstance(text, str) and len(text) < 100000 and "\0" not in text else "[" * 100000], {})
        yield Row(f"polygraphy: {name}", ["ASSAY", "import", "good.onnx", "--load-inputs", "i.json", "--into", "out"],
                  {"i.json": text, "good.onnx": Copy("good.onnx")})
        yield Row(f"cache: {name}", ["ASSAY", "audit", "good.onnx", "--cache", "c", "--calibration", "good.npz"],
                  {"c": text})
    with_key = lambda **keys: json.dumps({**CASE, **keys})
    digits = list(range(10))
    for name, text, says in (
        ("10^6 parentheses", with_key(seed="(" * 10**6 + "$n" + ")" * 10**6, matrix={"n": [1]}), "too deep"),
        ("10^6 parentheses in a text", with_key(title="a " + "(" * 10**6 + "$n", matrix={"n": [1]}), "too deep"),
        ("10^6 signs", with_key(seed="-" * 10**6 + "$n", matrix={"n": [1]}), "too deep"),
        ("a division by zero", with_key(seed="$n/0", matrix={"n": [1]}), "division by zero"),
        ("an overflow", with_key(seed="$n" + "*1000000" * 60, matrix={"n": [1]}), ""),
        ("a matrix of 10^9", with_key(matrix={k: digits for k in "abcdefghi"}), "more than 10000 cases"),
        ("a matrix of 10^5 by forms", with_key(forms={f"f{i}": {"matrix": {"a": list(range(5000))}} for i in range(9)}),
         "more than 10000 cases"),
        ("a name that forges", with_key(family=FORGED), "control characters"),
        ("a matrix value that forges", with_key(matrix={"a": [FORGED]}), "control characters"),
        ("a name that is obeyed", with_key(family=ESCAPES), "control characters"),
        ("a pattern that is none", with_key(expect={"diagnostics": ["(("]}), "regular expression"),
        ("a reason that is none", with_key(expect={"status": "refused", "refused": {"reason": "a{9999}"}}),
         "regular expression"),
        ("a model elsewhere", with_key(graph=None, model="../../../etc/passwd"), ""),
        ("a huge input", with_key(inputs={"x": {"shape": [2**31, 2**31, 4, 4]}}), ""),
        ("a huge weight", with_key(initializers={"w": {"shape": [2**20, 2**20]}}), ""),
        ("10^9 batches", with_key(calibration={"batches": 10**9}), "0 to 1000"),
        ("a graph of 10^6 nodes", with_key(graph=["agraph (float[1] x) => (float[1] y) {"] + ["y = Relu (x)"] * 10**5),
         ""),
        ("a graph that isn't closed", with_key(graph="agraph (float[1] x) => (float[1] y) {" + "a = If <t = g() {" * 10**4),
         ""),
        ("a graph of parentheses", with_key(graph="(" * 10**6), ""),
    ):
        yield Row(f"case: {name}", run, {"c.json": text}, says=says, seconds=30)
    suite = {"title": "a suite", "select": ["./c.json"], "converters": ["embedded"], "option_sets": [{"label": "default"}],
             "expected_failures": [{"case": "*", "converter": "embedded", "reason": "x", "url": "https://x.invalid/1",
                                    "until": "2030-01-01", "margin": 2, "versions": "1.0 to 2"}]}
    for name, changed in json_mutations(suite, OTHERS):
        yield Row(f"suite: {name}", ["ASSAY", "lint", "./s.json"], {"s.json": json.dumps(changed), "c.json": json.dumps(CASE)},
                  ANY)
    for name, text in texts.items():
        yield Row(f"suite file: {name}", ["ASSAY", "lint", "./s.json"], {"s.json": text}, ANY)


def cache_rows(shared):
    audit = ["ASSAY", "audit", "good.onnx", "--cache", "c", "--calibration", "good.npz"]
    good = json.loads((shared / "good.cache").read_text())
    for name, cache in json_mutations(good, OTHERS, 3):
        yield Row(f"cache: {name}", audit, {"c": json.dumps(cache)}, ANY)
    trt = "TRT-8601-EntropyCalibration2\nx: 3c010a14\ny: 3c010a14\n"
    for name, text in {"trt": trt, "trt cut": trt[:40], "trt no number": trt.replace("3c010a14", "zz"), "trt NaN": trt.replace(
            "3c010a14", "7fc00000"), "trt escapes": trt.replace("x:", ESCAPES + ":"), "trt long": trt + "a" * 10**6 + ": 3c010a14\n",
                       "flatbuffer": b"\x18\0\0\0" + bytes(range(256)) * 4, "flatbuffer of ones": b"\xff" * 1000}.items():
        yield Row(f"cache: {name}", audit, {"c": text}, ANY)


def bundle_rows(shared):
    good = json.loads((shared / "good_bundle" / "bundle.json").read_text())
    replay = ["ASSAY", "replay", "b"]
    row = lambda name, index, command=replay, codes=BAD, **more: Row(
        f"bundle: {name}", command, {"b": Copy("good_bundle"), "b/bundle.json": index if isinstance(index, (str, bytes)) else
                                     json.dumps(index), **more.pop("files", {})}, codes, **more)
    for name, index in json_mutations(good, (None, -1, 2**63, "text", ESCAPES, FORGED, [], {}, [[]]), 3):
        yield row(name, index, codes=ANY)
    for name, text in {"nothing": "", "deep": DEEP, "text": "text", "a list": "[]", "deep inside": json.dumps(good)[:-1] +
                       ', "x": ' + DEEP + "}"}.items():
        yield row(name, text)

    def changed(at, value):
        index = copy.deepcopy(good)
        inner = index
        for key in at[:-1]:
            inner = inner[key]
        inner[at[-1]] = value
        return index

    command = changed(("converter", "asked"), {"name": "", "command": "touch ran", "faults": [], "variant": ""})
    yield row("a command in it", command, replay + ["--convert"], says="touch ran", lacks="ran/../ran")
    yield Row("bundle: a command in it isn't run", ["sh", "-c", '"$0" replay b --convert; test ! -e ran', "ASSAY"],
              {"b": Copy("good_bundle"), "b/bundle.json": json.dumps(command)}, (0,))
    for place in ("/etc", "../secret", "..", "artifact/../../secret", "link", "/"):
        files = {"secret/model.onnx": Copy("good_q.onnx"), "b/link": Link("../secret")}
        yield row(f"conversions in {place}", changed(("conversions", 0, "folder"), place), files=files)
        yield row(f"feeds in {place}", changed(("data", "feeds", 0, "folder"), place), files=files)
        yield row(f"data set {place}", changed(("data_sets", 0, "name"), place), files={**files, "b/inputs/link": Link(
            "../../secret")})
    for place in ("/etc/passwd", "../secret/model.onnx", "../../secret/model.onnx", "link"):
        files = {"secret/model.onnx": Copy("good_q.onnx"), "b/artifact/link": Link("../../secret/model.onnx"), "b/link":
                 Link("../secret/model.onnx")}
        yield row(f"artifact {place}", changed(("conversions", 0, "reply", "artifact"), place), files=files)
        yield row(f"cache {place}", changed(("conversions", 0, "reply", "cache"), place), files=files)
        yield row(f"model {place}", changed(("case", "file", "model"), place), files=files)
    yield row("a folder link beside the artifact", good, files={"b/artifact/all": Link("/")}, codes=(1, 2, 77))
    yield row("a fifo beside the artifact", good, files={"b/artifact/fifo": Fifo()}, codes=(1, 2, 77))
    yield row("10^9 batches", changed(("data", "feeds", 0, "batches"), 10**9))
    for name in ("model.onnx", "artifact/model.onnx", "calibration/0000/input_0.pb"):
        for what, content in {"fifo": Fifo(), "nothing": b"", "2^31 bytes": Sparse(2**31), "a link out": Link("/etc/passwd")}.items():
            yield row(f"{name} is {what}", good, files={f"b/{name}": content}, codes=(1, 2, 77))


def database(shared, *statements):
    """The good database after some SQL, as bytes."""
    connection = sqlite3.connect(":memory:")
    source = sqlite3.connect(shared / "good.db")
    source.backup(connection)
    source.close()
    connection.executescript("PRAGMA writable_schema=ON;")
    for statement in statements:
        connection.execute(*(statement if isinstance(statement, tuple) else (statement,)))
    connection.commit()
    place = shared / "made.db"
    place.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(place),))
    connection.close()
    content = place.read_bytes()
    place.unlink()
    return content


def with_version(content, value):
    return content[:60] + struct.pack(">i", value) + content[64:]


def database_rows(shared):
    good = database(shared)
    commands = {
        "report": ["ASSAY", "report", "--db", "d.db", "--converter", "embedded"],
        "html": ["ASSAY", "report", "--db", "d.db", "--html", "page.html"],
        "junit": ["ASSAY", "report", "--db", "d.db", "--junit", "j.xml"],
        "history": ["ASSAY", "history", "--db", "d.db"],
        "check": ["ASSAY", "check", "good.onnx", "--calibration", "good.npz", "--db", "d.db"],
        "export": ["ASSAY", "export-results", "out.gz", "--db", "d.db"],
    }
    for version in (-1000, -1, 1, 5, 2**31 - 1, -2**31):
        for name, command in commands.items():
            yield Row(f"database: user_version {version}, {name}", command, {"d.db": with_version(good, version)},
                      BAD if version < 0 or version > 1000 else ANY)
    connection = sqlite3.connect(shared / "good.db")
    tables = {t: [c[1] for c in connection.execute(f"PRAGMA table_info({t})")]
              for (t,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    connection.close()
    for table, columns in tables.items():
        if table.startswith("sqlite_"):
            continue
        statements = {"gone": [f"DROP TABLE {table}"], "a view that never ends":
                      [f"DROP TABLE {table}", f"CREATE VIEW {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
                       f"FROM n) SELECT {', '.join(f'i AS {c}' for c in columns)} FROM n"]}
        for what, sql in statements.items():
            try:
                content = database(shared, "PRAGMA foreign_keys=OFF", *sql)
            except sqlite3.Error:
                continue
            for name, command in commands.items():
                yield Row(f"database: {table} {what}, {name}", command, {"d.db": content}, ANY, seconds=20)
        for column in columns:
            for index, value in enumerate((ESCAPES, FORGED, b"\xff\xfe\0", -2**63, 1e300, DEEP[:20000], "<script>&|`$(x)\"'")):
                try:
                    content = database(shared, (f"UPDATE OR IGNORE {table} SET {column} = ?", (value,)))
                except sqlite3.Error:
                    continue  # the schema forbids it
                for name in ("html", "history") if index else commands:
                    yield Row(f"database: {table}.{column} value {index}, {name}", commands[name], {"d.db": content}, ANY + (5,),
                              seconds=20)
    for size in range(0, len(good), 4096 * 3 + 7):
        yield Row(f"database cut at {size}", commands["html"], {"d.db": good[:size]}, ANY)
    for at in range(100, len(good), 4096 * 2 + 100):
        yield Row(f"database with ones at {at}", commands["html"], {"d.db": good[:at] + b"\xff" * 64 + good[at + 64:]}, ANY)
    packed = (shared / "good.results.gz").read_bytes()
    load = ["ASSAY", "import-results", "d.gz", "--db", "own.db"]
    for name, content in {"nothing": b"", "cut": packed[:-9], "text": b"text\n", "deep": DEEP, "a database": good,
                          "a bad version": with_version(good, -5), "lines": b"{}\n" * 1000}.items():
        yield Row(f"results: {name}", load, {"d.gz": content}, ANY if name == "a database" else BAD)


ADAPTER = '''
import json, sys
answer = json.loads(open("answer.json").read())
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "describe":
        print(open("describe.json").read().replace("ID", str(request["id"])), flush=True)
    else:
        sys.stdout.write(open("convert.json").read().replace("ID", str(request["id"])) + "\\n")
        sys.stdout.flush()
'''


def adapter_rows():
    describe = '{"id": ID, "status": "ok", "name": "hostile", "version": "1", "supports": {"execute": false}}'
    refuse = lambda reason: json.dumps({"id": "ID", "status": "refused", "node": "conv", "op": "Conv", "reason": reason}).replace(
        '"ID"', "ID")
    files = lambda convert=refuse("no"), what=describe: {"a.py": ADAPTER, "answer.json": "{}", "convert.json": convert,
                                                         "describe.json": what, "secret.onnx": Copy("good_q.onnx")}
    check = ["ASSAY", "check", "good.onnx", "--calibration", "good.npz", "--converter-cmd", "python3 a.py", "--timeout", "5"]
    for name, text in {
            "a reason of 80 KB": refuse("img " * 20000), "a reason that is obeyed": refuse(ESCAPES),
            "a reason that forges": refuse(FORGED), "a deep reply": '{"id": ID, "x": ' + DEEP + "}", "a deep list": DEEP,
            "no JSON": "\x1b[2J\x9b", "an artifact elsewhere":
                '{"id": ID, "status": "ok", "artifact": "/etc/passwd", "tensors": []}', "an artifact above":
                    '{"id": ID, "status": "ok", "artifact": "../../../../../../../etc/passwd"}', "a long line": "x" * 10**7,
            "no id": "{}", "an id of 2^80": '{"id": 1208925819614629174706176, "status": "ok"}', "a deep id": '{"id": ' +
            "[" * 1000 + "]" * 1000 + "}", "a status that is obeyed": '{"id": ID, "status": ' + json.dumps(ESCAPES) + "}",
            "node and op that forge": json.dumps({"id": "ID", "status": "refused", "node": FORGED, "op": FORGED, "reason":
                                                  "r"}).replace('"ID"', "ID"), "diagnostics that forge":
                json.dumps({"id": "ID", "status": "refused", "node": "n", "op": "Conv", "reason": "r", "diagnostics":
                            [FORGED, ESCAPES]}).replace('"ID"', "ID")
    }.items():
        yield Row(f"adapter: {name}", check, files(convert=text), ANY, seconds=40)
    for name, text in {"a deep policy": describe.replace("}}", '}, "policy": ' + DEEP + "}"), "a name that forges":
                       describe.replace('"hostile"', json.dumps(FORGED)), "a name that is obeyed":
                           describe.replace('"hostile"', json.dumps(ESCAPES)), "a version that forges":
                               describe.replace('"1"', json.dumps(FORGED)), "no name": describe.replace('"hostile"', '""'),
                       "a name of 1 MB": describe.replace("hostile", "x" * 10**6)}.items():
        yield Row(f"describe: {name}", check, files(what=text), ANY, seconds=40)
    forged = {"a.py": ADAPTER, "answer.json": "{}", "describe.json": describe, "convert.json": json.dumps(
        {"id": "ID", "status": "refused", "node": ESCAPES + FORGED, "op": "<script>" + FORGED, "reason": ESCAPES + FORGED}).replace('"ID"', "ID"),
              "c.json": json.dumps(CASE)}
    own = ["--converter-cmd", "python3 a.py"]
    yield Row("a group of verdicts that forges", ["ASSAY", "run", "./c.json", "--db", "own.db", *own], forged, ANY, seconds=30)
    yield Row("an explanation that forges", ["ASSAY", "explain", "./c.json", *own], forged, ANY, seconds=30)
    yield Row("a bundle whose words forge", ["sh", "-c", '"$0" bundle ./c.json b "$@" > said; "$0" replay b && cat said && sed -n 1,3p b/README.md && '
                                             'grep -n . b/README.md', "ASSAY", *own], forged, ANY, seconds=30, lacks="\x1b")
    yield Row("a page that forges", ["sh", "-c", '"$0" run ./c.json --db own.db "$@" > said; "$0" report --db own.db --converter hostile '
                                     '--markdown page.md; cat page.md', "ASSAY", *own], forged, ANY, seconds=30, lacks="<script")
    slow = {**CASE, "expect": {"status": "either", "refused": {"reason": r"\b(img|gain)\b(?s:.)*\bx\b"}}}
    yield Row("a pattern on a reason of 1 MB", ["ASSAY", "run", "./c.json", "--db", "own.db", "--converter-cmd",
                                                 "python3 a.py"], {**files(convert=refuse("img " * 250000)), "c.json":
                                                                   json.dumps(slow)}, ANY, seconds=30)


def rows(shared):
    yield from data_rows()
    yield from case_rows()
    yield from cache_rows(shared)
    yield from bundle_rows(shared)
    yield from database_rows(shared)
    yield from adapter_rows()
