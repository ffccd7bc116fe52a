#!/usr/bin/env python3
"""Measures a database of a million results: bytes a result, and how long commands take over it.

Runs the suite `default` of the embedded converter twice, once with a fault, and fills a database with these results under
made-up versions (bench/many_results.cpp; every tenth version has the fault, a fifth of each version's numbers differ from
those of all others). Then it asks what people ask, and imports a part of it into a new database.

    python3 bench/million_results.py --build build/release --home . [--results 1000000] [--folder FOLDER]
"""

import argparse
import os
import resource
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

CASE = "concat/form=graph_input,place=before"
FAULT = "concat_first_scale"


def timed(name, words, environment, folder):
    """Runs a command; prints its wall clock and CPU time, and returns its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.time()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall = time.time() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if done.returncode not in (0, 1, 4):
        raise SystemExit(f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr}")
    print(f"{name:<44} {wall:8.2f} s  CPU {cpu:8.2f} s", flush=True)
    return wall, cpu, done.stdout


def bytes_by_table(file):
    """Bytes of each table with its indexes, and of metrics and parameters in it."""
    with sqlite3.connect(file) as db:
        count, = db.execute("SELECT count(*) FROM verdict").fetchone()
        pages, free, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
        measured, = db.execute("SELECT ifnull(sum(length(metric_values) + 3), 0) FROM verdict_more").fetchone()
        shared, = db.execute("SELECT ifnull(sum(length(text) + 14 + 14), 0) FROM content WHERE id IN (SELECT parameters FROM "
                             "verdict_more UNION SELECT metrics FROM verdict_more)").fetchone()
        numbers = 3 * count + 3 * count  # what names the two lists in verdict_more
    total = (pages - free) * size
    return count, total, total - measured - shared - numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--home", type=Path, default=Path("."))
    parser.add_argument("--results", type=int, default=1_000_000)
    parser.add_argument("--changing", default="0.2")
    parser.add_argument("--folder", type=Path, help="kept, and used again where its database is there")
    arguments = parser.parse_args()
    assay, fill = arguments.build.resolve() / "assay", arguments.build.resolve() / "bench" / "assay_many_results"
    environment = dict(os.environ, ASSAY_HOME=str(arguments.home.resolve()))
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "many.db").exists():
            timed("a run of suite default", [assay, "run", "default", "--quiet", "--db", "one.db"], environment, folder)
            timed("the same with a fault", [assay, "run", "default", "--quiet", "--db", "fault.db", "--fault", FAULT], environment, folder)
            timed("filling the database", [fill, *["one.db"] * 9, "fault.db", "--to", "many.db", "--results", str(arguments.results),
                                           "--changing", arguments.changing], environment, folder)
        count, total, rest = bytes_by_table(folder / "many.db")
        print(f"{count} results: {total / count:.0f} bytes each, {rest / count:.0f} without metrics and parameters", flush=True)
        with sqlite3.connect(folder / "many.db") as db:
            ids = [row[0] for row in db.execute("SELECT version FROM converter_version ORDER BY id")]
        first, before, last = ids[0], ids[-2], ids[-1]
        at = ["--db", "many.db"]
        timed("history of a case", [assay, "history", CASE, *at], environment, folder)
        timed(f"drift {before} to {last}", [assay, "drift", "--converter", "embedded", "--from", before, "--to", last, *at], environment, folder)
        timed(f"drift {first} to {last}", [assay, "drift", "--converter", "embedded", "--from", first, "--to", last, *at], environment, folder)
        timed("report of the converter", [assay, "report", "--converter", "embedded", *at], environment, folder)
        timed("report --html", [assay, "report", "--html", "page.html", *at], environment, folder)
        print(f"the page has {(folder / 'page.html').stat().st_size / 1e6:.1f} MB", flush=True)
        (folder / "imported.db").unlink(missing_ok=True)
        wall, cpu, _ = timed("import-results of all", [assay, "import-results", "many.db", "--db", "imported.db"], environment, folder)
        print(f"{count / wall:.0f} results/s, {count / cpu:.0f} by CPU time", flush=True)
        timed("db check", [assay, "db", "check", "--db", "imported.db"], environment, folder)
        timed("db backup", [assay, "db", "backup", "copy.db", "--db", "imported.db"], environment, folder)
        (folder / "copy.db").unlink()
        timed("prune --keep 37 --dry-run", [assay, "prune", "--keep", "37", "--dry-run", "--db", "imported.db"], environment, folder)
        timed("prune --keep 37", [assay, "prune", "--keep", "37", "--db", "imported.db"], environment, folder)
        timed("db vacuum", [assay, "db", "vacuum", "--db", "imported.db"], environment, folder)
        timed("db check", [assay, "db", "check", "--db", "imported.db"], environment, folder)


if __name__ == "__main__":
    main()
