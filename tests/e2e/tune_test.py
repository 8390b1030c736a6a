"""tune: tries settings with the real engine, says which were best, and leaves nothing behind."""
import concurrent.futures
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time
import unittest

from support import BINARY, EndToEnd, SMALL, checkpoint, digests, environment

JOB = "llama3.1-8b-tp1pp1"
ONLY_PREALLOCATION = ["--set", "storage.block_bytes=1048576", "--set", "storage.queue_depth=2", "--set",
                      "storage.registered_files=false", "--set", "storage.sqpoll=false", "--set",
                      "storage.iopoll=false", "--set", "storage.huge_pages=auto"]


class Tune(EndToEnd):
    def tune(self, *arguments, job=JOB, seconds=3):
        outcome = self.ckptsim("tune", job, "--seconds", seconds, "--json", *arguments)
        self.assertEqual(outcome.code, 0, outcome.stderr)
        self.assertEqual(outcome.stderr, "")
        return json.loads(outcome.stdout)

    def assert_nothing_left(self, target):
        self.assertEqual([path for path in target.rglob("*") if path.name not in (".lock", ".ckptsim-directory")],
                         [target / "ckptsim"])

    def test_its_best_is_a_part_of_a_configuration(self):
        target = self.target()
        start = time.monotonic()
        found = self.tune("--target", target)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(set(found["best"]), {"storage"})
        self.assertLessEqual({"block_bytes", "queue_depth", "preallocate"}, set(found["best"]["storage"]))
        run = {"name": "tuned", "model": "llama3.1-8b", **found["best"]}
        (self.folder / "tuned.json").write_text(json.dumps(run))
        plan = self.ckptsim("plan", "tuned.json")
        self.assertEqual(plan.code, 0, plan.stderr)
        self.assert_nothing_left(target)

    def test_what_it_tried_is_what_it_wrote(self):
        found = self.tune("--target", self.target(), *ONLY_PREALLOCATION, "--set", "scale=0.0005", seconds=60)
        plan = json.loads(self.ckptsim("plan", JOB, "--set", "scale=0.0005", "--json").stdout)
        self.assertEqual(found["checkpoint"]["file_bytes"], plan["file_bytes"])
        self.assertEqual(found["checkpoint"]["files"], plan["files"])
        self.assertEqual([list(trial["settings"].values()) for trial in found["tried"]], [[False], [True]])
        measured = sum(len(trial["screened_gb_per_s"]) + len(trial["compared_gb_per_s"]) for trial in found["tried"])
        self.assertEqual(found["checkpoints"], measured)
        self.assertEqual(found["written_bytes"], measured * plan["file_bytes"])
        self.assertGreaterEqual(found["comparisons"], 3)
        self.assertEqual(found["best"]["storage"]["block_bytes"], 1048576)
        self.assertEqual(found["best"]["storage"]["queue_depth"], 2)
        better = found["verdict"] == "better"
        self.assertEqual(found["best"]["storage"]["preallocate"], better)
        self.assertEqual(found["gain"] > found["noise"], better)

    def test_a_backend_without_a_queue_has_no_depth_to_vary(self):
        found = self.tune("--target", self.target(), "--set", "storage.backend=direct")
        self.assertEqual(found["backend"], "direct")
        self.assertNotIn("queue_depth", found["best"]["storage"])
        self.assertNotIn("storage.queue_depth", found["tried"][0]["settings"])

    def test_text_ends_with_the_settings_and_how_sure_they_are(self):
        outcome = self.ckptsim("tune", JOB, "--seconds", 3, "--target", self.target())
        self.assertEqual(outcome.code, 0, outcome.stderr)
        body, sentence = outcome.stdout.rstrip("\n").rsplit("\n", 1)
        json.loads(body[body.index("\n{\n"):])
        self.assertIn("configured ones", sentence)
        self.assertIn("as configured", body)

    def test_other_runs_on_the_target_survive(self):
        target = self.target()
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target)
        before = digests(checkpoint(target))
        self.assertEqual(len(before), 520)
        self.tune("--target", target)
        self.assertEqual(digests(checkpoint(target)), before)
        self.assertTrue((checkpoint(target) / "manifest.json").exists())
        self.assertFalse((target / "ckptsim" / "tune").exists())

    def test_a_run_that_is_called_tune_is_not_replaced(self):
        target = self.target()
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target, "--set", "name=tune")
        before = digests(target)
        self.refused(3, "tune", JOB, "--target", target, words=["ckptsim/tune", "remove it"])
        self.assertEqual(digests(target), before)

    def test_refusals_of_the_command_line(self):
        target = self.target()
        self.refused(2, "tune", JOB, words=["--target"])
        self.refused(2, "tune", JOB, "--target", target, "--set", "storage.backend=null", "--set",
                     "checkpoint.checkpoints_per_pass=1", words=["null"])
        self.refused(2, "tune", JOB, "--target", target, "--set", "storage={}", words=["--set"])
        self.refused(2, "tune", JOB, "--target", target, "--seconds", "0", words=["--seconds"])
        self.refused(2, "tune", JOB, "--target", target, processes=2, words=["without mpirun"])
        self.assertEqual(list(target.iterdir()), [])

    def test_refusals_of_the_target(self):
        target = self.target()
        self.refused(3, "tune", JOB, "--target", target / "missing", words=["missing"])
        self.tune("--target", target)
        inside = target / "ckptsim" / "inside"
        inside.mkdir()
        self.refused(3, "tune", JOB, "--target", inside, words=["inside"])
        self.assertEqual(list(inside.iterdir()), [])
        inside.rmdir()
        with (target / "ckptsim" / ".lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refused(3, "tune", JOB, "--target", target, words=[str(target)])

    def test_an_error_while_writing_ends_it_and_leaves_nothing(self):
        target = self.target()
        limited = ["bash", "-c", 'ulimit -f 1000; exec "$@"', "limited"]
        self.refused(4, "tune", JOB, "--target", target, prefix=limited, words=["cannot write", "ulimit -f"])
        self.assert_nothing_left(target)

    def started(self, target, *arguments):
        """A tune that has written its first checkpoint."""
        command = [BINARY, "tune", JOB, "--target", str(target), "--progress", "plain", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment())
        self.assertIn("checkpoint 1 done", process.stderr.readline())
        return process

    def test_no_other_process_gets_the_lock_between_checkpoints(self):
        target = self.target()
        with self.started(target, "--seconds", "3", "--json") as process:
            self.refused(3, "run", *SMALL, "--target", target, words=["another run", f"pid {process.pid} "])
            output = concurrent.futures.ThreadPoolExecutor(1).submit(process.communicate)
            tries = 0
            with (target / "ckptsim" / ".lock").open("r+") as lock:
                while True:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        tries += 1
                self.assertFalse((target / "ckptsim" / "tune").exists())
            stdout, stderr = output.result(timeout=60)
        self.assertEqual(process.returncode, 0, stderr)
        self.assertGreater(json.loads(stdout)["checkpoints"], 2)
        self.assertGreater(tries, 100)
        self.assert_nothing_left(target)

    def test_a_closed_session_ends_it_and_leaves_nothing(self):
        target = self.target()
        with self.started(target) as process:
            for _ in range(2):  # the shell's and the kernel's
                process.send_signal(signal.SIGHUP)
            _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("interrupted", stderr.splitlines()[-1])
        self.assert_nothing_left(target)

    def test_under_nohup_a_closed_session_does_not_end_it(self):
        target = self.target()
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process = self.started(target, "--seconds", "2")
        finally:
            signal.signal(signal.SIGHUP, before)
        with process:
            process.send_signal(signal.SIGHUP)
            _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, stderr)
        self.assert_nothing_left(target)

    def test_an_interrupt_ends_it_and_leaves_nothing(self):
        target = self.target()
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.started(target) as process:
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, stderr)
            self.assertEqual(stdout, "")
            self.assertIn("interrupted", stderr.splitlines()[-1])
            self.assert_nothing_left(target)

    @contextlib.contextmanager
    def mounted(self, *arguments):
        folder = self.target("mounted")
        subprocess.run(["mount", *[str(a) for a in arguments], str(folder)], check=True, capture_output=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True, capture_output=True)

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_a_setting_that_the_file_system_cannot_do_is_reported_and_not_fatal(self):
        image = self.folder / "image"
        with image.open("wb") as file:
            file.truncate(512 << 20)
        subprocess.run(["mkfs.ext2", "-q", "-F", str(image)], check=True, capture_output=True)
        with self.mounted("-o", "loop", image) as folder:
            found = self.tune("--target", folder, *ONLY_PREALLOCATION, seconds=60)
            self.assertIn("storage.preallocate", found["tried"][1]["refused"])
            self.assertEqual(found["verdict"], "not_better")
            self.assertIs(found["best"]["storage"]["preallocate"], False)
            self.refused(3, "tune", JOB, "--target", folder, "--set", "storage.preallocate=true",
                         words=["storage.preallocate"])
            self.assertFalse((folder / "ckptsim" / "tune").exists())

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_a_target_without_direct_io_or_space_is_refused(self):
        with self.mounted("-t", "tmpfs", "-o", "size=512m", "none") as folder:
            self.refused(3, "tune", JOB, "--target", folder, words=[str(folder)])
            self.tune("--target", folder, "--set", "storage.backend=buffered")
            self.refused(3, "tune", JOB, "--target", folder, "--set", "scale=0.5", "--set", "storage.backend=buffered",
                         words=["no space"])
            self.assertEqual(list(folder.rglob("*.pt")), [])


if __name__ == "__main__":
    unittest.main()
