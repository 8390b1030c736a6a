"""run --resume: an interrupted run goes on where its journal ends, as the run that it was, or says why it cannot."""
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import tiny
from support import BINARY, EndToEnd, digests, environment, mpirun


class Resume(EndToEnd):
    def begun(self, checkpoints, *options, number=signal.SIGTERM, targets=1, processes=None, **settings):
        """A run that was told to end (or killed) once that many checkpoints were finished: its options and folder."""
        config = tiny.write_config(self.folder, **{"pause_seconds": 0.05, **settings})
        self.targets = [self.target(f"target{i}") for i in range(targets)]
        words = [str(config), *[word for path in self.targets for word in ("--target", str(path))], *options,
                 "--output", str(self.folder / "results")]
        command = [*(mpirun(processes) if processes else []), BINARY, "run", *words, "--progress", "plain"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment()) as process:
            for _ in range(checkpoints):
                line = process.stderr.readline()
                if line == "ckptsim: removing the pass before\n":
                    line = process.stderr.readline()
                self.assertIn(" done", line)
            # mpirun itself takes its time before it tells its processes.
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            os.kill(int(children.read_text().split()[-1]) if processes else process.pid, number)
            process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        return words, next((self.folder / "results").iterdir())

    def resume(self, words, folder, **keywords):
        outcome = self.ckptsim("run", *words, "--resume", folder, "--json", **keywords)
        self.assertEqual(outcome.code, 0, outcome.stderr)
        result = json.loads((folder / "result.json").read_text())
        self.assertEqual(json.loads(outcome.stdout), result)
        self.assertEqual(result["status"], "complete")
        return result

    def holds_once(self, result, folder, order):
        measured = [each for one in result["passes"] for each in one["checkpoints"]]
        self.assertEqual([tiny.place(each) for each in measured], order)
        self.assertEqual(tiny.journaled(folder), order)
        self.assertEqual([(one["pass"], one["warmup"]) for one in result["passes"]],
                         list(dict.fromkeys((n, warmup) for n, warmup, _ in order)))
        for one in result["passes"]:
            durations = [each["save"]["duration_ns"] / 1e9 for each in one["checkpoints"] if not each["redone"]]
            if durations:
                self.assertAlmostEqual(one["save_average_s"], sum(durations) / len(durations), places=9)
            else:
                self.assertIsNone(one["save_average_s"])
        return measured

    def shape(self, value):
        """A result without its figures: the same for two runs of one configuration."""
        if isinstance(value, dict):
            return {key: self.shape(member) for key, member in value.items()
                    if not key.endswith(("_ns", "_s", "_share", "_per_s", "_depth", "_words", "_reason", "_utc"))
                    and key not in ("resumes", "resumed", "command", "skew", "straggler_rank", "bound_by", "latency",
                                    "generator_bound", "max_rss_bytes", "available_bytes", "bindings", "redone",
                                    "earlier_run", "config", "path", "source")}
        return [self.shape(member) for member in value] if isinstance(value, list) else value

    def test_every_policy_ends_as_an_uninterrupted_run_would(self):
        for policy, targets, processes in (("truncate", 1, None), ("overwrite", 2, None), ("delete", 2, 3)):
            with self.subTest(policy):
                settings = {"between_passes": policy, "warmup_passes": 1, "passes": 5}
                words, folder = self.begun(5, targets=targets, processes=processes, **settings)
                finished = len(tiny.journaled(folder))
                result = self.resume(words, folder, processes=processes)
                order = tiny.sequence(warmup_passes=1, passes=5)
                measured = self.holds_once(result, folder, order)
                self.assertTrue(result["flags"]["resumed"])
                self.assertEqual([tiny.place(resume) for resume in result["resumes"]], [order[finished]])
                self.assertEqual(result["resumes"][0]["processes"], processes or 1)
                self.assertEqual([index for index, each in enumerate(measured) if each["redone"] and index != finished], [])
                held = [digests(path) for path in self.targets]
                shutil.rmtree(self.folder / "results")
                for path in self.targets:
                    shutil.rmtree(path)
                    path.mkdir()
                outcome = self.ckptsim("run", *words, processes=processes)
                self.assertEqual(outcome.code, 0, outcome.stderr)
                self.assertEqual([digests(path) for path in self.targets], held)
                self.assertEqual(self.shape(self.result()[0]), self.shape(result))
                shutil.rmtree(self.folder / "results")
                for path in self.targets:
                    shutil.rmtree(path)

    def test_a_run_that_is_interrupted_again_and_again_still_ends(self):
        words, folder = self.begun(1, passes=4)
        for _ in range(3):
            with subprocess.Popen([BINARY, "run", *words, "--resume", str(folder), "--progress", "plain"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as process:
                self.assertIn(" done", process.stderr.readline())
                process.send_signal(signal.SIGINT)
                _, stderr = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, stderr)
            self.assertIn(f"--resume {folder}", stderr)
            stored = json.loads((folder / "result.json").read_text())
            self.assertEqual(stored["status"], "interrupted")
            self.assertEqual([tiny.place(each) for one in stored["passes"] for each in one["checkpoints"]],
                             tiny.journaled(folder))
        result = self.resume(words, folder)
        self.holds_once(result, folder, tiny.sequence(passes=4))
        self.assertEqual(len(result["resumes"]), 4)

    def test_a_checkpoint_that_was_begun_is_redone_and_counts_no_more(self):
        words, folder = self.begun(4, number=signal.SIGKILL)
        finished = len(tiny.journaled(folder))
        number = tiny.sequence()[finished][2]
        at = tiny.checkpoint_folder(self.targets[0], number)
        (at / "manifest.json").unlink(missing_ok=True)  # as the run does before it writes the next one there
        result = self.resume(words, folder)
        measured = self.holds_once(result, folder, tiny.sequence())
        self.assertEqual([each["redone"] for each in measured],
                         [index == finished for index in range(len(measured))])

    def test_one_that_nobody_had_begun_is_not(self):
        # The signal meets the pause: it would have to be a second late to meet anything else.
        words, folder = self.begun(2, pause_seconds=1)
        self.assertEqual(len(tiny.journaled(folder)), 2)
        self.assertIsNotNone(tiny.manifest(tiny.checkpoint_folder(self.targets[0], 1)))
        result = self.resume(words, folder)
        self.assertFalse(any(each["redone"] for one in result["passes"] for each in one["checkpoints"]))

    def test_a_complete_run_says_so_and_a_lost_result_is_made_again(self):
        words, folder = self.begun(5)
        result = self.resume(words, folder)
        before = (folder / "journal.jsonl").read_bytes(), digests(self.targets[0])
        for lost in ((), ("result.json",), ("result.json", "checkpoints.csv")):
            for name in lost:
                (folder / name).unlink()
            outcome = self.ckptsim("run", *words, "--resume", folder)
            self.assertEqual(outcome.code, 0, outcome.stderr)
            self.assertIn("the run is complete", outcome.stderr)
            again = json.loads((folder / "result.json").read_text())
            for each in [each for one in result["passes"] + again["passes"] for each in one["checkpoints"]]:
                each["engine"]["journal_ns"] = None  # the one figure that no line has of itself
            self.assertEqual(again, result)
            self.assertTrue((folder / "checkpoints.csv").exists() or not lost)
        self.assertEqual(((folder / "journal.jsonl").read_bytes(), digests(self.targets[0])), before)

    def test_the_result_of_a_complete_run_is_its_journals_whatever_result_json_has_become(self):
        words, folder = self.begun(5)
        path = folder / "result.json"
        result = self.resume(words, folder)
        edited = json.loads(path.read_text())
        edited["config"]["content"]["seed"] = 777
        edited["passes"][0]["save_average_s"] = 1e-6

        def text():
            path.write_text(json.dumps(edited, indent=1) + "\n")

        spoils = {"edited": text, "no JSON": lambda: path.write_text("{"), "a FIFO": lambda: os.mkfifo(path),
                  "a link": lambda: path.symlink_to("/dev/zero"), "a dangling link": lambda: path.symlink_to("nowhere")}
        for name, spoil in spoils.items():
            with self.subTest(name):
                path.unlink()
                spoil()
                outcome = self.ckptsim("run", *words, "--resume", folder, "--json", timeout=30)
                self.assertEqual(outcome.code, 0, outcome.stderr)
                self.assertTrue(path.is_file() and not path.is_symlink())
                for made in (json.loads(outcome.stdout), json.loads(path.read_text())):
                    self.assertEqual(made["config"], result["config"])
                    self.assertEqual(made["passes"][0]["save_average_s"], result["passes"][0]["save_average_s"])

    def test_a_torn_line_is_dropped(self):
        words, folder = self.begun(3, number=signal.SIGKILL)
        with (folder / "journal.jsonl").open("ab") as journal:
            journal.write(b'{"type":"checkpoint","pass":1,"warm')
        result = self.resume(words, folder)
        self.holds_once(result, folder, tiny.sequence())
        self.assertFalse(tiny.journal_lines(folder)[1])

    def test_a_journal_without_checkpoints_resumes_at_the_first(self):
        words, folder = self.begun(2)
        journal = folder / "journal.jsonl"
        journal.write_bytes(journal.read_bytes().split(b"\n")[0] + b"\n")
        result = self.resume(words, folder)
        measured = self.holds_once(result, folder, tiny.sequence())
        self.assertFalse(any(each["redone"] for each in measured))
        self.assertEqual(result["environment"]["targets"][0]["earlier_run"]["files_removed"] > 0, True)

    def test_a_target_may_be_spelt_otherwise_and_progress_counts_all(self):
        words, folder = self.begun(2)
        link = self.folder / "link"
        link.symlink_to(self.targets[0])
        at = words.index("--target") + 1
        for spelling in (str(link), os.path.relpath(self.targets[0], self.folder)):
            words[at] = spelling
            if spelling == str(link):  # goes no further than to be taken up
                self.refused(2, "run", *words, "--passes", "7", "--resume", folder, words=["checkpoint.passes was 3"])
        outcome = self.ckptsim("run", *words, "--resume", folder, "--progress", "plain")
        self.assertEqual(outcome.code, 0, outcome.stderr)
        lines = re.findall(r"\((\d+)/(\d+)\) done", outcome.stderr)
        total = len(tiny.sequence())
        finished = total - len(lines)
        self.assertGreaterEqual(finished, 2)
        self.assertEqual(lines, [(str(number), str(total)) for number in range(finished + 1, total + 1)])

    def test_another_configuration_is_refused(self):
        words, folder = self.begun(2)
        before = (folder / "journal.jsonl").read_bytes(), digests(self.targets[0])
        other = self.target("other")
        for more, said in ((["--passes", "7"], ["checkpoint.passes was 3", "is 7 now"]),
                           (["--set", "content.seed=9"], ["content.seed was 1", "is 9 now"]),
                           (["--target", str(other)], ["storage.targets"]),
                           (["--backend", "buffered"], ["storage.backend was \"auto\"", "\"buffered\""])):
            with self.subTest(said):
                self.refused(2, "run", *words, *more, "--resume", folder, words=[str(folder), *said])
        self.assertEqual(((folder / "journal.jsonl").read_bytes(), digests(self.targets[0])), before)
        self.assertEqual(list(other.iterdir()), [])

    def test_a_choice_that_comes_out_differently_is_refused(self):
        words, folder = self.begun(2)
        journal = folder / "journal.jsonl"
        text = journal.read_text()
        header, rest = text.split("\n", 1)
        header = json.loads(header)
        used = header["effective"]["backend"]
        header["effective"]["backend"] = "direct" if used == "io_uring" else "io_uring"
        journal.write_text(json.dumps(header, separators=(",", ":")) + "\n" + rest)
        self.refused(2, "run", *words, "--resume", folder, words=["storage.backend", used, header["effective"]["backend"]])

    def test_automatic_checkpoints_a_pass_are_those_of_the_beginning(self):
        config = ["--set", "checkpoint.fill_fraction=0.5"]
        words, folder = self.begun(2, *config)
        journal = folder / "journal.jsonl"
        rows = [json.loads(line) for line in journal.read_text().splitlines()]
        rows[0]["config"]["checkpoint"]["checkpoints_per_pass"] = "auto"
        journal.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
        result = self.resume([*words, "--checkpoints-per-pass", "auto"], folder)
        self.holds_once(result, folder, tiny.sequence())

    def test_what_the_journal_says_must_be_there(self):
        words, folder = self.begun(4, checkpoints_per_pass=3)
        lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
        (folder / "journal.jsonl").write_text("".join(lines[:5]))  # one more may have been finished
        gone = tiny.checkpoint_folder(self.targets[0], 3)
        self.assertEqual(tiny.place(tiny.manifest(gone)), (1, False, 3))
        self.resume_refused_after(words, folder, lambda: next(gone.glob("*.pt")).unlink(), [str(gone), ".pt"])
        self.resume_refused_after(words, folder, lambda: (gone / "manifest.json").unlink(), [str(gone), "manifest.json"])
        self.resume_refused_after(words, folder, lambda: shutil.rmtree(gone), [str(gone)])

    def resume_refused_after(self, words, folder, damage, said):
        damage()
        before = (folder / "journal.jsonl").read_bytes(), digests(self.targets[0])
        self.refused(3, "run", *words, "--resume", folder, words=["the journal says", "checkpoint 3 of pass 1", *said])
        self.assertEqual(((folder / "journal.jsonl").read_bytes(), digests(self.targets[0])), before)

    def test_a_full_target_keeps_what_is_finished(self):
        words, folder = self.begun(3)
        before = digests(tiny.checkpoint_folder(self.targets[0], 2))
        # The probe of the target finds no space; a new run would now make some.
        prefix = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=pwrite64:error=ENOSPC:when=1+"]
        outcome = self.ckptsim("run", *words, "--resume", folder, prefix=prefix)
        self.assertIn(outcome.code, (3, 4), outcome.stderr)
        self.assertEqual(digests(tiny.checkpoint_folder(self.targets[0], 2)), before)

    def test_a_folder_without_a_journal_and_a_journal_that_is_none(self):
        words, folder = self.begun(2)
        self.refused(2, "run", *words, "--resume", self.folder / "nowhere", words=["nowhere", "journal.jsonl"])
        self.refused(2, "run", *words, "--resume", folder, "--dry-run", words=["--resume"])
        journal = folder / "journal.jsonl"
        text = journal.read_text()
        lines = text.splitlines(keepends=True)
        for damaged, said in ((text[1:], "line 1"), (lines[0] + lines[2] + lines[1], "line 2"),
                              (lines[0] + "{}\n" + lines[1], "line 2"), (lines[0] + lines[0], "line 2"), ("", "first line"),
                              (lines[0] + lines[1].replace('"file_bytes":', '"file_bytes":-'), "line 2"),
                              (lines[0] + "[" * 100000 + "\n" + lines[1], "nested"),
                              (lines[0].replace("ckptsim.journal/1", "ckptsim.journal/9"), "ckptsim.journal/1")):
            with self.subTest(said + damaged[:20]):
                journal.write_text(damaged)
                self.refused(5, "run", *words, "--resume", folder, words=[str(journal), said])

    def test_a_run_that_still_writes_is_not_resumed(self):
        words, folder = self.begun(2)
        with (folder / "journal.jsonl").open() as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            self.refused(3, "run", *words, "--resume", folder, words=["still writes"])
        config = tiny.write_config(self.folder, pause_seconds=600)
        target = self.target("busy")
        command = [BINARY, "run", str(config), "--target", str(target), "--output", str(self.folder / "busy-results"),
                   "--progress", "plain"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment()) as process:
            self.assertIn(" done", process.stderr.readline())
            busy = next((self.folder / "busy-results").iterdir())
            self.refused(3, "run", config, "--target", target, "--resume", busy, words=["still writes"])
            os.kill(process.pid, signal.SIGTERM)
            process.communicate(timeout=30)

    def test_a_load_that_was_interrupted_is_done_again(self):
        for load, saved in (("each", 1), ("end", 6)):
            with self.subTest(load):
                self.output = f"results-{load}"
                config = tiny.write_config(self.folder, load=load)
                target = self.target(load)
                words = [str(config), "--target", str(target), "--backend", "direct", "--output",
                         str(self.folder / self.output)]
                # Reads take half a second each; the manifests and the pages of the target are not read by pread64.
                slow = ["strace", "-f", "-qq", "-o", str(self.folder / f"slow-{load}"), "-e", "trace=pread64", "-e",
                        "inject=pread64:delay_enter=500000"]
                with subprocess.Popen([*slow, BINARY, "run", *words, "--progress", "plain"], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, env=environment()) as process:
                    for _ in range(saved):
                        self.assertIn(" done", process.stderr.readline())
                    program = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
                    os.kill(int(program), signal.SIGTERM)
                    _, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, stderr)
                folder = next((self.folder / self.output).iterdir())
                types = [line["type"] for line in tiny.journal_lines(folder)[0]]
                self.assertEqual(types, ["run"] + saved * ["checkpoint"])
                result = self.resume(words, folder)
                loads = [each["load"] for one in result["passes"] for each in one["checkpoints"]]
                expected = 6 * [True] if load == "each" else 4 * [False] + 2 * [True]
                self.assertEqual([each is not None for each in loads], expected)
                self.assertEqual([line["type"] for line in tiny.journal_lines(folder)[0]].count("load"), sum(expected))
                again = self.ckptsim("run", *words, "--resume", folder)
                self.assertIn("the run is complete", again.stderr)

    def test_without_a_drive(self):
        config = tiny.write_config(self.folder, pause_seconds=0.05)
        words = [str(config), "--backend", "null", "--output", str(self.folder / "results")]
        with subprocess.Popen([BINARY, "run", *words, "--progress", "plain"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment()) as process:
            self.assertIn(" done", process.stderr.readline())
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
        folder = next((self.folder / "results").iterdir())
        self.holds_once(self.resume(words, folder), folder, tiny.sequence())


if __name__ == "__main__":
    unittest.main()
