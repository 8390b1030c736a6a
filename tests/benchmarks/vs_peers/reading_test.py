"""fio's job for reading, its report, and what a load's figures are taken from."""
import json
import pathlib
import tempfile
import unittest
from unittest import mock

import fio_read
import reading
import settings
import shell

RESULT = {"effective": {"registered_buffers": True},
          "passes": [{"checkpoints": [{"load": {"file_bytes": 3_000_000_000, "duration_ns": 1_500_000_000, "idle_share": 0.01,
                                                "cached_bytes_before": 0}}]}]}


def report(*jobs):
    return {"jobs": [{"jobname": f"reader{number}", "error": error, "read": {"io_bytes": read}, "job_runtime": runtime}
                     for number, (read, runtime, error) in enumerate(jobs)]}


class Verify(unittest.TestCase):
    RIGHT = {"result": "right", "backend": "io_uring", "file_bytes": 3_000_000_000, "duration_s": 1.5}

    def test_takes_its_rate_from_the_only_checkpoint(self):
        self.assertEqual(reading.parse_verify(json.dumps({"checkpoints": [self.RIGHT]})), 2.0)

    def test_what_is_wrong_or_comes_out_of_the_page_cache_is_no_measurement(self):
        for change in ({"result": "wrong"}, {"backend": "buffered"}):
            with self.assertRaises(shell.PeerError):
                reading.parse_verify(json.dumps({"checkpoints": [{**self.RIGHT, **change}]}))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        files = [{"name": name, "rank": rank} for name, rank in (("b.pt", 0), ("a.pt", 0), ("c.pt", 1))]
        (self.folder / "manifest.json").write_text(json.dumps({"files": files}))
        for name, size in (("a.pt", 4096 * 3 + 1), ("b.pt", 4096), ("c.pt", 4096 * 2 - 1)):
            (self.folder / name).write_bytes(bytes(size))
        self.settings = settings.Settings(block_bytes=4096, queue_depth=16)

    def test_a_reader_has_one_ranks_files_in_the_order_of_writing(self):
        readers = fio_read.files_by_rank(self.folder)
        self.assertEqual(readers, [["b.pt", "a.pt"], ["c.pt"]])
        text = fio_read.job(self.settings, readers, False, "/mnt/a:b")
        self.assertIn("[reader0]\ndirectory=/mnt/a\\:b\nfilename=b.pt:a.pt\nnrfiles=2\n", text)
        self.assertIn("[reader1]\ndirectory=/mnt/a\\:b\nfilename=c.pt\nnrfiles=1\n", text)
        for line in ("direct=1", "rw=read", "ioengine=io_uring", "bs=4096", "iodepth=16", "fixedbufs=0", "openfiles=1"):
            self.assertIn(line + "\n", text)

    def test_whole_blocks_are_expected_and_a_file_without_one_is_refused(self):
        readers = fio_read.files_by_rank(self.folder)
        self.assertEqual(fio_read.whole_blocks(readers, self.folder, 4096), 4096 * (3 + 1 + 1))
        with self.assertRaisesRegex(shell.PeerError, "a file of 4096 bytes is less than one block"):
            fio_read.whole_blocks(readers, self.folder, 8192)


class Report(unittest.TestCase):
    def test_is_all_bytes_over_the_longest_readers_time(self):
        self.assertAlmostEqual(fio_read.parse(report((1_000_000_000, 400, 0), (1_000_000_000, 500, 0)), 2_000_000_000), 4.0)

    def test_is_refused_where_fio_read_less_or_failed(self):
        with self.assertRaisesRegex(shell.PeerError, "fio read 5 of 6 bytes"):
            fio_read.parse(report((5, 1, 0)), 6)
        with self.assertRaisesRegex(shell.PeerError, "reader1"):
            fio_read.parse(report((5, 1, 0), (5, 1, 5)), 10)


class Load(unittest.TestCase):
    def test_is_the_files_bytes_over_the_loads_duration(self):
        gb_per_s, idle_share, registered = reading.parse(RESULT)
        self.assertAlmostEqual(gb_per_s, 2.0)
        self.assertEqual((idle_share, registered), (0.01, True))

    def test_is_refused_where_a_field_is_missing(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "result.json"
            path.write_text(json.dumps({**RESULT, "effective": {}}))
            with self.assertRaisesRegex(shell.PeerError, "result.json has no field 'registered_buffers'"):
                reading.parse_file(path)

    def test_is_refused_where_it_came_out_of_a_cache(self):
        result = json.loads(json.dumps(RESULT))
        result["passes"][0]["checkpoints"][0]["load"]["cached_bytes_before"] = 4096
        with self.assertRaisesRegex(shell.PeerError, "4096 bytes .* page cache"):
            reading.parse(result)

    def test_a_pair_is_the_programs_load_its_verify_and_fio_twice_on_its_files(self):
        with tempfile.TemporaryDirectory() as name:
            told = []

            def run(command, _environment=None):
                if "--load" in command:
                    target = pathlib.Path(command[command.index("--target") + 1])
                    (target / "ckptsim" / "run" / "checkpoint_01").mkdir(parents=True)
                    (target / "results" / "one").mkdir(parents=True)
                    (target / "results" / "one" / "result.json").write_text(json.dumps(RESULT))
                if "verify" in command:
                    self.assertEqual(command[-3:], ["--threads", "1", "--json"])
                    return json.dumps({"checkpoints": [Verify.RIGHT]})
                return ""

            def fio_run(_settings, registered, folder, _scratch):
                told.append((registered, folder.name))
                return float(len(told))

            samples = reading.ReadSamples()
            with mock.patch.object(reading.shell, "run", run), mock.patch.object(reading.fio_read, "run", fio_run), \
                    mock.patch.dict("os.environ", {"CKPTSIM_BINARY": "ckptsim"}):
                reading.one_pair(settings.Settings(), 8, pathlib.Path(name), samples, samples.fio_again, samples.fio)
            self.assertEqual(told, [(True, "checkpoint_01")] * 2)
            self.assertEqual((samples.ckptsim, samples.fio_again, samples.fio), ([2.0], [1.0], [2.0]))
            self.assertEqual(samples.verify, [2.0])
            self.assertEqual(list(pathlib.Path(name).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
