"""Memory a rank, the time to the first answer, and plans of any size."""
import json
import statistics
import subprocess
import time
import unittest

from support import BINARY, EndToEnd, SMALL, environment, mpirun

REPORT_RSS = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); "
              "print('rss', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr); "
              "sys.exit(code)")


class Limits(EndToEnd):
    def peak_memory(self, *arguments):
        """The largest resident size of two processes of a run, one rank each."""
        outcome = self.ckptsim(*arguments, processes=2, prefix=["/usr/bin/python3", "-c", REPORT_RSS], timeout=300)
        self.assertEqual(outcome.code, 0, outcome.stderr)
        sizes = [int(line.split()[1]) for line in outcome.stderr.splitlines() if line.startswith("rss ")]
        self.assertEqual(len(sizes), 2)
        return max(sizes)

    def test_a_rank_stays_under_128_mib_and_needs_no_more_for_a_larger_model(self):
        two_ranks = ["llama3.1-405b-tp4pp2", "--set", "parallelism.tensor=1", "--set", "parallelism.pipeline=2",
                     "--passes", "1", "--checkpoints-per-pass", "1", "--output", self.folder / "results"]
        target = self.target()
        small = self.peak_memory("run", *two_ranks, "--scale", "0.00001", "--target", target)
        large = self.peak_memory("run", *two_ranks, "--scale", "0.001", "--target", target)
        null = self.peak_memory("run", *two_ranks, "--scale", "0.005", "--backend", "null")
        for peak in (small, large, null):
            self.assertLess(peak, 128 << 20)
        self.assertLess(large - small, 8 << 20)

    def test_version_answers_in_under_100_ms(self):
        times = []
        for _ in range(7):
            start = time.perf_counter()
            text = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout
            times.append(time.perf_counter() - start)
            self.assertRegex(text, r"^ckptsim \d+\.\d+\.\d+\n$")
        self.assertLess(statistics.median(times), 0.1)

    def test_a_plan_of_512_ranks_is_immediate(self):
        start = time.perf_counter()
        outcome = self.ckptsim("plan", "llama3.1-405b-tp4pp2", "--json", "--set", "training_state=adam-mixed", "--set",
                               "parallelism.tensor=8", "--set", "parallelism.pipeline=32", "--set",
                               "parallelism.data=2", "--set", "parallelism.zero_stage=1")
        elapsed = time.perf_counter() - start
        plan = json.loads(outcome.stdout)
        self.assertEqual(len(plan["ranks"]), 512)
        self.assertEqual(plan["parameters"], 405_853_388_800)
        self.assertLess(elapsed, 0.8)

    def test_the_published_checkpoint(self):
        plan = json.loads(self.ckptsim("plan", "llama3.1-405b-tp4pp2", "--json").stdout)
        self.assertEqual(plan["checkpoint_bytes"], 1_636_146_620_416)
        self.assertEqual(plan["files"], 520)
        self.assertEqual([rank["bytes"] for rank in plan["ranks"]], 4 * [204_518_294_528] + 4 * [204_518_360_576])
        self.assertEqual([(rank["tp"], rank["pp"], rank["dp"]) for rank in plan["ranks"]],
                         [(rank % 4, rank // 4, 0) for rank in range(8)])

    def test_help_of_every_command_has_an_example(self):
        for command in ([], ["run"], ["plan"], ["inspect"], ["tune"], ["clean"]):
            outcome = self.ckptsim(*command, "--help")
            self.assertEqual(outcome.code, 0)
            self.assertIn("Example", outcome.stdout)
            self.assertEqual(outcome.stderr, "")

    def test_a_live_line_appears_on_a_terminal_and_nowhere_else(self):
        run = " ".join([BINARY, "run", *SMALL, "--passes", "1", "--checkpoints-per-pass", "2", "--target",
                        str(self.target()), "--output", str(self.folder / "results")])
        for command in (run, " ".join(mpirun(2)) + " " + run):
            seen = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True,
                                  env=environment(), timeout=120).stdout
            self.assertIn("pass 1, checkpoint 1 (1/2)", seen, command)
            self.assertIn("left", seen)
        outcome = self.ckptsim("run", *SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target",
                               self.target(), "--output", self.folder / "results")
        self.assertEqual(outcome.stderr, "")


if __name__ == "__main__":
    unittest.main()
