"""What is in the tensors, measured on the files of real runs: with zstd, with a hash of every block, with torch."""
import hashlib
import json
import math
import signal
import subprocess
import time
import unittest
import zlib

import torch

from support import BINARY, EndToEnd, checkpoint, environment

NAME = "llama3.1-405b-tp4pp2"
BLOCK = 4096
TOLERANCE = 0.02


class Measured:
    """The tensor bytes of one checkpoint, as its manifest says where they are."""

    def __init__(self, folder):
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text())

    def files(self):
        """(name, data of the file, [(offset, bytes)] of its tensors), one at a time."""
        for file in self.manifest["files"]:
            data = (self.folder / file["name"]).read_bytes()
            yield file["name"], data, [(record["offset"], record["bytes"]) for record in file["records"]
                                       if record["name"].startswith("data/")]

    def count_blocks(self, counts, by_file=False):
        """Adds the digests of all whole blocks: at multiples of 4096 within a tensor, or within the file."""
        for _, data, tensors in self.files():
            view = memoryview(data)
            for offset, size in tensors:
                first = -(-offset // BLOCK) * BLOCK if by_file else offset
                for at in range(first, offset + size - BLOCK + 1, BLOCK):
                    digest = hashlib.blake2b(view[at:at + BLOCK], digest_size=16).digest()
                    counts[digest] = counts.get(digest, 0) + 1
        return counts

    def duplicate_share(self, by_file=False):
        counts = self.count_blocks({}, by_file)
        return 1 - len(counts) / sum(counts.values())

    def saved_by_zstd(self):
        """Share of the tensor bytes that zstd -1 saves: of all files together, and by file."""
        before = after = 0
        shares = {}
        for name, data, tensors in self.files():
            payload = b"".join(data[offset:offset + size] for offset, size in tensors)
            compressed = len(subprocess.run(["zstd", "-1", "-c"], input=payload, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, check=True).stdout)
            before += len(payload)
            after += compressed
            if len(payload) >= 1 << 17:
                shares[name] = 1 - compressed / len(payload)
        return 1 - after / before, shares

    def saved_in_chunks(self, chunk, most=400):
        """The same by a compressor that sees only chunks of the file, as a drive's own does."""
        before = after = 0
        for _, data, tensors in self.files():
            for offset, size in tensors:
                for at in range(-(-offset // chunk) * chunk, offset + size - chunk + 1, chunk):
                    before += chunk
                    after += len(zlib.compress(data[at:at + chunk], 1))
                    if before >= most * chunk:
                        return 1 - after / before
        return 1 - after / before


class Content(EndToEnd):
    def write(self, scale, *settings, state="adam8bit"):
        """One checkpoint, written through the page cache: what is in it is the same (identical_files_test)."""
        more = [word for text in settings for word in ("--set", text)]
        outcome = self.run_ok(NAME, "--scale", str(scale), "--passes", "1", "--checkpoints-per-pass", "1", "--target",
                              self.target(), "--backend", "buffered", "--set", "checkpoint.fsync=off", "--set",
                              f"training_state={state}", *more)
        return Measured(checkpoint(self.target())), outcome

    def check_saved(self, measured, asked):
        saved, shares = measured.saved_by_zstd()
        self.assertAlmostEqual(saved, asked, delta=TOLERANCE)
        self.assertTrue(shares)
        for name, share in shares.items():
            self.assertAlmostEqual(share, asked, delta=TOLERANCE, msg=name)

    def check_unique(self, measured):
        self.assertEqual(measured.duplicate_share(), 0)
        self.assertEqual(measured.duplicate_share(by_file=True), 0)


class Default(Content):
    def test_zstd_gains_nothing(self):
        measured, outcome = self.write(0.00005)
        saved, shares = measured.saved_by_zstd()
        self.assertLessEqual(saved, 0.001)
        self.assertLessEqual(max(shares.values()), 0.001)
        self.assertNotIn("Content:", outcome.stdout)
        self.assertEqual(measured.manifest["content"], {"seed": 1, "kind": "random", "compressible_fraction": 0,
                                                        "duplicate_fraction": 0, "pass": 1})

    def test_no_block_comes_twice_in_a_run_of_several_passes(self):
        passes, checkpoints = 3, 2
        command = [BINARY, "run", NAME, "--scale", "0.00005", "--passes", str(passes - 1), "--checkpoints-per-pass",
                   str(checkpoints), "--target", str(self.target()), "--output", str(self.folder / "results"), "--set",
                   "checkpoint.warmup_passes=1", "--set", "checkpoint.pause_seconds=2", "--backend", "buffered"]
        counts = {}
        by_file = {}
        folders = [checkpoint(self.target(), number + 1) for number in range(checkpoints)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()) as run:
            try:
                for content_pass in [1_000_001] + list(range(1, passes)):
                    self.wait_for_pass(run, folders[-1], content_pass)
                    # The run rests before the next pass overwrites this one; stopped, it rests as long as it takes.
                    run.send_signal(signal.SIGSTOP)
                    for folder in folders:
                        measured = Measured(folder)
                        self.assertEqual(measured.manifest["content"]["pass"], content_pass)
                        measured.count_blocks(counts)
                        measured.count_blocks(by_file, by_file=True)
                    run.send_signal(signal.SIGCONT)
                errors = run.communicate(timeout=120)[1]
            finally:
                run.kill()
        self.assertEqual(run.returncode, 0, errors)
        self.assertGreater(len(counts), passes * checkpoints * 10_000)
        self.assertEqual(max(counts.values()), 1)
        self.assertEqual(max(by_file.values()), 1)

    def wait_for_pass(self, run, folder, content_pass):
        """Until the manifest of the pass's last checkpoint is there."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                if json.loads((folder / "manifest.json").read_text())["content"]["pass"] == content_pass:
                    return
            except FileNotFoundError:
                pass
            if run.poll() not in (None, 0):
                self.fail(f"the run ended with {run.returncode}")
            time.sleep(0.005)
        self.fail(f"pass {content_pass} was not done within two minutes")


class Compressible(Content):
    def test_zstd_saves_what_was_asked_for_and_no_block_repeats(self):
        for asked in (0.1, 0.25, 0.5, 0.75, 0.9, 1):
            with self.subTest(asked=asked):
                measured, outcome = self.write(0.00002, f"content.compressible_fraction={asked}")
                self.check_saved(measured, asked)
                self.check_unique(measured)
                self.assertIn(f"Content: random, {100 * asked:g} % compressible.", outcome.stdout)
                self.assertEqual(measured.manifest["content"]["compressible_fraction"], asked)

    def test_a_compressor_of_small_chunks_saves_about_as_much(self):
        measured, _ = self.write(0.0003, "content.compressible_fraction=0.5")
        for chunk in (4096, 65536):
            self.assertAlmostEqual(measured.saved_in_chunks(chunk), 0.5, delta=0.03, msg=chunk)


class Duplicates(Content):
    def test_the_share_of_blocks_that_was_asked_for_repeats_and_does_not_compress(self):
        for asked in (0.1, 0.5, 0.9, 1):
            with self.subTest(asked=asked):
                measured, outcome = self.write(0.00013, f"content.duplicate_fraction={asked}",
                                               "storage.alignment_bytes=4096")
                self.assertAlmostEqual(measured.duplicate_share(), asked, delta=TOLERANCE)
                self.assertAlmostEqual(measured.duplicate_share(by_file=True), asked, delta=TOLERANCE)
                self.check_saved(measured, 0)
                self.assertIn(f"{100 * asked:g} % of the 4 KiB blocks duplicates", outcome.stdout)
                self.assertEqual(measured.manifest["content"]["duplicate_fraction"], asked)

    def test_also_where_payloads_begin_anywhere(self):
        for alignment, asked, scale in ((64, 0.05, 0.00042), (1024, 0.75, 0.0004)):
            with self.subTest(alignment=alignment):
                measured, _ = self.write(scale, f"content.duplicate_fraction={asked}",
                                         f"storage.alignment_bytes={alignment}")
                self.assertAlmostEqual(measured.duplicate_share(), asked, delta=TOLERANCE)
                self.assertAlmostEqual(measured.duplicate_share(by_file=True), asked, delta=TOLERANCE)

    def test_together_with_compressible_bytes_and_weights(self):
        for kind, duplicate, compressible in (("random", 0.5, 0.5), ("random", 0.9, 0.1), ("weights", 0.25, 0.4)):
            with self.subTest(kind=kind):
                measured, outcome = self.write(
                    0.00015, f"content.kind={kind}", f"content.duplicate_fraction={duplicate}",
                    f"content.compressible_fraction={compressible}", "storage.alignment_bytes=4096")
                self.assertAlmostEqual(measured.duplicate_share(by_file=True), duplicate, delta=TOLERANCE)
                self.check_saved(measured, compressible)
                self.assertIn(f"Content: {kind}, {100 * compressible:g} % compressible, {100 * duplicate:g} % of",
                              outcome.stdout)

    def test_a_checkpoint_too_small_to_hit_it_is_refused(self):
        self.refused(2, "plan", NAME, "--scale", "0.0001", "--set", "content.duplicate_fraction=0.5",
                     words=("content.duplicate_fraction 0.5 with storage.alignment_bytes 64 needs a checkpoint of "
                            "6.71 GB, and this one has 0.16 GB; set storage.alignment_bytes to 4096",))


class Weights(Content):
    def check_values(self, name, tensor, standard_deviation, non_negative):
        values = tensor.to(torch.float64).flatten()
        self.assertTrue(bool(torch.isfinite(values).all()), name)
        if non_negative:
            self.assertTrue(bool((values >= 0).all()), name)
        if values.numel() >= 10_000:
            root_mean_square = float(values.square().mean().sqrt())
            self.assertAlmostEqual(root_mean_square / standard_deviation, 1, delta=0.05, msg=name)
            if not non_negative:
                self.assertLess(abs(float(values.mean())), 5 * standard_deviation / math.sqrt(values.numel()), name)

    def check_files(self, measured):
        kinds = set()
        for name, _, _ in measured.files():
            for key, tensor in torch.load(measured.folder / name).items():
                if isinstance(tensor, torch.Tensor) and tensor.dtype != torch.uint8:
                    non_negative = "absmax" in key or key.endswith("exp_avg_sq")
                    kinds.add((tensor.dtype, non_negative))
                    self.check_values(key, tensor, 0.02 * 2**-16 if non_negative else 0.02, non_negative)
        return kinds

    def test_torch_loads_finite_numbers_distributed_as_weights_are(self):
        everything = {(torch.bfloat16, False), (torch.float32, False), (torch.float32, True)}
        for state in ("adam8bit", "adam-mixed"):
            measured, outcome = self.write(0.00005, "content.kind=weights", state=state)
            self.assertEqual(self.check_files(measured), everything)
            self.check_unique(measured)
            self.assertIn("Content: weights, as compressible as they are.", outcome.stdout)
            self.assertEqual(measured.manifest["content"]["kind"], "weights")

    def test_they_compress_as_far_as_is_asked_and_by_nature_as_the_manual_says(self):
        natural, _ = self.write(0.00005, "content.kind=weights", state="weights-only")
        self.assertAlmostEqual(natural.saved_by_zstd()[0], 0.22, delta=TOLERANCE)
        for state in ("adam8bit", "adam-mixed"):
            for asked in (0.25, 0.5, 0.9):
                with self.subTest(state=state, asked=asked):
                    measured, _ = self.write(0.00005, "content.kind=weights",
                                             f"content.compressible_fraction={asked}", state=state)
                    self.check_saved(measured, asked)
                    self.check_unique(measured)

    def test_less_than_they_compress_by_themselves_is_refused(self):
        self.refused(2, "plan", NAME, "--set", "content.kind=weights", "--set", "content.compressible_fraction=0.1",
                     words=("content.compressible_fraction must be 0 or from 0.25 to 1",))


if __name__ == "__main__":
    unittest.main()
