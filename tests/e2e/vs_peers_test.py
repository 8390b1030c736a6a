"""The benchmark against fio, torch.save and memcpy, as small as can be: that it works, not what it measures."""
import json
import os
import pathlib
import signal
import subprocess
import unittest

from support import EndToEnd, environment

SCRIPT = pathlib.Path(os.environ["CKPTSIM_SOURCE"]) / "tests" / "benchmarks" / "vs_peers.sh"
NUMBERS = ["fio_gb_per_s", "torch_gb_per_s", "ckptsim_gb_per_s", "ratio_vs_fio", "fio_vs_fio_p05", "idle_share",
           "ratio_vs_torch_save", "null_gb_per_s_per_core", "memcpy_gb_per_s", "ratio_vs_memcpy", "cpu_s_per_gb",
           "torch_save_cpu_s_per_gb", "max_rss_bytes_per_rank", "pairs", "bytes"]


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
        for field in NUMBERS:
            self.assertGreaterEqual(line[field], 0, field)
        self.assertGreater(line["ckptsim_gb_per_s"], 0)
        self.assertIn(line["simd"], ("avx512", "avx2", "portable"))
        self.assertIsInstance(line["registered"], bool)
        self.assertEqual((line["ranks"], line["pairs"]), ([2], 1))
        self.assertEqual(set(line["ratio_vs_fio_by_ranks"]), {"2"})
        self.assertAlmostEqual(line["ratio_vs_fio"], line["ckptsim_gb_per_s"] / line["fio_gb_per_s"])
        self.assertEqual(set(line["versions"]), {"fio", "torch", "ckptsim"})
        samples = json.loads(kept.read_text())["samples"]
        self.assertEqual(samples["by_ranks"]["2"]["ckptsim"], [line["ckptsim_gb_per_s"]])
        self.assertIn("ckptsim / fio", errors)
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
        self.assertEqual(self.commands_with(target), [])

    @staticmethod
    def commands_with(path):
        """What still runs with this path among its arguments."""
        found = []
        for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue  # ended while we looked
            if str(path) in command:
                found.append(command)
        return found


if __name__ == "__main__":
    unittest.main()
