"""What a run says of its own conditions: profile, memory, binding, and the settings of io_uring."""
import pathlib
import unittest

from support import EndToEnd, SMALL

ONE = ["--passes", "1", "--checkpoints-per-pass", "1"]
MEBIBYTE = 1 << 20


class Profile(EndToEnd):
    def run_once(self, *settings, **keywords):
        outcome = self.run_ok(*SMALL, *ONE, "--target", self.target(), *settings, **keywords)
        return outcome, self.result()[0]

    def ranks(self, result):
        return result["passes"][0]["checkpoints"][0]["save"]["ranks"]

    def test_the_parts_of_a_profile_fit_into_write_and_most_of_it_is_known(self):
        outcome, result = self.run_once("--profile")
        for rank in self.ranks(result):
            parts = rank["profile"]
            self.assertTrue(all(part > 0 for part in parts.values()), parts)
            self.assertLessEqual(sum(parts.values()), rank["phases"]["write_ns"])
        self.assertIn("generate %", outcome.stdout)

    def test_without_it_nothing_is_profiled(self):
        outcome, result = self.run_once()
        self.assertTrue(all(rank["profile"] is None for rank in self.ranks(result)))
        self.assertNotIn("generate %", outcome.stdout)

    def test_profiles_of_other_processes_arrive(self):
        _, result = self.run_once("--profile", processes=3)
        self.assertEqual(len(self.ranks(result)), 8)
        self.assertTrue(all(rank["profile"]["generation_ns"] > 0 for rank in self.ranks(result)))

    def test_memory_is_what_the_process_had_and_holds_the_buffers(self):
        _, result = self.run_once(processes=8)
        buffers = result["effective"]["buffer_bytes_per_rank"]
        self.assertEqual(buffers, 6 * 4 * MEBIBYTE)
        for rank in self.ranks(result):
            self.assertGreater(rank["max_rss_bytes"], buffers)
            self.assertLess(rank["max_rss_bytes"], 128 * MEBIBYTE)

    def test_a_bound_process_says_where_it_may_run(self):
        _, result = self.run_once(prefix=["taskset", "-c", "0"])
        self.assertEqual([one["processors"] for one in result["environment"]["bindings"]], ["0"])
        _, result = self.run_once(processes=2)
        self.assertEqual([one["process"] for one in result["environment"]["bindings"]], [0, 1])

    def test_without_huge_pages_no_buffer_lies_on_one(self):
        outcome, result = self.run_once("--set", "storage.huge_pages=off")
        self.assertEqual(result["effective"]["huge_page_share"], 0)
        self.assertIn("0 % of them on huge pages", outcome.stdout)

    def test_transparent_huge_pages_are_used_where_the_kernel_has_them(self):
        enabled = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
        if not enabled.exists() or "[never]" in enabled.read_text():
            self.skipTest("this kernel has no transparent huge pages")
        _, result = self.run_once()
        self.assertGreater(result["effective"]["huge_page_share"], 0.5)

    def test_reserved_huge_pages_are_used_or_the_run_stops_and_says_how_many_it_needs(self):
        outcome = self.ckptsim("run", *SMALL, *ONE, "--target", self.target(), "--set", "storage.huge_pages=on",
                               "--output", self.folder / "results")
        if outcome.code == 0:
            self.assertEqual(self.result()[0]["effective"]["huge_page_share"], 1)
        else:
            self.assertEqual(outcome.code, 3, outcome.stderr)
            self.assertIn("12 huge pages of 2 MiB", outcome.stderr)
            self.assertIn("vm.nr_hugepages", outcome.stderr)

    def test_polled_completions_are_refused_where_the_device_has_no_polled_queues(self):
        outcome = self.ckptsim("run", *SMALL, *ONE, "--target", self.target(), "--set", "storage.iopoll=true",
                               "--output", self.folder / "results")
        if outcome.code == 0:
            self.assertIn("IOPOLL", outcome.stdout)
        else:
            self.assertEqual(outcome.code, 3, outcome.stderr)
            self.assertIn("storage.iopoll", outcome.stderr)

    def test_a_report_names_the_settings_of_io_uring(self):
        outcome, _ = self.run_once("--set", "storage.registered_files=true", "--set", "storage.sqpoll=true")
        self.assertIn("registered files", outcome.stdout)
        self.assertIn("SQPOLL", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
