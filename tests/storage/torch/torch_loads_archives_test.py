"""torch and Python's zipfile read what ArchiveStream writes, and torch would have written the same bytes.

usage: torch_loads_archives_test.py MAKE_ARCHIVE [TEST_CLASS...]

Ends with status 77 (skipped) where torch is not installed.
"""

import filecmp
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

try:
    import torch
except ImportError:
    print("torch is not installed: skipped")
    sys.exit(77)

MAKE_ARCHIVE = None
DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "u8": torch.uint8}
IS_TORCH_113 = torch.__version__.startswith("1.13.")


def tensor(kind, *shape):
    return ("tensor", kind, shape)


def hexadecimal(text):
    return text.encode().hex() or "-"


def describe(name, entries, dialect, alignment):
    lines = [f"file {name}", f"dialect {dialect}", f"alignment {alignment}"]
    for key, value in entries.items():
        if isinstance(value, tuple):
            _, kind, shape = value
            lines.append(f"tensor {hexadecimal(key)} {kind} {' '.join(map(str, shape))}")
        elif isinstance(value, int):
            lines.append(f"int {hexadecimal(key)} {value}")
        else:
            lines.append(f"string {hexadecimal(key)} {hexadecimal(value)}")
    return "\n".join(lines) + "\n"


class ArchiveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.getcwd(), prefix="torch-archives-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(os.path.join(self.folder, "again"))

    def make(self, entries, dialect="current", alignment=64, name="model_states.pt", without_payload=False):
        command = [MAKE_ARCHIVE, self.folder] + (["--without-payload"] if without_payload else [])
        made = subprocess.run(
            command, input=describe(name, entries, dialect, alignment), text=True, check=True, stdout=subprocess.PIPE
        )
        self.file_crc32 = int(made.stdout)
        return os.path.join(self.folder, name)

    def assert_holds(self, loaded, entries):
        self.assertEqual(list(loaded), list(entries))
        for key, value in entries.items():
            if isinstance(value, tuple):
                _, kind, shape = value
                self.assertEqual(loaded[key].dtype, DTYPES[kind], key)
                self.assertEqual(tuple(loaded[key].shape), shape, key)
                self.assertTrue(loaded[key].is_contiguous(), key)
            else:
                self.assertEqual(loaded[key], value)
                self.assertIs(type(loaded[key]), type(value))

    def assert_saved_again_the_same(self, path, loaded):
        again = os.path.join(self.folder, "again", os.path.basename(path))
        torch.save(loaded, again)
        self.assertTrue(filecmp.cmp(path, again, shallow=False), "torch.save wrote other bytes")

    def check(self, entries, **options):
        """Every check that a small archive must pass, in every dialect and alignment."""
        for dialect in ("1.13", "current"):
            for alignment in (64, 4096):
                with self.subTest(dialect=dialect, alignment=alignment):
                    self.check_one(entries, dialect, alignment, **options)

    def check_one(self, entries, dialect, alignment, **options):
        path = self.make(entries, dialect, alignment, **options)
        with open(path, "rb") as file:
            self.assertEqual(zlib.crc32(file.read()), self.file_crc32)
        with zipfile.ZipFile(path) as archive:
            self.assertIsNone(archive.testzip())
        loaded = torch.load(path)
        self.assert_holds(loaded, entries)
        self.assert_holds(torch.load(path, weights_only=True), entries)
        if IS_TORCH_113 and dialect == "1.13" and alignment == 64:
            self.assert_saved_again_the_same(path, loaded)


class SmallArchives(ArchiveTest):
    def test_all_kinds_of_values(self):
        self.check(
            {
                "weight": tensor("bf16", 30, 20),
                "absmax": tensor("f32", 7),
                "state": tensor("u8", 2, 3, 4, 5),
                "scalar": tensor("f32"),
                "cube": tensor("bf16", 3, 4, 5),
                "iteration": 1000,
                "note": "a string",
            }
        )

    def test_two_entries(self):
        self.check({"a": tensor("u8", 1), "b": 1})

    def test_empty_tensors(self):
        self.check({"a": tensor("f32", 0), "b": tensor("u8", 3, 0, 2), "c": tensor("bf16", 0, 5), "d": tensor("u8", 1)})

    def test_no_tensor(self):
        self.check({"iteration": 5, "note": "nothing else"})

    def test_integers_at_every_width(self):
        widths = [0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536]
        widths += [2**bits + step for bits in (31, 32, 39, 40, 47, 48, 55, 56, 62) for step in (-1, 0, 1)] + [2**63 - 1]
        values = sorted({sign * value for value in widths for sign in (1, -1)} | {-(2**63)})
        self.check({f"integer {value}": value for value in values})

    def test_strings_that_cpython_shares_and_those_it_does_not(self):
        self.check(
            {
                "0": tensor("u8", 1),
                "1": "0",
                "a": "a",
                "b": "a",
                "twice": "equal",
                "again": "equal",
                "equal": "twice",
                "": "",
                "empty": "",
                "\u00e9": "\u00e9",
                "latin": "\u00ff",
                "\u00ff": "\u0100",
                "\u0100": "\u20ac \U0001f600",
                "storage": "cpu",
                "cpu": "storage",
                "2": tensor("u8", 2),
                "10": tensor("u8", 3),
            }
        )

    def test_batches_of_a_thousand_integers(self):
        for entries in (999, 1000, 1001, 2000):
            self.check({f"key {i}": i for i in range(entries)})

    def test_batches_of_a_thousand_tensors(self):
        for entries in (1000, 1001):
            self.check({f"key {i}": tensor("u8", i % 7) for i in range(entries)})

    def test_more_than_ten_storages(self):
        self.check({f"tensor {i}": tensor("f32", i, 3) for i in range(123)})

    def test_names_with_several_dots_or_none(self):
        self.check({"a": tensor("u8", 1), "b": 1}, name="model.tar.pt")
        self.check({"a": tensor("u8", 1), "b": 1}, name="model")

    def test_names_of_every_length_around_the_padding(self):
        for length in range(1, 70):
            self.check_one({"a": tensor("u8", 5), "b": 1}, "1.13", 64, name="n" * length + ".pt")

    def test_records_of_the_current_dialect(self):
        path = self.make({"a": tensor("u8", 5), "b": tensor("u8", 5)}, "current", 4096)
        with zipfile.ZipFile(path) as archive:
            records = {name[len("model_states/") :]: archive.read(name) for name in archive.namelist()}
        self.assertEqual(
            list(records),
            ["data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0", "data/1", "version"]
            + [".data/serialization_id"],
        )
        self.assertEqual(records[".format_version"], b"1")
        self.assertEqual(records[".storage_alignment"], b"4096")
        self.assertEqual(records["byteorder"], b"little")
        self.assertEqual(records["version"], b"3\n")
        self.assertRegex(records[".data/serialization_id"], rb"^[0-9]{40}$")


FAR_ENTRIES = {
    "before": tensor("u8", 100),
    "large": tensor("bf16", 2**31 + 5),  # past 2^31 elements and 2^32 bytes
    "behind": tensor("f32", 3, 4),
    "empty": tensor("f32", 0),
    "many": tensor("u8", 2**31 + 3, 1),
    "last": tensor("u8", 7),
    "iteration": 1,
}


class FarArchives(ArchiveTest):
    """Records of more than 4 GiB and records behind them, in files that are mostly holes."""

    def payload_offset(self, path, info):
        with open(path, "rb") as file:
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
        return info.header_offset + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")

    def check_directory(self, dialect, alignment):
        path = self.make(FAR_ENTRIES, dialect, alignment, without_payload=True)
        self.assertLess(os.stat(path).st_blocks * 512, 2**26)
        reader = torch._C.PyTorchFileReader(path)
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename[len("model_states/") :]: info for info in archive.infolist()}
            for name in ("data.pkl", "version"):
                self.assertEqual(archive.read("model_states/" + name), reader.get_record(name))
        sizes = [100, 2**32 + 10, 48, 0, 2**31 + 3, 7]
        for number, size in enumerate(sizes):
            info = infos[f"data/{number}"]
            self.assertEqual(info.file_size, size)
            self.assertEqual(info.compress_size, size)
            self.assertEqual(self.payload_offset(path, info) % alignment, 0)
            self.assertTrue(reader.has_record(f"data/{number}"))
        self.assertGreater(infos["data/2"].header_offset, 2**32)
        self.assertGreater(infos["version"].header_offset, 3 * 2**31)
        return path, infos, reader

    def test_directory_of_dialect_113(self):
        self.check_directory("1.13", 64)

    def test_directory_of_the_current_dialect(self):
        self.check_directory("current", 4096)

    def test_small_records_behind_a_large_one_are_whole(self):
        path, infos, reader = self.check_directory("current", 64)
        with open(path, "rb") as file:
            for number in (0, 2, 5):
                info = infos[f"data/{number}"]
                file.seek(self.payload_offset(path, info))
                self.assertEqual(zlib.crc32(file.read(info.file_size)), info.CRC)
                self.assertEqual(zlib.crc32(reader.get_record(f"data/{number}")), info.CRC)


class WholeFarArchives(ArchiveTest):
    """Gigabytes through torch: minutes, and 7 GB of memory."""

    def test_torch_saves_the_same_bytes_past_4_gib(self):
        path = self.make(FAR_ENTRIES, "1.13")
        with zipfile.ZipFile(path) as archive:
            self.assertIsNone(archive.testzip())
        loaded = torch.load(path)
        self.assert_holds(loaded, FAR_ENTRIES)
        if IS_TORCH_113:
            self.assert_saved_again_the_same(path, loaded)


if __name__ == "__main__":
    MAKE_ARCHIVE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
