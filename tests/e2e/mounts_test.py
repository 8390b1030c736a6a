"""File systems that refuse direct I/O, only pretend to do it, are read-only or run full. Needs root for mounts."""
import contextlib
import json
import os
import pathlib
import subprocess
import unittest

from support import BINARY, EndToEnd, SMALL, environment, mpirun

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

    def test_too_few_inodes_are_found_before_the_first_byte(self):
        image = self.image(512, "mkfs.ext4", "-q", "-F", "-N", "300")
        with self.mounted("-o", "loop", image) as folder:
            self.refused(3, "run", *SMALL, *FAST, "--target", folder, words=["523 files and folders", "inodes"])
            self.assertEqual(list(folder.rglob("*.pt")), [])

    def test_a_file_system_that_fills_during_the_run_ends_it_and_keeps_what_was_measured(self):
        for processes in (0, 3):
            with self.subTest(processes=processes):
                self.fill_during_a_run(processes)

    def fill_during_a_run(self, processes):
        image = self.image(256, "mkfs.ext4", "-q", "-F")
        results = self.folder / f"results{processes}"
        with self.mounted("-o", "loop", image) as folder:
            command = (mpirun(processes) if processes else []) + [
                BINARY, "run", *SMALL, "--passes", "1000", "--checkpoints-per-pass", "1", "--target", str(folder),
                "--output", str(results), "--progress", "plain"]
            with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                  env=environment()) as process:
                process.stderr.readline()  # a first checkpoint is done
                with (pathlib.Path(folder) / "hog").open("wb") as hog:
                    # Takes whatever the run's truncation sets free, until the run meets the end of the drive.
                    while process.poll() is None:
                        with contextlib.suppress(OSError):
                            hog.write(bytes(1 << 20))
                            hog.flush()
                stderr = process.stderr.read()
            self.assertEqual(process.returncode, 4, stderr)
            messages = [line for line in stderr.splitlines() if line.startswith("ckptsim: ") and " done, " not in line]
            self.assertEqual(len(messages), 1, stderr)
            for word in ("No space left on device", str(folder)):
                self.assertIn(word, messages[0])
            result = json.loads(next(results.glob("*/result.json")).read_text())
            self.assertEqual(result["status"], "failed")
            self.assertIn("No space left on device", result["failure"])
            journal = next(results.glob("*/journal.jsonl")).read_text().splitlines()
            self.assertEqual(len(journal) - 1, sum(len(one["checkpoints"]) for one in result["passes"]))
            self.assertGreaterEqual(len(journal), 2)

    def test_preallocation_is_tried_before_the_first_byte(self):
        image = self.image(256, "mkfs.ext2", "-q", "-F")
        with self.mounted("-o", "loop", image) as folder:
            self.refused(3, "run", *SMALL, *FAST, "--target", folder, "--set", "storage.preallocate=true",
                         words=["storage.preallocate", str(folder)])

    def test_trimming_is_tried_before_the_first_byte(self):
        with self.mounted("-t", "tmpfs", "-o", "size=512m", "none") as folder:
            self.refused(3, "run", *SMALL, "--backend", "buffered", "--checkpoints-per-pass", "1", "--target", folder,
                         "--set", "checkpoint.between_passes=delete", "--set", "checkpoint.trim=true",
                         words=["checkpoint.trim", str(folder)])


if __name__ == "__main__":
    unittest.main()
