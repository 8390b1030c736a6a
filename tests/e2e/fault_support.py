"""What the tests of faults share: a program whose calls misbehave (preload/faults.cpp), and what has to hold after each."""
import json
import os
import shlex
import shutil
import socket
import subprocess

from support import BINARY, EndToEnd, Outcome, checkpoint, environment, mpirun

LIBRARY = os.environ["CKPTSIM_CALL_FAULTS"]
HOST = socket.gethostname()
# 48 files, 8 ranks.
TINY = ["llama3.1-405b-tp4pp2", "--set",
        'model={"name":"tiny","layers":8,"hidden_size":64,"ffn_hidden_size":128,"attention_heads":8,"kv_heads":4,'
        '"vocabulary_size":512}']
TWO_PASSES = ["--passes", "2", "--checkpoints-per-pass", "1"]
ONE_PASS = ["--passes", "1", "--checkpoints-per-pass", "1"]
ONE_RANK = ["--set", "parallelism.tensor=1", "--set", "parallelism.pipeline=1"]
STALL = ["--set", "storage.stall_seconds=2"]


def misbehaving(fault, count_file=None):
    """A prefix that starts the program with the fault."""
    variables = [f"CKPTSIM_FAULT={fault}", f"LD_PRELOAD={LIBRARY}"]
    return ["env"] + variables + ([f"CKPTSIM_FAULT_COUNT={count_file}"] if count_file else [])


class Faults(EndToEnd):
    """One run in a fresh target, and its result."""

    def command(self, target, *more, passes=tuple(TWO_PASSES), backend="direct"):
        return ["run", *TINY, *passes, "--target", str(target), "--output", str(self.folder / "results"), "--backend",
                backend, *more]

    def fresh(self):
        for folder in ("results", "target"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        return self.target()

    def one_sentence(self, outcome, *words):
        self.assertEqual(outcome.code, 4, outcome.stderr)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
        for word in words:
            self.assertIn(word, outcome.messages()[0])

    def results(self):
        folders = list((self.folder / "results").iterdir())
        self.assertEqual(len(folders), 1)
        return folders[0]

    def journal(self):
        lines = (self.results() / "journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines][1:]

    def failed(self, outcome, target, *words, finished=0):
        """The result of a run whose checkpoint after `finished` ones met the fault, which process 0 outlived."""
        self.one_sentence(outcome, *words)
        result = json.loads((self.results() / "result.json").read_text())
        self.assertEqual(result["status"], "failed")
        self.assertIn(result["failure"], outcome.messages()[0])
        self.assertEqual(sum(len(one["checkpoints"]) for one in result["passes"]), finished)
        self.assertEqual(len(self.journal()), finished)
        self.assertFalse((checkpoint(target) / "manifest.json").exists(), "an unfinished checkpoint does not exist")
        self.serves_the_next_run(target)

    def load_failed(self, outcome, target, *words):
        """The result of a run whose first checkpoint was saved and met the fault as it was read back."""
        self.one_sentence(outcome, *words)
        result = json.loads((self.results() / "result.json").read_text())
        self.assertEqual(result["status"], "failed")
        self.assertIn(result["failure"], outcome.messages()[0])
        (saved,) = [each for one in result["passes"] for each in one["checkpoints"]]
        self.assertIsNone(saved["load"])
        self.assertEqual(len(self.journal()), 1)
        self.assertTrue((checkpoint(target) / "manifest.json").exists(), "what was saved is complete")

    def serves_the_next_run(self, target):
        self.run_ok(*TINY, *ONE_PASS, *ONE_RANK, "--target", target, "--set", "checkpoint.fsync=off")

    def one_of_three(self, victim, fault, target):
        program = shlex.join([BINARY] + self.command(target, *STALL))
        script = (f'if [ "$OMPI_COMM_WORLD_RANK" = {victim} ]; then export LD_PRELOAD={LIBRARY}; fi; '
                  f'export CKPTSIM_FAULT="{fault}"; exec {program}')
        return Outcome(subprocess.run(mpirun(3) + ["sh", "-c", script], capture_output=True, text=True, timeout=90,
                                      env=environment()))
