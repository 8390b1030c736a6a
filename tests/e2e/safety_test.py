"""What a run may touch: its own folder, and in it what it made. Foreign things stay as they are, whatever it ends with."""
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import unittest

import foreign
from support import BINARY, EndToEnd, checkpoint, environment, mpirun

JOB = "llama3.1-8b-tp1pp1-dp8"
SMALL8B = [JOB, "--scale", "0.0001", "--set", "parallelism.tensor=2", "--set", "parallelism.pipeline=2", "--set",
           "parallelism.data=1", "--set", "parallelism.zero_stage=0"]  # 72 files, 4 ranks
UNSYNCED = ["--set", "checkpoint.fsync=off"]  # where time is not what a test is about
FAST = ["--passes", "2", "--checkpoints-per-pass", "1"]
TUNE = ["tune", JOB, "--seconds", "1", "--set", "scale=0.0001"]
CHANGING = ("unlink,unlinkat,rmdir,rename,renameat,renameat2,truncate,ftruncate,open,openat,openat2,creat,mkdir,mkdirat,"
            "link,linkat,symlink,symlinkat,mknod,mknodat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,utimensat,"
            "setxattr,fallocate")
CALL = re.compile(r"^\d+ +(\w+)\((.*)")
PLACE = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
READS_ONLY = re.compile(r"\bO_RDONLY\b")


class Safety(EndToEnd):
    def run_on(self, target, *more, **keywords):
        return self.ckptsim("run", *SMALL8B, *FAST, *UNSYNCED, "--target", target, "--output", self.folder / "results",
                            *more, **keywords)


class ForeignThings(Safety):
    def places_inside(self, target):
        marked = target / "ckptsim"
        return [marked, marked / JOB, checkpoint(target, 1, JOB), marked / "other", checkpoint(target, 1, "other")]

    def test_random_trees_are_left_as_they_were_whatever_the_exit_code(self):
        for seed in range(4):
            with self.subTest(seed=seed):
                self.random_tree(random.Random(seed))

    def random_tree(self, dice):
        elsewhere = self.target("elsewhere")
        (elsewhere / "precious").write_text("precious")
        target = self.target("target")
        beside = [foreign.make_thing(dice, target, elsewhere) for _ in range(dice.randrange(4))]
        for name in (JOB, "other"):
            outcome = self.run_on(target, "--set", f"name={name}")
            self.assertEqual(outcome.code, 0, outcome.stderr)
        kept = target / "kept"
        os.link(next(checkpoint(target, 1, JOB).glob("*.pt")), kept)
        self.commands(target, [elsewhere, kept, *beside], inside=False)

        for name in (JOB, "other"):
            self.assertEqual(self.run_on(target, "--set", f"name={name}").code, 0)
        place = dice.choice(self.places_inside(target))
        inside = [foreign.make_thing(dice, place, elsewhere) for _ in range(1 + dice.randrange(3))]
        if all(self.is_recognised(path, place, target) for path in inside):
            (place / "notes").write_text("surely foreign")
            inside.append(place / "notes")
        untouched = [path for path in inside if not self.is_recognised(path, place, target)]
        self.commands(target, [elsewhere, kept, *beside, *untouched], inside=True)
        for path in (target, elsewhere):
            shutil.rmtree(path)

    def is_recognised(self, path, place, target):
        """What cannot be told from this program's own: a plain file of a name that it gives there."""
        if path.is_symlink() or not path.is_file():
            return False  # a folder in ckptsim/ holds the file "inside"
        return "checkpoint_" in place.name and path.name in (
            "layer_000-model_00-model_states.pt", "manifest.json", "manifest.json.tmp")

    def commands(self, target, things, inside):
        before = foreign.record(things)
        codes = []
        for command in (["run", *SMALL8B, *FAST, *UNSYNCED, "--output", self.folder / "results", "--target", target],
                        ["run", *SMALL8B, *FAST, "--dry-run", "--target", target],
                        [*TUNE, "--target", target], ["clean", target, "--dry-run"], ["clean", target]):
            outcome = self.ckptsim(*command)
            codes.append(outcome.code)
            self.assertEqual(foreign.record(things), before, command)
        self.assertEqual(codes, 5 * [3] if inside else 5 * [0])
        self.assertEqual((target / "ckptsim").exists(), inside)

    def test_a_refusal_touches_no_checkpoint_and_names_the_thing(self):
        target = self.target()
        self.assertEqual(self.run_on(target, "--set", "name=other").code, 0)
        self.assertEqual(self.run_on(target).code, 0)
        own = sorted((target / "ckptsim").glob("*/*"))
        thing = checkpoint(target, 1, "other") / "notes.txt"
        thing.write_text("years of work")
        before = foreign.record(own)
        for processes in (None, 3):
            outcome = self.run_on(target, processes=processes)
            self.assertEqual(outcome.code, 3, outcome.stderr)
            self.assertIn(str(thing), outcome.messages()[0])
            self.assertIn("move it away", outcome.messages()[0])
            self.assertEqual(foreign.record(own), before)

    def all_refused(self, target, thing):
        """run, tune and clean stop with exit code 3 and leave all that the target holds as it is."""
        def held():  # of a lock file beside the marker it is the line alone that may be another
            found = foreign.record([target])
            lock = str(target / "ckptsim" / ".lock")
            if thing != target:
                found[lock] = found[lock][:2]
            return found

        before = held()
        for command in (["run", *SMALL8B, *FAST, *UNSYNCED, "--output", self.folder / "results", "--target", target],
                        [*TUNE, "--target", target], ["clean", target, "--dry-run"], ["clean", target]):
            outcome = self.ckptsim(*command)
            self.assertEqual(outcome.code, 3, (command, outcome.stderr))
            self.assertIn(str(thing), outcome.messages()[0])
            self.assertTrue(held() == before, command)  # a difference would be as long as the files

    def test_torch_files_and_folders_of_somebody_else_in_a_checkpoint_are_foreign(self):
        target = self.target()
        self.assertEqual(self.run_on(target).code, 0)
        folder = checkpoint(target, 1, JOB)
        for name in ("my_thesis_model.pt", "mp_rank_0_model_states.pt", "mp_rank_00_model_states.pt.pt", "manifest_2.json"):
            with self.subTest(name=name):
                (folder / name).write_text("years of work")
                self.all_refused(target, folder / name)
                (folder / name).unlink()
        (folder / "mine").mkdir()
        self.all_refused(target, folder / "mine")
        (folder / "mine" / "w.pt").write_text("years of work")
        self.all_refused(target, folder / "mine")
        shutil.rmtree(folder / "mine")
        self.assertEqual(self.run_on(target).code, 0)

    def test_an_unmarked_folder_with_a_lock_or_a_marker_of_somebody_else_is_foreign(self):
        target = self.target()
        marked = target / "ckptsim"
        marked.mkdir()
        for name in (".lock", ".ckptsim-directory.tmp", ".ckptsim-directory"):
            with self.subTest(name=name):
                (marked / name).write_text("years of work\n")
                self.all_refused(target, target)
                (marked / name).unlink()
        (marked / ".lock").write_text("pid 4711 on host far since 2026-11-30T18:37:50Z\n")
        self.assertEqual(self.run_on(target).code, 0)

    def test_the_result_does_not_go_among_the_checkpoints(self):
        target = self.target()
        outcome = self.ckptsim("run", *SMALL8B, *FAST, "--target", target, "--output", target / "ckptsim" / "results")
        self.assertEqual(outcome.code, 3, outcome.stderr)
        self.assertIn("--output", outcome.messages()[0])
        self.assertEqual(self.run_on(target).code, 0)

    def test_what_a_kill_left_of_a_probe_goes(self):
        target = self.target()
        self.assertEqual(self.run_on(target).code, 0)
        stray = target / "ckptsim" / ".ckptsim-probe-aB3xYz"
        stray.write_text("")
        self.assertEqual(self.run_on(target).code, 0)
        self.assertFalse(stray.exists())


class BetweenPasses(Safety):
    """A run that pauses between two checkpoints, while something else takes the place of what it made."""
    def started(self, target, policy):
        command = [BINARY, "run", *SMALL8B, *FAST, "--target", str(target), "--output", str(self.folder / "results"),
                   "--progress", "plain", "--set", "checkpoint.pause_seconds=4", "--set",
                   f"checkpoint.between_passes={policy}"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())

    def swaps(self):
        """Name, what is done to a target, and the path that the message names."""
        def replaced(level):
            def swap(target, elsewhere):
                place = target / level
                place.rename(target / "moved")
                shutil.copytree(target / "moved", elsewhere / "copy")
                place.symlink_to(elsewhere / "copy")
                return place
            return swap

        def file_by(make):
            def swap(target, elsewhere):
                file = sorted(checkpoint(target, 1, JOB).glob("*.pt"))[3]
                file.unlink()
                make(file, elsewhere / "precious")
                return file
            return swap

        return {"ckptsim": replaced("ckptsim"), "run": replaced(f"ckptsim/{JOB}"),
                "checkpoint": replaced(f"ckptsim/{JOB}/checkpoint_01"),
                "link": file_by(lambda file, precious: file.symlink_to(precious)),
                "hard link": file_by(lambda file, precious: os.link(precious, file)),
                "fifo": file_by(lambda file, precious: os.mkfifo(file))}

    def test_what_takes_the_place_of_its_own_is_neither_followed_nor_written(self):
        cases = []
        for policy in ("truncate", "overwrite"):
            for name, swap in self.swaps().items():
                target = self.target(f"{name} {policy}")
                elsewhere = self.target(f"elsewhere {name} {policy}")
                (elsewhere / "precious").write_text("precious")
                cases.append((name, swap, target, elsewhere, policy))
        with contextlib.ExitStack() as stack:
            running = []
            for name, swap, target, elsewhere, policy in cases:  # the next one starts while this one pauses
                process = stack.enter_context(self.started(target, policy))
                self.assertIn("done", process.stderr.readline())
                named = swap(target, elsewhere)
                self.assertIsNone(process.poll(), "the swap came too late to show anything")
                running.append((name, policy, elsewhere, process, named, foreign.record([elsewhere])))
            for name, policy, elsewhere, process, named, before in running:
                with self.subTest(name=name, policy=policy):
                    _, stderr = process.communicate(timeout=60)
                    self.assertEqual(process.returncode, 3, stderr)
                    self.assertIn(str(named), stderr.splitlines()[-1])
                    self.assertEqual(foreign.record([elsewhere]), before)


class Locks(Safety):
    def busy(self, target, prefix=()):
        command = [*prefix, BINARY, "run", *SMALL8B, "--passes", "1000", "--checkpoints-per-pass", "1", "--target",
                   str(target), "--output", str(self.folder / "busy"), "--progress", "plain"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn("done", process.stderr.readline())
        return process

    def test_a_second_run_is_refused_by_name_alone_and_under_mpirun_and_a_killed_one_is_no_obstacle(self):
        target = self.target()
        process = self.busy(target)
        for processes in (None, 2):
            outcome = self.run_on(target, processes=processes)
            self.assertEqual(outcome.code, 3, outcome.stderr)
            self.assertIn(f"pid {process.pid} on host", outcome.messages()[0])
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertIn(f"pid {process.pid} ", (target / "ckptsim" / ".lock").read_text())
        outcome = self.run_on(target)
        self.assertEqual((outcome.code, outcome.stderr), (0, ""))

    def test_a_second_mpirun_is_refused(self):
        target = self.target()
        process = self.busy(target, prefix=mpirun(2))
        outcome = self.run_on(target, processes=2)
        self.assertEqual(outcome.code, 3, outcome.stderr)
        self.assertIn("another run is using", outcome.messages()[0])
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        self.assertEqual(self.run_on(target, processes=2).code, 0)

    @unittest.skipUnless(os.geteuid() == 0, "namespaces need root")
    def test_a_run_of_another_host_on_a_shared_target_is_named_with_its_host(self):
        target = self.target()
        self.busy(target, prefix=["unshare", "--uts", "sh", "-c", 'hostname far-away; exec "$@"', "sh"])
        outcome = self.run_on(target)
        self.assertEqual(outcome.code, 3, outcome.stderr)
        self.assertIn("on host far-away", outcome.messages()[0])


class SystemCalls(Safety):
    def changed(self, *arguments):
        """Every path that the command makes, opens to write, cuts, renames or removes."""
        log = self.folder / "strace.log"
        outcome = self.ckptsim(*arguments, prefix=["strace", "-f", "-y", "-s", "4096", "-e", f"trace={CHANGING}", "-o",
                                                   str(log)])
        self.assertEqual(outcome.code, 0, outcome.stderr)
        paths = []
        for line in log.read_text().splitlines():
            match = CALL.match(line)
            if match is None or match.group(1) not in CHANGING.split(",") or " = -1 " in line:
                continue
            call, rest = match.groups()
            if call in ("open", "openat", "openat2") and READS_ONLY.search(rest) and "O_CREAT" not in rest:
                continue
            places = [os.path.join(folder or str(self.folder), name) for folder, name in PLACE.findall(rest)]
            places = places or [match.group(1) for match in [DESCRIPTOR.match(rest)] if match]
            self.assertTrue(places, line)
            paths += [os.path.normpath(path) for path in places]
        return paths

    def test_nothing_is_changed_outside_the_marked_folder_and_the_output(self):
        target = self.target()
        output = self.folder / "results"
        for command in (["run", *SMALL8B, *FAST, "--target", target, "--output", output],
                        ["run", *SMALL8B, *FAST, "--target", target, "--output", output, "--set",
                         "checkpoint.between_passes=delete", "--set", "storage.preallocate=true"],
                        [*TUNE, "--target", target], ["clean", target, "--dry-run"], ["clean", target]):
            paths = self.changed(*command)
            allowed = (target / "ckptsim", output)
            outside = [path for path in paths
                       if not any(pathlib.Path(path) == one or one in pathlib.Path(path).parents for one in allowed)]
            self.assertEqual(outside, [], command)
            self.assertEqual(len(paths) == 0, "--dry-run" in command, "the check sees what there is to see")


@unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
class Space(Safety):
    @contextlib.contextmanager
    def ext4(self, megabytes):
        image = self.folder / "image"
        with image.open("wb") as file:
            file.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(image)], check=True, capture_output=True)
        folder = self.target("mounted")
        subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True, capture_output=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True, capture_output=True)

    def leave(self, folder, free_bytes):
        """Fills the file system to that many free bytes, rounded down to blocks."""
        hog = folder / "hog"
        hog.unlink(missing_ok=True)
        os.sync()
        facts = os.statvfs(folder)
        with hog.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, facts.f_bavail * facts.f_frsize - free_bytes // 4096 * 4096)
        # The hog's own blocks of extents come from what is left.
        facts = os.statvfs(folder)
        with hog.open("r+b") as file:
            file.truncate(hog.stat().st_size - (free_bytes // 4096 * 4096 - facts.f_bavail * facts.f_frsize))
        facts = os.statvfs(folder)
        self.assertEqual(facts.f_bavail * facts.f_frsize, free_bytes // 4096 * 4096)

    def test_a_target_that_just_fits_runs_to_the_end_and_one_that_just_does_not_is_refused_at_once(self):
        with self.ext4(64) as folder:
            outcome = self.ckptsim("run", *SMALL8B, "--checkpoints-per-pass", "1000", "--target", folder)
            self.assertEqual(outcome.code, 3, outcome.stderr)
            needed = int(re.search(r"(\d+) bytes \([^)]*\) needed", outcome.messages()[0]).group(1)) // 1000
            fits = -(-needed // 4096) * 4096
            for policy in ("truncate", "overwrite", "delete"):
                with self.subTest(policy=policy):
                    shutil.rmtree(checkpoint(folder, 1, JOB).parent, ignore_errors=True)
                    arguments = ["--set", f"checkpoint.between_passes={policy}"]
                    self.leave(folder, fits - 4096)
                    outcome = self.run_on(folder, *arguments)
                    self.assertEqual(outcome.code, 3, outcome.stderr)
                    self.assertIn("no space for 1 checkpoint", outcome.messages()[0])
                    self.assertEqual(list(folder.rglob("*.pt")), [])
                    self.leave(folder, fits)
                    outcome = self.run_on(folder, *arguments)
                    self.assertEqual(outcome.code, 0, outcome.stderr)
                    outcome = self.run_on(folder, *arguments)
                    self.assertEqual(outcome.code, 0, "what the first run left counts as free: " + outcome.stderr)


if __name__ == "__main__":
    unittest.main()
