"""A results database as schema 14 had it: with a row in a table of its own for each thing that is a view since.

Tests that write what no run records do it there; the program migrates the file when it opens it.
"""

import os
import re
import sqlite3
from pathlib import Path

SCHEMA = Path(__file__).resolve().parent.parent / "data" / "results" / "schema_14.sql"


def unpacked(file):
    """Makes a database of schema 14 of one of schema 15."""
    new = f"{file}.14"
    db = sqlite3.connect(new)
    db.executescript("PRAGMA synchronous = OFF;" + SCHEMA.read_text(encoding="utf-8"))
    db.execute("ATTACH ? AS packed", (str(file),))
    for table in re.findall(r"^CREATE TABLE \"?(\w+)", SCHEMA.read_text(encoding="utf-8"), re.MULTILINE):
        columns = ", ".join(f'"{row[1]}"' for row in db.execute(f"PRAGMA main.table_info({table})"))
        db.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM packed.{table}")
    db.commit()
    db.close()
    for log in ("-wal", "-shm"):
        if os.path.exists(f"{file}{log}"):
            os.remove(f"{file}{log}")
    os.replace(new, file)
