"""The way from the published bench to the default run, as small as can be: that it works, not what it measures."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from support import EndToEnd, commands_with, environment

BENCHMARKS = pathlib.Path(os.environ["CKPTSIM_SOURCE"]) / "tests" / "benchmarks"
sys.path.append(str(BENCHMARKS / "vs_peers"))
import bridge  # noqa: E402


class PublishedBench(EndToEnd):
    def start(self, *arguments):
        return subprocess.Popen([BENCHMARKS / "published_bench.sh", "--scale", "0.00001", "--checkpoints", "1", *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())

    def check_row(self, row, step):
        name, change, *cells = row
        self.assertEqual((name, change), (step.name, step.change))
        seconds, speeds, shares = cells[:3], cells[3:5], cells[5:]
        for text in seconds:
            self.assertRegex(text, r"^\d+\.\d\d$")
            self.assertLess(float(text), 60)  # of 22 MB
        for text in speeds:
            self.assertGreater(float(text), 0)
        for of_pass in zip(*(text.split(" / ") for text in shares)):
            self.assertTrue(all(0 <= int(share) <= 100 for share in of_pass), of_pass)
            self.assertLessEqual(abs(sum(map(int, of_pass)) - 100), 5, of_pass)  # four rounded; the rest is between phases

    def test_prints_a_row_for_each_step_and_leaves_nothing(self):
        target = self.target()
        script = self.start("--rounds", "1", str(target))
        output, errors = script.communicate(timeout=300)
        self.assertEqual(script.returncode, 0, errors)
        rows = [line.strip("| ").split(" | ") for line in output.splitlines()]
        self.assertEqual(len({len(row) for row in rows}), 1, output)
        self.assertEqual(len(rows), 2 + len(bridge.STEPS), output)
        shares = {}
        for row, step in zip(rows[2:], bridge.STEPS):
            with self.subTest(step=step.name):
                self.check_row(row, step)
            shares[step.name] = dict(zip(bridge.PHASES, row[-len(bridge.PHASES):]))
        for step in ("published bench", "no truncation", "content"):
            self.assertEqual(shares[step]["sync"], "0 / 0", step)  # none of them syncs
        self.assertEqual(list(target.iterdir()), [])

    def test_a_signal_ends_it_and_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                target = self.target(number.name)
                script = self.start("--rounds", "1000", str(target))
                self.addCleanup(script.kill)
                for text in script.stderr:
                    if text.startswith("round 1 of 1000: "):  # and the second step is to be measured
                        break
                while not any(command.startswith("mpirun ") for command in commands_with(target)):
                    self.assertIsNone(script.poll(), "ended by itself")
                script.send_signal(number)
                output, errors = script.communicate(timeout=120)
                self.assertEqual((script.returncode, output), (128 + number, ""), errors)
                self.assertNotIn("Traceback", errors)
                self.assertEqual(commands_with(target), [])
                self.assertEqual(list(target.iterdir()), [])

    def test_wrong_usage_is_said_before_anything_is_written(self):
        target = self.target()
        script = self.start("--rounds", "0", str(target))
        output, errors = script.communicate(timeout=120)
        self.assertEqual((script.returncode, output), (2, ""), errors)
        self.assertIn("--rounds: 0 is no whole number of at least 1", errors.splitlines()[-1])
        self.assertEqual(list(target.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
