"""ONNX models as trees of protobuf fields, so that a test can write what no library would.

A message is a list of (field number, value); a value is an int (varint), a float (32 bits), bytes or str, or a message."""

import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def encode(message):
    """The bytes of a message; without recursion, because some nest deeper than Python's stack."""
    frames, done = [[None, iter(message), []]], b""
    while frames:
        number, fields, parts = frames[-1]
        for field, value in fields:
            if isinstance(value, list):
                frames.append([field, iter(value), []])
                break
            if isinstance(value, float):
                parts.append(varint(field << 3 | 5) + struct.pack("<f", value))
            elif isinstance(value, int):
                parts.append(varint(field << 3) + varint(value))
            else:
                data = value.encode() if isinstance(value, str) else value
                parts.append(varint(field << 3 | 2) + varint(len(data)) + data)
        else:
            done = b"".join(parts)
            frames.pop()
            if frames:
                frames[-1][2].append(varint(number << 3 | 2) + varint(len(done)) + done)
    return done


FLOAT, UINT8, INT8, INT32, INT64, BOOL = 1, 2, 3, 6, 7, 9


def tensor(name, dims, raw=None, dtype=FLOAT, more=()):
    fields = [(1, extent) for extent in dims] + [(2, dtype), (8, name)]
    return fields + ([] if raw is None else [(9, raw)]) + list(more)


def floats(name, dims, values=None):
    count = 1
    for extent in dims:
        count *= extent
    values = [0.1 * (i % 7 - 3) for i in range(count)] if values is None else values
    return tensor(name, dims, struct.pack(f"<{len(values)}f", *values))


def info(name, dims=None, dtype=FLOAT):
    """`dims`: ints, or strings as symbols; None leaves the shape out."""
    shape = [] if dims is None else [(2, [(1, [(2 if isinstance(d, str) else 1, d)]) for d in dims])]
    return [(1, name), (2, [(1, [(1, dtype)] + shape)])]


def attribute(name, value, kind=None):
    if isinstance(value, float):
        return [(1, name), (2, value), (20, kind or 1)]
    if isinstance(value, int):
        return [(1, name), (3, value), (20, kind or 2)]
    if isinstance(value, str):
        return [(1, name), (4, value), (20, kind or 3)]
    if value and isinstance(value[0], float):
        return [(1, name)] + [(7, v) for v in value] + [(20, kind or 6)]
    return [(1, name)] + [(8, v) for v in value] + [(20, kind or 7)]


def tensor_attribute(name, value):
    return [(1, name), (5, value), (20, 4)]


def graph_attribute(name, value):
    return [(1, name), (6, value), (20, 5)]


def node(op, inputs, outputs, attributes=(), name="", domain=None):
    fields = [(1, i) for i in inputs] + [(2, o) for o in outputs] + [(3, name), (4, op)] + [(5, a) for a in attributes]
    return fields + ([] if domain is None else [(7, domain)])


def graph(nodes, inputs, outputs, initializers=(), more=(), name="g"):
    return ([(1, n) for n in nodes] + [(2, name)] + [(5, i) for i in initializers] + [(11, i) for i in inputs] +
            [(12, o) for o in outputs] + list(more))


def model(body, opset=13, ir=7, more=()):
    return [(1, ir), (2, "hostile"), (7, body), (8, [(1, ""), (2, opset)])] + list(more)
