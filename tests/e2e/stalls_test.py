"""Drives and processes that answer no more: the run ends within storage.stall_seconds and a moment."""
import json
import os
import shlex
import signal
import subprocess
import time
import unittest

from fault_support import Faults, HOST, ONE_PASS, STALL, TINY, misbehaving
from support import BINARY, commands_with, environment, mpirun

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

OF_THE_MAIN_THREAD = {
    "the manifest's fsync gets no answer": ("fsync hang 1 manifest", ["while it was writing the manifest of checkpoint 1"]),
    "the journal's fsync gets no answer": ("fsync hang 2 journal", ["while it was writing the journal"]),
    "the result's fsync gets no answer": ("fsync hang 1 result.json", ["while it was writing result.json"]),
}


class Stalls(Faults):
    def test_a_drive_that_answers_no_more(self):
        for kind, (fault, words) in HANGS.items():
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target, *STALL), prefix=misbehaving(fault), timeout=60)
                self.failed(outcome, target, "rank ", f" on {HOST}: no answer for 2 s ", *words)

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
        verify = ["verify", target, "--backend", "direct", "--stall-seconds", "1"]
        for kind, (fault, words) in OF_VERIFY.items():
            for processes in (None, 3) if "pread" in fault else (None,):
                with self.subTest(kind, processes=processes):
                    outcome = self.ckptsim(*verify, prefix=misbehaving(fault), processes=processes, timeout=60)
                    self.assertEqual(outcome.code, 4, outcome.stderr)
                    # Each process whose reads hang may say so before the first one has ended all.
                    said = outcome.messages()
                    self.assertIn(len(said), range(1, 1 + (processes or 1)), outcome.stderr)
                    for word in (f"on {HOST}: no answer for 1 s ", *words):
                        self.assertIn(word, said[0])
                    self.assertEqual(outcome.stdout, "")
                    self.gone(target)
        self.assertEqual(self.ckptsim("verify", target).code, 0)

    def test_a_drive_that_answers_the_main_thread_no_more(self):
        # Nobody is left to write result.json: the journal has what was measured.
        for kind, (fault, words) in OF_THE_MAIN_THREAD.items():
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target, *STALL, passes=ONE_PASS), prefix=misbehaving(fault), timeout=60)
                self.one_sentence(outcome, f"on {HOST}: no answer for 2 s ", *words)
                self.assertFalse((self.results() / "result.json").exists())
                self.serves_the_next_run(target)

    def test_a_drive_that_answers_one_of_several_processes_no_more(self):
        target = self.fresh()
        outcome = self.one_of_three(1, "fsync hang 5 .pt", target)
        self.failed(outcome, target, "rank ", f" on {HOST}: no answer for 2 s ", "in fsync of ")
        self.assertEqual(commands_with(target), [])

    def test_a_stopped_process_ends_the_run(self):
        for victim in (1, 0):
            with self.subTest(process=victim):
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
                self.assertEqual(len(said), 1, rest)
                self.assertIn(f"process {victim} (ranks ", said[0])
                self.assertIn(f" on {HOST}) has not answered for 2 s", said[0])
                finished = len(self.journal())
                self.assertGreaterEqual(finished, 1)
                if victim != 0:
                    result = json.loads((self.results() / "result.json").read_text())
                    self.assertEqual(result["status"], "failed")
                    self.assertIn(result["failure"], said[0])
                    self.assertEqual(sum(len(one["checkpoints"]) for one in result["passes"]), finished)
                self.gone(target)
                self.serves_the_next_run(target)

    def gone(self, target):
        deadline = time.monotonic() + 30
        while commands_with(target) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(commands_with(target), [])


if __name__ == "__main__":
    unittest.main()
