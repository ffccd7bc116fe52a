#!/usr/bin/env python3
"""What is recorded outlives what can happen to a machine: run.py ASSAY DISK.SO MODE [--every N] [--trials N] [--seconds N] [--seed S]

MODE   full     the disk has no room at the Nth write of a run and all after it, for each N
       full-once  ... at the Nth write alone
       names    no file can be made from the Nth on
       kill     SIGKILL of the run, of a process that judges or of a converter, at random moments
       power    the power fails at random moments: what wasn't synced is there or not, sector by sector
       clock    the time of day jumps by years with every look at it
       load     8 processes write into one database for --seconds while others read it

Each trial ends with an exit code of its own, no signal and a message; its database is whole, with the verdicts that it
had recorded (power: but for the last second) and none that the undisturbed run doesn't have; no folder stays; and
--resume makes it as if nothing had been, every planned verdict once. Exit code 1 where one doesn't. DISK.SO is disk.c
beside this file.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

FEW = ["conv_bn/form=gamma*"]
MORE = ["conv_bn", "deconv_output", "concat"]
SECTOR = 512
WRITERS = 8
LOST_S = 1.0  # what a failure of the power may take
ROOM = ("No space left", "is full")
FOLDER = "."
FOLDERS = re.compile(r'[^ "]*/assay-faults-[^ "]*/')  # temporary ones, in reasons
PLACES = ("", "-wal", "-journal")


class Bad(Exception):
    pass


def rows(database):
    """(case, options): verdict of the newest run, and the number that it planned."""
    with tempfile.TemporaryDirectory() as copied:  # opening it repairs what a crash left, which is for Assay to do
        copy = pathlib.Path(copied, "a.db")
        for place in PLACES:
            if os.path.exists(f"{database}{place}"):
                shutil.copy(f"{database}{place}", f"{copy}{place}")
        connection = sqlite3.connect(copy)
        sound = connection.execute("PRAGMA integrity_check").fetchall()
        if sound != [("ok",)]:
            raise Bad(f"the database is damaged: {sound[:3]}")
        if not connection.execute("SELECT name FROM sqlite_master WHERE name = 'run'").fetchall():
            return {}, None
        newest = connection.execute("SELECT id, planned FROM run ORDER BY rowid DESC LIMIT 1").fetchall()
        if not newest:
            return {}, None
        run, planned = newest[0]
        found = collections.Counter()
        verdicts = {}
        for name, options, *verdict in connection.execute(
                "SELECT name, options, verdict, gate, stage, facet, reason, round(sqnr_db, 6) FROM result JOIN case_version "
                "ON case_version.id = case_version_id WHERE run_id = ?", (run,)):
            found[name, options] += 1
            verdicts[name, options] = tuple(FOLDERS.sub("", each) if isinstance(each, str) else each for each in verdict)
        twice = [key for key, count in found.items() if count > 1]
        if twice:
            raise Bad(f"recorded twice: {twice[:3]}")
        done = connection.execute("SELECT count(*) FROM job WHERE run_id = ? AND state = 'done'", (run,)).fetchone()[0]
        if done != len(verdicts):
            raise Bad(f"{done} jobs are done, {len(verdicts)} verdicts recorded")
        connection.close()
    return verdicts, planned


def of_room(verdict):
    """The harness's own error, which says that a file system is full: it accuses nobody."""
    return verdict is not None and verdict[0] == "harness-error" and any(word in verdict[4] for word in ROOM)


class Trials:
    def __init__(self, assay, disk, seed):
        self.assay, self.disk = str(assay), str(disk)
        self.random = random.Random(seed)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="assay-faults-"))
        self.bad = 0
        self.seen = collections.Counter()

    def command(self, database, selection, *more):
        return [self.assay, "run", *selection, "--db", str(database), *more]

    def environment(self, folder, **told):
        """Of a trial with its own temporary folder; `told` is for disk.c."""
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ, TMPDIR=str(folder / "tmp"))
        if told:
            state = folder / "state"
            state.write_bytes(bytes(24))
            environment.update({key: str(value) for key, value in told.items()}, ASSAY_DISK_STATE=str(state), LD_PRELOAD=self.disk)
        return environment

    def counted(self, folder):
        data = (folder / "state").read_bytes()
        return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")

    def run(self, command, environment, codes):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=600)
        said = f"{done.stdout[-3000:]}{done.stderr[-3000:]}\nexit code {done.returncode}"
        self.seen[f"exit code {done.returncode}"] += 1
        if done.returncode not in codes:
            raise Bad(said[-1500:])
        if done.returncode != 0 and not done.stderr.strip() and not done.stdout.strip():
            raise Bad("it ended without a word")
        return said

    def resumed(self, folder, selection, wanted, had, *more):
        """The end of a trial: the database as it is, then resumed. `had` must be among its verdicts."""
        database = folder / "a.db"
        now, planned = {}, None
        if database.exists():
            now, planned = rows(database)
            for key, verdict in now.items():
                if wanted.get(key) != verdict and not of_room(verdict):
                    raise Bad(f"{key} was recorded as {verdict}, undisturbed it is {wanted.get(key)}")
            lost = [key for key in had if key not in now]
            if lost:
                raise Bad(f"{len(lost)} recorded verdicts are lost, as {lost[0]}")
            self.seen["verdicts that were there"] += len(now)
        if planned == len(wanted) and self.finished(database):
            return
        self.run(self.command(database, selection, "--resume", *more), self.environment(folder), {0})
        before, (now, planned) = now, rows(database)
        kept = {key: verdict for key, verdict in before.items() if of_room(verdict) and now.get(key) == verdict}
        if now != wanted | kept or planned != len(wanted):
            other = next((f"; {key} is {now.get(key)}, undisturbed {verdict}" for key, verdict in wanted.items()
                          if now.get(key) != verdict), "")
            raise Bad(f"after --resume {len(now)} of {planned} verdicts, undisturbed {len(wanted)}{other}")
        left = list((folder / "tmp").iterdir())
        if left:
            raise Bad(f"folders are left: {[each.name for each in left][:3]}")

    def finished(self, database):
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        done = connection.execute("SELECT finished_at <> '' FROM run ORDER BY rowid DESC LIMIT 1").fetchone()[0]
        connection.close()
        return done

    def undisturbed(self, selection, *more, **told):
        folder = self.root / "undisturbed"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.run(self.command(folder / "a.db", selection, *more), self.environment(folder, **told), {0})
        return folder, rows(folder / "a.db")[0]

    def trial(self, name, action):
        folder = self.root / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.seen["trials"] += 1
        try:
            action(folder)
        except (Bad, sqlite3.Error, subprocess.TimeoutExpired, OSError) as error:
            self.bad += 1
            print(f"{name}: {error}", flush=True)
            kept = self.root / f"bad{self.bad}"
            if self.bad <= 20 and folder.exists():
                shutil.move(folder, kept)
                print(f"  in {kept}", flush=True)

    def no_room(self, every, which, once=False):
        """The disk is full: it is said, and nothing is judged by it."""
        word = {"writes": "ASSAY_DISK_FULL_AT", "names": "ASSAY_DISK_NAMES_AT"}[which]
        one = ["--jobs", "1"]
        folder, wanted = self.undisturbed(FEW, *one, **{word: 1 << 60})
        total = self.counted(folder)[which == "names"]
        print(f"{len(wanted)} verdicts make {total} {which}", flush=True)
        for index in range(self.random.randrange(every), total + 1, every):
            def action(folder, index=index):
                told = {word: index}
                if once:
                    told["ASSAY_DISK_FULL_FOR"] = 1
                said = self.run(self.command(folder / "a.db", FEW, *one), self.environment(folder, **told), {0, 3})
                if "exit code 3" in said and not any(word in said for word in ROOM):
                    raise Bad(f"it doesn't say that there is no room: {said[-1500:]}")
                self.resumed(folder, FEW, wanted, [], *one)
            self.trial(f"{which} from {index}", action)

    def kill(self, trials):
        program = self.root / "converter"  # another program than the one that judges, so that it is started as such
        program.write_text(f'#!/bin/sh\nexec "{self.assay}" worker\n')
        program.chmod(0o700)
        adapter = ["--converter-cmd", str(program), "--jobs", "2"]
        start = time.monotonic()
        _, wanted = self.undisturbed(MORE, *adapter)
        takes = time.monotonic() - start
        for index in range(trials):
            def action(folder):
                command = self.command(folder / "a.db", MORE, *adapter)
                process = subprocess.Popen(command, env=self.environment(folder), stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, text=True)
                time.sleep(self.random.random() * takes)
                tree = descendants(process.pid)
                there = {"run": [process.pid], "judge": [each for each, depth, _ in tree if depth == 1],
                         "converter": [each for each, _, words in tree if "worker" in words.split("\0")[1:2]]}
                victim = self.random.choice([each for each in there if there[each]])
                try:
                    os.kill(self.random.choice(there[victim]), signal.SIGKILL)
                    self.seen[f"killed {victim}"] += 1
                except ProcessLookupError:
                    pass
                said, _ = process.communicate(timeout=600)
                if victim == "run" and process.returncode not in (0, -signal.SIGKILL):
                    raise Bad(f"exit code {process.returncode}: {said[-1500:]}")
                crashed = victim == "converter" and "planned: 1 crash," in said  # its death is the verdict that it owed
                # or it died between two conversions: no verdict is its fault, and the run isn't green all the same
                restarted = victim == "converter" and "1 end between conversions" in said
                if victim != "run" and process.returncode != (1 if crashed or restarted else 0):
                    raise Bad(f"{victim} was killed once, and the run ends with {process.returncode}: {said[-1500:]}")
                deadline = time.monotonic() + 10
                while (left := [each for each in os.listdir("/proc") if each.isdigit() and belongs(each, folder)]):
                    if time.monotonic() > deadline:
                        raise Bad(f"processes are left: {left}")
                    time.sleep(0.05)
                expected = wanted
                if crashed:
                    now, _ = rows(folder / "a.db")
                    expected = wanted | {key: verdict for key, verdict in now.items() if verdict[0] == "crash"}
                    if now != expected:
                        raise Bad("the death of a converter cost more than its verdict")
                self.resumed(folder, MORE, expected, [], *adapter)
            self.trial(f"kill {index}", action)

    def clock(self, trials):
        _, wanted = self.undisturbed(MORE)
        for index in range(trials):
            def action(folder, index=index):
                told = self.environment(folder, ASSAY_CLOCK_STEPS=index)
                self.run(self.command(folder / "a.db", FEW), told, {0})
                process = subprocess.Popen(self.command(folder / "a.db", MORE), env=told, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                time.sleep(self.random.random() * 2)
                process.kill()
                process.wait()
                self.resumed(folder, MORE, wanted, [])
                page = folder / "run.xml"  # of the newest run, whatever its date
                self.run([self.assay, "report", "--db", str(folder / "a.db"), "--junit", str(page)], told, {0})
                if page.read_text().count("<testcase ") != len(wanted):
                    raise Bad("report --junit shows another run than the newest")
            self.trial(f"clock {index}", action)

    def load(self, seconds):
        """Every run of every writer is whole in the end, and no reader is refused."""
        _, wanted = self.undisturbed(FEW, "--jobs", "1")
        folder = self.root / "load"
        environment = self.environment(folder)
        database = folder / "a.db"
        self.run(self.command(database, FEW, "--jobs", "1"), environment, {0})
        end = time.monotonic() + seconds
        slowest = collections.defaultdict(float)

        def again(name, command):
            count = 0
            while time.monotonic() < end:
                begun = time.monotonic()
                try:
                    self.run(command, environment, {0})
                except (Bad, subprocess.TimeoutExpired) as error:
                    self.bad += 1
                    print(f"{name}: {error}", flush=True)
                count += 1
                slowest[name] = max(slowest[name], time.monotonic() - begun)
            return count

        readers = {"history": ["history", FEW[0]], "page": ["report", "--converter", "embedded"],
                   "JUnit": ["report", "--junit", str(folder / "run.xml")]}
        with concurrent.futures.ThreadPoolExecutor(WRITERS + len(readers)) as pool:
            writing = [pool.submit(again, "run", self.command(database, FEW, "--jobs", "1")) for _ in range(WRITERS)]
            reading = {name: pool.submit(again, name, [self.assay, *words, "--db", str(database)])
                       for name, words in readers.items()}
            runs = 1 + sum(each.result() for each in writing)
        self.seen["runs"] = runs
        self.seen.update({f"reads of {name}": each.result() for name, each in reading.items()})
        rows(database)
        connection = sqlite3.connect(database)
        whole = connection.execute(
            "SELECT count(*) FROM run WHERE finished_at <> '' AND planned = ? AND planned = (SELECT count(*) FROM result "
            "WHERE run_id = run.id AND gate = 'green')", (len(wanted),)).fetchone()[0]
        connection.close()
        if whole != runs:
            self.bad += 1
            print(f"{whole} of {runs} runs are whole")
        print("slowest: " + ", ".join(f"{name} {took:.1f} s" for name, took in slowest.items()), flush=True)

    def power(self, trials):
        """One run whose writes are noted; then, for each moment, what a disk may hold of them."""
        folder = self.root / "noted"
        folder.mkdir()
        database = folder / "a.db"
        self.run(self.command(database, ["default"]), self.environment(folder, ASSAY_DISK_POWER=database), {0})
        wanted, _ = rows(database)
        notes = read_notes(folder / "state.log", str(database))
        print(f"{len(wanted)} verdicts, {len(notes)} writes and syncs in {(notes[-1].at - notes[0].at) / 1e6:.1f} s", flush=True)
        for index in range(trials):
            moment = self.random.uniform(notes[0].at, notes[-1].at + 1e6)
            def action(folder, moment=moment):
                before = folder / "before.db"
                lay(before, contents([each for each in notes if each.at <= moment - LOST_S * 1e6], None))
                had = rows(before)[0] if before.exists() else {}
                lay(folder / "a.db", contents([each for each in notes if each.at <= moment], self.random))
                if not (folder / "a.db").exists() or (folder / "a.db").stat().st_size == 0:
                    if had:
                        raise Bad("the database isn't there")
                    return
                now, _ = rows(folder / "a.db")
                lost = [key for key in had if key not in now]
                if lost:
                    raise Bad(f"{len(lost)} verdicts of more than {LOST_S} s before are lost")
                self.seen["verdicts that were there"] += len(now)
                if index % 10 == 0:
                    self.resumed(folder, ["default"], wanted, had)
            self.trial(f"power fails {(moment - notes[0].at) / 1e6:.3f} s after the first write", action)


def descendants(root):
    """(process, depth, its words) below a process."""
    children = collections.defaultdict(list)
    for each in os.listdir("/proc"):
        if each.isdigit():
            try:
                status = pathlib.Path("/proc", each, "stat").read_text()
                words = pathlib.Path("/proc", each, "cmdline").read_text(errors="replace")
            except OSError:
                continue
            children[int(status[status.rindex(")") + 2:].split()[1])].append((int(each), words))
    found, todo = [], [(root, 0)]
    while todo:
        parent, depth = todo.pop()
        for process, words in children[parent]:
            found.append((process, depth + 1, words))
            todo.append((process, depth + 1))
    return found


def belongs(process, folder):
    """Whether it was started in a trial: its temporary folder says so."""
    try:
        environment = pathlib.Path("/proc", process, "environ").read_bytes()
    except OSError:
        return False
    return f"TMPDIR={folder}/tmp".encode() in environment.split(b"\0")


Note = collections.namedtuple("Note", "what at offset size place content")


def read_notes(log, database):
    data = log.read_bytes()
    found, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        what, moment, offset, size, name = data[at:end].decode().split(" ", 4)
        at = end + 1
        content = b""
        if what == "w":
            content = data[at:at + int(size)]
            at += int(size)
        if name == os.path.dirname(database):
            found.append(Note(what, int(moment), 0, 0, FOLDER, b""))
        elif name[len(database):] in PLACES:
            found.append(Note(what, int(moment), int(offset), int(size), name[len(database):], content))
    return found


def contents(notes, chance):
    """What the files hold after these writes: all of it, or, by `chance`, what was synced and any part of the rest."""
    files = {}
    last_sync = {}
    for index, note in enumerate(notes):
        if note.what == "s":
            last_sync[note.place] = index
    for index, note in enumerate(notes):
        stays = chance is None or index <= last_sync.get(note.place, -1)
        content = files.setdefault(note.place, bytearray()) if note.what in "wt" else files.get(note.place)
        if note.what == "w":
            if not stays and len(content) < note.offset + note.size and chance.random() < 0.5:
                continue
            if len(content) < note.offset + note.size:
                content.extend(bytes(note.offset + note.size - len(content)))
            for start in range(0, note.size, SECTOR):
                if stays or chance.random() < 0.5:
                    part = note.content[start:start + SECTOR]
                    content[note.offset + start:note.offset + start + len(part)] = part
        elif note.what == "t" and (stays or chance.random() < 0.5):
            del content[note.offset:]
            content.extend(bytes(note.offset - len(content)))
        elif note.what == "u" and content is not None and (
                chance is None or index <= last_sync.get(FOLDER, -1) or chance.random() < 0.5):
            del files[note.place]
    return files


def lay(database, files):
    for place, content in files.items():
        pathlib.Path(f"{database}{place}").write_bytes(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay", type=pathlib.Path)
    parser.add_argument("disk", type=pathlib.Path)
    parser.add_argument("mode", choices=("full", "full-once", "names", "kill", "power", "clock", "load"))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    trials = Trials(arguments.assay.resolve(), arguments.disk.resolve(), arguments.seed)
    {
        "full": lambda: trials.no_room(arguments.every, "writes"),
        "full-once": lambda: trials.no_room(arguments.every, "writes", once=True),
        "names": lambda: trials.no_room(arguments.every, "names"),
        "kill": lambda: trials.kill(arguments.trials),
        "power": lambda: trials.power(arguments.trials),
        "clock": lambda: trials.clock(arguments.trials),
        "load": lambda: trials.load(arguments.seconds),
    }[arguments.mode]()
    print(f"{arguments.mode}: {trials.bad} bad; " + ", ".join(f"{what}: {count}" for what, count in sorted(trials.seen.items())))
    if not trials.bad:
        shutil.rmtree(trials.root)
    return 1 if trials.bad else 0


if __name__ == "__main__":
    sys.exit(main())
