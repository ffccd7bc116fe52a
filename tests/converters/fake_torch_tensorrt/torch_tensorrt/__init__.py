"""Stands in for Torch-TensorRT: an "engine" is the twin itself. A compilation calibrates by position, by the largest
magnitude, and writes what it was asked beside the cache; a network with an Erf has no converter, one with a Sin fails and takes the GPU's context along."""

from torch_tensorrt import ts


def Input(shape=None, min_shape=None, opt_shape=None, max_shape=None, dtype=None):
    return {"shape": shape or [list(min_shape), list(opt_shape), list(max_shape)], "dtype": str(dtype)}


def Device(name):
    return name
