"""Codes in blocks: ONNX Runtime's MatMulNBits and GatherBlockQuantized."""
import ml_dtypes
import numpy as np

from generated_models import F32, Node, operator


def packed(codes, bits):
    """Codes of 4 or 8 bits in bytes, the first in the lowest bits; each row of the last axis starts at a byte."""
    in_byte = 8 // bits
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % in_byte)])
    groups = codes.reshape(*codes.shape[:-1], -1, in_byte)
    return np.bitwise_or.reduce(groups.astype(np.uint8) << (np.arange(in_byte, dtype=np.uint8) * bits), axis=-1).astype(np.uint8)


def block_scales(draw, shape):
    """Of any sign, as ONNX Runtime's symmetric quantizer makes them, with 0 for a block of zeros."""
    scales = draw.reals(shape, -0.5, 0.5)
    return np.where(draw.rng.random(shape) < 0.05, F32.type(0), scales).astype(F32)


def rows_for_int8(draw, shape, block):
    """Rows that rounding each block to int8 leaves as they are: whole steps of a power of two, the largest of them 127."""
    x = draw.rng.integers(-127, 128, shape).astype(F32)
    x[..., ::block] = 127
    return x * F32.type(2.0**draw.integer(-6, 2))


@operator("com.microsoft.MatMulNBits", count=160)
def mat_mul_nbits(draw, op):
    """ONNX Runtime 1.23 has no kernel for 2 bits, and for 8 none with real zero points or g_idx."""
    bits, block = draw.pick(4, 4, 8), draw.pick(16, 32, 64, 128)
    k, n, level = draw.integer(1, 3 * block), draw.integer(1, 9), draw.pick(None, 0, 1, 4)
    blocks = -(-k // block)
    shape = [*(draw.integer(1, 3) for _ in range(draw.integer(1, 3))), k]
    a = rows_for_int8(draw, shape, block) if level == 4 else draw.reals(shape)
    codes = packed(draw.rng.integers(0, 2**bits, [n, blocks, block]), bits)
    parameters = draw.pick([n, blocks], [n * blocks])
    zero = draw.pick("none", "codes", "codes", *["real"] * (bits == 4))
    if zero == "codes":
        zero = packed(draw.rng.integers(0, 2**bits, [n, blocks]), bits)
        zero = zero if draw.maybe() else zero.reshape(-1)
    else:
        zero = None if zero == "none" else draw.reals(parameters, 0, 2**bits)
    groups = draw.rng.integers(0, blocks, draw.pick(k, blocks * block), np.int32) if bits == 4 and draw.maybe(0.25) else None
    bias = draw.reals([n]) if draw.maybe() else None
    return Node(op, [a, codes, block_scales(draw, parameters), zero, groups, bias],
                constants=[1, 2, 3, 4, 5] if draw.maybe(0.8) else [], K=k, N=n, bits=bits, block_size=block, accuracy_level=level)


@operator("com.microsoft.GatherBlockQuantized", count=80)
def gather_block_quantized(draw, op):
    """ONNX Runtime 1.23 has no kernel for 2 bits."""
    kind = draw.pick("uint8", "uint8", "uint4", "int4")
    block, rank = draw.pick(16, 32), draw.integer(2, 4)
    shape = [draw.integer(1, 4) for _ in range(rank)]
    bits = draw.pick(4, 8) if kind == "uint8" else 4
    quantized = rank - 1 if kind == "uint8" else draw.integer(0, rank - 1)
    gathered = 0 if kind == "uint8" else draw.pick(*(axis for axis in range(rank) if axis != quantized))
    shape[quantized] = draw.integer(1, 3 * block // 8) * 8
    if kind != "uint8" or bits == 8:
        shape[quantized] -= draw.integer(0, 7)
    parameters = list(shape)
    parameters[quantized] = -(-shape[quantized] // block)
    low, high = (-8, 8) if kind == "int4" else (0, 2**bits)
    table, zero = (draw.rng.integers(low, high, of) for of in (shape, parameters))
    if kind == "uint8":
        table, zero = packed(table, bits), packed(zero, bits)
    else:
        table, zero = table.astype(getattr(ml_dtypes, kind)), zero.astype(getattr(ml_dtypes, kind))
    rows = shape[gathered]
    indices = draw.rng.integers(-rows, rows, draw.shape(0, 2, empty=0), draw.pick(np.int32, np.int64))
    return Node(op, [table, indices, block_scales(draw, parameters), zero if draw.maybe(0.6) else None], 21,
                constants=[0, 2, 3], bits=bits, block_size=block, gather_axis=gathered,
                quantize_axis=quantized - (rank if draw.maybe(0.3) else 0))
