"""Drives and processes that answer no more: the run ends within storage.stall_seconds and a moment."""
import copy
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from fault_support import Faults, HOST, LIBRARY, ONE_PASS, STALL, TINY, TWO_PASSES, misbehaving
from support import BINARY, Outcome, commands_with, environment, mpirun

SILENCE = 8.5  # of a process, where a call may take 2 s
AT_ONCE = 6

HANGS = {
    "a write gets no answer": ("pwrite hang 40", ["while it was writing ", ".pt at offset "]),
    "fsync gets no answer": ("fsync hang 5 .pt", ["while it was in fsync of ", ".pt (since "]),
    "creating a file gets no answer": ("open hang 5 .pt", ["while it was creating ", ".pt (since "]),
    "closing a file gets no answer": ("close hang 5 .pt", ["while it was closing ", ".pt (since "]),
    "setting the length gets no answer": ("ftruncate hang 3", ["while it was setting the length of ", ".pt (since "]),
    "fsync of the folder gets no answer": ("fsync hang 1 checkpoint_01$", ["while it was in fsync of ", "checkpoint_01 (since "]),
}

OF_A_READER = {
    "reading a checkpoint back gets no answer": ("pread hang 5 .pt", ["while it was reading ", ".pt at offset "]),
}

OF_VERIFY = {
    "verify gets no answer": ("pread hang 5 .pt", ["while it was reading ", ".pt at offset ", "--stall-seconds"]),
    "verify gets no manifest": ("open hang 1 manifest.json", ["while it was reading the manifest in ", "--stall-seconds"]),
}

BUFFERED = ["--load", "each", "--set", "checkpoint.fsync=off"]
DELETE = ["--set", "checkpoint.between_passes=delete"]
# What the main thread does beside the ranks' requests, in order: the fault, more options, and words of the sentence.
# {target} and {results} are the case's own. Where EARLIER is among the options, a run was there before.
EARLIER, RESUME = "EARLIER", "RESUME"
OF_THE_MAIN_THREAD = {
    "taking the lock gets no answer": ("flock hang 1 .lock", [], ["locking {target}/ckptsim/.lock"]),
    "looking at the target gets no answer": ("statvfs hang 1 /target", [], ["looking through {target}"]),
    "looking through an earlier run gets no answer": (
        "open hang 1 405b-tp4pp2$", [EARLIER], ["opening {target}/ckptsim/llama3.1-405b-tp4pp2 "]),
    "trying direct I/O gets no answer": (
        "pwrite hang 1 .ckptsim-probe", [], ["trying direct I/O in {target}/ckptsim: writing a probe file in {target}"]),
    "making the result's folder gets no answer": (
        "fsync hang 1 journal", [], ["making the folder for the result: in fsync of {results}/"]),
    "removing an earlier run gets no answer": (
        "unlink hang 5 .pt", [EARLIER], ["removing an earlier run from {target}/ckptsim: removing {target}/ckptsim/", ".pt "]),
    "opening a checkpoint's folder gets no answer": (
        "open hang 1 checkpoint_01$", [], ["making the folder of checkpoint 1 in {target}/ckptsim: opening {target}/ckptsim/"]),
    "looking at a written file gets no answer": ("fstatat hang 1 .pt", [], ["looking at {target}/ckptsim/", ".pt "]),
    "the manifest's fsync gets no answer": (
        "fsync hang 1 manifest", [], ["writing the manifest of checkpoint 1 in {target}/ckptsim: in fsync of {target}/ckptsim/"]),
    "the journal's fsync gets no answer": (
        "fsync hang 2 journal", [], ["writing the journal: in fsync of {results}/"]),
    "writing back before a load gets no answer": (
        "sync_file_range hang 5 .pt", BUFFERED, ["taking checkpoint 1 out of the page cache: writing back {target}/ckptsim/"]),
    "dropping cached pages gets no answer": (
        "posix_fadvise hang 5 .pt", BUFFERED, ["out of the page cache: dropping cached pages of {target}/ckptsim/"]),
    "deleting the last pass gets no answer": (
        "unlink hang 5 .pt", DELETE, ["removing the checkpoints of the last pass from {target}/ckptsim: removing {target}/"]),
    "the result's fsync gets no answer": ("fsync hang 1 result.json", [], ["writing result.json: in fsync of {results}/"]),
    "reading the journal gets no answer": (
        "open hang 1 journal.jsonl", [EARLIER, RESUME], ["reading the journal in {results}/"]),
}


class Stalls(Faults):
    def all_at_once(self, check, cases):
        """check(self with a folder of its own, *case) for all cases, which mostly wait."""
        def apart(case):
            one = copy.copy(self)
            one.folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            check(one, *case)
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            outcomes = [(case, pool.submit(apart, case)) for case in cases]
        for case, outcome in outcomes:
            with self.subTest(case):
                outcome.result()

    def test_a_drive_that_answers_no_more(self):
        def check(self, kind):
            fault, words = HANGS[kind]
            target = self.fresh()
            outcome = self.ckptsim(*self.command(target, *STALL), prefix=misbehaving(fault), timeout=60)
            self.failed(outcome, target, "rank ", f" on {HOST}: no answer for 2 s ", *words)
        self.all_at_once(check, [(kind,) for kind in HANGS])

    def test_a_drive_that_does_not_answer_reads(self):
        for kind, (fault, words) in OF_A_READER.items():
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target, *STALL, "--load", "each"), prefix=misbehaving(fault), timeout=60)
                self.load_failed(outcome, target, "rank ", f" on {HOST}: no answer for 2 s ", *words)
                self.serves_the_next_run(target)

    def test_a_drive_that_does_not_answer_verify(self):
        target = self.fresh()
        self.run_ok(*TINY, *ONE_PASS, "--target", target)

        def check(self, kind, processes):
            fault, words = OF_VERIFY[kind]
            verify = ["verify", target, "--backend", "direct", "--stall-seconds", "2"]
            outcome = self.ckptsim(*verify, prefix=misbehaving(fault), processes=processes, timeout=60)
            self.assertEqual(outcome.code, 4, outcome.stderr)
            # Each process whose reads hang may say so before the first one has ended all.
            self.assertIn(len(outcome.messages()), range(1, 1 + (processes or 1)), outcome.stderr)
            for word in (f"on {HOST}: no answer for 2 s ", *words):
                self.assertIn(word, outcome.messages()[0])
            self.assertEqual(outcome.stdout, "")
        self.all_at_once(check, [(kind, processes) for kind in OF_VERIFY for processes in (None, 3)])
        self.gone(target)
        self.assertEqual(self.ckptsim("verify", target).code, 0)

    def test_a_drive_that_answers_the_main_thread_no_more(self):
        earlier = self.folder / "earlier"
        self.run_ok(*TINY, *ONE_PASS, "--backend", "direct", "--target", self.target("earlier"))
        earlier_results = self.folder / "results"

        def check(self, kind, processes):
            fault, options, words = OF_THE_MAIN_THREAD[kind]
            target, results = self.folder / "target", self.folder / "results"
            options = list(options)
            if EARLIER in options:
                options.remove(EARLIER)
                shutil.copytree(earlier, target)
            if RESUME in options:
                shutil.copytree(earlier_results, results)
                options[options.index(RESUME):] = ["--resume", next(results.iterdir())]
            command = self.command(self.target(), *STALL, *options, passes=TWO_PASSES if options == DELETE else ONE_PASS,
                                   backend="buffered" if options == BUFFERED else "direct")
            outcome = self.ckptsim(*command, prefix=["timeout", "30", *misbehaving(fault)], processes=processes)
            self.one_sentence(outcome, f"on {HOST}: no answer for 2 s while it was ", "storage.stall_seconds",
                              *(word.format(target=target, results=results) for word in words))
            if "--resume" not in options:  # nobody was left to write it
                self.assertEqual(list(results.glob("*/result.json")), [])
            self.serves_the_next_run(target)
        self.all_at_once(check, [(kind, processes) for kind in OF_THE_MAIN_THREAD for processes in (None, 2)])

    def test_a_drive_that_is_slow_for_one_process_is_waited_for(self):
        # Each of its 24 files takes half a second to be written back, all of them more than a process may be silent.
        script = (f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then export LD_PRELOAD={LIBRARY}; fi; exec '
                  + shlex.join([BINARY] + self.command(self.target(), *STALL, *BUFFERED, passes=ONE_PASS, backend="buffered")))
        calls = self.folder / "calls"
        calls.touch()
        outcome = Outcome(subprocess.run(
            mpirun(2) + ["sh", "-c", script], capture_output=True, text=True, timeout=90,
            env=environment() | {"CKPTSIM_FAULT": "sync_file_range slow 1 .pt", "CKPTSIM_FAULT_COUNT": str(calls)}))
        self.assertEqual(outcome.code, 0, outcome.stderr)
        self.assertEqual(outcome.messages(), [])
        self.assertGreater(calls.stat().st_size * 0.5, SILENCE)

    def test_a_drive_that_answers_one_of_several_processes_no_more(self):
        target = self.fresh()
        outcome = self.one_of_three(1, "fsync hang 5 .pt", target)
        self.failed(outcome, target, "rank ", f" on {HOST}: no answer for 2 s ", "in fsync of ")
        self.assertEqual(commands_with(target), [])

    def test_a_stopped_process_ends_the_run(self):
        def check(self, victim):
            target = self.fresh()
            program = shlex.join([BINARY] + self.command(target, *STALL, "--progress", "plain",
                                                       passes=["--passes", "1000", "--checkpoints-per-pass", "1"]))
            script = f"echo $$ > {self.folder}/pid$OMPI_COMM_WORLD_RANK; exec {program}"
            with subprocess.Popen(mpirun(3) + ["sh", "-c", script], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  text=True, env=environment()) as process:
                first = process.stderr.readline()  # a first checkpoint is done
                os.kill(int((self.folder / f"pid{victim}").read_text()), signal.SIGSTOP)
                try:
                    rest = process.communicate(timeout=60)[1]
                finally:
                    process.kill()
            self.assertIn(" done", first)
            self.assertEqual(process.returncode, 4, rest)
            said = [line for line in rest.splitlines() if line.startswith("ckptsim: ") and " done" not in line]
            # The launcher wakes a stopped process to tell it to end: process 0 may still say what it keeps.
            woken = [line for line in said[1:] if victim == 0 and line.startswith("ckptsim: interrupted by SIGTERM, which mpirun")]
            self.assertEqual(said[1:], woken[:1], rest)
            self.assertIn(f"process {victim} (ranks ", said[0])
            self.assertIn(f" on {HOST}) has not answered for {SILENCE} s", said[0])
            finished = len(self.journal())
            self.assertGreaterEqual(finished, 1)
            if victim != 0:
                result = json.loads((self.results() / "result.json").read_text())
                self.assertEqual(result["status"], "failed")
                self.assertIn(result["failure"], said[0])
                self.assertEqual(sum(len(one["checkpoints"]) for one in result["passes"]), finished)
            self.gone(target)
            self.serves_the_next_run(target)
        self.all_at_once(check, [(1,), (0,)])

    def gone(self, target):
        deadline = time.monotonic() + 30
        while commands_with(target) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(commands_with(target), [])


if __name__ == "__main__":
    unittest.main()
