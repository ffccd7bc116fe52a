"""Reads what Assay asks of an .mnn file: operators, tensors' names and scales, weights' scales.

The file is a flatbuffer of MNN's schema (schema/default/MNN.fbs), whose fields keep their numbers from version to
version; the numbers below are those of the tables named beside them.
"""

import struct
from dataclasses import dataclass

CONVOLUTION, DEPTHWISE, DECONVOLUTION, DEPTHWISE_DECONVOLUTION = 12, 13, 17, 18  # OpType


class Table:
    """One table of a flatbuffer."""

    def __init__(self, data, at):
        self._data, self._at = data, at

    def _field(self, number):
        """Where field `number` lies, or None where it is left out."""
        vtable = self._at - struct.unpack_from("<i", self._data, self._at)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", self._data, vtable)[0]:
            return None
        offset = struct.unpack_from("<H", self._data, vtable + 4 + 2 * number)[0]
        return self._at + offset if offset else None

    def _follow(self, number):
        at = self._field(number)
        return None if at is None else at + struct.unpack_from("<I", self._data, at)[0]

    def scalar(self, number, form, default=0):
        at = self._field(number)
        return default if at is None else struct.unpack_from("<" + form, self._data, at)[0]

    def table(self, number):
        at = self._follow(number)
        return None if at is None else Table(self._data, at)

    def text(self, number):
        at = self._follow(number)
        return "" if at is None else self._text(at)

    def _text(self, at):
        size = struct.unpack_from("<I", self._data, at)[0]
        return self._data[at + 4:at + 4 + size].decode(errors="replace")

    def vector(self, number, form):
        at = self._follow(number)
        if at is None:
            return []
        size = struct.unpack_from("<I", self._data, at)[0]
        return list(struct.unpack_from(f"<{size}{form}", self._data, at + 4))

    def _entries(self, number):
        begin = self._follow(number)
        for index, offset in enumerate(self.vector(number, "I")):
            yield begin + 4 + 4 * index + offset

    def tables(self, number):
        return [Table(self._data, at) for at in self._entries(number)]

    def texts(self, number):
        return [self._text(at) for at in self._entries(number)]


@dataclass
class Op:
    name: str
    type: int
    inputs: list
    outputs: list
    weight_scales: list  # empty where the weight is in float


@dataclass
class Net:
    tensors: list  # names by index
    ops: list
    scales: dict  # tensor's index -> (scale, zero_point)


def read_net(path):
    data = path.read_bytes()
    net = Table(data, struct.unpack_from("<I", data)[0])
    ops = []
    for op in net.tables(3):  # Net.oplists
        quantized = None
        kind = op.scalar(5, "i")
        if kind in (CONVOLUTION, DEPTHWISE, DECONVOLUTION, DEPTHWISE_DECONVOLUTION):
            parameters = op.table(2)
            if parameters.table(4) is not None:  # Convolution2D.symmetricQuan
                quantized = parameters.table(3)  # Convolution2D.quanParameter
        alpha = quantized.vector(1, "f") if quantized is not None else []
        ops.append(Op(op.text(3), kind, op.vector(0, "i"), op.vector(4, "i"), alpha))
    scales = {}
    for tensor in net.tables(1):  # Net.extraTensorDescribe
        info = tensor.table(4)
        if info is not None:
            scales[tensor.scalar(1, "i")] = (info.scalar(0, "f"), info.scalar(1, "f"))
    return Net(net.texts(7), ops, scales)
