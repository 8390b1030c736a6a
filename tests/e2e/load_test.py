"""Checkpoints read back: what is read, by whom, past which cache, and what a drive that fails or lies makes of it."""
import csv
import ctypes
import io
import json
import mmap
import os
import shutil
import subprocess
import tempfile
import unittest

from support import BINARY, EndToEnd, Outcome, SMALL, checkpoint, environment, mpirun

BACKENDS = ("io_uring", "direct", "buffered")
ONE = ["--passes", "1", "--checkpoints-per-pass", "1"]
PHASES = ("open_ns", "metadata_ns", "read_ns", "close_ns")


def loads(result):
    return [(one["pass"], one["checkpoint"]) for of_pass in result["passes"] for one in of_pass["checkpoints"]
            if one["load"] is not None]


def cached_pages(path):
    """Pages of a file in the page cache, as mincore tells its owner."""
    size = path.stat().st_size
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), size) as mapping:
        pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        residency = (ctypes.c_ubyte * pages)()
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        if ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), residency) != 0:
            raise OSError(ctypes.get_errno(), "mincore", path)
        return sum(page & 1 for page in residency)


class Load(EndToEnd):
    def journal(self, folder):
        return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]

    def check(self, load, save, ranks):
        """What holds of every load."""
        self.assertEqual(load["file_bytes"], save["file_bytes"])
        self.assertEqual(load["payload_bytes"], save["payload_bytes"])
        self.assertEqual([rank["rank"] for rank in load["ranks"]], list(range(ranks)))
        for rank in load["ranks"]:
            self.assertEqual(sum(rank["phases"][phase] for phase in PHASES), rank["duration_ns"])
            self.assertGreaterEqual(rank["read_bytes"], rank["file_bytes"])
            self.assertLessEqual(rank["idle_ns"], rank["phases"]["read_ns"])
        self.assertEqual(load["duration_ns"], max(rank["duration_ns"] for rank in load["ranks"]))
        self.assertEqual(load["file_bytes"], sum(rank["file_bytes"] for rank in load["ranks"]))

    def test_each_reads_every_checkpoint_back_whatever_the_backend(self):
        for backend, processes in zip(BACKENDS, (None, 2, 3)):
            with self.subTest(backend):
                self.run_ok(*SMALL, "--passes", "2", "--checkpoints-per-pass", "2", "--load", "each", "--backend", backend,
                            "--target", self.target(backend), processes=processes)
                result, folder = self.result()
                self.assertEqual(loads(result), [(1, 1), (1, 2), (2, 1), (2, 2)])
                for of_pass in result["passes"]:
                    for one in of_pass["checkpoints"]:
                        self.check(one["load"], one["save"], 8)
                        self.assertEqual([rank["read_rank"] for rank in one["load"]["ranks"]], list(range(8)))
                    durations = [one["load"]["duration_s"] for one in of_pass["checkpoints"]]
                    self.assertAlmostEqual(of_pass["load_average_s"], sum(durations) / 2)
                    self.assertEqual((of_pass["load_min_s"], of_pass["load_max_s"]), (min(durations), max(durations)))
                lines = [(line["type"], line.get("checkpoint")) for line in self.journal(folder)[1:]]
                self.assertEqual(lines, [("checkpoint", 1), ("load", 1), ("checkpoint", 2), ("load", 2)] * 2)
                self.assertEqual(self.journal(folder)[2]["load"], result["passes"][0]["checkpoints"][0]["load"])

    def test_end_reads_the_last_pass_alone_and_the_tables_show_it(self):
        outcome = self.run_ok(*SMALL, "--passes", "2", "--checkpoints-per-pass", "2", "--load", "end", "--progress",
                              "plain", "--set", "checkpoint.warmup_passes=1", "--target", self.target(), processes=2)
        result, folder = self.result()
        self.assertEqual([one["warmup"] for one in result["passes"]], [True, False, False])
        self.assertEqual(loads(result), [(2, 1), (2, 2)])
        self.assertIsNone(result["passes"][1]["load_average_s"])
        self.assertEqual([line["type"] for line in self.journal(folder)[1:]], ["checkpoint"] * 6 + ["load"] * 2)
        for words in ("load s", "metadata %", "load average s", "each rank read back the files that it wrote"):
            self.assertIn(words, outcome.stdout)
        self.assertIn("pass 2, loading checkpoint 2 (2/2) done", outcome.stderr)
        rows = list(csv.DictReader(io.StringIO((folder / "checkpoints.csv").read_text())))
        self.assertEqual([bool(row["load_duration_s"]) for row in rows], [False] * 4 + [True] * 2)
        phases = sum(float(rows[-1][f"load_{phase}_s"]) for phase in ("open", "metadata", "read", "close"))
        self.assertAlmostEqual(phases, float(rows[-1]["load_duration_s"]), places=6)

    def test_without_load_nothing_is_read(self):
        self.run_ok(*SMALL, *ONE, "--target", self.target())
        result, folder = self.result()
        self.assertEqual(loads(result), [])
        self.assertEqual([line["type"] for line in self.journal(folder)], ["run", "checkpoint"])

    def test_files_by_torchs_order_and_zero_3_and_replicas_are_read_back(self):
        for settings in (["storage.torch_dialect=1.13"], ["parallelism.data=2"],
                         ["parallelism.data=2", "parallelism.zero_stage=3"]):
            with self.subTest(settings):
                arguments = [word for setting in settings for word in ("--set", setting)]
                self.run_ok("llama3.1-8b-tp1pp1", "--scale", "0.0001", *ONE, *arguments, "--load", "each", "--target",
                            self.target())
                one = self.result()[0]["passes"][0]["checkpoints"][0]
                self.check(one["load"], one["save"], 1 if len(settings[0]) > 20 else 2)

    def test_direct_reads_come_from_the_drive_and_leave_no_page(self):
        for backend in ("io_uring", "direct"):
            for fsync in ("file", "off"):
                with self.subTest(backend=backend, fsync=fsync):
                    target = self.target(backend + fsync)
                    self.run_ok(*SMALL, *ONE, "--load", "each", "--backend", backend, "--set", f"checkpoint.fsync={fsync}",
                                "--target", target)
                    load = self.result()[0]["passes"][0]["checkpoints"][0]["load"]
                    self.assertEqual(load["cached_bytes_before"], 0)
                    self.assertIs(load["load_from_cache"], False)
                    self.assertEqual({path.name: cached_pages(path) for path in checkpoint(target).glob("*.pt")
                                      if cached_pages(path)}, {})

    def test_buffered_reads_find_the_cache_empty_even_of_what_was_never_synced(self):
        for fsync in ("file", "off"):
            with self.subTest(fsync):
                target = self.target(fsync)
                self.run_ok(*SMALL, *ONE, "--load", "each", "--backend", "buffered", "--set", f"checkpoint.fsync={fsync}",
                            "--target", target)
                result = self.result()[0]
                load = result["passes"][0]["checkpoints"][0]["load"]
                self.assertEqual((load["cached_bytes_before"], load["load_from_cache"]), (0, False))
                self.assertIs(result["flags"]["load_from_cache"], False)
                [path] = list(checkpoint(target).glob("mp_rank_00_model_states.pt"))
                self.assertGreater(cached_pages(path), 0, "that is where buffered reads put what they read")

    def test_a_cache_that_cannot_be_emptied_is_said(self):
        if not os.access("/dev/shm", os.W_OK):
            self.fail("/dev/shm, a file system in memory, cannot be written")
        target = tempfile.mkdtemp(dir="/dev/shm", prefix="ckptsim-load-test-")
        self.addCleanup(shutil.rmtree, target)
        outcome = self.run_ok(*SMALL, *ONE, "--load", "each", "--backend", "buffered", "--target", target)
        result = self.result()[0]
        load = result["passes"][0]["checkpoints"][0]["load"]
        self.assertEqual((load["cached_share"], load["load_from_cache"]), (1, True))
        self.assertIs(result["flags"]["load_from_cache"], True)
        self.assertIn("LOADED FROM CACHE", outcome.stdout)
        self.assertIn("100.0 % of their bytes", outcome.stdout)

    def test_a_host_alone_shifts_by_one_rank(self):
        self.run_ok(*SMALL, *ONE, "--load", "each", "--set", "checkpoint.load_rank_shift=true", "--target",
                    self.target("a"), "--target", self.target("b"), processes=2)
        one = self.result()[0]["passes"][0]["checkpoints"][0]
        self.check(one["load"], one["save"], 8)
        self.assertEqual([rank["read_rank"] for rank in one["load"]["ranks"]], [1, 2, 3, 4, 5, 6, 7, 0])

    def test_refusals_are_one_sentence(self):
        self.refused(2, "run", *SMALL, *ONE, "--load", "each", "--backend", "null",
                     words=("checkpoint.load", "null", "none"))
        self.refused(2, "run", *SMALL, *ONE, "--load", "sometimes", "--target", self.target(),
                     words=("checkpoint.load", "each", "end"))
        self.refused(2, "run", *SMALL, *ONE, "--set", "checkpoint.load_rank_shift=true", "--target", self.target(),
                     words=("checkpoint.load_rank_shift", "reads nothing back"))
        self.refused(2, "run", "llama3.1-8b-tp1pp1", "--scale", "0.00001", *ONE, "--load", "end", "--set",
                     "checkpoint.load_rank_shift=true", "--target", self.target(), words=("only rank",))
        self.assertEqual(list(self.target().iterdir()), [])


# Forwards pread64 to the kernel; from the 21st read of a block on what comes back is an error, the end of the file, or
# half of what was asked for, and of large files a bit is flipped.
FAULTY_READS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int reads;

ssize_t pread64(int file, void *buffer, size_t bytes, off_t offset) {
  ssize_t count = syscall(SYS_pread64, file, buffer, bytes, offset);
  const char *fault = getenv("FAULT");
  if (fault == NULL || count < 4096 || atomic_fetch_add(&reads, 1) < 20) return count;
  if (strcmp(fault, "error") == 0) { errno = EIO; return -1; }
  if (strcmp(fault, "end") == 0) return 0;
  if (strcmp(fault, "halves") == 0) return count / 8192 > 0 ? count / 8192 * 4096 : count;
  if (strcmp(fault, "flip") == 0 && offset == 0 && count > 60000) ((char *)buffer)[count / 2] ^= 1;
  return count;
}
ssize_t pread(int file, void *buffer, size_t bytes, off_t offset) { return pread64(file, buffer, bytes, offset); }
"""


class FaultyReads(EndToEnd):
    def setUp(self):
        super().setUp()
        source, self.library = self.folder / "faulty.c", self.folder / "faulty.so"
        source.write_text(FAULTY_READS)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, source], check=True)

    def load_with(self, fault, processes=None):
        """Under mpirun the last process alone has faulty reads."""
        last = processes - 1 if processes else ""
        script = f'[ "$OMPI_COMM_WORLD_RANK" = "{last}" ] && export LD_PRELOAD={self.library} FAULT={fault}; exec "$@"'
        return self.ckptsim("run", "llama3.1-8b-tp1pp1", "--scale", "0.0002", "--set", "parallelism.pipeline=2", "--passes",
                            "1", "--checkpoints-per-pass", "1", "--load", "each", "--backend", "direct", "--target",
                            self.target(), "--output", self.folder / "results", processes=processes,
                            prefix=["sh", "-c", script, "sh"])

    def failed(self, fault, code, processes=None):
        outcome = self.load_with(fault, processes)
        self.assertEqual(outcome.code, code, outcome.stderr)
        [message] = outcome.messages()
        [folder] = (self.folder / "results").iterdir()
        result = json.loads((folder / "result.json").read_text())
        self.assertEqual(result["status"], "failed")
        self.assertEqual(message, f"ckptsim: {result['failure']}; what was finished is kept in {folder}; go on with the "
                                  f"same command and --resume {folder}")
        [saved] = result["passes"][0]["checkpoints"]
        self.assertIsNone(saved["load"])
        self.assertGreater(saved["save"]["file_bytes"], 0)
        self.assertIn(str(checkpoint(self.target(), name="llama3.1-8b-tp1pp1")), message)
        self.assertRegex(message, r"rank [01] on ")
        return message

    def test_an_error_ends_the_run_with_file_and_offset(self):
        self.assertRegex(self.failed("error", 4), r"cannot read .*\.pt at offset \d+: Input/output error")

    def test_an_error_of_one_process_ends_all(self):
        message = self.failed("error", 4, processes=2)
        self.assertRegex(message, r"rank 1 on .*: cannot read .*\.pt at offset \d+: Input/output error")

    def test_a_file_that_ends_too_soon_is_not_what_was_saved(self):
        self.assertRegex(self.failed("end", 5), r"\.pt: at \d+: the file ends here, and \d+ bytes were saved")

    def test_a_flipped_bit_is_found_with_record_and_offset(self):
        self.assertRegex(self.failed("flip", 5), r"\.pt: at \d+: .*the \d+ bytes of .*/data/\d+ have the CRC-32")

    def test_short_reads_are_continued(self):
        outcome = self.load_with("halves")
        self.assertEqual(outcome.code, 0, outcome.stderr)


@unittest.skipUnless(os.geteuid() == 0, "namespaces need root")
class LoadOnHosts(EndToEnd):
    def run_on_hosts(self, target, own_folders=False, hosts="$((OMPI_COMM_WORLD_RANK % 2))", processes=4):
        setup = f"hostname host{hosts}"
        if own_folders:
            for number in range(2):
                self.target(f"own{number}")
            setup += f" && mount --bind {self.folder}/own{hosts} {target}"
        program = " ".join([BINARY, "run", *SMALL, *ONE, "--load", "each", "--set", "checkpoint.load_rank_shift=true",
                            "--target", str(target), "--output", str(self.folder / "results")])
        return Outcome(subprocess.run(
            mpirun(processes) + ["unshare", "--uts", "--mount", "sh", "-c", f"{setup} && exec {program}"],
            capture_output=True, text=True, timeout=120, env=environment()))

    def test_every_rank_reads_what_another_host_wrote(self):
        outcome = self.run_on_hosts(self.target())
        self.assertEqual(outcome.code, 0, outcome.stderr)
        one = self.result()[0]["passes"][0]["checkpoints"][0]
        wrote = {rank["rank"]: rank["host"] for rank in one["save"]["ranks"]}
        self.assertEqual(set(wrote.values()), {"host0", "host1"})
        for rank in one["load"]["ranks"]:
            self.assertEqual(rank["host"], wrote[rank["rank"]])
            self.assertNotEqual(rank["host"], wrote[rank["read_rank"]])
        self.assertEqual(sorted(rank["read_rank"] for rank in one["load"]["ranks"]), list(range(8)))
        self.assertEqual(one["load"]["file_bytes"], one["save"]["file_bytes"])

    def test_targets_of_each_hosts_own_are_refused(self):
        outcome = self.run_on_hosts(self.target(), own_folders=True)
        self.assertEqual(outcome.code, 3, outcome.stderr)
        [message] = outcome.messages()
        self.assertIn("checkpoint.load_rank_shift", message)
        self.assertIn(str(self.target()), message)
        self.assertEqual([list((self.folder / f"own{number}").iterdir()) for number in range(2)], [[], []])

    def test_a_host_with_more_than_half_of_the_ranks_is_refused(self):
        outcome = self.run_on_hosts(self.target(), hosts="$((OMPI_COMM_WORLD_RANK / 2))", processes=3)
        self.assertEqual(outcome.code, 2, outcome.stderr)
        [message] = outcome.messages()
        self.assertIn("host0 has 6 of 8 ranks", message)


if __name__ == "__main__":
    unittest.main()
