"""Every kind of I/O fault, end to end: the rows of docs/faults.md.

preload/faults.cpp makes calls misbehave; real file systems are used where one can be made to. After each fault: the exit
code, one sentence with its place, a journal with the finished checkpoints alone, nothing reported as measured that is
not, no manifest of an unfinished checkpoint, and a target that serves the next run."""
import contextlib
import errno
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from fault_support import Faults, HOST, ONE_PASS, ONE_RANK, STALL, TINY, misbehaving
from support import BINARY, EndToEnd, SMALL, checkpoint, digests, environment

# kind: (fault, words of the sentence). The fault is met in the first checkpoint.
IN_A_RANK = {
    "creating a file fails": (f"open {errno.EIO} 5 .pt", ["cannot create ", ".pt", "Input/output error"]),
    "a write fails": (f"pwrite {errno.EIO} 30", ["cannot write ", ".pt at offset ", "Input/output error"]),
    "no space is left": (f"pwrite {errno.ENOSPC} 40", [".pt at offset ", "No space left on device", "free space"]),
    "the quota is used up": (f"pwrite {errno.EDQUOT} 40", [".pt at offset ", "the quota on the target is used up"]),
    "the file system turns read-only": (f"pwrite {errno.EROFS} 40", [".pt at offset ", "Read-only file system"]),
    "a file may not be so large": (f"pwrite {errno.EFBIG} 40", [".pt at offset ", "File too large", "ulimit -f"]),
    "a network drive times out": (f"pwrite {errno.ETIMEDOUT} 40", [".pt at offset ", "timed out"]),
    "setting the length fails": (f"ftruncate {errno.EIO} 3", ["cannot set the length of ", ".pt", "Input/output error"]),
    "fsync of a file fails": (f"fsync {errno.EIO} 5 .pt", ["cannot fsync ", ".pt", "Input/output error"]),
    "fsync is interrupted": ("fsync eintr 5 .pt", ["cannot fsync ", ".pt", "Interrupted system call"]),
    "closing a file fails": (f"close {errno.EIO} 5 .pt", ["cannot close ", ".pt", "Input/output error"]),
    "fsync of the folder fails": (f"fsync {errno.EIO} 1 checkpoint_01$", ["cannot fsync ", "checkpoint_01: Input/output"]),
    "the drive loses the end of a file": ("ftruncate lost 1", [".pt: ", "bytes were planned and written"]),
}

OF_THE_MANIFEST = {
    "writing the manifest fails": (f"write {errno.EIO} 1 manifest", ["manifest.json", "Input/output error"]),
    "no space is left for the manifest": (f"write {errno.ENOSPC} 1 manifest", ["manifest.json", "No space left"]),
    "fsync of the manifest fails": (f"fsync {errno.EIO} 1 manifest", ["manifest.json", "Input/output error"]),
    "renaming the manifest fails": (f"rename {errno.EIO} 1 manifest", ["manifest.json", "Input/output error"]),
    "creating the manifest fails": (f"open {errno.EIO} 1 manifest.json.tmp", ["manifest.json", "Input/output error"]),
}

OF_THE_JOURNAL = {
    "writing the journal fails": (f"write {errno.EIO} 2 journal", ["cannot write ", "journal.jsonl", "Input/output error"]),
    "no space is left for the journal": (f"write {errno.ENOSPC} 2 journal", ["cannot write ", "No space left on device"]),
    "fsync of the journal fails": (f"fsync {errno.EIO} 2 journal", ["cannot fsync ", "journal.jsonl", "Input/output error"]),
}

IN_A_LOAD = {
    "reading a checkpoint back fails": (f"pread {errno.EIO} 30 .pt", ["cannot read ", ".pt at offset ", "Input/output error"]),
}

NO_FAULTS = {
    "writes are short": "pwrite short 1",
    "writes are interrupted": "pwrite eintr 1",
    "opening is interrupted": "open eintr 1",
    "setting the length is interrupted": "ftruncate eintr 1",
    "results are written short": "write short 1",
    "writing results is interrupted": "write eintr 1 .json",
    "reads are short": "pread short 1 .pt",
    "reads are interrupted": "pread eintr 1 .pt",
}


class IoFaults(Faults):
    def test_a_fault_in_a_rank(self):
        for kind, (fault, words) in IN_A_RANK.items():
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target), prefix=misbehaving(fault), timeout=60)
                self.failed(outcome, target, "rank ", f" on {HOST}: ", *words)

    def test_a_failed_fsync_is_never_tried_again(self):
        target = self.fresh()
        count = self.folder / "count"
        count.touch()
        outcome = self.ckptsim(*self.command(target, *ONE_RANK), prefix=misbehaving(f"fsync {errno.EIO} 5 .pt", count),
                               timeout=60)
        self.failed(outcome, target, "cannot fsync ")
        self.assertEqual(count.stat().st_size, 1)

    def test_a_fault_in_the_second_checkpoint_keeps_the_first(self):
        target = self.fresh()
        outcome = self.ckptsim(*self.command(target), prefix=misbehaving(f"fsync {errno.EIO} 53 .pt"), timeout=60)
        self.failed(outcome, target, "cannot fsync ", finished=1)

    def test_a_fault_as_a_checkpoint_is_read_back_keeps_what_was_saved(self):
        for kind, (fault, words) in IN_A_LOAD.items():
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target, "--load", "each"), prefix=misbehaving(fault), timeout=60)
                self.load_failed(outcome, target, "rank ", f" on {HOST}: ", *words)
                self.serves_the_next_run(target)

    def test_a_fault_of_the_manifest(self):
        for kind, (fault, words) in OF_THE_MANIFEST.items():
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target), prefix=misbehaving(fault), timeout=60)
                self.failed(outcome, target, *words)

    def test_a_fault_of_the_manifests_folder_leaves_a_checkpoint_that_is_not_reported(self):
        # Eight ranks have synced the folder before. The manifest has its name, and may or may not outlive a power cut.
        target = self.fresh()
        outcome = self.ckptsim(*self.command(target), prefix=misbehaving(f"fsync {errno.EIO} 9 checkpoint_01$"), timeout=60)
        self.one_sentence(outcome, "checkpoint_01", "Input/output error")
        self.assertEqual(self.journal(), [])
        self.serves_the_next_run(target)

    def test_a_fault_of_the_journal_leaves_a_checkpoint_that_is_not_reported(self):
        for kind, (fault, words) in OF_THE_JOURNAL.items():
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target), prefix=misbehaving(fault), timeout=60)
                self.one_sentence(outcome, *words)
                self.assertEqual(self.journal(), [], "not durable is not finished")
                result = json.loads((self.results() / "result.json").read_text())
                self.assertEqual(result["status"], "failed")
                self.assertEqual(result["passes"], [], "a pass of which nothing was finished has no figures")
                self.serves_the_next_run(target)

    def test_a_load_that_the_journal_could_not_take_is_not_reported(self):
        target = self.fresh()
        outcome = self.ckptsim(*self.command(target, "--load", "each", passes=ONE_PASS),
                               prefix=misbehaving(f"fsync {errno.EIO} 3 journal"), timeout=60)
        self.one_sentence(outcome, "cannot fsync ", "journal.jsonl", "Input/output error")
        self.assertEqual([line["type"] for line in self.journal()], ["checkpoint"])
        result = json.loads((self.results() / "result.json").read_text())
        [only] = result["passes"]
        self.assertIsNone(only["checkpoints"][0]["load"])
        self.assertIsNone(only["load_average_s"])

    def test_a_fault_of_the_journals_first_line_ends_the_run_before_anything_is_written(self):
        target = self.fresh()
        outcome = self.ckptsim(*self.command(target), prefix=misbehaving(f"fsync {errno.EIO} 1 journal"), timeout=60)
        self.one_sentence(outcome, "journal.jsonl", "Input/output error")
        self.assertEqual(list(target.rglob("*.pt")), [])
        self.serves_the_next_run(target)

    def test_a_fault_of_the_result_keeps_the_journal(self):
        for kind in (f"write {errno.EIO} 1 result.json", f"rename {errno.EIO} 1 result.json"):
            with self.subTest(kind):
                target = self.fresh()
                outcome = self.ckptsim(*self.command(target), prefix=misbehaving(kind), timeout=60)
                self.one_sentence(outcome, "result.json", "Input/output error")
                self.assertEqual(len(self.journal()), 2)
                self.assertFalse((self.results() / "result.json").exists())

    def test_what_the_system_may_do_is_no_fault(self):
        clean = self.fresh()
        self.run_ok(*TINY, *ONE_PASS, "--target", clean)
        wanted = digests(checkpoint(clean))
        for kind, fault in NO_FAULTS.items():
            with self.subTest(kind):
                target = self.fresh()
                count = self.folder / "count"
                count.write_text("")
                outcome = self.ckptsim(*self.command(target, "--load", "each", passes=ONE_PASS),
                                       prefix=misbehaving(fault, count), timeout=60)
                self.assertEqual(outcome.code, 0, outcome.stderr)
                self.assertGreater(count.stat().st_size, 0, "the call misbehaved")
                self.assertEqual(digests(checkpoint(target)), wanted)
                self.assertEqual(json.loads((self.results() / "result.json").read_text())["status"], "complete")

    def test_a_slow_drive_is_no_fault(self):
        target = self.fresh()
        slow = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", "inject=pwrite64:delay_exit=5000"]
        outcome = self.ckptsim(*self.command(target, *STALL, passes=ONE_PASS), prefix=slow, timeout=60)
        self.assertEqual(outcome.code, 0, outcome.stderr)
        self.assertEqual(len(self.journal()), 1)

    def test_a_close_that_fails_on_one_of_several_processes(self):
        target = self.fresh()
        outcome = self.one_of_three(2, f"close {errno.EIO} 5 .pt", target)
        self.failed(outcome, target, "rank ", f" on {HOST}: cannot close ", "Input/output error")


@unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
class RealFaults(EndToEnd):
    """File systems on a loop device that is really taken away."""

    @contextlib.contextmanager
    def small_file_system(self, *options):
        """An ext4 on a loop device over a file on a tmpfs of its own."""
        memory, folder = self.target("memory"), self.target("mounted")
        image = memory / "image"
        with contextlib.ExitStack() as stack:
            def call(*command):
                subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
            call("mount", "-t", "tmpfs", "-o", "size=512m", "none", memory)
            # The loop device lets go of its file some time after the file system on it is gone.
            stack.callback(self.unmount, memory)
            with image.open("wb") as file:
                file.truncate(256 << 20)
            call("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-b", "4096", image)
            with image.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, 256 << 20)
            call("mount", "-o", ",".join(["loop", *options]), image, folder)
            stack.callback(call, "umount", folder)
            yield folder, image

    def unmount(self, folder):
        deadline = time.monotonic() + 30
        while subprocess.run(["umount", str(folder)], capture_output=True).returncode != 0:
            self.assertLess(time.monotonic(), deadline, f"{folder} cannot be unmounted")
            time.sleep(0.05)

    def run_until(self, folder, backend, spoil, *options, after=1,
                  passes=("--passes", "1000", "--checkpoints-per-pass", "1")):
        """Spoils the file system when that many checkpoints are done, and returns what was said."""
        results = self.folder / f"results-{backend}"
        command = [BINARY, "run", *SMALL, *passes, "--target", str(folder), "--output", str(results), "--progress", "plain", "--backend", backend, *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                              env=environment()) as process:
            try:
                for _ in range(after):
                    self.assertIn(" done", process.stderr.readline())
                spoil(process.pid)
                stderr = process.communicate(timeout=30)[1]
            finally:
                process.kill()
        self.assertEqual(process.returncode, 4, stderr)
        said = [line for line in stderr.splitlines() if line.startswith("ckptsim: ") and " done" not in line]
        self.assertEqual(len(said), 1, stderr)
        result = json.loads(next(results.glob("*/result.json")).read_text())
        self.assertEqual(result["status"], "failed")
        self.assertIn(result["failure"], said[0])
        journal = next(results.glob("*/journal.jsonl")).read_text().splitlines()
        finished = [line for line in map(json.loads, journal) if line["type"] == "checkpoint"]
        self.assertEqual(len(finished), sum(len(one["checkpoints"]) for one in result["passes"]))
        self.assertGreaterEqual(len(finished), after)
        return said[0]

    def device(self, folder):
        source = subprocess.run(["findmnt", "-no", "SOURCE", str(folder)], capture_output=True, text=True, check=True)
        return pathlib.Path(source.stdout.strip()).name

    @contextlib.contextmanager
    def nothing_in_the_kernel(self, process, folder):
        """Stopped, with no call under way: one that waits for the journal would be told of an I/O error instead."""
        def busy():
            states = []
            for task in pathlib.Path(f"/proc/{process}/task").iterdir():
                name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
                if not name.startswith("iou-"):  # the kernel's own
                    states.append(rest.split()[0])
            in_flight = pathlib.Path(f"/sys/block/{self.device(folder)}/inflight").read_text().split()
            return set(states) != {"T"} or in_flight != ["0", "0"]
        os.kill(process, signal.SIGSTOP)
        deadline = time.monotonic() + 30
        while busy():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        yield
        os.kill(process, signal.SIGCONT)

    def take_free_blocks(self, folder, image):
        """As of a thin volume whose pool is full: what is written keeps its blocks, the rest of the drive has none."""
        memory = image.parent
        subprocess.run(["fstrim", str(folder)], check=True, capture_output=True)
        deadline = time.monotonic() + 30
        while True:  # what the kernel still writes back takes blocks meanwhile
            state = os.statvfs(memory)
            used = (state.f_blocks - state.f_bfree) * state.f_frsize
            if subprocess.run(["mount", "-o", f"remount,size={used}", str(memory)], capture_output=True).returncode == 0:
                return
            self.assertLess(time.monotonic(), deadline)

    def test_a_thin_drive_that_has_no_blocks_left_beneath_the_file_system(self):
        # The call that sends data to the drive is told.
        for backend, call in (("io_uring", "write"), ("direct", "write"), ("buffered", "fsync")):
            with self.subTest(backend=backend), self.small_file_system("errors=continue") as (folder, image):
                def spoil(process, folder=folder, image=image):
                    with self.nothing_in_the_kernel(process, folder):
                        self.take_free_blocks(folder, image)
                said = self.run_until(folder, backend, spoil, passes=["--passes", "1", "--checkpoints-per-pass", "8"])
                self.assertIn(f"cannot {call} {folder}/", said)
                self.assertIn(": No space left on device; the target filled up during the run, or a thin volume", said)

    def test_a_file_system_that_turns_read_only(self):
        for backend in ("io_uring", "direct", "buffered"):
            with self.subTest(backend=backend), self.small_file_system("errors=remount-ro") as (folder, _):
                def spoil(process, folder=folder):
                    with self.nothing_in_the_kernel(process, folder):
                        (pathlib.Path("/sys/fs/ext4") / self.device(folder) / "trigger_fs_error").write_text("fault")
                # Whatever call comes next, of a rank or between two checkpoints.
                said = self.run_until(folder, backend, spoil)
                self.assertIn(f" {folder}/", said)
                self.assertIn(": Read-only file system", said)

    def test_a_drive_that_cannot_read_what_it_wrote(self):
        for backend in ("io_uring", "direct", "buffered"):
            with self.subTest(backend=backend), self.small_file_system("commit=300") as (folder, image):
                def spoil(process, folder=folder, image=image):
                    with self.nothing_in_the_kernel(process, folder):
                        self.lose_the_end(image, folder)
                said = self.run_until(folder, backend, spoil, "--load", "end", after=4,
                                      passes=["--passes", "1", "--checkpoints-per-pass", "4"])
                self.assertRegex(said, f"rank [0-7] on {HOST}: cannot read {folder}/[^ ]*\\.pt at offset [0-9]+: Input/output error; what was finished")
                # And verify: what it cannot read is not called wrong.
                outcome = self.ckptsim("verify", folder, "--backend", backend, "--json")
                self.assertEqual(outcome.code, 4, outcome.stderr)
                verified = json.loads(outcome.stdout)["checkpoints"]
                self.assertEqual(sum(one["wrong_files"] for one in verified), 0)
                self.assertEqual({finding["kind"] for one in verified for finding in one["findings"]}, {"read_error"})

    def lose_the_end(self, image, folder):
        """A loop device answers reads beyond the end of its file with EIO. Half the data files begin there."""
        begins = []
        for file in folder.rglob("*.pt"):
            map_of_it = subprocess.run(["filefrag", "-v", str(file)], capture_output=True, text=True, check=True).stdout
            begins.append(int(re.search(r"^ +0: +0\.\. +\d+: +(\d+)\.\.", map_of_it, re.MULTILINE)[1]))
        os.truncate(image, sorted(begins)[len(begins) // 2] * 4096)

    def test_a_limit_on_file_sizes_is_an_error_of_every_backends_write(self):
        for backend in ("io_uring", "direct", "buffered"):
            with self.subTest(backend=backend):
                outcome = self.ckptsim("run", *SMALL, *ONE_PASS, "--target", self.target(), "--output",
                                       self.folder / "results", "--backend", backend,
                                       prefix=["prlimit", "--fsize=65536"], timeout=60)
                self.assertEqual(outcome.code, 4, outcome.stderr)
                self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
                self.assertIn("File too large", outcome.messages()[0])
                self.assertIn(".pt at offset ", outcome.messages()[0])


if __name__ == "__main__":
    unittest.main()
