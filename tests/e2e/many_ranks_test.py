"""Many ranks on few processors: what the program itself takes for a checkpoint, and the memory of its ranks."""
import unittest

from support import EndToEnd

CHECKPOINTS = 15
# A hundred-thousandth of the model: what the program takes beside the ranks does not depend on the ranks' bytes.
SHAPE = ["llama3.1-405b-tp4pp2", "--backend", "null", "--scale", "0.00001", "--passes", "1"]
RANKS_64 = ["--set", "parallelism.tensor=8", "--set", "parallelism.pipeline=8"]
RANKS_512 = ["--set", "parallelism.tensor=8", "--set", "parallelism.pipeline=8", "--set", "parallelism.data=8", "--set",
             "parallelism.zero_stage=3"]


class ManyRanks(EndToEnd):
    def checkpoints(self, ranks, shape, count, processes):
        self.run_ok(*SHAPE, *shape, "--checkpoints-per-pass", count, processes=processes)
        result, _ = self.result()
        self.assertEqual(len(result["plan"]["ranks"]), ranks)
        self.assertEqual(result["environment"]["processes"], processes or 1)
        checkpoints = result["passes"][0]["checkpoints"]
        for one in checkpoints:
            self.assertEqual([rank["rank"] for rank in one["save"]["ranks"]], list(range(ranks)))
            self.assertEqual(one["save"]["file_bytes"], result["plan"]["file_bytes"])
        return checkpoints

    def engine_ms(self, processes):
        """The least over checkpoints of what 64 ranks cost, the journal's fsync included. What else the machine does can
        only add to it; a gather that grows with the bytes is in every checkpoint."""
        costs = [sum(one["engine"][part] for part in ("start_ns", "finish_ns", "gather_ns", "manifest_ns",
                                                    "journal_ns"))
                 for one in self.checkpoints(64, RANKS_64, CHECKPOINTS, processes)]
        cost = min(costs) / 1e6
        print(f"\n64 ranks in {processes or 1} processes: {cost:.1f} ms a checkpoint", flush=True)
        return cost

    # Generous: the machine that runs tests may be busy with other things. docs/performance.md has figures of a quiet one.
    def test_64_ranks_that_are_threads_cost_under_1_percent_of_a_second(self):
        self.assertLess(self.engine_ms(None), 10)

    def test_64_ranks_in_8_processes(self):
        self.assertLess(self.engine_ms(8), 35)

    def test_64_processes(self):
        self.assertLess(self.engine_ms(64), 100)

    def test_512_ranks_of_one_process_touch_no_memory_but_what_they_use(self):
        checkpoints = self.checkpoints(512, RANKS_512, 2, None)
        # Memory that is never used would still have to be touched before the run, at a gigabyte in a second or two.
        # Two blocks of 4 MiB a rank, and what a rank needs beside them.
        self.assertLess(checkpoints[-1]["save"]["ranks"][0]["max_rss_bytes"], 512 * (12 << 20))


if __name__ == "__main__":
    unittest.main()
