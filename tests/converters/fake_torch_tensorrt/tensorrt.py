"""Stands in for TensorRT's bindings, of which the adapter holds a builder alone."""


class Logger:
    ERROR = "error"

    def __init__(self, severity):
        self.severity = severity


class Builder:
    def __init__(self, logger):
        self.logger = logger
