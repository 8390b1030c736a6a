"""Every wrong input: one clear sentence, the right exit code, from one rank only, and never a hang."""
import csv
import io
import json
import os
import pickle
import subprocess
import unittest
import zipfile

from support import BINARY, EndToEnd, SMALL, environment

SHIPPED = "llama3.1-405b-tp4pp2"
FAST = ["--passes", "1", "--checkpoints-per-pass", "1"]


class BadConfiguration(EndToEnd):
    def config(self, change=None, text=None):
        path = self.folder / "run.json"
        if text is None:
            document = {"name": "bad", "model": "llama3.1-8b"}
            document.update(change or {})
            text = json.dumps(document)
        path.write_text(text)
        return path

    def test_an_unknown_key_names_the_nearest_known_one(self):
        config = self.config({"checkpoint": {"fsnyc": "file"}})
        self.refused(2, "plan", config, words=["checkpoint.fsnyc", "checkpoint.fsync"])
        self.refused(2, "plan", SHIPPED, "--set", "storage.queue_dept=4", words=["storage.queue_dept", "queue_depth"])

    def test_a_syntax_error_gives_line_and_column(self):
        self.refused(2, "plan", self.config(text='{\n  "name": "bad",\n  "model" "x"\n}\n'), words=["run.json", "3"])

    def test_wrong_types_and_values_out_of_range_name_the_key(self):
        for key, value in (("storage.queue_depth", "four"), ("storage.queue_depth", "0"), ("scale", "0"),
                           ("scale", "1.5"), ("scale", "-1"), ("checkpoint.passes", "0"),
                           ("checkpoint.passes", "2.5"), ("storage.block_bytes", "5000"),
                           ("checkpoint.fsync", "sometimes"), ("checkpoint.fill_fraction", "1.01"),
                           ("parallelism.zero_stage", "2"), ("storage.alignment_bytes", "100"),
                           ("content.seed", "-1"), ("checkpoint.layout", "megatron"),
                           ("storage.serializer", "torch"), ("checkpoint.load", "always")):
            with self.subTest(key=key, value=value):
                self.refused(2, "plan", SHIPPED, "--set", f"{key}={value}", words=[key.split(".")[-1]])

    def test_what_libtorchs_writer_cannot_write(self):
        for key, value in (("storage.torch_dialect", "current"), ("storage.alignment_bytes", "4096")):
            for command in ("plan", "run"):
                with self.subTest(key=key, command=command):
                    self.refused(2, command, SHIPPED, "--set", "storage.serializer=libtorch", "--set", f"{key}={value}",
                                 words=[key, value, "libtorch", "stream"])

    def test_a_module_of_libtorch_that_is_missing_or_none_before_anything_is_made(self):
        target = self.target()
        text = self.folder / "module.so"
        text.write_text("no library")
        for module, words in ((self.folder / "missing.so", ["CKPTSIM_LIBTORCH_MODULE", "missing.so", "does not exist"]),
                              (text, ["LibTorch cannot be loaded", "module.so", "libtorch1.13"])):
            for processes in (None, 3):
                with self.subTest(module=module, processes=processes):
                    self.refused(2, "run", SHIPPED, "--scale", "0.00001", *FAST, "--target", target, "--serializer",
                                 "libtorch", processes=processes, words=words,
                                 prefix=["env", f"CKPTSIM_LIBTORCH_MODULE={module}"])
                    self.assertEqual(list(target.iterdir()), [])

    def test_sizes_that_overflow(self):
        model = {"name": "huge", "layers": 100_000, "hidden_size": 2**24, "ffn_hidden_size": 2**24,
                 "attention_heads": 1, "kv_heads": 1, "vocabulary_size": 2**31}
        self.refused(2, "plan", self.config({"model": model, "training_state": "adam-mixed"}), words=["model", "2^63"])
        model["layers"] = 2**70
        self.refused(2, "plan", self.config({"model": model}), words=["layers"])

    def test_tensor_parallelism_that_does_not_divide(self):
        self.refused(2, "plan", SHIPPED, "--set", "parallelism.tensor=5", words=["parallelism.tensor", "5"])

    def test_more_stages_than_layers(self):
        self.refused(2, "plan", SHIPPED, "--set", "parallelism.pipeline=127", words=["parallelism.pipeline", "126"])

    def test_more_processes_than_ranks_before_anything_is_made(self):
        target = self.target()
        self.refused(2, "run", SHIPPED, "--set", "parallelism.tensor=1", "--set", "parallelism.pipeline=2", "--scale",
                     "0.00001", *FAST, "--target", target, processes=3, words=["3 processes", "2 ranks"])
        self.assertEqual(list(target.iterdir()), [])

    def test_unknown_runs_commands_and_options(self):
        self.refused(2, "plan", "llama3.1-405b-tp4pp3", words=[SHIPPED])
        self.refused(2, "plan", "no/such/file.json", words=["no/such/file.json"])
        self.refused(2, "rnu", SHIPPED, words=["rnu"])
        self.refused(2, "verifi", self.folder, words=["verifi is not a command of this version"])
        self.refused(2, "run", SHIPPED, "--no-such-option")
        self.refused(2)

    def test_a_bad_configuration_is_told_by_one_rank_only(self):
        outcome = self.ckptsim("run", SHIPPED, "--set", "scale=7", processes=4)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
        outcome = self.ckptsim("run", SHIPPED, "--no-such-option", processes=4)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)

    def test_settings_that_the_backend_would_ignore(self):
        target = self.target()
        for backend in ("direct", "buffered"):
            self.refused(2, "run", *SMALL, *FAST, "--target", target, "--backend", backend, "--set",
                         "storage.registered_buffers=on", words=["storage.registered_buffers", backend])
            for key in ("registered_files", "sqpoll", "iopoll"):
                self.refused(2, "run", *SMALL, *FAST, "--target", target, "--backend", backend, "--set",
                             f"storage.{key}=true", words=[f"storage.{key}", backend])
        self.refused(2, "run", *SMALL, *FAST, "--backend", "null", "--set", "storage.preallocate=true",
                     words=["storage.preallocate", "null"])

    def test_a_wrong_option_is_named_as_it_was_given(self):
        self.refused(2, "run", *SMALL, "--targt", "X", words=["not expected: --targt X; see ckptsim run --help"])
        self.refused(2, "run", *SMALL, "--passes", "0", words=["ckptsim: --passes: checkpoint.passes must be"])
        self.refused(2, "run", *SMALL, "--set", "checkpoint.passes=0", words=["ckptsim: --set: checkpoint.passes must be"])

    def test_a_dry_run_of_one_checkpoint_in_words_and_as_csv(self):
        command = ["run", *SMALL, *FAST, "--target", self.target(), "--dry-run"]
        self.assertIn("\n1 pass of 1 checkpoint: 0.0 GB would be written", self.ckptsim(*command).stdout)
        table = self.ckptsim(*command, "--csv").stdout.splitlines()
        self.assertEqual(table[0].split(",")[0], "ranks")
        self.assertEqual({line.count(",") for line in table}, {table[0].count(",")})

    def test_a_key_that_is_given_twice(self):
        self.refused(2, "run", *SMALL, *FAST, "--backend", "null", "--set", "checkpoint.passes=2",
                     words=["checkpoint.passes"])

    def test_plans_and_inspections_are_printed_once_under_a_launcher(self):
        alone = self.ckptsim("plan", SHIPPED, "--csv").stdout
        self.assertEqual(self.ckptsim("plan", SHIPPED, "--csv", processes=3).stdout, alone)

    def test_no_target(self):
        self.refused(2, "run", *SMALL, *FAST, words=["--target"])

    def test_null_needs_a_number_of_checkpoints(self):
        self.refused(2, "run", *SMALL, "--backend", "null", words=["checkpoints_per_pass"])


class BadTarget(EndToEnd):
    def test_missing_and_not_a_folder(self):
        self.refused(3, "run", *SMALL, *FAST, "--target", self.folder / "missing", words=["missing"])
        file = self.folder / "file"
        file.write_text("x")
        self.refused(3, "run", *SMALL, *FAST, "--target", file, words=["file"])
        self.refused(3, "run", *SMALL, *FAST, "--target", self.folder / "missing", words=["missing"], processes=3)

    def test_the_same_target_twice(self):
        target = self.target()
        link = self.folder / "link"
        link.symlink_to(target)
        self.refused(2, "run", *SMALL, *FAST, "--target", target, "--target", link, words=["twice", str(link)])

    def test_a_target_that_no_rank_would_write(self):
        first, second = self.target("first"), self.target("second")
        self.refused(2, "run", "llama3.1-8b-tp1pp1", "--scale", "0.0001", *FAST, "--target", first, "--target", second,
                     words=["2 targets", "1 rank"])
        self.assertEqual(list(first.iterdir()), [])

    def test_a_target_inside_another_targets_folder(self):
        target = self.target()
        self.run_ok(*SMALL, *FAST, "--target", target)
        for inside in (target / "ckptsim", target / "ckptsim" / SHIPPED, target / "ckptsim" / SHIPPED / "checkpoint_01"):
            self.refused(3, "run", *SMALL, *FAST, "--target", inside, words=[str(inside), "inside"])
        self.run_ok(*SMALL, *FAST, "--target", target)

    def test_no_space_says_needed_and_free_in_bytes_and_gb(self):
        target = self.target()
        self.refused(3, "run", SHIPPED, "--passes", "1", "--checkpoints-per-pass", "4", "--target", target,
                     words=["needed", "free", "bytes", "GB", str(target)])
        self.refused(3, "run", SHIPPED, "--target", target, processes=2, words=["bytes", "GB"])

    def test_a_target_in_use(self):
        target = self.target()
        command = [BINARY, "run", *SMALL, "--passes", "1000", "--checkpoints-per-pass", "1", "--target", str(target),
                   "--output", str(self.folder / "busy"), "--progress", "plain"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                              env=environment()) as process:
            try:
                process.stderr.readline()
                self.refused(3, "run", *SMALL, *FAST, "--target", target, words=[str(target), str(process.pid)])
                self.refused(3, "run", *SMALL, *FAST, "--target", target, processes=2, words=[str(target)])
            finally:
                process.kill()

    def test_what_this_program_did_not_make_is_left_alone(self):
        target = self.target()
        (target / "ckptsim").mkdir()
        (target / "ckptsim" / "thesis.tex").write_text("years of work")
        self.refused(3, "run", *SMALL, *FAST, "--target", target, words=["thesis.tex"])
        self.assertEqual((target / "ckptsim" / "thesis.tex").read_text(), "years of work")

    def test_a_foreign_file_among_the_checkpoints_stops_the_run_before_anything_is_removed(self):
        target = self.target()
        self.run_ok(*SMALL, *FAST, "--target", target)
        folder = target / "ckptsim" / SHIPPED / "checkpoint_01"
        (folder / "notes.txt").write_text("mine")
        before = sorted(path.name for path in folder.iterdir())
        self.refused(3, "run", *SMALL, *FAST, "--target", target, words=["notes.txt"])
        self.assertEqual(sorted(path.name for path in folder.iterdir()), before)

    def test_an_output_that_cannot_be_written(self):
        target = self.target()
        (self.folder / "taken").write_text("a file")
        self.refused(3, "run", *SMALL, *FAST, "--target", target, "--output", self.folder / "taken",
                     words=["taken", "--output"])
        self.refused(3, "run", *SMALL, *FAST, "--target", target, "--output", "", words=["--output"])

    def test_a_full_standard_output_is_an_error(self):
        for arguments in (["plan", *SMALL], ["run", *SMALL, *FAST, "--backend", "null", "--json"]):
            with open("/dev/full", "w") as full:
                outcome = subprocess.run([BINARY, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                         cwd=self.folder, timeout=60, env=environment())
            self.assertEqual(outcome.returncode, 4)
            self.assertIn("No space left on device", outcome.stderr)

    def test_a_target_without_permission(self):
        target = self.target()
        target.chmod(0o555)
        # Root may write everywhere, but not without the capability for it.
        prefix = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        for processes in (None, 2):
            self.refused(3, "run", *SMALL, *FAST, "--target", target, prefix=prefix, processes=processes,
                         words=[str(target), "Permission denied"])
        self.assertEqual(list(target.iterdir()), [])


class BadFile(EndToEnd):
    def test_inspect_of_what_is_no_archive(self):
        path = self.folder / "bad.pt"
        for content in (b"", b"PK", b"x" * 5000):
            path.write_bytes(content)
            self.refused(5, "inspect", path, words=["bad.pt"])
        for nothing in (self.folder / "missing.pt", self.folder, "/dev/zero"):
            self.refused(2, "inspect", nothing, words=[str(nothing)])

    def archive(self, pickled, root="archive"):
        path = self.folder / "hostile.pt"
        with zipfile.ZipFile(path, "w") as opened:
            opened.writestr(f"{root}/data.pkl", pickled)
            opened.writestr(f"{root}/{root}", "")
        return path

    def test_names_in_a_file_cannot_steer_the_terminal(self):
        name = "\x1b[2J\x9b31m\r\nckptsim: all is well\u202e"
        path = self.archive(pickle.dumps({name: 1, "text": name}, protocol=2), f"root{name}")
        for arguments in ([], ["--csv"], ["--markdown"], ["--json"]):
            outcome = self.ckptsim("inspect", path, *arguments)
            self.assertEqual(outcome.code, 0, outcome.stderr)
            self.assertIn("x1b[2J" if arguments != ["--json"] else "u001b[2J", outcome.stdout)
            self.assertRegex(outcome.stdout, r"\A[ -~\n]+\Z")
            if arguments == ["--csv"]:  # a quoted line feed stays within its cell
                self.assertEqual(len(list(csv.reader(io.StringIO(outcome.stdout)))), 3)
            else:
                self.assertNotIn("\nckptsim", outcome.stdout)
        self.assertEqual(json.loads(outcome.stdout)["scalars"][name], 1)
        refused = self.archive(pickle.dumps({name: 0.5, "other": 1}, protocol=2).replace(b"G", b"N"))
        config = self.folder / "run.json"
        config.write_text(json.dumps({name: 1}))
        for code, arguments in ((5, ("inspect", refused)), (2, ("inspect", self.folder / name[:4])), (2, ("plan", config)),
                                (2, ("plan", "llama3.1-8b-tp1pp1", "--set", f"{name}=1"))):
            outcome = self.ckptsim(*arguments)
            self.assertEqual(outcome.code, code, outcome.stderr)
            self.assertRegex(outcome.stderr, r"\Ackptsim: [ -~]+\n\Z")

    def test_inspection_of_many_names_takes_time_by_their_number(self):
        path = self.archive(pickle.dumps({f"value.{number}": number for number in range(200_000)}, protocol=2))
        outcome = self.ckptsim("inspect", path, "--json", timeout=60)
        self.assertEqual(len(json.loads(outcome.stdout)["scalars"]), 200_000)

    def test_inspect_finds_a_flipped_bit(self):
        target = self.target()
        self.run_ok(*SMALL, *FAST, "--target", target)
        path = target / "ckptsim" / SHIPPED / "checkpoint_01" / "layer_000-model_00-model_states.pt"
        self.assertEqual(self.ckptsim("inspect", path).code, 0)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        self.refused(5, "inspect", path, words=["CRC"])


if __name__ == "__main__":
    unittest.main()
