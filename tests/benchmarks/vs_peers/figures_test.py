"""Medians, ratios and the bootstrap, on samples whose outcome can be said beforehand."""
import unittest

import figures
import settings
from measurement import Measured, Samples, fio_turns, in_turn
from reading import ReadSamples


def samples(fio=(2.0,), again=(2.0,), ckptsim=(2.0,), torch=(1.0,), registered=True, **others):
    pairs = len(fio)
    lists = {"idle_share": [0.01] * pairs, "cpu_s_per_gb": [0.1] * pairs, "process_cpu_s_per_gb": [0.2] * pairs,
             "torch_cpu_s_per_gb": [1.0] * pairs, "max_rss_bytes": [10] * pairs, "torch_max_rss_bytes": [20] * pairs}
    lists["read"] = ReadSamples(ckptsim=[1.0] * pairs, verify=[0.5] * pairs, fio=[1.0] * pairs, fio_again=[1.0] * pairs, idle_share=[0.0] * pairs)
    return Samples(bytes=1000, registered=registered, fio=list(fio), fio_again=list(again), ckptsim=list(ckptsim), torch=list(torch),
                   **{**lists, **others})


def line(by_ranks, null=(9.0, 6.0, 3.0), memcpy=(4.0, 2.0, 8.0)):
    facts = {"simd": "avx2", "fio": "fio-3.33", "torch": "1.13.0", "ckptsim": "0.1.0"}
    return figures.line(Measured(by_ranks, list(null), list(memcpy), facts), settings.Settings(pairs=3))


class Ratio(unittest.TestCase):
    def test_is_of_the_medians_and_not_the_median_of_ratios(self):
        self.assertEqual(figures.ratio([1, 10, 4], [8, 2, 1]), 2.0)
        self.assertEqual(figures.ratio([1, 3], [2, 2]), 1.0)


class Bootstrap(unittest.TestCase):
    FIRST = [1.00, 1.10, 0.95, 1.05, 0.90, 1.20, 1.00]
    SECOND = [1.05, 1.00, 1.00, 0.90, 1.00, 1.10, 0.95]

    def test_is_one_where_fio_always_equals_itself(self):
        self.assertEqual(figures.fio_vs_fio_p05(self.FIRST, self.FIRST), 1.0)

    def test_is_the_ratio_where_it_is_the_same_in_every_pair(self):
        self.assertAlmostEqual(figures.fio_vs_fio_p05(self.FIRST, [0.8 * value for value in self.FIRST]), 0.8)

    def test_gives_the_same_figure_for_the_same_data(self):
        self.assertEqual(figures.fio_vs_fio_p05(self.FIRST, self.SECOND), figures.fio_vs_fio_p05(self.FIRST, self.SECOND))

    def test_keeps_the_runs_of_a_pair_together(self):
        # Drawn apart, the slow and the fast pair would mix, and ratios of a tenth would come out.
        self.assertEqual(figures.fio_vs_fio_p05([1, 10, 1, 10], [1, 10, 1, 10]), 1.0)

    def test_lies_between_the_worst_pair_and_the_ratio_itself(self):
        worst = min(second / first for first, second in zip(self.FIRST, self.SECOND))
        p05 = figures.fio_vs_fio_p05(self.FIRST, self.SECOND)
        self.assertGreaterEqual(p05, worst)
        self.assertLess(p05, figures.ratio(self.SECOND, self.FIRST))

    def test_takes_a_twentieth_from_below(self):
        # Of two pairs, a quarter of the drawings are the bad one twice.
        self.assertEqual(figures.fio_vs_fio_p05([1, 1], [0.5, 1]), 0.5)
        # Of seven pairs with one bad, the median is bad in far fewer than a twentieth.
        self.assertEqual(figures.fio_vs_fio_p05([1] * 7, [0.5] + [1] * 6), 1.0)

    def test_refuses_runs_that_are_no_pairs(self):
        for first, second in (([1], []), ([], [])):
            with self.assertRaises(ValueError):
                figures.fio_vs_fio_p05(first, second)


class Line(unittest.TestCase):
    def test_takes_what_belongs_together_from_the_number_of_ranks_with_the_lowest_ratio(self):
        made = line({1: samples(fio=[1.0] * 3, again=[1.0] * 3, ckptsim=[1.0] * 3, torch=[0.5] * 3),
                     8: samples(fio=[2.0] * 3, again=[1.8] * 3, ckptsim=[1.5] * 3, torch=[0.5] * 3)})
        self.assertEqual(made["lowest_ranks"], 8)
        self.assertEqual(made["ratio_vs_fio"], 0.75)
        self.assertEqual(made["ratio_vs_fio_by_ranks"], {"1": 1.0, "8": 0.75})
        self.assertAlmostEqual(made["fio_vs_fio_p05"], 0.9)
        self.assertEqual(made["fio_vs_fio_p05_by_ranks"]["1"], 1.0)
        self.assertEqual((made["fio_gb_per_s"], made["ckptsim_gb_per_s"], made["torch_gb_per_s"]), (2.0, 1.5, 0.5))
        self.assertEqual(made["ratio_vs_torch_save"], 3.0)

    def test_takes_the_highest_idle_share_of_the_medians_and_the_most_memory(self):
        three = dict(fio=[1.0] * 3, again=[1.0] * 3, ckptsim=[1.0] * 3, torch=[0.5] * 3)
        made = line({1: samples(**three, idle_share=[0.001, 0.02, 0.9], max_rss_bytes=[5, 50, 6]),
                     8: samples(**three, idle_share=[0.01, 0.01, 0.01], max_rss_bytes=[7, 7, 7])})
        self.assertEqual(made["idle_share"], 0.02)
        self.assertEqual(made["max_rss_bytes_per_rank"], 50)

    def test_says_registered_of_each_number_of_ranks_and_of_all_where_it_is_so_at_every_one(self):
        for one, eight in ((True, True), (True, False), (False, True), (False, False)):
            made = line({1: samples(registered=one), 8: samples(registered=eight)})
            self.assertEqual({ranks: of["registered"] for ranks, of in made["by_ranks"].items()}, {"1": one, "8": eight})
            self.assertEqual(made["registered"], one and eight)

    def test_holds_making_bytes_against_copying_them(self):
        made = line({8: samples()})
        self.assertEqual((made["null_gb_per_s_per_core"], made["memcpy_gb_per_s"], made["ratio_vs_memcpy"]), (6, 4, 1.5))


class Reading(unittest.TestCase):
    def test_takes_what_belongs_together_from_the_number_of_ranks_that_reads_back_worst(self):
        one = ReadSamples(ckptsim=[1.0, 3.0, 2.0], verify=[1.0, 0.5, 3.0], fio=[4.0, 4.0, 1.0], fio_again=[2.0, 2.0, 0.5],
                          idle_share=[0.1, 0.3, 0.2])
        eight = ReadSamples(ckptsim=[4.0] * 3, verify=[3.0] * 3, fio=[4.0] * 3, fio_again=[4.0] * 3, idle_share=[0.0] * 3)
        made = line({1: samples(read=one), 8: samples(read=eight)})
        self.assertEqual((made["lowest_read_ranks"], made["read_ratio_vs_fio"]), (1, 0.5))
        self.assertEqual((made["ckptsim_read_gb_per_s"], made["fio_read_gb_per_s"]), (2.0, 4.0))
        self.assertEqual((made["verify_gb_per_s"], made["verify_ratio_vs_fio"]), (1.0, 0.25))
        self.assertEqual(made["fio_read_vs_fio_p05"], 0.5)
        self.assertEqual(made["read_ratio_vs_fio_by_ranks"], {"1": 0.5, "8": 1.0})
        self.assertEqual(made["by_ranks"]["1"]["read_idle_share"], 0.2)


class InTurn(unittest.TestCase):
    def test_goes_back_every_second_time(self):
        self.assertEqual([in_turn("ABC", pair) for pair in range(3)], ["ABC", "CBA", "ABC"])

    def test_gives_both_series_of_fio_the_same_runs_before_them(self):
        order = []
        for pair in range(9):
            early, late = fio_turns("A", "B", pair)
            order += in_turn([early, "ckptsim", late, "torch"], pair)
        before = {side: [previous for previous, this in zip(order[3:], order[4:36]) if this == side] for side in "AB"}
        for other in ("ckptsim", "torch"):
            self.assertEqual(before["A"].count(other), before["B"].count(other))
        self.assertEqual(before["A"].count("B") + before["A"].count("A"), before["B"].count("A") + before["B"].count("B"))


if __name__ == "__main__":
    unittest.main()
