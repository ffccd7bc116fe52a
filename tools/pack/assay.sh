#!/bin/sh
# The packed assay, under the packed loader and C library, with the packed cases, adapters and environments.
pack=$(cd "${0%/*}" && pwd -P)
# An environment names its interpreter by a whole path: written here when the pack lies somewhere new.
if [ "$(cat "$pack/where.txt" 2>/dev/null)" != "$pack" ]; then
  for environment in "$pack"/venvs/*/; do
    [ -f "$environment/python.txt" ] || continue
    python=$(cat "$environment/python.txt")
    printf 'home = %s\ninclude-system-site-packages = false\nversion = %s\n' "$pack/pythons/$python/bin" "$python" \
      >"$environment/pyvenv.cfg"
  done
  printf '%s\n' "$pack" >"$pack/where.txt"
fi
export ASSAY_HOME="$pack/home" ASSAY_VENVS="$pack/venvs" ASSAY_PROGRAM="$pack/assay"
exec "$pack/lib/@LOADER@" --library-path "$pack/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$pack/bin/assay" "$@"
