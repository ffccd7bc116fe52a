"""Stands in for PyTorch where there is no GPU: arrays as tensors, an ONNX model as a module. What it is for:
tests/converters/torch_tensorrt_protocol.py."""

import copy
import pickle
from types import SimpleNamespace

import numpy

float32, int8 = numpy.dtype("float32"), numpy.dtype("int8")


def device(name):
    return name


class Tensor:
    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def to(self, place):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.array


from_numpy = Tensor


class Script:
    def __init__(self, module):
        self.module = module

    def __call__(self, *tensors):
        return self.module(*tensors)

    def to(self, place):
        return self

    def save(self, path):
        with open(path, "wb") as file:
            pickle.dump(self.module, file)


def _load(path):
    with open(path, "rb") as file:
        return Script(pickle.load(file))


jit = SimpleNamespace(trace=lambda module, example, check_trace: Script(module), load=_load)


class Dataset:
    pass


class DataLoader:
    def __init__(self, dataset, batch_size, shuffle, collate_fn):
        assert not shuffle
        self.dataset, self.batch_size, self._collate = dataset, batch_size, collate_fn

    def __iter__(self):
        return iter([self._collate([copy.copy(self.dataset[i])]) for i in range(len(self.dataset))])


utils = SimpleNamespace(data=SimpleNamespace(Dataset=Dataset, DataLoader=DataLoader))
