"""clean: removes exactly what runs made, says what, and leaves nothing half removed that looks whole."""
import csv
import json
import re
import signal
import subprocess
import unittest

import foreign
from support import BINARY, EndToEnd, checkpoint, environment

JOB = "llama3.1-8b-tp1pp1-dp8"
SMALL8B = [JOB, "--scale", "0.0001", "--set", "parallelism.tensor=2", "--set", "parallelism.pipeline=2", "--set",
           "parallelism.data=1", "--set", "parallelism.zero_stage=0"]  # 72 files and a manifest
FILES = 73


class Clean(EndToEnd):
    def filled(self, *names, checkpoints=1, name="target"):
        target = self.target(name)
        (target / "lost+found").mkdir()
        (target / "notes.txt").write_text("mine")
        for run in names or [JOB]:
            self.run_ok(*SMALL8B, "--passes", "1", "--checkpoints-per-pass", checkpoints, "--target", target, "--set",
                        f"name={run}")
        return target

    def clean(self, *arguments):
        outcome = self.ckptsim("clean", *arguments)
        self.assertEqual((outcome.code, outcome.stderr), (0, ""))
        return outcome.stdout

    def assert_only_foreign(self, target):
        self.assertEqual(sorted(path.name for path in target.rglob("*")), ["lost+found", "notes.txt"])

    def test_a_target_is_as_it_was_before_its_first_run(self):
        for below in ("", "ckptsim"):
            with self.subTest(below=below):
                target = self.filled("one", "two", checkpoints=2, name=f"target{below}")
                text = self.clean(target / below)
                self.assertRegex(text, rf"one +2 +{2 * FILES} ")
                self.assertIn(f"2 runs, 4 checkpoints, {4 * FILES} files", text)
                self.assert_only_foreign(target)
                self.refused(3, "clean", target, words=[str(target), "no target", "nothing was touched"])

    def test_says_the_same_in_every_format_and_a_dry_run_touches_nothing(self):
        target = self.filled("one", "two")
        before = foreign.record([target])
        size = sum(path.stat().st_size for path in (target / "ckptsim" / "one").rglob("*") if path.is_file())
        row = {"run": "one", "whole": True, "checkpoints": 1, "files": FILES, "bytes": size}
        for dry_run in (["--dry-run"], []):
            if not dry_run:
                self.assertEqual(foreign.record([target]), before)
                self.assertIn("| one", self.clean(target, "--dry-run", "--markdown"))
                rows = list(csv.DictReader(self.clean(target, "--dry-run", "--csv").splitlines()))
                self.assertEqual(rows[0], {key: str(value) for key, value in row.items() if key != "whole"})
                self.assertIn("Would remove", self.clean(target, "--dry-run"))
            found = json.loads(self.clean(target, "--json", *dry_run))
            self.assertEqual(found["runs"][0], row)
            self.assertEqual((found["checkpoints"], found["files"], found["marked_directory"], found["dry_run"]),
                             (2, 2 * FILES, True, bool(dry_run)))
        self.assert_only_foreign(target)

    def test_one_run_or_one_checkpoint(self):
        target = self.filled("one", "two", checkpoints=2)
        for dry_run in (["--dry-run"], []):
            text = self.clean(checkpoint(target, 2, "one"), *dry_run)
            self.assertIn(f": 1 checkpoint of run one, which keeps others, {FILES} files,", text)
        self.assertTrue((checkpoint(target, 1, "one") / "manifest.json").exists())
        self.assertIn("1 run, 1 checkpoint", self.clean(target, "--run", "one"))
        self.assertIn("1 run, 2 checkpoints", self.clean(target / "ckptsim" / "two"))
        self.refused(3, "clean", target, "--run", "two", words=["no run named two", "it holds none"])
        self.assertEqual(sorted(path.name for path in (target / "ckptsim").iterdir()), [".ckptsim-directory", ".lock"])
        self.assertIn("No runs", self.clean(target))
        self.assert_only_foreign(target)

    def test_the_last_checkpoint_takes_its_run_along(self):
        target = self.filled("one", "two")
        for dry_run in (["--dry-run"], []):
            found = json.loads(self.clean(checkpoint(target, 1, "one"), "--json", *dry_run))
            self.assertEqual([(run["run"], run["whole"]) for run in found["runs"]], [("one", True)])
        self.assertFalse((target / "ckptsim" / "one").exists())
        self.assertIn("1 run, 1 checkpoint,", self.clean(checkpoint(target, 1, "two")))

    def test_a_run_that_is_not_there_is_refused_with_those_that_are(self):
        target = self.filled("one", "two")
        for dry_run in (["--dry-run"], []):
            self.refused(3, "clean", target, "--run", "nope", *dry_run, words=["no run named nope", "it holds one, two"])
        self.assertTrue((checkpoint(target, 1, "one") / "manifest.json").exists())

    def test_without_permission_it_is_the_target_that_is_unsuitable(self):
        target, as_nobody = self.for_another_user(self.filled())
        before = foreign.record([target])
        done = as_nobody("clean", target)
        self.assertEqual(done.code, 3, done.stderr)
        self.assertIn("Permission denied", done.stderr)
        self.assertIn("as root", done.stderr)
        self.assertEqual(foreign.record([target]), before)

    def test_a_name_that_is_empty_is_not_all_runs(self):
        target = self.filled()
        for name in ("", "..", "a/b", ".lock"):
            self.refused(2, "clean", target, "--run", name, words=["--run"])
        self.refused(2, "clean", checkpoint(target, 1, JOB), "--run", JOB, words=["--run goes with a target"])
        self.assertEqual(len(list(target.rglob("*.pt"))), FILES - 1)

    def test_a_folder_that_is_no_target(self):
        folder = self.target("photos")
        (folder / "ckptsim").mkdir()
        (folder / "ckptsim" / "a.pt").write_text("not ours")
        before = foreign.record([folder])
        for place in (folder, folder / "ckptsim", folder / "missing", "/", ""):
            self.refused(3, "clean", place)
        self.assertEqual(foreign.record([folder]), before)

    def test_an_empty_folder_is_nobodys_until_a_run_takes_it(self):
        target = self.target()
        (target / "ckptsim").mkdir()
        for arguments in ([], ["--dry-run"]):
            self.refused(3, "clean", target, *arguments, words=[str(target / "ckptsim"), "is empty", "rmdir"])
            self.refused(3, "clean", target / "ckptsim", *arguments, words=["no target", "nothing was touched"])
        self.assertEqual(list((target / "ckptsim").iterdir()), [])
        self.run_ok(*SMALL8B, "--passes", "1", "--checkpoints-per-pass", 1, "--target", target)
        (target / "ckptsim" / "begun").mkdir()  # what a kill leaves of a run that had made no checkpoint's folder
        self.assertIn("2 runs, 1 checkpoint,", self.clean(target))
        self.assertEqual(list(target.iterdir()), [])

    def test_is_one_process(self):
        target = self.filled()
        self.refused(2, "clean", target, processes=2, words=["without mpirun"])
        self.assertTrue(checkpoint(target, 1, JOB).exists())

    def test_a_run_that_holds_the_target_keeps_it(self):
        target = self.filled("other")
        command = [BINARY, "run", *SMALL8B, "--passes", "1000", "--checkpoints-per-pass", "1", "--target", str(target),
                   "--output", str(self.folder / "busy"), "--progress", "plain"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=environment()) as process:
            try:
                self.assertIn("done", process.stderr.readline())
                for arguments in ([target], [target, "--run", "other"], [checkpoint(target, 1, "other")],
                                  [target, "--dry-run"]):
                    self.refused(3, "clean", *arguments, words=["another run is using", f"pid {process.pid} "])
                self.assertTrue((checkpoint(target, 1, "other") / "manifest.json").exists())
            finally:
                process.send_signal(signal.SIGKILL)
        self.clean(target)
        self.assert_only_foreign(target)

    def test_what_a_killed_run_or_tune_left_goes(self):
        target = self.filled()
        for command in (["run", *SMALL8B, "--passes", "1000", "--checkpoints-per-pass", "1", "--output",
                         self.folder / "killed"], ["tune", JOB, "--seconds", "60"]):
            with subprocess.Popen([BINARY, *map(str, command), "--target", str(target), "--progress", "plain"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env=environment()) as process:
                self.assertTrue(any("done" in line for line in process.stderr))
                process.send_signal(signal.SIGKILL)
        outcome = self.refused(3, "tune", JOB, "--seconds", "1", "--target", target, words=["ckptsim clean"])
        advice = re.search(r"\(ckptsim clean ([^)]*)\)", outcome.messages()[0]).group(1)
        self.clean(advice)
        self.assertFalse((target / "ckptsim" / "tune").exists())
        self.assertTrue(checkpoint(target, 1, JOB).exists())
        self.clean(target)
        self.assert_only_foreign(target)

    def test_killed_at_any_step_it_leaves_nothing_false_and_the_next_one_finishes(self):
        steps = [1, 2, 3, 40, FILES - 1, FILES, FILES + 1, FILES + 2, FILES + 3, FILES + 4, 2 * FILES]
        killed = 0
        for step in steps:
            with self.subTest(step=step):
                target = self.filled("one", "two", name=f"target{step}")
                outcome = self.ckptsim("clean", target,
                                       prefix=["strace", "-f", "-o", "/dev/null", "-e", "trace=unlinkat,fsync", "-e",
                                               f"inject=unlinkat:signal=KILL:when={step}"])
                killed += outcome.code != 0
                self.check_what_is_left(target)
                self.clean(target)
                self.assert_only_foreign(target)
        self.assertEqual(killed, len(steps))

    def test_killed_while_the_marked_folder_goes_the_next_one_finishes(self):
        outcomes = []
        for step in range(1, 5):
            with self.subTest(step=step):
                target = self.filled(name=f"target{step}")
                self.clean(target, "--run", JOB)
                outcome = self.ckptsim("clean", target,
                                       prefix=["strace", "-f", "-o", "/dev/null", "-e", "trace=unlinkat", "-e",
                                               f"inject=unlinkat:signal=KILL:when={step}"])
                left = sorted(path.name for path in (target / "ckptsim").glob("*"))
                outcomes.append((outcome.code != 0, left))
                if left:
                    self.clean(target)
                elif (target / "ckptsim").exists():  # nothing says whose it is: a run takes it, clean leaves it
                    self.refused(3, "clean", target, words=["is empty", "rmdir"])
                    (target / "ckptsim").rmdir()
                self.assert_only_foreign(target)
        self.assertEqual(outcomes, [(True, [".ckptsim-directory", ".lock"]), (True, [".lock"]), (True, []), (False, [])],
                         "three steps: marker, lock, folder")

    def check_what_is_left(self, target):
        """A checkpoint with its manifest has every file that the manifest names."""
        for manifest in (target / "ckptsim").rglob("manifest.json"):
            for file in json.loads(manifest.read_text())["files"]:
                self.assertEqual((manifest.parent / file["name"]).stat().st_size, file["file_bytes"])


if __name__ == "__main__":
    unittest.main()
