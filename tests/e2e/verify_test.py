"""Checkpoints read back: every byte that is not as it was written is found, named and counted."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest
import zlib

import support
from support import BINARY, LAUNCHED, SCRATCH, EndToEnd, digests, environment, mpirun

FAST = ["--set", "checkpoint.fsync=off"]
RUN = "llama3.1-8b-tp1pp1"
SMALL = [RUN, "--set", "parallelism.tensor=2", "--scale", "0.0001"]  # 68 files, 2 ranks, 3 MB


def checkpoint(target, number=1):
    return support.checkpoint(target, number, RUN)


def flip(path, offset, bit):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ (1 << bit)]))


def reseal(path, change):
    """Changes a manifest and gives it the CRC of its new bytes."""
    text = path.read_text()
    changed = change(text)
    assert changed != text
    body = changed[:-12]
    path.write_text(f"{body}{zlib.crc32(body.encode()):08x}\"\n}}\n")


class Verify(EndToEnd):
    def written(self, *arguments, passes=1, checkpoints=1, name="target", processes=None):
        target = self.target(name)
        self.run_ok(*(arguments or SMALL), *FAST, "--passes", passes, "--checkpoints-per-pass", checkpoints, "--target",
                    target, processes=processes)
        return target

    def verify(self, code, *arguments, **keywords):
        outcome = self.ckptsim("verify", *arguments, **keywords)
        self.assertEqual(outcome.code, code, outcome.stderr + outcome.stdout)
        self.assertEqual(len(outcome.messages()), 0 if code == 0 else 1, outcome.stderr)
        return outcome

    def report(self, code, *arguments, **keywords):
        return json.loads(self.verify(code, *arguments, "--json", **keywords).stdout)

    def finding(self, *arguments, **keywords):
        """The one thing that is wrong."""
        findings = [finding for one in self.report(5, *arguments, **keywords)["checkpoints"]
                    for finding in one["findings"]]
        self.assertEqual(len(findings), 1, findings)
        return findings[0]


class WhatIsRight(Verify):
    def test_every_checkpoint_of_a_target_from_every_level(self):
        target = self.written(passes=2, checkpoints=2)
        before = digests(target)
        report = self.report(0, target)
        self.assertEqual([(one["pass"], one["checkpoint"], one["files"], one["result"], one["wrong_bytes"])
                          for one in report["checkpoints"]], [(2, 1, 68, "right", 0), (2, 2, 68, "right", 0)])
        result, _ = self.result()
        self.assertEqual(report["checkpoints"][0]["file_bytes"], result["plan"]["file_bytes"])
        for folder, count in ((target / "ckptsim", 2), (target / "ckptsim" / RUN, 2), (checkpoint(target, 2), 1)):
            self.assertEqual(len(self.report(0, folder)["checkpoints"]), count)
        self.assertEqual(len(self.report(0, checkpoint(target, 1), checkpoint(target, 2), target)["checkpoints"]), 2)
        self.assertEqual(digests(target), before)

    def test_formats(self):
        target = self.written()
        lines = self.verify(0, target).stdout.splitlines()
        self.assertEqual(lines[0].split(), ["checkpoint", "pass", "files", "bytes", "seconds", "GB/s", "result"])
        self.assertTrue(lines[1].endswith("right"))
        self.assertRegex(lines[-1], r"^1 checkpoint, 0\.00\d\d GB, all right\.$")
        self.assertEqual(self.verify(0, target, "--csv").stdout.splitlines()[0],
                         "checkpoint,pass,files,bytes,seconds,GB/s,result")
        self.assertTrue(self.verify(0, target, "--markdown").stdout.startswith("| checkpoint"))

    def test_every_content_state_sharding_and_dialect(self):
        for arguments in (["--set", "content.kind=weights", "--set", "training_state=adam-mixed"],
                          ["--set", "content.compressible_fraction=0.5"],
                          ["--set", "content.kind=weights", "--set", "content.compressible_fraction=0.75",
                           "--set", "content.seed=9"],
                          ["--set", "storage.torch_dialect=1.13", "--set", "storage.alignment_bytes=4096"],
                          ["--set", "parallelism.tensor=1", "--set", "parallelism.pipeline=1", "--set",
                           "parallelism.data=3", "--set", "parallelism.zero_stage=3"],
                          ["--set", "checkpoint.warmup_passes=1"]):
            with self.subTest(arguments=arguments):
                target = self.written(*SMALL, *arguments, name=f"target{len(list(self.folder.iterdir()))}")
                self.assertEqual([one["result"] for one in self.report(0, target)["checkpoints"]], ["right"])
                shutil.rmtree(target)

    def test_what_torchs_own_writer_wrote(self):
        if not (pathlib.Path(BINARY).parent / "ckptsim_libtorch.so").exists():
            self.skipTest("no LibTorch module in this build")
        target = self.written(*SMALL, "--serializer", "libtorch")
        self.report(0, target)

    def test_two_targets_are_two_parts(self):
        first, second = self.target("first"), self.target("second")
        self.run_ok(*SMALL, *FAST, "--passes", "1", "--checkpoints-per-pass", "1", "--target", first, "--target", second)
        both = self.report(0, first, second)
        self.assertEqual([(one["part"], one["parts"]) for one in both["checkpoints"]], [(1, 2), (2, 2)])
        self.assertEqual(sum(one["files"] for one in both["checkpoints"]), 68)
        self.assertEqual(both["missing_parts"], [])
        self.assertTrue(all(one["complete"] for one in both["checkpoints"]))
        alone = self.verify(3, second)  # half a checkpoint is none, however right it is
        sentence = f"{RUN}, pass 1, checkpoint 1: part 1 of 2 is not in the folders named; name all targets of the run"
        self.assertIn("2 of 2", alone.stdout)
        self.assertIn("right, incomplete", alone.stdout)
        self.assertIn(f"Incomplete: {sentence}", alone.stdout)
        self.assertIn("no complete checkpoint", alone.messages()[0])
        self.assertIn(sentence, alone.messages()[0])
        self.assertIn("right, incomplete", self.verify(0, second, "--parts").stdout)  # as a host with that target does
        self.verify(2, second, "--parts", "--all")
        report = self.report(3, second, processes=2)
        self.assertEqual(report["missing_parts"], [sentence])
        self.assertEqual([(one["complete"], one["result"]) for one in report["checkpoints"]], [(False, "right")])
        whole = self.written(name="whole")
        self.assertIn(f"Incomplete: {sentence}", self.verify(0, second, whole).stdout)
        next(checkpoint(second).glob("layer_*.pt")).unlink()
        self.verify(5, second)
        self.verify(5, second, "--parts")

    def test_parts_of_two_runs_are_no_checkpoint(self):
        targets = {}
        for seed in (1, 2):
            targets[seed] = self.target(f"first{seed}"), self.target(f"second{seed}")
            self.run_ok(*SMALL, *FAST, "--passes", "1", "--checkpoints-per-pass", "1", "--set", f"content.seed={seed}",
                        "--target", targets[seed][0], "--target", targets[seed][1])
            self.report(0, *targets[seed])
        report = self.report(3, targets[1][0], targets[2][1])
        self.assertEqual([one["result"] for one in report["checkpoints"]], ["right", "right"])
        self.assertEqual(len(report["missing_parts"]), 2)
        self.assertIn(f"part 2 of 2 is not in the folders named (that in {checkpoint(targets[2][1])} is of a run with seed "
                      "2, not 1)", report["missing_parts"][0])

    def test_a_backend_that_reads_through_the_page_cache_says_so(self):
        target = self.written()
        self.assertIn("Read through the page cache (as asked)", self.verify(0, target, "--backend", "buffered").stdout)
        memory = pathlib.Path(f"/dev/shm/ckptsim-verify-{os.getpid()}")
        shutil.copytree(target, memory)
        self.addCleanup(shutil.rmtree, memory)
        self.assertIn("Read through the page cache (auto: ", self.verify(0, memory).stdout)
        self.refused(3, "verify", memory, "--backend", "direct", words=["--backend buffered"])

    def test_what_the_page_cache_would_not_drop_is_said(self):
        target = self.written()
        one = self.report(0, target, "--backend", "buffered")["checkpoints"][0]
        self.assertEqual((one["cached_bytes_before"], one["page_cache_seen"]), (0, True))
        self.assertIn("out of which each file was dropped before", self.verify(0, target, "--backend", "buffered").stdout)
        memory = pathlib.Path(f"/dev/shm/ckptsim-verify-{os.getpid()}")
        shutil.copytree(target, memory)
        self.addCleanup(shutil.rmtree, memory)
        one = self.report(0, memory)["checkpoints"][0]
        self.assertEqual(one["cached_bytes_before"], one["file_bytes"])
        text = self.verify(0, memory).stdout
        self.assertIn(f"{one['file_bytes']} of their {one['file_bytes']} bytes (100.0 %) were in it", text)
        self.assertNotIn("was dropped before", text)

    def test_another_user_reads_past_the_page_cache_that_he_may_not_look_into(self):
        if os.stat(SCRATCH).st_dev != os.stat("/tmp").st_dev:
            self.skipTest("/tmp, which every user reaches, is another file system than the scratch folder")
        target, as_nobody = self.for_another_user(self.written())

        def verify_as_nobody(*arguments):
            done = as_nobody("verify", target, *arguments)
            self.assertEqual(done.code, 0, done.stderr + done.stdout)
            return done.stdout

        own = self.report(0, target, "--backend", "direct")["checkpoints"][0]
        self.assertIs(own["page_cache_seen"], True)
        for backend in ("direct", "auto"):
            one = json.loads(verify_as_nobody("--backend", backend, "--json"))["checkpoints"][0]
            self.assertEqual((one["result"], one["page_cache_seen"]), ("right", False))
            self.assertNotEqual(one["backend"], "buffered")
            self.assertIn("could not be looked into", verify_as_nobody("--backend", backend))
        one = json.loads(verify_as_nobody("--backend", "buffered", "--json"))["checkpoints"][0]
        self.assertIsNone(one["cached_bytes_before"])
        self.assertIn("whether it was is not known", verify_as_nobody("--backend", "buffered"))

    def test_progress_is_on_stderr(self):
        target = self.written(checkpoints=2)
        outcome = self.ckptsim("verify", target, "--progress", "plain")
        self.assertEqual(outcome.code, 0)
        self.assertEqual(len(outcome.messages()), 2, outcome.stderr)


class NothingToVerify(Verify):
    def test_no_checkpoint_is_exit_3(self):
        self.refused(3, "verify", self.folder, words=["holds no checkpoint"])
        self.refused(3, "verify", self.folder / "none", words=["No such file"])
        self.refused(2, "verify")
        self.refused(2, "verify", self.folder, "--backend", "null")

    def test_a_checkpoint_without_its_manifest_does_not_exist(self):
        target = self.written(checkpoints=2)
        (checkpoint(target, 1) / "manifest.json").unlink()
        outcome = self.verify(0, target)
        self.assertIn("Incomplete, skipped: 1", outcome.stdout)
        self.assertIn("checkpoint_01", outcome.stdout)
        (checkpoint(target, 2) / "manifest.json").unlink()
        self.refused(3, "verify", target, words=["no complete checkpoint", "nothing to verify"])

    def test_a_file_is_what_inspect_is_for(self):
        file = next(checkpoint(self.written()).glob("*.pt"))
        self.refused(3, "verify", file, words=["is a file", f"ckptsim inspect {file}"])

    def test_a_folder_with_nothing_does_not_keep_the_others_from_being_verified(self):
        target = self.written()
        empty = self.target("empty")
        for arguments in ([target, empty], [empty, target]):
            outcome = self.verify(3, *arguments)
            self.assertIn("1 checkpoint)", outcome.messages()[0])
            self.assertIn(f"{empty} holds no checkpoint", outcome.messages()[0])
            self.assertIn("all else is right", outcome.messages()[0])
            self.assertIn(f"Not verified: {empty} holds no checkpoint", outcome.stdout)
            self.assertNotIn("all right", outcome.stdout)
        self.refused(3, "verify", empty, self.folder / "none", words=[str(empty), "No such file"])
        flip(next(checkpoint(target).glob("layer_*.pt")), 5000, 0)
        self.assertEqual(len(self.report(5, target, empty)["not_verified"]), 1)

    def test_all_means_that_nothing_is_absent(self):
        first, second = self.target("first"), self.target("second")
        self.run_ok(*SMALL, *FAST, "--passes", "1", "--checkpoints-per-pass", "2", "--target", first, "--target", second)
        self.report(0, first, second, "--all")
        self.report(3, first)
        self.assertIn("2 checkpoints lack parts that are in no folder named", self.verify(5, first, "--all").messages()[0])
        for target in (first, second):
            for manifest in checkpoint(target).glob("manifest*.json"):
                manifest.unlink()
        self.report(0, first, second)
        outcome = self.verify(5, first, second, "--all")
        self.assertIn("2 checkpoints are incomplete", outcome.messages()[0])
    def test_a_damaged_marker_is_refused_in_the_words_of_a_run(self):
        target = self.written()
        flip(target / "ckptsim" / ".ckptsim-directory", 5, 1)
        outcomes = [self.refused(3, "verify", folder, words=["is not the marker that this version writes"])
                    for folder in (target, target / "ckptsim")]
        run = self.refused(3, "run", *SMALL, "--target", target, "--output", self.folder / "refused")
        self.assertIn(outcomes[0].messages()[0].removeprefix("ckptsim: "), run.messages()[0])
        self.report(0, target / "ckptsim" / RUN)  # what lies below can still be named

    def test_a_run_that_is_at_work_is_left_alone(self):
        target = self.target()
        command = [BINARY, "run", *SMALL, "--passes", "1000", "--checkpoints-per-pass", "1", "--target", str(target),
                   "--output", str(self.folder / "busy")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as run:
            try:
                while not (checkpoint(target) / "manifest.json").exists():
                    self.assertIsNone(run.poll())
                    time.sleep(0.01)
                self.refused(3, "verify", target, words=["another run is using", f"pid {run.pid} "])
            finally:
                run.send_signal(signal.SIGKILL)
                run.wait()

    def test_an_earlier_versions_manifest_is_told_from_a_damaged_one(self):
        target = self.written()
        reseal(checkpoint(target) / "manifest.json", lambda text: text.replace("ckptsim.manifest/2", "ckptsim.manifest/1"))
        finding = self.finding(target)
        self.assertEqual(finding["kind"], "manifest")
        self.assertIn("earlier version", finding["message"])


class WhatIsWrong(Verify):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.random = random.Random(20261201)
        print("\nseed 20261201", flush=True)

    def test_single_bits_through_the_program(self):
        target = self.written()
        folder = checkpoint(target)
        manifest = json.loads((folder / "manifest.json").read_text())
        for i in range(24):
            file = self.random.choice(manifest["files"])
            tensors = [(record, entry["key"]) for record, entry in
                       zip([record for record in file["records"] if record["name"].startswith("data/")],
                           [entry for entry in file["entries"] if "dtype" in entry])]
            record, key = self.random.choice(tensors)
            name, offset = file["name"], record["offset"] + self.random.randrange(record["bytes"])
            if i % 3 == 0:  # not in a tensor
                name = self.random.choice(["manifest.json", name])
                offset = self.random.randrange(file["records"][0]["offset"] + file["records"][0]["bytes"])
            bit = self.random.randrange(8)
            flip(folder / name, offset, bit)
            with self.subTest(name=name, offset=offset, bit=bit):
                finding = self.finding(target)
                self.assertEqual(finding["file"], name)
                if name == "manifest.json":
                    self.assertEqual(finding["kind"], "manifest")
                else:
                    self.assertEqual((finding["offset"], finding["wrong_bytes"]), (offset, 1))
                    if i % 3:
                        self.assertEqual((finding["record"], finding["tensor"], finding["tensor_offset"]),
                                         (record["name"], key, offset - record["offset"]))
                    else:
                        self.assertNotIn("tensor", finding)
            flip(folder / name, offset, bit)
        self.report(0, target)

    def test_the_sentence_names_file_tensor_and_count(self):
        target = self.written()
        file = json.loads((checkpoint(target) / "manifest.json").read_text())["files"][5]
        record = next(record for record in file["records"] if record["name"] == "data/0")
        flip(checkpoint(target) / file["name"], record["offset"], 0)
        outcome = self.verify(5, target)
        with open(checkpoint(target) / file["name"], "rb") as opened:
            opened.seek(record["offset"])
            found = opened.read(1)[0]
        for text in (outcome.messages()[0], outcome.stdout):
            for word in (file["name"], file["entries"][0]["key"], "1 byte in 1 file",
                         f"byte {record['offset']} differs ({found:02x} instead of {found ^ 1:02x})"):
                self.assertIn(word, text)
        self.assertIn("the record changed after it was written: ", outcome.stdout)
        finding = self.finding(target)
        self.assertEqual((finding["found"], finding["expected"]), (f"{found:02x}", f"{found ^ 1:02x}"))
        self.assertIn("WRONG", outcome.stdout)

    def test_what_is_on_the_drive_and_not_what_is_in_the_page_cache(self):
        target = self.written()
        for backend, cached in (("auto", False), ("io_uring", False), ("direct", False), ("buffered", True)):
            report = self.report(0, target, "--backend", backend)
            self.assertEqual(report["checkpoints"][0]["backend"] == "buffered", cached)
            pages = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "PAGES",
                                    *map(str, checkpoint(target).glob("*.pt"))], capture_output=True, text=True, check=True)
            self.assertEqual(sum(map(int, pages.stdout.split())) > 0, cached, backend)

    def test_lengths_names_and_kinds(self):
        target = self.written()
        folder = checkpoint(target)
        files = sorted(folder.glob("*.pt"))
        text = files[0].read_bytes()
        files[0].write_bytes(text[:-100])
        self.assertEqual([self.finding(target)[key] for key in ("kind", "wrong_bytes")], ["too_short", 100])
        files[0].write_bytes(text + b"x")
        self.assertEqual([self.finding(target)[key] for key in ("kind", "wrong_bytes")], ["too_long", 1])
        files[0].write_bytes(b"")
        finding = self.finding(target)
        self.assertEqual(finding["kind"], "too_short")
        self.assertIn("so that its CRCs cannot be worked out", finding["message"])
        files[0].unlink()
        self.assertEqual(self.finding(target)["kind"], "missing")
        os.mkfifo(files[0])
        self.assertEqual(self.finding(target)["kind"], "not_a_file")
        files[0].unlink()
        away = self.folder / "away.pt"
        away.write_bytes(text)
        files[0].symlink_to(away)
        self.assertEqual(self.finding(target)["kind"], "not_a_file")
        files[0].unlink()
        files[0].write_bytes(text)
        (folder / "extra.pt").write_bytes(b"x")
        self.assertEqual([self.finding(target)[key] for key in ("kind", "file")], ["unlisted", "extra.pt"])

    def test_a_swapped_or_older_file_is_called_what_it_is(self):
        target = self.written(passes=2, checkpoints=2)
        folder = checkpoint(target, 1)
        names = ["layer_000-model_00-model_states.pt", "layer_000-model_01-model_states.pt"]
        texts = [(folder / name).read_bytes() for name in names]
        for name, text in zip(names, reversed(texts)):
            (folder / name).write_bytes(text)
        one = self.report(5, folder)["checkpoints"][0]
        self.assertEqual([(finding["kind"], finding["message"]) for finding in one["findings"]],
                         [("content", f"{names[0]}: holds the content of {names[1]}"),
                          ("content", f"{names[1]}: holds the content of {names[0]}")])
        self.assertGreater(one["wrong_bytes"], 1000)
        self.assertIn(f"{names[0]}: holds the content of {names[1]}", self.verify(5, folder).messages()[0])
        for name, text in zip(names, texts):
            (folder / name).write_bytes(text)
        (folder / names[0]).write_bytes((checkpoint(target, 2) / names[0]).read_bytes())
        self.assertEqual(self.finding(folder)["message"], f"{names[0]}: holds what pass 2, checkpoint 2 wrote in it")
        earlier = self.written(passes=1, checkpoints=1, name="earlier")  # the same seed
        for name in (names[0], "mp_rank_00_model_states.pt"):  # the second has the iteration in its pickle
            text = (folder / name).read_bytes()
            (folder / names[0]).write_bytes(texts[0])
            (folder / name).write_bytes((checkpoint(earlier) / name).read_bytes())
            self.assertEqual(self.finding(folder)["message"], f"{name}: holds what pass 1, checkpoint 1 wrote in it")
            (folder / name).write_bytes(text)

    def test_files_of_another_place_pass_or_checkpoint(self):
        target = self.written(checkpoints=2)
        first, second = checkpoint(target, 1), checkpoint(target, 2)
        names = ["layer_000-model_00-model_states.pt", "layer_000-model_01-model_states.pt"]
        texts = [(first / name).read_bytes() for name in names]
        for name, text in zip(names, reversed(texts)):
            (first / name).write_bytes(text)
        self.assertEqual(self.report(5, first)["checkpoints"][0]["wrong_files"], 2)
        for name, text in zip(names, texts):
            (first / name).write_bytes(text)
        (first / names[0]).write_bytes((second / names[0]).read_bytes())
        self.assertEqual(self.report(5, target)["checkpoints"][0]["wrong_files"], 1)
        (first / names[0]).write_bytes(texts[0])
        first.rename(target / "swap")
        second.rename(first)
        self.assertEqual(self.finding(target)["file"], "manifest.json")

    def test_a_manifest_that_names_what_is_elsewhere(self):
        target = self.written()
        for name in ("../../x", "/etc/hostname", "a/../b.pt"):
            shutil.copy(checkpoint(target) / "manifest.json", self.folder / "manifest.json")
            reseal(checkpoint(target) / "manifest.json",
                   lambda text, name=name: text.replace("layer_000-model_00-model_states.pt", name, 1))
            finding = self.finding(target)
            self.assertEqual(finding["kind"], "manifest")
            self.assertIn(name, finding["message"])
            shutil.copy(self.folder / "manifest.json", checkpoint(target) / "manifest.json")

    def test_a_damaged_manifest_says_both_crcs_and_that_nothing_was_compared(self):
        target = self.written()
        manifest = checkpoint(target) / "manifest.json"
        says = json.loads(manifest.read_text())["manifest_crc32"]
        flip(manifest, 200, 0)
        found = zlib.crc32(manifest.read_bytes()[:-12])
        message = self.finding(target)["message"]
        self.assertIn(f"its bytes have the CRC {found:08x}, and it says {says};", message)
        self.assertIn("were not compared", message)
        sizes = [path.stat().st_size for path in checkpoint(target).glob("*.pt")]
        row = self.verify(5, target).stdout.splitlines()[1].split()
        self.assertEqual(row[1:], ["-", str(len(sizes)), str(sum(sizes)), "-", "-", "WRONG"])
        manifest.write_bytes(manifest.read_bytes()[:-12] + b"\x1b]0;x\x07!!\"\n}\n")
        self.assertIn("it says what is no CRC", self.finding(target)["message"])
    def test_names_do_not_reach_the_terminal_as_they_are(self):
        target = self.written()
        name = "a\033[31mX\nckptsim: all right\n\u009b.pt"
        shown = "a\\x1b[31mX\\x0ackptsim: all right\\x0a\\u{9b}.pt"
        (checkpoint(target) / name).write_bytes(b"x")
        copy = self.folder / f"b{name}"
        shutil.copytree(checkpoint(target), copy)
        for folder in (target, copy):
            for form in ("--threads=1", "--markdown", "--csv"):
                with self.subTest(folder=folder, form=form):
                    outcome = self.verify(5, folder, form)  # which expects one line on stderr
                    for text in (outcome.stdout, outcome.stderr):
                        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
                        self.assertNotRegex(text, r"(?m)^ckptsim: all right")
                    self.assertIn(shown, outcome.stderr)
                    if folder == copy or form != "--csv":  # a table alone names the checkpoints, not their files
                        self.assertIn(shown, outcome.stdout)
            self.assertEqual(self.finding(folder)["file"], name)
        for processes in (None, 2):
            self.refused(3, "verify", self.folder / f"none{name}", words=[shown], processes=processes)
        reseal(checkpoint(target) / "manifest.json",
               lambda text: text.replace("layer_000-model_00-model_states.pt", "layer_\u202e.pt", 1))
        self.assertIn("layer_\\u{202e}.pt", self.finding(target)["message"])

    def test_a_folder_that_is_a_link(self):
        target = self.written()
        (target / "ckptsim" / RUN).rename(self.folder / "away")
        (target / "ckptsim" / RUN).symlink_to(self.folder / "away")
        self.refused(3, "verify", target, words=["is a link"])

    def test_much_damage_is_counted_and_not_all_shown(self):
        target = self.written()
        for file in checkpoint(target).glob("layer_*.pt"):
            size = file.stat().st_size
            file.write_bytes(bytes(size))
        outcome = self.verify(5, target)
        self.assertIn(" more\n", outcome.stdout)
        self.assertLess(len(outcome.stdout.splitlines()), 70)
        self.assertEqual(self.report(5, target)["checkpoints"][0]["wrong_files"], 64)


class Processes(Verify):
    def test_the_output_is_the_same_for_any_number_of_processes_and_threads(self):
        target = self.written(checkpoints=2)
        for number, name in ((1, "layer_003-model_01-model_states.pt"), (2, "layer_030-model_01-model_states.pt")):
            flip(checkpoint(target, number) / name, 500 * number, 2)
        (checkpoint(target, 2) / "mp_rank_00_model_states.pt").unlink()

        def comparable(**keywords):
            report = self.report(5, target, *keywords.pop("options", ()), **keywords)
            for one in report["checkpoints"]:
                del one["duration_s"]
            return report["checkpoints"]

        alone = comparable()
        self.assertEqual([len(one["findings"]) for one in alone], [1, 2])
        self.assertEqual(comparable(options=["--threads", "1"]), alone)
        for processes in (1, 3, 8):
            self.assertEqual(comparable(processes=processes), alone, processes)

    def test_under_mpirun_all_is_well_and_refusals_are_told_once(self):
        target = self.written(processes=2)
        self.assertEqual(self.report(0, target, processes=3)["processes"], 3)
        outcome = self.ckptsim("verify", self.folder / "none", processes=3)
        self.assertEqual(outcome.code, 3)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)


class Interrupted(Verify):
    def told_to_end(self, number, processes=None, rank=0):
        """Verifies with reads of a second each, and tells one process to end once some were begun."""
        target = self.written(checkpoints=2)
        slow = ["strace", "-ff", "-qq", "-o", str(self.folder / "reads"), "-e", "trace=pread64", "-e",
                "inject=pread64:delay_enter=1000000"]
        for path in target.rglob("*.pt"):  # of nothing else, libraries for example
            slow += ["-P", str(path)]
        script = f'echo $$ > {self.folder}/pid${{OMPI_COMM_WORLD_RANK:-0}}; exec "$@"'
        command = [*(mpirun(processes) if processes else []), *slow, "sh", "-c", script, "ckptsim", BINARY, "verify",
                   str(target), "--backend", "direct", "--progress", "none"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
                              start_new_session=True) as process:
            try:
                while sum(log.read_text().count("pread64") for log in self.folder.glob("reads.*")) < 4:
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                os.kill(int((self.folder / f"pid{rank}").read_text()), number)
                stdout, stderr = process.communicate(timeout=60)
            finally:
                if process.poll() is None:  # the test has failed
                    os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertEqual(stdout, "")
        self.assertEqual([line for line in stderr.splitlines() if line.startswith("ckptsim: ")],
                         [f"ckptsim: interrupted by {number.name}{LAUNCHED if processes else ''}; 0 of 2 checkpoints had been "
                          "verified"])

    def test_a_signal_ends_it_within_a_block(self):
        self.told_to_end(signal.SIGINT)

    def test_a_signal_to_any_process_ends_all(self):
        for rank in (0, 2):
            with self.subTest(rank):
                for log in self.folder.glob("reads.*"):
                    log.unlink()
                shutil.rmtree(self.folder / "results", ignore_errors=True)
                self.told_to_end(signal.SIGTERM, processes=3, rank=rank)


if __name__ == "__main__":
    unittest.main()
