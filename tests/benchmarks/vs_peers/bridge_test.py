"""What the bridge's table says of results."""
import unittest

import bridge


def rank(duration_ns, **phases):
    names = ("create", "preallocate", "write", "sync", "close", "directory_sync")
    return {"duration_ns": duration_ns, "phases": {f"{name}_ns": phases.get(name, 0) for name in names}}


def result(*averages, ranks):
    checkpoints = [{"save": {"ranks": ranks}}]
    return {"plan": {"file_bytes": 4_000_000_000},
            "passes": [{"save_average_s": average, "checkpoints": checkpoints} for average in averages]}


class Bridge(unittest.TestCase):
    def test_shares_are_of_all_ranks_time_and_small_phases_stand_with_large_ones(self):
        run = bridge.run_of(result(1, 2, 4, ranks=[rank(100, create=5, preallocate=5, write=90),
                                                   rank(300, write=150, sync=90, directory_sync=30, close=30)]))
        self.assertEqual(run.first_shares, {"create": 0.025, "write": 0.6, "sync": 0.3, "close": 0.075})
        self.assertAlmostEqual(sum(run.first_shares.values()), 1)

    def test_a_row_is_the_medians_of_its_runs(self):
        runs = [bridge.run_of(result(*averages, ranks=[rank(100, write=100)]))
                for averages in ((1, 2, 4), (2, 2, 8), (9, 9, 9))]
        cells = bridge.row(bridge.STEPS[0], runs)
        self.assertEqual(cells[2:7], ["2.00", "2.00", "8.00", "2.00", "0.50"])
        self.assertEqual(cells[7:], ["0 / 0", "100 / 100", "0 / 0", "0 / 0"])

    def test_a_table_has_a_cell_for_each_column(self):
        runs = [bridge.run_of(result(1, 1, 1, ranks=[rank(100, write=100)]))]
        lines = bridge.table([bridge.row(step, runs) for step in bridge.STEPS], 3).splitlines()
        self.assertEqual(len(lines), 2 + len(bridge.STEPS))
        self.assertEqual(len({line.count("|") for line in lines}), 1)

    def test_the_way_begins_at_the_published_bench_and_ends_at_the_default_run(self):
        self.assertEqual(bridge.STEPS[0].arguments, ("published-bench",))
        self.assertEqual(bridge.STEPS[-1].arguments, ("llama3.1-405b-tp4pp2",))


if __name__ == "__main__":
    unittest.main()
