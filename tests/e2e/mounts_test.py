"""File systems that refuse direct I/O, only pretend to do it, are read-only or run full. Needs root for mounts."""
import contextlib
import os
import pathlib
import subprocess
import unittest

from support import EndToEnd, SMALL

FAST = ["--passes", "1", "--checkpoints-per-pass", "1"]


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


@unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
class Mounts(EndToEnd):
    @contextlib.contextmanager
    def mounted(self, *arguments):
        folder = self.target("mounted")
        run("mount", *[str(a) for a in arguments], str(folder))
        try:
            yield folder
        finally:
            run("umount", str(folder))

    def image(self, megabytes, *mkfs):
        path = self.folder / "image"
        with path.open("wb") as file:
            file.truncate(megabytes << 20)
        run(*mkfs, str(path))
        return path

    def refuses_direct_io(self, folder):
        for backend in ("auto", "direct", "io_uring"):
            with self.subTest(backend=backend):
                self.refused(3, "run", *SMALL, *FAST, "--target", folder, "--backend", backend,
                             words=[str(folder), "--backend buffered"])
        self.refused(3, "run", *SMALL, *FAST, "--target", folder, processes=3, words=["--backend buffered"])
        self.assertEqual(list(folder.rglob("*.pt")), [])
        self.run_ok(*SMALL, *FAST, "--target", folder, "--backend", "buffered")

    def test_ramfs_refuses_direct_io(self):
        # ramfs has no size of its own to report, so a run asks for a number and is stopped by its lack of space.
        with self.mounted("-t", "ramfs", "none") as folder:
            self.refused(3, "run", *SMALL, *FAST, "--target", folder, words=[str(folder)])

    def test_tmpfs_pretends(self):
        with self.mounted("-t", "tmpfs", "-o", "size=512m", "none") as folder:
            self.refuses_direct_io(folder)

    def test_ext4_with_data_in_the_journal_pretends(self):
        image = self.image(512, "mkfs.ext4", "-q", "-F")
        with self.mounted("-o", "loop,data=journal", image) as folder:
            self.refuses_direct_io(folder)

    def test_a_read_only_file_system(self):
        image = self.image(64, "mkfs.ext4", "-q", "-F")
        with self.mounted("-o", "loop,ro", image) as folder:
            self.refused(3, "run", *SMALL, *FAST, "--target", folder, words=[str(folder), "ead-only"])

    def test_a_full_file_system_before_the_first_byte(self):
        image = self.image(16, "mkfs.ext4", "-q", "-F")
        with self.mounted("-o", "loop", image) as folder:
            self.refused(3, "run", *SMALL, *FAST, "--target", folder, words=["needed", "free"])
            self.assertEqual(list(folder.rglob("*.pt")), [])

    def test_a_file_system_that_fills_during_the_run_names_rank_host_file_and_offset(self):
        image = self.image(512, "mkfs.ext4", "-q", "-F")
        with self.mounted("-o", "loop", image) as folder:
            # Room that statvfs shows and a quota of files takes away: one file fewer than the checkpoint has.
            stat = os.statvfs(folder)
            hog = pathlib.Path(folder) / "hog"
            hog.mkdir()
            for number in range(stat.f_ffree - 300):
                (hog / str(number)).touch()
            for processes in (None, 4):
                outcome = self.refused(4, "run", *SMALL, *FAST, "--target", folder, processes=processes,
                                       words=["rank ", " on ", ".pt", "No space left on device"])
                self.assertIn("free", outcome.messages()[0])
            result, results = self.result_of_failed_run()
            self.assertEqual(result["status"], "failed")
            self.assertIn("No space left on device", result["failure"])
            self.assertEqual(len((results / "journal.jsonl").read_text().splitlines()), 1)
            self.assertEqual(list(folder.rglob("manifest*.json")), [], "an unfinished checkpoint does not exist")

    def result_of_failed_run(self):
        # refused() leaves --output at its default, under the test's folder.
        import json
        folders = sorted((self.folder / "results").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        return json.loads((folders[-1] / "result.json").read_text()), folders[-1]


if __name__ == "__main__":
    unittest.main()
