#!/bin/sh
# A packed environment's python: the packed interpreter under the packed loader and C library.
here=$(cd "${0%/*}" && pwd -P)
pack=${here%/venvs/*}
python=$pack/pythons/@PYTHON@
exec "$pack/lib/@LOADER@" --argv0 "$here/python" \
  --library-path "$python/lib:$pack/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$python/bin/python" "$@"
