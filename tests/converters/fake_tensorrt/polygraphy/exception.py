class PolygraphyException(Exception):
    pass
