from types import SimpleNamespace


class TensorMetadata(dict):
    def add(self, name, dtype, shape):
        self[name] = SimpleNamespace(dtype=dtype, shape=shape)
        return self
