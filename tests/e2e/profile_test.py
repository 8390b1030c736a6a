"""What a run says of its own conditions: profile, memory, binding, and the settings of io_uring."""
import os
import pathlib
import unittest

from support import EndToEnd, SMALL

ONE = ["--passes", "1", "--checkpoints-per-pass", "1"]
MEBIBYTE = 1 << 20
RESERVED = pathlib.Path("/proc/sys/vm/nr_hugepages")


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

    def reserve_huge_pages(self, count):
        """As many free huge pages of 2 MiB as asked for, until the test is over."""
        if os.geteuid() != 0 or not RESERVED.exists():
            self.skipTest("only root can reserve huge pages, where the kernel has them")
        before = RESERVED.read_text()
        self.addCleanup(RESERVED.write_text, before)
        RESERVED.write_text(str(count))
        if int(RESERVED.read_text()) != count:
            self.skipTest(f"this host cannot reserve {count} huge pages")

    def test_reserved_huge_pages_hold_all_buffers(self):
        self.reserve_huge_pages(8 * 12)
        outcome, result = self.run_once("--set", "storage.huge_pages=on")
        self.assertEqual(result["effective"]["huge_page_share"], 1)
        self.assertIn("100 % of them on huge pages", outcome.stdout)

    def test_without_reserved_huge_pages_the_run_stops_and_says_how_many_it_needs(self):
        self.reserve_huge_pages(0)
        outcome = self.ckptsim("run", *SMALL, *ONE, "--target", self.target(), "--set", "storage.huge_pages=on",
                               "--output", self.folder / "results")
        self.assertEqual(outcome.code, 3, outcome.stderr)
        self.assertIn("12 huge pages of 2 MiB", outcome.stderr)
        self.assertIn("vm.nr_hugepages", outcome.stderr)

    def test_polled_completions_are_had_where_the_device_has_polled_queues_and_refused_elsewhere(self):
        device = os.stat(self.target()).st_dev
        folder = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
        queues = [path for path in (folder / "queue/io_poll", folder / "../queue/io_poll") if path.exists()]
        polls = bool(queues) and queues[0].read_text().strip() == "1"
        for how in ([], ["--dry-run"]):
            outcome = self.ckptsim("run", *SMALL, *ONE, "--target", self.target(), "--set", "storage.iopoll=true",
                                   "--output", self.folder / "results", *how)
            self.assertEqual(outcome.code, 0 if polls else 3, outcome.stderr)
            if not polls:
                self.assertIn("storage.iopoll", outcome.stderr)

    def test_memory_is_the_programs_own_whatever_its_launcher_had(self):
        held = bytearray(400 * MEBIBYTE)  # getrusage would hand this on to the program
        held[::4096] = b"x" * len(held[::4096])
        _, result = self.run_once("--backend", "null")
        self.assertLess(max(rank["max_rss_bytes"] for rank in self.ranks(result)), 300 * MEBIBYTE)
        self.assertEqual(len(held), 400 * MEBIBYTE)

    def test_a_report_names_the_settings_of_io_uring(self):
        outcome, _ = self.run_once("--set", "storage.registered_files=true", "--set", "storage.sqpoll=true")
        self.assertIn("registered files", outcome.stdout)
        self.assertIn("SQPOLL", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
