"""What the kernel sees: how often which file is synced, how it is opened, what stays in the page cache."""
import collections
import re
import subprocess
import unittest

from support import EndToEnd, checkpoint

CALL = re.compile(r"\b(fsync|fdatasync)\(\d+<([^>]*)>")  # strace may print the rest of a call on another line
OPEN = re.compile(r'open(?:at)?\([^"]*"([^"]*\.pt)", ([A-Z_|]+)')
SMALL8B = ["llama3.1-8b-tp1pp1-dp8", "--scale", "0.0001", "--set", "parallelism.tensor=2", "--set",
           "parallelism.pipeline=2", "--set", "parallelism.data=1", "--set", "parallelism.zero_stage=0"]
NAME = "llama3.1-8b-tp1pp1-dp8"
RANKS = 4


class SystemCalls(EndToEnd):
    def trace(self, *settings, passes=1, checkpoints=1):
        target = self.target()
        log = self.folder / "strace.log"
        outcome = self.ckptsim("run", *SMALL8B, "--passes", passes, "--checkpoints-per-pass", checkpoints, "--target",
                               target, "--output", self.folder / "results", *settings,
                               prefix=["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,open,openat", "-o", str(log)])
        self.assertEqual(outcome.code, 0, outcome.stderr)
        text = log.read_text()
        synced = collections.Counter(match.group(2) for match in CALL.finditer(text))
        opened = [(match.group(1), match.group(2)) for match in OPEN.finditer(text) if "O_WRONLY" in match.group(2)]
        return target, synced, opened

    def files_of(self, target):
        files = sorted(str(path) for path in checkpoint(target, 1, NAME).glob("*.pt"))
        self.assertEqual(len(files), 2 * 32 + 4 + 4)
        return files

    def test_file_syncs_each_data_file_once_and_the_folder_once_a_rank(self):
        self.check_synced("file")

    def test_end_syncs_each_data_file_once_and_the_folder_once_a_rank(self):
        self.check_synced("end")

    def check_synced(self, fsync):
        target, synced, _ = self.trace("--set", f"checkpoint.fsync={fsync}")
        for file in self.files_of(target):
            self.assertEqual(synced[file], 1, file)
        folder = str(checkpoint(target, 1, NAME))
        self.assertEqual(synced[folder], RANKS + 1, "one a rank, one for the manifest's name")
        self.assertEqual(synced[folder + "/manifest.json.tmp"], 1)

    def test_off_syncs_nothing_but_the_manifest(self):
        target, synced, _ = self.trace("--set", "checkpoint.fsync=off")
        for file in self.files_of(target):
            self.assertEqual(synced[file], 0, file)
        folder = str(checkpoint(target, 1, NAME))
        self.assertEqual(synced[folder], 1)
        self.assertEqual(synced[folder + "/manifest.json.tmp"], 1)

    def test_result_counts_the_sync_calls_that_the_kernel_saw(self):
        target, synced, _ = self.trace(passes=2, checkpoints=2)
        result, _ = self.result()
        counted = sum(rank["sync_calls"] for one in result["passes"] for c in one["checkpoints"]
                      for rank in c["save"]["ranks"])
        data = sum(count for path, count in synced.items() if path.endswith(".pt"))
        self.assertEqual(data, 4 * 72)
        self.assertEqual(counted, data + 4 * RANKS)

    def test_direct_backends_open_every_data_file_with_o_direct_once(self):
        for backend in ("direct", "io_uring"):
            with self.subTest(backend=backend):
                target, _, opened = self.trace("--backend", backend)
                data = [(path, flags) for path, flags in opened if "_states" in path]
                self.assertEqual(len(data), 72)
                self.assertTrue(all("O_DIRECT" in flags and "O_EXCL" in flags for _, flags in data), data)

    def test_direct_backends_leave_no_cached_pages(self):
        for backend in ("direct", "io_uring"):
            for fsync in ("file", "end", "off"):
                with self.subTest(backend=backend, fsync=fsync):
                    target, _, _ = self.trace("--backend", backend, "--set", f"checkpoint.fsync={fsync}", passes=2)
                    self.assertEqual(self.cached_pages(target), {})
        target, _, _ = self.trace("--backend", "buffered")
        self.assertEqual(len(self.cached_pages(target)), 72, "the check itself finds pages where there are some")

    def cached_pages(self, target):
        """Data files with pages in the page cache, asked of the kernel without reading them."""
        text = subprocess.run(["fincore", "--noheadings", "--raw", "--output", "PAGES,FILE", *self.files_of(target)],
                              capture_output=True, text=True, check=True).stdout
        pages = {file: int(count) for count, file in (line.split(" ", 1) for line in text.splitlines())}
        return {file: count for file, count in pages.items() if count > 0}

    def test_later_passes_truncate_inside_the_open_or_not_at_all(self):
        for policy, flag in (("truncate", "O_TRUNC"), ("overwrite", None), ("delete", "O_EXCL")):
            with self.subTest(policy=policy):
                _, _, opened = self.trace("--set", f"checkpoint.between_passes={policy}", passes=2)
                data = [flags for path, flags in opened if "_states" in path]
                self.assertEqual(len(data), 144)
                later = data[72:]
                for flags in later:
                    self.assertEqual("O_TRUNC" in flags, flag == "O_TRUNC")
                    self.assertEqual("O_EXCL" in flags, flag == "O_EXCL")


if __name__ == "__main__":
    unittest.main()
