"""Crafted models: read by exec, check and import, and as the artifact of a good model."""

import struct

import mutate
import wire
from table import ANY, BAD, Link, Row, Sparse
from wire import (attribute, encode, floats, graph, graph_attribute, info, model, node, tensor, tensor_attribute)


def convolution(opset=13, ir=7):
    """y = Relu(Conv(x, w, b)), large enough to be judged and small enough to be judged at once."""
    return model(
        graph([
            node("Conv", ["x", "w", "b"], ["c"], [attribute("kernel_shape", [3, 3]), attribute("pads", [1, 1, 1, 1])],
                 "conv"),
            node("Relu", ["c"], ["y"], name="relu")
        ], [info("x", [1, 3, 4, 4])], [info("y", [1, 4, 4, 4])],
              [floats("w", [4, 3, 3, 3]), floats("b", [4])]), opset, ir)


def quantized(opset=13, ir=7):
    """What a converter could make of it: quantizers before and behind, an int8 weight."""
    scale = lambda name, value: floats(name, [], [value])
    zero = lambda name, dims=(): tensor(name, dims, bytes(max(1, *dims) if dims else 1), wire.INT8)
    return model(
        graph([
            node("QuantizeLinear", ["x", "s", "z"], ["xq"], name="q"),
            node("DequantizeLinear", ["xq", "s", "z"], ["xd"], name="dq"),
            node("DequantizeLinear", ["wq", "ws", "wz"], ["wd"], [attribute("axis", 0)], "dqw"),
            node("Conv", ["xd", "wd"], ["c"], [attribute("kernel_shape", [3, 3]), attribute("pads", [1, 1, 1, 1])],
                 "conv"),
            node("Relu", ["c"], ["r"], name="relu"),
            node("QuantizeLinear", ["r", "s2", "z"], ["rq"], name="q2"),
            node("DequantizeLinear", ["rq", "s2", "z"], ["y"], name="dq2")
        ], [info("x", [1, 3, 4, 4])], [info("y", [1, 4, 4, 4])], [
            scale("s", 0.02), zero("z"), scale("s2", 0.02),
            tensor("wq", [4, 3, 3, 3], bytes(i * 37 % 256 for i in range(108)), wire.INT8),
            floats("ws", [4], [0.003] * 4), zero("wz", (4,))
        ]), opset, ir)


def branches(opset=13, ir=7):
    """An If and a Loop, with the graphs that they hold."""
    branch = lambda op: graph([node(op, ["x"], ["r_" + op])], [], [info("r_" + op, [4])], name=op)
    body = graph([node("Identity", ["cond_in"], ["cond_out"]), node("Add", ["v_in", "x"], ["v_out"])],
                 [info("i", [], wire.INT64), info("cond_in", [], wire.BOOL), info("v_in", [4])],
                 [info("cond_out", [], wire.BOOL), info("v_out", [4])], name="body")
    return model(
        graph([
            node("If", ["cond"], ["z"], [graph_attribute("then_branch", branch("Relu")),
                                         graph_attribute("else_branch", branch("Neg"))], "if"),
            node("Loop", ["count", "cond", "z"], ["y"], [graph_attribute("body", body)], "loop")
        ], [info("x", [4])], [info("y", [4])],
              [tensor("cond", [], b"\x01", wire.BOOL), tensor("count", [], struct.pack("<q", 3), wire.INT64)]), opset,
        ir)


def constants(opset=13, ir=7):
    """Nodes whose shape or attributes come from tensors."""
    ints = lambda name, values: tensor(name, [len(values)], struct.pack(f"<{len(values)}q", *values), wire.INT64)
    return model(
        graph([
            node("Constant", [], ["k"], [tensor_attribute("value", floats("", [2, 3]))], "k"),
            node("Reshape", ["x", "shape"], ["a"], name="reshape"),
            node("Slice", ["a", "from", "to", "axes"], ["b"], name="slice"),
            node("Expand", ["b", "wide"], ["c"], name="expand"),
            node("Pad", ["c", "pads"], ["d"], name="pad"),
            node("Tile", ["d", "times"], ["y"], name="tile")
        ], [info("x", [6])], [info("y", [2, "n"])], [
            ints("shape", [2, 3]), ints("from", [0]), ints("to", [1]), ints("axes", [0]), ints("wide", [2, 3]),
            ints("pads", [0, 1, 0, 1]), ints("times", [1, 2])
        ]), opset, ir)


def chain(count, op="Relu", width=4):
    """`count` nodes, each reading the one before."""
    names = ["x"] + [f"t{i}" for i in range(1, count)] + ["y"]
    return model(
        graph([node(op, [a], [b], name=f"n{i}") for i, (a, b) in enumerate(zip(names, names[1:]))],
              [info("x", [1, width])], [info("y", [1, width])]))


def nested_ifs(depth):
    """If in If in If; only the innermost computes."""
    body = graph([node("Relu", ["x"], ["r0"])], [], [info("r0", [4])])
    for level in range(1, depth):
        branch = graph_attribute("then_branch", body)
        body = graph([node("If", ["cond"], [f"r{level}"], [branch])], [], [info(f"r{level}", [4])])
    outer = [node("If", ["cond"], ["y"], [graph_attribute("then_branch", body), graph_attribute("else_branch", body)])
            ] if depth < 100 else [node("If", ["cond"], ["y"], [graph_attribute("then_branch", body)])]
    return model(graph(outer, [info("x", [4])], [info("y", [4])], [tensor("cond", [], b"\x01", wire.BOOL)]))


def large_tensors(count, elements, op="ConstantOfShape"):
    """Small files that ask for large tensors, all of which live until the last node."""
    shape = tensor("shape", [1], struct.pack("<q", elements), wire.INT64)
    nodes = [node(op, ["shape"], [f"t{i}"]) for i in range(count)]
    return model(
        graph(nodes + [node("Sum", [f"t{i}" for i in range(count)], ["s"]),
                       node("ReduceMax", ["s"], ["m"]), node("Add", ["x", "m"], ["y"])], [info("x", [1])],
              [info("y", [1])], [shape]))


def exec_row(name, content, data="good.npz", **more):
    return Row(f"exec: {name}", ["ASSAY", "exec", "m.onnx", "--inputs", data, "--output", "out"], {"m.onnx": content},
               **more)


def small_row(name, content, **more):
    return exec_row(name, content, "x4.npz", **more)


def list_row(name, content, **more):
    return exec_row(name, content, "x6.npz", **more)


def check_row(name, content, **more):
    return Row(f"check: {name}", ["ASSAY", "check", "m.onnx"], {"m.onnx": content}, **more)


def artifact_row(name, content, **more):
    return Row(f"artifact: {name}",
               ["ASSAY", "check", "good.onnx", "--artifact", "m.onnx", "--calibration", "good.npz"],
               {"m.onnx": content}, **more)


def mutated(base, make_row, opset, ir):
    for name, message in mutate.mutations(base(opset, ir)):
        yield make_row(f"{base.__name__} {opset}, {name}", encode(message), codes=ANY)


def cut(content, make_row, step):
    for size in range(0, len(content), step):
        yield make_row(f"cut at byte {size}", content[:size], codes=ANY)


def operators(names):
    """Each operator of the reference with inputs and attributes that make no sense for it. Above opset 17 ONNX's own
    checker, which would refuse them first, isn't asked."""
    odd = {
        "no input": ([], []),
        "no name": (["", "", ""], []),
        "a scalar": (["s"] * 3, []),
        "rank 9": (["r"] * 3, []),
        "nothing": (["e"] * 3, []),
        "integers": (["i"] * 4, []),
        "40 inputs": (["x"] * 40, []),
        "ints for all": (["x", "x", "x"], [(k, [-9, 2**62, 0]) for k in ATTRIBUTES]),
        "text for all": (["x", "x", "x"], [(k, "text") for k in ATTRIBUTES]),
        "least of all": (["x", "i", "i", "i"], [(k, -2**63) for k in ATTRIBUTES]),
    }
    initializers = [
        floats("s", []), floats("r", [1, 1, 2, 1, 1, 1, 1, 1, 1]), tensor("e", [0, 3], b""),
        tensor("i", [4], struct.pack("<4q", -1, 2**62, 0, -2**63), wire.INT64)
    ]
    for full in names:
        domain, _, op = full.rpartition(".")
        for what, (inputs, attributes) in odd.items():
            body = graph([node(op, inputs, ["y"], [attribute(k, v) for k, v in attributes], domain=domain)],
                         [info("x", [1, 3, 4, 4])], [info("y")], initializers)
            imports = [(8, [(1, domain), (2, 1)])] if domain else []
            yield exec_row(f"{full} of {what}", encode(model(body, 21, 10, imports)), codes=ANY)


ATTRIBUTES = ("axis", "axes", "kernel_shape", "strides", "pads", "dilations", "group", "perm", "to", "split", "mode",
              "alpha", "hidden_size", "direction", "blocksize", "num_outputs", "output_shape", "equation", "largest",
              "k", "shape", "size", "value", "dtype", "block_size", "num_heads", "detect_positive")


def external(**entries):
    return tensor("w", [4, 3, 3, 3], more=[(13, [(1, k), (2, v)]) for k, v in entries.items()] + [(14, 1)])


def with_weight(weight):
    base = convolution()
    return encode([(n, [(5, weight) if k == 5 and dict((a, b) for a, b in v if not isinstance(b, list)).get(8) == "w"
                        else (k, v) for k, v in value] if n == 7 else value) for n, value in base])


def by_hand():
    yield exec_row("nothing", b"")
    yield exec_row("text", b"not a model\n" * 100)
    yield exec_row("deep If 20,000", encode(nested_ifs(20000)))
    yield artifact_row("deep If 20,000", encode(nested_ifs(20000)), codes=(1, 2, 77))
    yield small_row("9 If in each other", encode(nested_ifs(9)), says="nest")
    yield Row("exec: 2^31 bytes", ["ASSAY", "exec", "m.onnx"], {"m.onnx": Sparse(2**31)})
    yield Row("artifact: 2^31 bytes", ["ASSAY", "check", "good.onnx", "--artifact", "m.onnx"],
              {"m.onnx": Sparse(2**31)}, codes=(1, 2, 77), seconds=60)
    yield Row("import: 2^31 bytes", ["ASSAY", "import", "m.onnx", "--into", "out"], {"m.onnx": Sparse(2**31)}, seconds=60)
    yield Row("exec: 2^40 bytes", ["ASSAY", "exec", "m.onnx"], {"m.onnx": Sparse(2**40)})
    for count, elements in ((10, 2**27), (1, 2**40), (1, 2**62), (1000, 2**22)):
        yield exec_row(f"{count} tensors of {elements} elements", encode(large_tensors(count, elements)), "x1.npz", seconds=60)
        yield artifact_row(f"{count} tensors of {elements} elements", encode(large_tensors(count, elements)),
                           codes=(1, 2, 77), seconds=60)
    yield exec_row("tensor that declares 2^62 elements", encode(model(graph([node("Relu", ["w"], ["y"])], [], [
        info("y")], [tensor("w", [2**31, 2**31], b"abcd")]))))
    yield exec_row("Loop without end", encode(endless_loop()), "x1.npz", seconds=60, codes=(2,))
    yield artifact_row("Loop without end", encode(endless_loop()), seconds=60, codes=(1, 2, 77))
    yield artifact_row("60,000 nodes", encode(chain(60000)), codes=(1, 2, 77), seconds=60)
    yield artifact_row("60,000 Identity", encode(chain(60000, "Identity")), codes=(1, 2, 77), seconds=60)
    yield exec_row("400,001 nodes", encode(chain(400001)), says="400001 nodes", seconds=30)
    yield exec_row("a cycle", encode(model(graph([node("Relu", ["y"], ["z"]), node("Relu", ["z"], ["y"])], [], [
        info("y", [1])]))), says="cycle")
    yield exec_row("an input read before itself", encode(model(graph([node("Relu", ["y"], ["y"])], [], [
        info("y", [1])]))))
    for place in ("/etc/hostname", "../secret", "link", "fifo_not_there", "", ".", "good.npz/../../x"):
        yield Row(f"exec: external data {place!r}", ["ASSAY", "exec", "m.onnx"],
                  {"m.onnx": with_weight(external(location=place)), "link": Link("/etc/passwd")})
    for offset, length in (("-1", "432"), ("99999999999999999999999", "432"), ("0", "-1"), ("4", "432"), ("x", "1")):
        yield Row(f"exec: external data at {offset}, {length}", ["ASSAY", "exec", "m.onnx"], {
            "m.onnx": with_weight(external(location="w.bin", offset=offset, length=length)), "w.bin": bytes(432)})


def endless_loop():
    body = graph([node("Identity", ["cond_in"], ["cond_out"]), node("Relu", ["v_in"], ["v_out"])],
                 [info("i", [], wire.INT64), info("cond_in", [], wire.BOOL), info("v_in", [1])],
                 [info("cond_out", [], wire.BOOL), info("v_out", [1])])
    return model(graph([node("Loop", ["", "cond", "x"], ["y"], [graph_attribute("body", body)])], [info("x", [1])],
                       [info("y", [1])], [tensor("cond", [], b"\x01", wire.BOOL)]))


def rows(operator_names):
    yield from by_hand()
    for base, make_row in ((convolution, exec_row), (quantized, artifact_row), (branches, small_row), (constants, list_row)):
        for opset, ir in ((13, 7), (21, 10)):
            yield from mutated(base, make_row, opset, ir)
    yield from mutated(convolution, check_row, 21, 10)
    yield from cut(encode(convolution()), exec_row, 37)
    yield from cut(encode(quantized()), artifact_row, 41)
    yield from operators(operator_names)
