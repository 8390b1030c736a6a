"""fio's job file and its report, data/fio.json being one of fio 3.33 for the writers below."""
import copy
import json
import pathlib
import unittest

import fio
import settings
import shell
from program import Writer

BLOCK = 4 << 20
WRITERS = [Writer(bytes=25_000_000, files=3), Writer(bytes=17_000_000, files=2)]
RECORDED = json.loads(pathlib.Path(__file__).with_name("data").joinpath("fio.json").read_text())


class Job(unittest.TestCase):
    def setUp(self):
        self.text = fio.job(settings.Settings(), WRITERS, True, "/mnt/drive")

    def sections(self):
        parts = self.text.split("[")[1:]
        return {part.split("]")[0]: dict(line.split("=", 1) for line in part.split("\n")[1:] if line) for part in parts}

    def test_is_the_one_that_the_recorded_report_is_of(self):
        for job in RECORDED["jobs"]:
            self.assertEqual(self.sections()[job["jobname"]], job["job options"])

    def test_syncs_each_file_before_the_next_is_opened_and_makes_none_beforehand(self):
        options = self.sections()["global"]
        for key, value in {"ioengine": "io_uring", "direct": "1", "openfiles": "1", "fsync_on_close": "1",
                           "file_service_type": "sequential", "create_on_open": "1", "fallocate": "none"}.items():
            self.assertEqual(options[key], value)

    def test_takes_block_depth_and_registration_from_the_program(self):
        chosen = settings.Settings(block_bytes=1 << 20, queue_depth=16)
        for registered in (True, False):
            self.text = fio.job(chosen, WRITERS, registered, "/mnt/drive")
            options = self.sections()["global"]
            self.assertEqual((options["bs"], options["iodepth"]), ("1048576", "16"))
            self.assertEqual(options["fixedbufs"], str(int(registered)))

    def test_has_files_of_whole_blocks_near_the_mean(self):
        self.assertEqual(fio.file_blocks(Writer(25_000_000, 3), BLOCK), 2)
        self.assertEqual(fio.file_blocks(Writer(5 * BLOCK, 2), BLOCK), 2)
        self.assertEqual(fio.file_blocks(Writer(5 * BLOCK + 2, 2), BLOCK), 3)
        self.assertEqual(fio.file_blocks(Writer(1000, 2), BLOCK), 1)
        self.assertEqual(fio.total_bytes(WRITERS, BLOCK), 41_943_040)

    def test_escapes_what_fio_would_take_for_two_folders(self):
        self.text = fio.job(settings.Settings(), WRITERS, True, "/mnt/a:b")
        self.assertEqual(self.sections()["writer0"]["directory"], "/mnt/a\\:b/0")


class Report(unittest.TestCase):
    def test_gives_all_bytes_over_the_longest_writers_time(self):
        self.assertAlmostEqual(fio.parse(RECORDED, 41_943_040), 41_943_040 / 0.024 / 1e9)

    def test_is_refused_when_fio_wrote_less(self):
        with self.assertRaisesRegex(shell.PeerError, "wrote 41943040 of 41943041 bytes"):
            fio.parse(RECORDED, 41_943_041)

    def test_is_refused_when_a_writer_failed(self):
        report = copy.deepcopy(RECORDED)
        report["jobs"][1]["error"] = 28
        with self.assertRaisesRegex(shell.PeerError, "writer1"):
            fio.parse(report, 41_943_040)


if __name__ == "__main__":
    unittest.main()
