import sys


class Logger:
    WARNING, ERROR, CRITICAL = 30, 40, 50

    def log(self, message, severity, mode=None):
        print(message, file=sys.stderr)

    def warning(self, message):
        self.log(message, self.WARNING)

    def error(self, message):
        self.log(message, self.ERROR)

    def critical(self, message):
        from polygraphy.exception import PolygraphyException

        self.log(message, self.CRITICAL)
        raise PolygraphyException(message)


G_LOGGER = Logger()
