"""The limits, at their edges."""
import unittest

import conditions

FIGURES = {"ratio_vs_fio": 1.0, "fio_vs_fio_p05": 0.95, "ratio_vs_torch_save": 2.0, "fio_gb_per_s": 2.0,
           "torch_gb_per_s": 1.0, "idle_share": 0.01, "cpu_s_per_gb": 0.05, "torch_save_cpu_s_per_gb": 1.0,
           "max_rss_bytes_per_rank": 50 << 20, "registered": True, "read_ratio_vs_fio": 1.0, "fio_read_vs_fio_p05": 0.95,
           "verify_ratio_vs_fio": 0.9}


def failing(**changes):
    made = conditions.of_ranks(8, {**FIGURES, **changes})
    return [condition.name.split()[0] for condition in made if not condition.holds]


class Conditions(unittest.TestCase):
    def test_hold_for_good_figures(self):
        self.assertEqual(failing(), [])

    def test_fio_is_missed_by_no_more_than_three_hundredths_of_its_own_noise(self):
        self.assertAlmostEqual(conditions.fio_limit(0.95), 0.97 * 0.95)
        self.assertEqual(failing(ratio_vs_fio=0.9216), [])
        self.assertEqual(failing(ratio_vs_fio=0.9214), ["ratio_vs_fio"])

    def test_fio_noise_lowers_the_limit_to_85_hundredths_at_most_and_never_raises_it(self):
        self.assertAlmostEqual(conditions.fio_limit(0.5), 0.97 * 0.85)
        self.assertAlmostEqual(conditions.fio_limit(0.85), 0.97 * 0.85)
        self.assertAlmostEqual(conditions.fio_limit(1.2), 0.97)

    def test_verifying_reaches_half_of_fios_reading_within_fios_own_noise(self):
        self.assertEqual(failing(verify_ratio_vs_fio=0.4751), [])
        self.assertEqual(failing(verify_ratio_vs_fio=0.4749), ["verify_ratio_vs_fio"])

    def test_reading_misses_fio_by_no_more_than_five_hundredths_of_fios_own_noise(self):
        self.assertEqual(failing(read_ratio_vs_fio=0.9026), [])
        self.assertEqual(failing(read_ratio_vs_fio=0.9024), ["read_ratio_vs_fio"])
        self.assertAlmostEqual(conditions.fio_read_limit(0.5), 0.95 * 0.85)
        self.assertAlmostEqual(conditions.fio_read_limit(1.2), 0.95)

    def test_torch_is_beaten_by_half_or_by_what_the_drive_leaves(self):
        self.assertEqual(conditions.torch_limit(2.0, 1.0), 1.5)
        self.assertAlmostEqual(conditions.torch_limit(1.2, 1.0), 0.97 * 1.2)
        self.assertEqual(failing(ratio_vs_torch_save=1.5), [])
        self.assertEqual(failing(ratio_vs_torch_save=1.4999), ["ratio_vs_torch_save"])
        self.assertEqual(failing(ratio_vs_torch_save=1.165, fio_gb_per_s=1.2), [])

    def test_idle_is_three_hundredths_at_most(self):
        self.assertEqual(failing(idle_share=0.03), [])
        self.assertEqual(failing(idle_share=0.0301), ["idle_share"])

    def test_cpu_is_a_tenth_of_torchs_or_a_sixth_without_registered_buffers(self):
        self.assertEqual(failing(cpu_s_per_gb=0.1), [])
        self.assertEqual(failing(cpu_s_per_gb=0.1001), ["cpu_s_per_gb"])
        self.assertEqual(failing(cpu_s_per_gb=1 / 6, registered=False), [])
        self.assertEqual(failing(cpu_s_per_gb=0.167, registered=False), ["cpu_s_per_gb"])

    def test_memory_is_128_mib_at_most(self):
        self.assertEqual(failing(max_rss_bytes_per_rank=128 << 20), [])
        self.assertEqual(failing(max_rss_bytes_per_rank=(128 << 20) + 1), ["max_rss_bytes_per_rank"])

    def test_memcpy_is_held_against_by_instruction_set(self):
        for simd, limit in (("avx512", 1.5), ("avx2", 0.8), ("portable", 0.3)):
            for value, holds in ((limit, True), (limit - 0.001, False)):
                line = {"by_ranks": {}, "simd": simd, "ratio_vs_memcpy": value}
                [condition] = conditions.all_of(line)
                self.assertEqual(condition.holds, holds, f"{simd} {value}")
        with self.assertRaises(KeyError):
            conditions.all_of({"by_ranks": {}, "simd": "avx512, avx2", "ratio_vs_memcpy": 9})

    def test_hold_for_every_number_of_ranks(self):
        line = {"by_ranks": {"1": FIGURES, "8": {**FIGURES, "idle_share": 0.5}}, "simd": "avx2", "ratio_vs_memcpy": 1.0}
        self.assertEqual([condition.name for condition in conditions.all_of(line) if not condition.holds],
                         ["idle_share with 8 ranks"])

    def test_cpu_is_held_by_the_buffers_of_its_own_number_of_ranks(self):
        between = {**FIGURES, "cpu_s_per_gb": 0.15}  # above a tenth, below a sixth
        for by_ranks, name in (({"1": between, "8": {**between, "registered": False}}, "cpu_s_per_gb with 1 ranks"),
                               ({"1": {**between, "registered": False}, "8": between}, "cpu_s_per_gb with 8 ranks")):
            line = {"by_ranks": by_ranks, "registered": False, "simd": "avx2", "ratio_vs_memcpy": 1.0}
            self.assertEqual([condition.name for condition in conditions.all_of(line) if not condition.holds], [name])

    def test_say_figure_and_limit(self):
        self.assertEqual(conditions.at_most("idle_share", 0.05, 0.03).words, "0.05, at most 0.03")


if __name__ == "__main__":
    unittest.main()
