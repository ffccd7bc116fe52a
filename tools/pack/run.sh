#!/bin/sh
# Assembles a pack of Assay out of the parts that have arrived, and runs it once it is whole.
usage='usage: sh part-01/run.sh FOLDER [--no-run] [-- OPTIONS OF assay run]

Takes the parts that lie beside this script, or in the folders beside its own, to FOLDER, each after its checksum;
earlier calls may have brought others. Once all are there they are unpacked to FOLDER/pack, the packed run starts with
its verdicts in FOLDER/run.db, and all that FOLDER/run.db holds is left as one file, FOLDER/results.db.gz, for
`assay import-results` on the machine that made the pack.

exit status: that of `assay run`; 0 with --no-run once the pack is whole; 20 while parts are missing; 21 where a part is
damaged; 22 where the pack cannot be put together'
missing_status=20 damaged_status=21 broken_status=22

say() { printf '%s\n' "pack: $*" >&2; }
stop() {
  status=$1
  shift
  say "$@"
  exit "$status"
}

folder='' run=yes
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) printf '%s\n' "$usage"; exit 0 ;;
    --no-run) run=no ;;
    --) shift; break ;;
    -*) stop 2 "there is no option \"$1\"; see --help. options of assay run stand after --" ;;
    *) [ -z "$folder" ] || stop 2 "one folder is enough; options of assay run stand after --"; folder=$1 ;;
  esac
  shift
done
[ -n "$folder" ] || { printf '%s\n' "$usage" >&2; exit 2; }

here=$(cd "$(dirname "$0")" && pwd -P) || exit "$broken_status"
[ -f "$here/manifest" ] || stop "$broken_status" "no manifest lies beside $here/run.sh"
mkdir -p "$folder/parts" || stop "$broken_status" "$folder can't be made"
folder=$(cd "$folder" && pwd -P) || exit "$broken_status"
if [ ! -f "$folder/manifest" ]; then
  cp "$here/manifest" "$folder/manifest" && cp "$here/run.sh" "$folder/run.sh" ||
    stop "$broken_status" "$folder can't be written to"
elif ! cmp -s "$here/manifest" "$folder/manifest"; then
  stop "$broken_status" "$folder holds parts of another pack; choose another folder, or remove it"
fi

sum() { sha256sum "$1" | cut -d ' ' -f 1; }

# Copies what has arrived; a part counts from its copy's checksum on.
assemble() {
  missing='' damaged='' all=''
  while read -r name expected rest; do
    case $name in part-*) all="$all $name" ;; unzstd.tar) ;; *) continue ;; esac
    [ ! -f "$folder/parts/$name" ] || continue
    arrived=''
    for candidate in "$here/$name.bin" "$here/../$name/$name.bin" "$here/$name/$name.bin" \
      "$here/$name" "$here"/../part-*/"$name" "$here"/part-*/"$name"; do
      if [ -f "$candidate" ]; then arrived=$candidate; break; fi
    done
    if [ -z "$arrived" ]; then
      missing="$missing $name"
      continue
    fi
    cp "$arrived" "$folder/parts/.$name" || stop "$broken_status" "$arrived can't be copied to $folder/parts"
    actual=$(sum "$folder/parts/.$name")
    if [ "$actual" = "$expected" ]; then
      mv "$folder/parts/.$name" "$folder/parts/$name"
      say "$name is here"
    else
      rm -f "$folder/parts/.$name"
      damaged="$damaged $name"
      say "$arrived is damaged: expected sha256 $expected, actual $actual"
    fi
  done <"$folder/manifest"
  [ -z "$damaged" ] || stop "$damaged_status" "bring again:$damaged${missing:+; still missing:$missing}"
  [ -z "$missing" ] || stop "$missing_status" "still missing:$missing"
}

# A pack that came with unzstd.tar is compressed by zstd, which that holds, else by xz.
uncompress() {
  if [ -f "$folder/parts/unzstd.tar" ]; then
    if command -v zstd >/dev/null 2>&1; then zstd -dcq; return; fi
    mkdir -p "$folder/.unzstd" && tar -xf "$folder/parts/unzstd.tar" -C "$folder/.unzstd" || return 1
    "$folder"/.unzstd/ld-linux* --library-path "$folder/.unzstd" "$folder/.unzstd/zstd" -dcq
  elif command -v xz >/dev/null 2>&1; then
    if xz -T0 --version >/dev/null 2>&1; then xz -dc -T0; else xz -dc; fi
  elif command -v python3 >/dev/null 2>&1; then
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), sys.stdout.buffer, 1 << 20)'
  else
    say "neither xz nor python3 is here, one of which has to unpack"
    return 1
  fi
}

if [ ! -d "$folder/pack" ]; then
  assemble
  say "unpacking …"
  rm -rf "$folder/.pack"
  mkdir "$folder/.pack" || stop "$broken_status" "$folder can't be written to"
  (cd "$folder/parts" && cat $all) | uncompress | tar -xf - -C "$folder/.pack" &&
    [ -f "$folder/.pack/run.words" ] || stop "$broken_status" "the parts can't be unpacked in $folder"
  mv "$folder/.pack" "$folder/pack" || exit "$broken_status"
  rm -rf "$folder/parts" "$folder/.unzstd"
  say "the pack is whole: $folder/pack"
fi
[ "$run" = yes ] || exit 0

# The packed run's own words come first.
count=0
while IFS= read -r word; do
  set -- "$@" "$word"
  count=$((count + 1))
done <"$folder/pack/run.words"
given=$(($# - count))
while [ "$given" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  given=$((given - 1))
done

trap : INT TERM  # what was judged until then is still handed over
"$folder/pack/assay" run "$@" --db "$folder/run.db"
status=$?
if [ -f "$folder/run.db" ]; then
  "$folder/pack/assay" export-results "$folder/results.db.gz" --db "$folder/run.db" >&2 ||
    stop "$broken_status" "the results can't be written to $folder/results.db.gz"
fi
exit "$status"
