"""What native code prints, kept: several converters say why they failed on standard output and nowhere else."""

import contextlib
import os
import re
import sys
import tempfile

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Failed(RuntimeError):
    """A step of a converter that failed and says why in what it prints."""


@contextlib.contextmanager
def captured():
    """Yields a list that holds what C++ or Python printed during the block once it has ended; it goes to the log too."""
    words = []
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    with tempfile.TemporaryFile() as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
        try:
            yield words
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, copy in zip((1, 2), kept):
                os.dup2(copy, descriptor)
                os.close(copy)
            file.seek(0)
            words.append(COLOUR.sub("", file.read().decode(errors="replace")))
            print(words[0][-20000:], file=sys.stderr, flush=True)


def call(step, function, *arguments, said=lambda words: words[-3000:], **options):
    """(what the function returns, what it printed without colours); Failed where it raises or ends the process, with
    what `said` takes out of the printed words."""
    words = []
    try:
        with captured() as words:
            result = function(*arguments, **options)
    except (Exception, SystemExit) as error:
        how = f"it left with status {error.code}" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
        raise Failed(f"{step}: {how}; it printed:\n{said(words[0])}") from error
    return result, words[0]
