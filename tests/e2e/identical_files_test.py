"""A checkpoint's bytes depend on its configuration alone: not on backend, block size, depth or processes."""
import json
import unittest

from support import EndToEnd, SMALL, checkpoint, digests

ONE = ["--passes", "1", "--checkpoints-per-pass", "1"]


def shape(value):
    """A result's structure: keys and types, without the values and without what names the launch."""
    if isinstance(value, dict):
        # Where each process may run is listed by process.
        return {key: "list" if key == "bindings" else shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


class IdenticalFiles(EndToEnd):
    def write(self, name, *arguments, **keywords):
        target = self.target(name)
        self.run_ok(*SMALL, *ONE, "--target", target, *arguments, **keywords)
        files = digests(checkpoint(target))
        self.assertEqual(len(files), 520)
        result, _ = self.result()
        return files, result

    def test_every_backend_block_size_and_depth_writes_the_same_bytes(self):
        reference, _ = self.write("reference")
        for number, settings in enumerate([["--backend", "direct"], ["--backend", "buffered"],
                                           ["--backend", "io_uring", "--set", "storage.registered_buffers=off"],
                                           ["--set", "storage.block_bytes=4096", "--set", "storage.queue_depth=16"],
                                           ["--set", "storage.preallocate=true"],
                                           ["--set", "storage.registered_files=true"],
                                           ["--set", "storage.sqpoll=true", "--set", "storage.huge_pages=off"],
                                           ["--set", "checkpoint.fsync=end"], ["--set", "checkpoint.fsync=off"]]):
            with self.subTest(settings=settings):
                files, _ = self.write(f"other{number}", *settings)
                self.assertEqual(files, reference)

    def test_eight_processes_three_and_none_write_the_same_bytes_and_the_same_shape_of_result(self):
        alone, result = self.write("alone")
        for processes in (8, 3):
            with self.subTest(processes=processes):
                files, other = self.write(f"processes{processes}", processes=processes)
                self.assertEqual(files, alone)
                self.assertEqual(shape(other), shape(result))
                self.assertEqual([rank["rank"] for rank in other["passes"][0]["checkpoints"][0]["save"]["ranks"]],
                                 list(range(8)))
                self.assertEqual(other["environment"]["processes"], processes)

    def test_another_seed_pass_or_checkpoint_shares_no_block_of_4_kib(self):
        target = self.target()
        seen = set()
        for settings in (["--passes", "1", "--checkpoints-per-pass", "2"],  # pass 1, checkpoints 1 and 2
                         ["--passes", "2", "--checkpoints-per-pass", "2"],  # the same of pass 2 of the same seed
                         [*ONE, "--set", "content.seed=2"]):
            self.run_ok(*SMALL, *settings, "--target", target)
            for number in (1, 2):
                if checkpoint(target, number).exists():
                    self.add_blocks(checkpoint(target, number), seen)
        self.assertGreater(len(seen), 12_000)

    def add_blocks(self, folder, seen):
        manifest = json.loads((folder / "manifest.json").read_text())
        for file in manifest["files"]:
            data = (folder / file["name"]).read_bytes()
            for record in file["records"]:
                if not record["name"].startswith("data/"):
                    continue
                payload = memoryview(data)[record["offset"]:record["offset"] + record["bytes"]]
                for start in range(0, len(payload) - 4095, 4096):
                    block = bytes(payload[start:start + 4096])
                    self.assertNotIn(block, seen)
                    seen.add(block)

    def test_several_targets_share_the_ranks(self):
        reference, _ = self.write("reference")
        first, second = self.target("first"), self.target("second")
        self.run_ok(*SMALL, *ONE, "--target", first, "--target", second)
        files = {**digests(checkpoint(first)), **digests(checkpoint(second))}
        self.assertEqual(files, reference)
        self.assertEqual(len(digests(checkpoint(first))), 260)
        for target in (first, second):
            self.assertEqual(len(json.loads((checkpoint(target) / "manifest.json").read_text())["files"]), 260)


if __name__ == "__main__":
    unittest.main()
