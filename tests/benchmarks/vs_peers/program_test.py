"""A result.json's figures, and the arguments that make it."""
import copy
import json
import unittest

import program
import settings
import shell

RESULT = {
    "tool": {"version": "0.1.0"},
    "effective": {"simd": "avx2", "registered_buffers": True},
    "passes": [{"checkpoints": [{"save": {
        "file_bytes": 2_000_000_000, "duration_ns": 1_250_000_000, "idle_share": 0.002,
        "ranks": [{"cpu_ns": 200_000_000, "max_rss_bytes": 40_000_000},
                  {"cpu_ns": 300_000_000, "max_rss_bytes": 41_000_000}]}}]}],
}


class Result(unittest.TestCase):
    def test_is_one_checkpoints_figures(self):
        sample = program.parse(RESULT)
        self.assertAlmostEqual(sample.gb_per_s, 1.6)
        self.assertEqual(sample.idle_share, 0.002)
        self.assertAlmostEqual(sample.cpu_s_per_gb, 0.25)
        self.assertEqual(sample.max_rss_bytes, 41_000_000)
        self.assertEqual((sample.simd, sample.registered, sample.version), ("avx2", True, "0.1.0"))

    def test_is_refused_where_a_field_is_missing_and_nothing_guessed(self):
        for section, field in (("effective", "simd"), ("effective", "registered_buffers")):
            result = copy.deepcopy(RESULT)
            del result[section][field]
            with self.assertRaisesRegex(shell.PeerError, f"result.json has no field '{field}'"):
                program.parse_file(json.dumps(result), "result.json")
        result = copy.deepcopy(RESULT)
        del result["passes"][0]["checkpoints"][0]["save"]["ranks"][1]["max_rss_bytes"]
        with self.assertRaisesRegex(shell.PeerError, "max_rss_bytes"):
            program.parse_file(json.dumps(result), "result.json")


class Arguments(unittest.TestCase):
    def test_divide_the_same_model_over_the_ranks(self):
        for ranks, (tensor, pipeline) in settings.PARALLELISM.items():
            self.assertEqual(ranks, tensor * pipeline)
            arguments = settings.Settings().run_arguments(ranks)
            self.assertIn(f"parallelism.tensor={tensor}", arguments)
            self.assertIn(f"parallelism.pipeline={pipeline}", arguments)

    def test_quick_is_eight_ranks_and_five_pairs(self):
        quick = settings.chosen(settings.parse(["--quick"]))
        self.assertEqual((quick.rank_counts, quick.pairs), ((8,), 5))
        whole = settings.chosen(settings.parse([]))
        self.assertEqual((whole.rank_counts, whole.pairs), ((1, 2, 8), 7))


if __name__ == "__main__":
    unittest.main()
