"""Signals: the first ends a run politely with a result of what was finished, whatever the program waits for; the second
ends it at once. Alone, under mpirun, and where a single rank is meant."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from support import BINARY, EndToEnd, LAUNCHED, SMALL, checkpoint, environment, mpirun

FOREVER = ["--passes", "1000", "--checkpoints-per-pass", "1"]


class Signals(EndToEnd):
    output = "results"

    @contextlib.contextmanager
    def started(self, *arguments, processes=None, prefix=(), lines=2, settings=FOREVER, inner=()):
        """A run that has finished `lines` checkpoints. Under mpirun each rank's process leaves its number in pidN."""
        command = [*prefix, BINARY, "run", *SMALL, *settings, "--target", str(self.target()), "--output",
                   str(self.folder / self.output), "--progress", "plain", *arguments]
        if processes:
            script = f'echo $$ > {self.folder}/pid$OMPI_COMM_WORLD_RANK; exec "$@"'
            command = [*mpirun(processes), "sh", "-c", script, "ckptsim", *inner, *command]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
                              start_new_session=True) as process:
            try:
                for _ in range(lines):
                    line = process.stderr.readline()
                    if " removing the earlier run" in line:
                        line = process.stderr.readline()
                    self.assertIn(" done", line)
                yield process
            finally:
                if process.poll() is None:  # the test has failed: nothing may go on writing
                    os.killpg(process.pid, signal.SIGKILL)

    def rank_process(self, rank):
        return int((self.folder / f"pid{rank}").read_text())

    def results(self):
        return next((self.folder / self.output).iterdir())

    def kept(self):
        """The stored result of an interrupted run, held against its journal and the target."""
        result = json.loads((self.results() / "result.json").read_text())
        self.assertEqual(result["status"], "interrupted")
        rows = [json.loads(line) for line in (self.results() / "journal.jsonl").read_text().splitlines()]
        journaled = [(row["pass"], row["checkpoint"]) for row in rows if row["type"] == "checkpoint"]
        kept = [(one["pass"], each["checkpoint"]) for one in result["passes"] for each in one["checkpoints"]]
        self.assertEqual(kept, journaled[:len(kept)])
        self.assertTrue((self.results() / "checkpoints.csv").exists())
        manifest = checkpoint(self.target()) / "manifest.json"
        if manifest.exists():
            self.assertIn(json.loads(manifest.read_text())["pass"], (journaled[-1][0], journaled[-1][0] + 1))
        return result, journaled

    def ends(self, process, *words, name, timeout=30, also=""):
        """`also`: what the failure says beside the signal's name."""
        stdout, stderr = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, 130, stderr)
        messages = [line for line in stderr.splitlines() if line.startswith("ckptsim: ") and " done, " not in line]
        self.assertEqual(len(messages), 1, stderr)
        result, journaled = self.kept()
        self.assertEqual(result["failure"], f"interrupted by {name}{also}")
        self.assertEqual(sum(len(one["checkpoints"]) for one in result["passes"]), len(journaled))
        for word in (f"interrupted by {name}{also}; ", f"--resume {self.results()}", *words):
            self.assertIn(word, messages[0])
        if "--json" in process.args:
            self.assertEqual(json.loads(stdout), result)
        return result

    def test_alone_each_signal_ends_it_with_its_result(self):
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            self.output = name
            with self.subTest(name), self.started() as process:
                process.send_signal(getattr(signal, name))
                self.ends(process, name=name)

    def test_while_checkpoints_are_read_back(self):
        with self.started("--load", "each", lines=1) as process:
            process.send_signal(signal.SIGTERM)
            result = self.ends(process, name="SIGTERM")
        loads = [one["load"] for of_pass in result["passes"] for one in of_pass["checkpoints"] if one["load"]]
        rows = [json.loads(line) for line in (self.results() / "journal.jsonl").read_text().splitlines()]
        self.assertEqual(loads, [row["load"] for row in rows if row["type"] == "load"])

    def test_under_nohup_a_closed_session_does_not_end_it(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with self.started(settings=["--passes", "4", "--checkpoints-per-pass", "1"]) as process:
                process.send_signal(signal.SIGHUP)
                _, stderr = process.communicate(timeout=60)
        finally:
            signal.signal(signal.SIGHUP, before)
        self.assertEqual(process.returncode, 0, stderr)
        self.assertEqual(self.result()[0]["status"], "complete")

    def test_mpirun_that_is_told_to_end_leaves_the_result(self):
        # mpirun kills its processes within a second of telling them, and answers with a code of its own.
        for processes, number in ((3, signal.SIGTERM), (8, signal.SIGTERM), (8, signal.SIGINT)):
            self.output = f"of-{processes}-{number}"
            with self.subTest(self.output), self.started(processes=processes) as process:
                process.send_signal(number)
                _, stderr = process.communicate(timeout=30)
                self.assertIn(f"kept in {self.results()}; go on with the same command and --resume", stderr)
                self.assertNotEqual(process.returncode, 0)
                result, _ = self.kept()
                self.assertEqual(result["failure"], "interrupted by SIGTERM" + LAUNCHED)

    def test_one_rank_that_is_told_to_end_ends_all(self):
        for processes, rank in ((3, 2), (8, 0)):
            self.output = f"rank-{rank}"
            with self.subTest(self.output), self.started(processes=processes) as process:
                os.kill(self.rank_process(rank), signal.SIGTERM)
                self.ends(process, name="SIGTERM", also=LAUNCHED)

    def test_a_rank_that_is_killed_leaves_the_result_and_the_words_of_it(self):
        with self.started(processes=3) as process:
            os.kill(self.rank_process(2), signal.SIGKILL)
            _, stderr = process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        result, _ = self.kept()
        self.assertEqual(result["failure"], "interrupted by SIGTERM" + LAUNCHED)
        messages = [line for line in stderr.splitlines() if line.startswith("ckptsim: ") and " done, " not in line]
        self.assertEqual(len(messages), 1, stderr)
        self.assertIn(LAUNCHED, messages[0])
        self.assertIn(f"--resume {self.results()}", messages[0])

    def test_with_json_the_result_is_printed_as_well(self):
        with self.started("--json") as process:
            process.send_signal(signal.SIGINT)
            self.ends(process, name="SIGINT")

    def test_a_pause_ends_early(self):
        for processes, rank in ((None, None), (3, 2)):
            self.output = f"pause-{processes}"
            with self.subTest(self.output), self.started("--set", "checkpoint.pause_seconds=600", processes=processes,
                                                         lines=1) as process:
                os.kill(process.pid if rank is None else self.rank_process(rank), signal.SIGTERM)
                result = self.ends(process, "what was finished is kept", name="SIGTERM",
                                   also=LAUNCHED if processes else "")
                self.assertEqual(sum(len(one["checkpoints"]) for one in result["passes"]), 1)

    def test_warm_up_passes_are_kept_as_such(self):
        with self.started("--set", "checkpoint.warmup_passes=1000") as process:
            process.send_signal(signal.SIGINT)
            result = self.ends(process, name="SIGINT")
        self.assertEqual({one["warmup"] for one in result["passes"]}, {True})

    def test_while_an_earlier_run_is_removed_the_rest_of_it_stays(self):
        # A file a tenth of a second: the whole would take most of a minute.
        files = checkpoint(self.target())
        prefix = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=unlinkat", "-e",
                  "inject=unlinkat:delay_enter=100000:when=3+"]
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", self.target())
        for processes, rank in ((None, 0), (3, 2)):
            self.output = f"removal-{processes}"
            with self.subTest(self.output), self.started(prefix=[] if processes else prefix, processes=processes, lines=0,
                                                         inner=prefix if processes else []) as process:
                self.assertEqual(process.stderr.readline(), "ckptsim: removing the earlier run\n")
                self.wait_until(lambda: not (files / "manifest.json").exists())
                if processes:
                    program = self.traced(self.rank_process(rank))
                else:
                    program = self.traced(process.pid)
                os.kill(program, signal.SIGTERM)
                result = self.ends(process, "what was finished is kept", name="SIGTERM",
                                   also=LAUNCHED if processes else "")
                self.assertEqual(result["passes"], [])
            self.assertGreater(len(list(files.rglob("*.pt"))), 100)
            (files / "manifest.json").write_text("{}")  # seen to go again

    @staticmethod
    def traced(strace):
        return int(pathlib.Path(f"/proc/{strace}/task/{strace}/children").read_text().split()[0])

    def wait_until(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "waited too long")
            time.sleep(0.005)

    def durable_soon(self, program):
        """Tells the program to end: its result is there within half a second, whatever it waits for."""
        begin = time.monotonic()
        os.kill(program, signal.SIGTERM)
        file = self.results() / "result.json"
        self.wait_until(file.exists)
        self.assertLess(time.monotonic() - begin, 0.5)
        self.wait_until((self.results() / "checkpoints.csv").exists)
        return json.loads(file.read_text())

    def test_while_every_write_takes_seconds_the_result_is_durable_within_half_a_second(self):
        # From each rank's second write on; the main thread probes the target with one.
        log = self.folder / "slow"
        prefix = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=pwrite64", "-e",
                  "inject=pwrite64:delay_enter=5000000:when=2+"]
        with self.started("--backend", "direct", prefix=prefix, lines=0) as process:
            self.wait_until(lambda: log.exists() and log.read_text().count("pwrite64") > 8)
            program = int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
            result = self.durable_soon(program)
            self.assertEqual(result["status"], "interrupted")
            self.assertEqual(result["passes"], [])
            self.assertIsNone(process.poll(), "the writes were not slow")

    def test_while_the_main_thread_waits_for_another_the_result_is_durable_and_a_second_signal_ends_it(self):
        with self.started(processes=2) as process:
            os.kill(self.rank_process(1), signal.SIGSTOP)  # process 0 now waits for it in a collective
            try:
                lines = -1
                while lines != (lines := len((self.results() / "journal.jsonl").read_text().splitlines())):
                    time.sleep(0.5)
                result = self.durable_soon(self.rank_process(0))
                self.assertEqual(result["status"], "interrupted")
                self.assertEqual(sum(len(one["checkpoints"]) for one in result["passes"]), lines - 1)
                self.assertIsNone(process.poll(), "nobody was stuck")
                begin = time.monotonic()
                os.kill(self.rank_process(0), signal.SIGINT)  # another signal than the first: never the same request
                self.wait_until(lambda: not pathlib.Path(f"/proc/{self.rank_process(0)}").exists())
                self.assertLess(time.monotonic() - begin, 2)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.rank_process(1), signal.SIGCONT)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130)
            self.kept()


if __name__ == "__main__":
    unittest.main()
