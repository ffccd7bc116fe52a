from collections import namedtuple

Operation = namedtuple("Operation", "domain operation_type version")


def _converter(node):
    if node.operation_type == "Cos":
        raise ValueError("no such Cos")


_CONVERTER_REGISTRY = {Operation("", name, 13): _converter
                       for name in ("Add", "Cos", "Erf", "Shape", "Sigmoid", "Sin", "Tanh")}


def get_converter(operation_type, version, domain=""):
    found = _CONVERTER_REGISTRY.get(Operation(domain, operation_type, version))
    if found is None:
        raise NotImplementedError(f"Converter is not implemented ({operation_type} {version})")
    return found
