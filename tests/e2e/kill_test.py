"""Kills at random moments, of runs over every policy and of one and two targets, alone and under mpirun: what was finished
stays finished, nothing passes for finished that is not, each run is resumed to its end, and `verify` says of every
checkpoint what its CRCs say here. CKPTSIM_KILLS says how many: fifty in the ordinary suite, two hundred with the label
slow."""
import json
import os
import pathlib
import random
import signal
import subprocess
import time
import unittest

import tiny
from support import BINARY, EndToEnd, digests, environment, mpirun

KILLS = int(os.environ.get("CKPTSIM_KILLS", 50))
PER_PASS = 2
SEED = int(os.environ.get("CKPTSIM_KILL_SEED", random.SystemRandom().randrange(1 << 32)))


class Kill(EndToEnd):
    def setUp(self):
        super().setUp()
        print(f"CKPTSIM_KILL_SEED={SEED}")  # the moments are not the same again, but the choices are
        self.random = random.Random(SEED)

    def command(self, case, *more):
        return [BINARY, "run", str(case["config"]), *case["options"], "--no-progress", "--output", str(case["output"]),
                *more]

    def case(self, number, policy, targets, passes):
        folder = self.folder / f"{number}-{policy}-{targets}"
        folder.mkdir()
        paths = [folder / f"target{i}" for i in range(targets)]
        for path in paths:
            path.mkdir()
        options = [word for path in paths for word in ("--target", str(path))]
        options += ["--backend", ("buffered", "direct", "io_uring")[number % 3], "--set", "checkpoint.fsync=off"]
        return {"config": tiny.write_config(folder, passes=passes, between_passes=policy), "targets": paths,
                "options": options, "output": folder / "results", "policy": policy,
                "order": tiny.sequence(passes, PER_PASS)}

    def result_folder(self, case):
        found = sorted(case["output"].glob("*/journal.jsonl")) if case["output"].exists() else []
        return found[0].parent if found else None

    def killed(self, case, arguments, processes, longest):
        """Starts it and kills it after a random time, all its processes. True where it had ended before."""
        command = (mpirun(processes) if processes else []) + arguments
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment(), start_new_session=True)
        try:
            _, stderr = process.communicate(timeout=self.random.uniform(0.01, longest))
            self.assertEqual(process.returncode, 0, stderr)
            return True
        except subprocess.TimeoutExpired:
            # mpirun's own death would leave its ranks to find out by themselves: one of them is killed.
            victims = [process.pid]
            if processes:
                children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
                victims = [int(pid) for pid in children.split()]
                victims = [self.random.choice(victims)] if victims else [process.pid]
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            process.communicate(timeout=60)
            return False

    def check(self, case, before):
        """After a kill: nothing that was journaled is lost, and each manifest vouches for what is there."""
        folder = self.result_folder(case)
        finished = tiny.journaled(folder)
        self.assertEqual(finished[:len(before)], before)
        self.assertEqual(finished, case["order"][:len(finished)])
        whole = []
        must = tiny.present_after(len(finished), case["order"], PER_PASS, case["policy"])
        for target in case["targets"]:
            for number in range(1, PER_PASS + 1):
                manifest = tiny.manifest(tiny.checkpoint_folder(target, number))  # asserts that it is true
                whole += [] if manifest is None else [tiny.checkpoint_folder(target, number)]
                if number in must:
                    self.assertIsNotNone(manifest, f"{number} of {target} after {finished}")
                    self.assertEqual(tiny.place(manifest), must[number])
                elif manifest is not None:
                    self.assertIn(tiny.place(manifest), case["order"][:len(finished) + 1])
        self.assertEqual(self.verified(case), {str(folder): "right" for folder in whole})
        if whole:
            self.damage_one(case, whole)
        return finished

    def verified(self, case):
        """What `verify` says of each checkpoint that exists."""
        outcome = subprocess.run([BINARY, "verify", *map(str, case["targets"]), "--json"], capture_output=True, text=True,
                                 timeout=60, env=environment(), check=False)
        self.verifications += 1
        if not outcome.stdout:
            self.assertEqual(outcome.returncode, 3, outcome.stderr)
            self.assertRegex(outcome.stderr, "holds no (complete )?checkpoint")
            return {}
        report = json.loads(outcome.stdout)
        results = {one["path"]: one["result"] for one in report["checkpoints"]}
        self.assertEqual(len(results), len(report["checkpoints"]))
        # A checkpoint is complete where each target has the part that the same pass wrote.
        places = {path: tiny.place(json.loads((pathlib.Path(path) / "manifest.json").read_bytes())) for path in results}
        for one in report["checkpoints"]:
            parts = [str(tiny.checkpoint_folder(target, one["checkpoint"])) for target in case["targets"]]
            self.assertEqual(one["complete"], {places.get(part) for part in parts} == {places[one["path"]]}, one)
        complete = any(one["complete"] for one in report["checkpoints"])
        empty = [target for target in case["targets"] if not any(path.startswith(f"{target}/") for path in results)]
        self.assertEqual(len(report["not_verified"]), len(empty))
        whole = 0 if complete and not empty else 3
        self.assertEqual(outcome.returncode, whole if set(results.values()) == {"right"} else 5, outcome.stderr)
        return results

    def damage_one(self, case, whole):
        """A byte of one of them is another, or the last is gone: both see it. Then it is as it was."""
        broken = self.random.choice(whole)
        file = broken / self.random.choice(json.loads((broken / "manifest.json").read_bytes())["files"])["name"]
        data = file.read_bytes()
        at = self.random.randrange(len(data))
        other = bytes([data[at] ^ self.random.randrange(1, 256)])
        file.write_bytes(self.random.choice([data[:at] + other + data[at + 1:], data[:-1]]))
        with self.assertRaises(AssertionError):
            tiny.manifest(broken)
        self.assertEqual(self.verified(case), {str(each): "wrong" if each == broken else "right" for each in whole})
        file.write_bytes(data)

    def complete(self, case, reference):
        """Resumes it until its end. How many of its checkpoints were redone."""
        folder = self.result_folder(case)
        outcome = subprocess.run(self.command(case, "--resume", str(folder)), capture_output=True, text=True, timeout=60,
                                 env=environment(), check=False)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        result = json.loads((folder / "result.json").read_text())
        self.assertEqual(result["status"], "complete")
        measured = [each for one in result["passes"] for each in one["checkpoints"]]
        self.assertEqual([tiny.place(each) for each in measured], case["order"])
        resumes = [line for line in tiny.journal_lines(folder)[0] if line["type"] == "resume"]
        self.assertEqual(len(result["resumes"]), len(resumes))
        for each in measured:
            if each["redone"]:
                self.assertNotEqual(case["policy"], "delete")
                self.assertGreater(each["pass"], 1)
        self.assertEqual([digests(target) for target in case["targets"]], reference)
        return sum(each["redone"] for each in measured)

    def test_what_survives(self):
        self.verifications = 0
        kills = alone = resumed = redone = 0
        references = {}
        cases = [(policy, targets) for policy in ("truncate", "delete", "overwrite") for targets in (1, 2)]
        number = 0
        begin = time.monotonic()
        while kills < KILLS or resumed <= KILLS // 4 or number < len(cases):
            policy, targets = cases[number % len(cases)]
            case = self.case(number, policy, targets, passes=6)
            if targets not in references:
                done = self.case(1000 + targets, policy, targets, passes=6)
                subprocess.run(self.command(done), check=True, capture_output=True, env=environment(), timeout=60)
                references[targets] = [digests(target) for target in done["targets"]]
            number += 1
            finished = []
            for _ in range(9):
                processes = 3 if kills % 20 == 19 else None
                folder = self.result_folder(case)
                more = ["--resume", str(folder)] if folder else []
                if self.killed(case, self.command(case, *more), processes, 1.2 if processes else 0.3):
                    break
                kills += 1
                alone += processes is None
                if self.result_folder(case) is None:
                    continue  # killed before it had begun
                resumed += folder is not None
                finished = self.check(case, finished)
                if len(finished) == len(case["order"]):
                    break
            if self.result_folder(case) is not None:
                redone += self.complete(case, references[targets])
        print(f"{kills} kills, {kills - alone} under mpirun, {resumed} of resumed runs, {redone} checkpoints redone, "
              f"{self.verifications} times verified, {number} runs, {time.monotonic() - begin:.0f} s")
        self.assertGreater(resumed, KILLS // 4)
        self.assertGreater(redone, 0)


if __name__ == "__main__":
    unittest.main()
