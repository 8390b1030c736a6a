"""The benchmark against fio, torch.save and memcpy, as small as can be: that it works, not what it measures."""
import json
import os
import pathlib
import signal
import subprocess
import unittest

from support import EndToEnd, commands_with, environment

SCRIPT = pathlib.Path(os.environ["CKPTSIM_SOURCE"]) / "tests" / "benchmarks" / "vs_peers.sh"
POSITIVE = ["fio_gb_per_s", "torch_gb_per_s", "ckptsim_gb_per_s", "fio_vs_fio_p05", "null_gb_per_s_per_core",
            "memcpy_gb_per_s", "cpu_s_per_gb", "torch_save_cpu_s_per_gb", "bytes",
            "ckptsim_read_gb_per_s", "verify_gb_per_s", "fio_read_gb_per_s", "fio_read_vs_fio_p05"]
RATIOS = {"ratio_vs_fio": ("ckptsim_gb_per_s", "fio_gb_per_s"),
          "ratio_vs_torch_save": ("ckptsim_gb_per_s", "torch_gb_per_s"),
          "read_ratio_vs_fio": ("ckptsim_read_gb_per_s", "fio_read_gb_per_s"),
          "verify_ratio_vs_fio": ("verify_gb_per_s", "fio_read_gb_per_s"),
          "ratio_vs_memcpy": ("null_gb_per_s_per_core", "memcpy_gb_per_s")}


class VsPeers(EndToEnd):
    def start(self, *arguments):
        return subprocess.Popen([SCRIPT, "--smoke", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment())

    def test_ends_with_one_line_of_figures_and_leaves_nothing(self):
        target, kept = self.target(), self.folder / "kept.json"
        script = self.start("--keep", str(kept), str(target))
        output, errors = script.communicate(timeout=300)
        self.assertEqual(script.returncode, 0, errors)
        [text] = output.splitlines()
        line = json.loads(text)
        for field in POSITIVE:
            self.assertGreater(line[field], 0, field)
        for field, (numerator, denominator) in RATIOS.items():
            self.assertAlmostEqual(line[field], line[numerator] / line[denominator], msg=field)
        self.assertTrue(0 <= line["idle_share"] <= 1, line["idle_share"])
        self.assertGreater(line["max_rss_bytes_per_rank"], 4 << 20)  # four blocks in flight are more
        self.assertIn(line["simd"], ("avx512", "avx2", "portable"))
        self.assertIsInstance(line["registered"], bool)
        self.assertIs(line["by_ranks"]["2"]["registered"], line["registered"])
        self.assertEqual((line["ranks"], line["pairs"]), ([2], 1))
        self.assertEqual(set(line["ratio_vs_fio_by_ranks"]), {"2"})
        self.assertEqual(line["ratio_vs_fio_by_ranks"]["2"], line["ratio_vs_fio"])
        self.assertEqual(set(line["versions"]), {"fio", "torch", "ckptsim"})
        samples = json.loads(kept.read_text())["samples"]
        [fio], [again] = (samples["by_ranks"]["2"][series] for series in ("fio", "fio_again"))
        self.assertEqual(samples["by_ranks"]["2"]["ckptsim"], [line["ckptsim_gb_per_s"]])
        self.assertEqual(fio, line["fio_gb_per_s"])
        self.assertAlmostEqual(line["fio_vs_fio_p05"], again / fio)  # of one pair there is one ratio
        read = samples["by_ranks"]["2"]["read"]
        self.assertEqual(read["ckptsim"], [line["ckptsim_read_gb_per_s"]])
        self.assertAlmostEqual(line["fio_read_vs_fio_p05"], read["fio_again"][0] / read["fio"][0])
        self.assertIn("ckptsim / fio", errors)
        self.assertIn("reading: ckptsim / fio", errors)
        self.assertEqual(list(target.iterdir()), [])

    def test_an_interrupt_ends_it_and_leaves_nothing(self):
        target = self.target()
        script = self.start("--pairs", "2", str(target))
        for text in script.stderr:
            if text.startswith("2 ranks, pair 1 "):  # and the second, under MPI as well, is being measured
                break
        script.send_signal(signal.SIGINT)
        output, errors = script.communicate(timeout=120)
        self.assertEqual(script.returncode, 128 + signal.SIGINT, errors)
        self.assertEqual(output, "")
        self.assertEqual(list(target.iterdir()), [])
        self.assertEqual(commands_with(target), [])


if __name__ == "__main__":
    unittest.main()
