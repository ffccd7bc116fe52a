from collections import namedtuple

OnnxNode = namedtuple("OnnxNode", "name operation_type")
