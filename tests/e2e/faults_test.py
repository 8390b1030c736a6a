"""Faults in the middle of a run, injected at the system call: the right exit code on all ranks, one sentence with rank,
host, file and the system's words, what was measured kept, nothing falsely complete, and nobody hangs."""
import json
import os
import re
import shutil
import socket
import subprocess
import unittest

from support import BINARY, EndToEnd, Outcome, SMALL, checkpoint, environment, mpirun

TWO_PASSES = ["--passes", "2", "--checkpoints-per-pass", "1"]


def strace(*injections):
    command = ["strace", "-f", "-qq", "-o", "/dev/null"]
    for injection in injections:
        command += ["-e", f"inject={injection}"]
    return command


class Faults(EndToEnd):
    def failed(self, outcome, target, *words):
        self.assertEqual(outcome.code, 4, outcome.stderr)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
        for word in words:
            self.assertIn(word, outcome.messages()[0])
        results = list((self.folder / "results").iterdir())
        self.assertEqual(len(results), 1)
        result = json.loads((results[0] / "result.json").read_text())
        self.assertEqual(result["status"], "failed")
        self.assertIn(result["failure"], outcome.messages()[0])
        measured = sum(len(one["checkpoints"]) for one in result["passes"])
        journal = (results[0] / "journal.jsonl").read_text().splitlines()
        self.assertEqual(len(journal), 1 + measured)
        self.assertEqual((checkpoint(target) / "manifest.json").exists(), False, "an unfinished checkpoint does not exist")
        # And the target serves the next run.
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target)

    # (injection, backend, words of the message). strace counts calls by thread: every rank meets its own n-th.
    CASES = [
        ("pwrite64:error=EIO:when=30", "direct", ["cannot write", ".pt at offset", "Input/output error"]),
        ("pwrite64:error=ENOSPC:when=60", "direct", ["cannot write", "No space left on device", "free space"]),
        ("pwrite64:error=EAGAIN:when=30+", "direct", ["cannot write", "temporarily unavailable"]),
        ("pwrite64:error=EDQUOT:when=30", "buffered", ["quota"]),
        ("io_uring_enter:error=EIO:when=30", "io_uring", ["io_uring_enter", ".pt", "Input/output error"]),
        ("io_uring_enter:error=EAGAIN:when=30+", "io_uring", ["io_uring_enter", ".pt", "temporarily unavailable"]),
        ("ftruncate:error=EIO:when=3", "direct", ["cannot set the length of", ".pt", "Input/output error"]),
        ("fallocate:error=ENOSPC:when=40", "direct", ["cannot preallocate", ".pt", "No space left on device"]),
    ]

    def test_a_fault_of_any_call_ends_the_run_with_its_place(self):
        for injection, backend, words in self.CASES:
            with self.subTest(injection=injection):
                shutil.rmtree(self.folder / "results", ignore_errors=True)
                target = self.target(injection.split(":")[0] + injection.split("=")[1].split(":")[0])
                preallocate = "true" if "fallocate" in injection else "false"
                outcome = self.ckptsim("run", *SMALL, *TWO_PASSES, "--target", target, "--output",
                                       self.folder / "results", "--backend", backend, "--set",
                                       f"storage.preallocate={preallocate}", prefix=strace(injection), timeout=60)
                self.failed(outcome, target, "rank ", f" on {socket.gethostname()}: ", *words)

    def one_of_three(self, *injections):
        """A run of three processes of which the second one alone meets the fault."""
        target = self.target()
        program = [BINARY, "run", *SMALL, *TWO_PASSES, "--target", str(target), "--output", str(self.folder / "results")]
        script = ('if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec ' + " ".join(strace(*injections) + program) +
                  "; else exec " + " ".join(program) + "; fi")
        outcome = Outcome(subprocess.run(mpirun(3) + ["sh", "-c", script], capture_output=True, text=True, timeout=90,
                                         env=environment()))
        return outcome, target

    def test_a_failed_fsync_on_one_process_is_every_ranks_exit_code_and_is_not_tried_again(self):
        # Process 1 syncs data files alone: it leads no group. The first failure ends it.
        outcome, target = self.one_of_three("fsync:error=EIO:when=5")
        self.failed(outcome, target, "rank ", "cannot fsync", ".pt", "Input/output error")

    def test_a_failed_close_on_one_process_is_an_error(self):
        outcome, target = self.one_of_three("sync_file_range:error=EIO:when=1", "fsync:error=EIO:when=9")
        self.failed(outcome, target, "rank ", "Input/output error")

    def test_a_thread_that_cannot_be_started_ends_the_run_with_a_sentence(self):
        # strace counts the threads that a thread starts: the main one's are watches, helpers and ranks.
        whose = set()
        for nth in (1, 2, 3, 5, 8, 13, 21, 34):
            target = self.target(f"thread-{nth}")
            outcome = self.ckptsim("run", *SMALL, *TWO_PASSES, "--target", target, "--output", self.folder / f"thread-{nth}-out",
                                   prefix=strace(f"clone3:error=EAGAIN:when={nth}"), timeout=60)
            self.assertIn(outcome.code, (3, 4), outcome.stderr)
            self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
            self.assertIn("Resource temporarily unavailable", outcome.messages()[0])
            found = re.search("cannot start a thread (for rank|to)", outcome.messages()[0])
            self.assertIsNotNone(found, outcome.stderr)
            whose.add(found.group(0))
            self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target)
        self.assertIn("cannot start a thread for rank", whose)
        self.assertGreater(len(whose), 1)

    def test_a_limit_on_file_sizes_is_an_error_of_the_write(self):
        target = self.target()
        outcome = self.ckptsim("run", *SMALL, *TWO_PASSES, "--target", target, "--output", self.folder / "results",
                               "--backend", "direct", prefix=["prlimit", "--fsize=65536"])
        # The result has to fit the limit as well: it is not written, and that is said.
        self.assertEqual(outcome.code, 4, outcome.stderr)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
        self.assertIn("File too large", outcome.messages()[0])
        self.assertIn("ulimit -f", outcome.messages()[0])

    def test_a_killed_rank_ends_all_and_keeps_the_journal(self):
        target = self.target()
        script = (f'echo $$ > {self.folder}/pid$OMPI_COMM_WORLD_RANK; exec {BINARY} run {" ".join(SMALL)} --passes 1000 '
                  f"--checkpoints-per-pass 1 --target {target} --output {self.folder}/results --progress plain")
        with subprocess.Popen(mpirun(3) + ["sh", "-c", script], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              text=True, env=environment()) as process:
            process.stderr.readline()
            os.kill(int((self.folder / "pid2").read_text()), 9)
            process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        journal = next((self.folder / "results").glob("*/journal.jsonl")).read_text().splitlines()
        self.assertGreaterEqual(len([json.loads(line) for line in journal]), 2)
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target)


if __name__ == "__main__":
    unittest.main()
