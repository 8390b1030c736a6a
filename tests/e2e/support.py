"""What the end-to-end tests share: the real program, alone or under mpirun, in a scratch folder of the build tree.

CMake sets CKPTSIM_BINARY and CKPTSIM_SCRATCH. Debian's Python alone.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BINARY = os.environ["CKPTSIM_BINARY"]
SCRATCH = pathlib.Path(os.environ["CKPTSIM_SCRATCH"])
SMALL = ["llama3.1-405b-tp4pp2", "--scale", "0.00001"]  # 520 files, 8 ranks, 16 MB
# What a message about SIGTERM adds under a launcher.
LAUNCHED = ", which mpirun sends when it is stopped and when one of its processes ends; its own message says which"


def environment():
    env = dict(os.environ)
    if os.geteuid() == 0:
        env.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        env.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    return env


def mpirun(processes):
    return ["mpirun", "-np", str(processes), "--oversubscribe", "--bind-to", "none"]


class Outcome:
    def __init__(self, completed):
        self.code = completed.returncode
        self.stdout = completed.stdout
        self.stderr = completed.stderr

    def messages(self):
        """The program's own lines on stderr, without mpirun's."""
        return [line for line in self.stderr.splitlines() if line.startswith("ckptsim: ")]


class EndToEnd(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def target(self, name="target"):
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def ckptsim(self, *arguments, processes=None, prefix=(), timeout=120):
        """Runs the program; with `processes`, under mpirun. Never waits longer than `timeout`."""
        command = (mpirun(processes) if processes else []) + list(prefix) + [BINARY] + [str(a) for a in arguments]
        return Outcome(subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment(),
                                      cwd=self.folder))

    def run_ok(self, *arguments, **keywords):
        outcome = self.ckptsim("run", *arguments, "--output", self.folder / "results", **keywords)
        self.assertEqual(outcome.code, 0, outcome.stderr)
        return outcome

    def for_another_user(self, target):
        """A copy of the target and of the program that everyone may read, and a function that runs the program as nobody."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        open_to_all = pathlib.Path(tempfile.mkdtemp(dir="/tmp", prefix="ckptsim-test-"))
        self.addCleanup(shutil.rmtree, open_to_all)
        copy = open_to_all / "target"
        shutil.copytree(target, copy)
        program = shutil.copy(BINARY, open_to_all)
        subprocess.run(["chmod", "-R", "a+rX", open_to_all], check=True)

        def as_nobody(*arguments):
            return Outcome(subprocess.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, *arguments], capture_output=True,
                text=True, timeout=60, cwd=open_to_all, env=environment()))
        return copy, as_nobody

    def result(self):
        """The newest result and its folder."""
        folders = sorted((self.folder / "results").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        return json.loads((folders[-1] / "result.json").read_text()), folders[-1]

    def refused(self, code, *arguments, words=(), processes=None, **keywords):
        """Expects one sentence and an exit code. Open MPI passes on the code that all its processes end with."""
        outcome = self.ckptsim(*arguments, processes=processes, **keywords)
        self.assertEqual(outcome.code, code, outcome.stderr + outcome.stdout)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
        for word in words:
            self.assertIn(word, outcome.messages()[0])
        return outcome


def checkpoint(target, number=1, name="llama3.1-405b-tp4pp2"):
    return target / "ckptsim" / name / f"checkpoint_{number:02d}"


def digests(folder):
    """SHA-256 of every data file below a folder, by relative name."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*.pt"))}


def commands_with(path):
    """What still runs with this path among its arguments."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended while we looked
        if str(path) in command:
            found.append(command)
    return found
