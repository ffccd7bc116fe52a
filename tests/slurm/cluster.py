"""A Slurm of our own on this machine: munge, a controller and several nodes, for as long as a `with` lasts.

Debian's slurmd may run several times on one host (it is built with --enable-multiple-slurmd). Each node here is a slurmd
in a process namespace of its own, with a /tmp of its own, so that a node can be killed or stopped with all that it runs,
as a machine is.
"""
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "unshare"]


def lacks():
    """Why there can be no Slurm here; "" where there can."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if missing:
        return "missing: " + ", ".join(missing) + " (Debian: apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "nodes are namespaces, which need root"
    probe = subprocess.run(["unshare", "--pid", "--fork", "--mount", "--mount-proc", "true"], capture_output=True)
    return "" if probe.returncode == 0 else "no namespaces here: " + probe.stderr.decode().strip()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Node:
    def __init__(self, name, process):
        self.name, self.process, self.stopped = name, process, []

    def pids(self):
        """All processes of its namespace, as this one sees them."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        own = os.readlink(f"/proc/{children[0]}/ns/pid") if children else None
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and own and os.readlink(entry / "ns" / "pid") == own:
                    found.append(int(entry.name))
            except OSError:
                pass  # it has ended
        return found

    def kill(self):
        """As a failure of its power: everything is gone at once."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def stop(self):
        self.stopped = self.pids()
        for pid in self.stopped:
            os.kill(pid, signal.SIGSTOP)
        return len(self.stopped)

    def go_on(self):
        for pid in self.stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


class Cluster:
    SILENT_S = 10  # so long a node may say nothing before its jobs go elsewhere

    def __init__(self, folder, nodes=3, cpus=2):
        self.folder, self.count, self.cpus = Path(folder), nodes, cpus
        self.nodes, self.services = {}, []
        self.environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
                            "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        for name in ["state", "munge"]:
            (self.folder / name).mkdir(parents=True)
        munge = self.folder / "munge"
        munge.chmod(0o711)
        if len(str(munge / "socket")) > 100:
            raise SystemExit(f"{munge}/socket is too long a path for a socket; build in a folder with a shorter one")
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o400)
        ports = free_ports(self.count + 1)
        names = [f"n{number}" for number in range(1, self.count + 1)]
        host = socket.gethostname()
        lines = ["ClusterName=assay", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={ports[0]}",
                 "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge", f"AuthInfo=socket={munge}/socket",
                 "CredType=cred/munge",
                 f"StateSaveLocation={self.folder}/state", f"SlurmctldPidFile={self.folder}/slurmctld.pid",
                 f"SlurmctldLogFile={self.folder}/slurmctld.log", f"SlurmdPidFile={self.folder}/%n/slurmd.pid",
                 f"SlurmdSpoolDir={self.folder}/%n/spool", f"SlurmdLogFile={self.folder}/%n/slurmd.log",
                 "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SwitchType=switch/none",
                 "MpiDefault=none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU",
                 "SchedulerType=sched/backfill", "SlurmdParameters=config_overrides", "ReturnToService=2",
                 f"SlurmdTimeout={self.SILENT_S}", "JobRequeue=1", "KillWait=2", "MessageTimeout=30",
                 "SchedulerParameters=batch_sched_delay=1,sched_interval=5,bf_interval=5",
                 "JobAcctGatherType=jobacct_gather/none", "AccountingStorageType=accounting_storage/none",
                 "GresTypes=gpu", "Licenses=assay_test:2"]
        gpus = self.folder / "gpu"
        gpus.touch()
        for name, port in zip(names, ports[1:]):
            gres = " Gres=gpu:1" if name == names[-1] else ""
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} "
                         f"State=UNKNOWN{gres}")
        lines.append("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        (self.folder / "gres.conf").write_text(f"NodeName={names[-1]} Name=gpu File={gpus}\n")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.service(["munged", "--foreground", f"--socket={munge}/socket", f"--key-file={munge}/key",
                      f"--log-file={munge}/log", f"--pid-file={munge}/pid", f"--seed-file={munge}/seed"], "munged")
        self.wait(lambda: (munge / "socket").exists(), 30, "munged opens its socket")
        self.service(["slurmctld", "-D", "-f", str(self.folder / "slurm.conf")], "slurmctld")
        self.wait(lambda: self.call("scontrol", "ping").stdout.find("is UP") > 0, 60, "slurmctld answers")
        for name in names:
            self.start_node(name)
        self.wait(lambda: self.states() == {name: "idle" for name in names}, 60, "all nodes are idle")

    def service(self, words, name):
        log = open(self.folder / f"{name}.out", "ab")
        process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment,
                                   start_new_session=True)
        self.services.append(process)
        return process

    def start_node(self, name):
        for part in ["spool", "tmp"]:
            (self.folder / name / part).mkdir(parents=True, exist_ok=True)
        script = f'mount --bind "{self.folder}/{name}/tmp" /tmp && exec slurmd -D -N {name} -f "{self.folder}/slurm.conf"'
        process = self.service(["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", script],
                               name)
        self.nodes[name] = Node(name, process)

    def call(self, *words, **more):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, **more)

    def states(self):
        lines = self.call("sinfo", "--noheader", "--Node", "--format=%N %t").stdout.split("\n")
        return dict(line.split() for line in lines if line.strip())

    def running(self):
        """Names of nodes with tasks under way, one for each task."""
        lines = self.call("squeue", "--noheader", "--states=RUNNING", "--format=%N").stdout.split()
        return [line for line in lines if line]

    def queue(self):
        return self.call("squeue", "--noheader", "--format=%i %t %r").stdout.strip()

    def wait(self, holds, seconds, what):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f"after {seconds} s it is not so that {what}; states {self.states()}; "
                                   f"queue:\n{self.queue()}\n{self.logs()}")
            time.sleep(0.2)

    def logs(self):
        text = ""
        for file in sorted(self.folder.rglob("*.log")) + sorted(self.folder.glob("*.out")):
            tail = file.read_text(errors="replace").splitlines()[-8:]
            text += f"-- {file.relative_to(self.folder)}\n" + "\n".join(tail) + "\n"
        return text

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.go_on()
            if node.process.poll() is None:
                node.kill()
        for process in reversed(self.services):
            if process.poll() is None:
                process.terminate()
        for process in self.services:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
