"""What native code prints, kept: several converters say why they failed on standard output and nowhere else."""

import contextlib
import os
import sys
import tempfile


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
            words.append(file.read().decode(errors="replace"))
            print(words[0][-20000:], file=sys.stderr, flush=True)
