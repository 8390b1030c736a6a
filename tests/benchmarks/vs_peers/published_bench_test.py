"""What the command line takes, how much space is asked for, and that nothing starts without it."""
import contextlib
import io
import json
import os
import tempfile
import unittest
from unittest import mock

import bridge
import published_bench
import shell


class Arguments(unittest.TestCase):
    def test_are_refused_with_the_name_of_the_option_and_what_it_takes(self):
        for option, wrong in (("--rounds", ("0", "-1", "x", "1.5")), ("--checkpoints", ("0", "-1", "x")),
                              ("--scale", ("0", "-1", "1.1", "nan", "x"))):
            for text in wrong:
                errors = io.StringIO()
                with self.subTest(option=option, text=text), contextlib.redirect_stderr(errors):
                    with self.assertRaises(SystemExit) as ended:
                        published_bench.parse([f"{option}={text}"])
                    self.assertEqual(ended.exception.code, 2)
                    self.assertRegex(errors.getvalue().splitlines()[-1], f"{option}: {text} is no .*number.* 1$")

    def test_at_the_edges_are_taken(self):
        options = published_bench.parse(["--rounds=1", "--checkpoints=1", "--scale=1", "/mnt"])
        self.assertEqual((options.rounds, options.checkpoints, options.scale, options.directory), (1, 1, 1.0, "/mnt"))


class Space(unittest.TestCase):
    @staticmethod
    def run_of(command):
        """The plan of the published bench is larger here than that of the default run."""
        if "plan" not in command:
            raise AssertionError(f"{command} would have been run")
        return json.dumps({"file_bytes": 50 << 50 if bridge.STEPS[0].arguments[0] in command else 1})

    def test_is_for_the_checkpoints_of_a_pass_and_one_more_and_is_there_or_nothing_starts(self):
        with mock.patch.object(shell, "run", self.run_of), tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(shell, "ignore_signals"), \
                mock.patch.dict(os.environ, {"CKPTSIM_BINARY": "ckptsim", "CKPTSIM_SOURCE": folder}):
            self.assertEqual(published_bench.needed_bytes(published_bench.parse(["--checkpoints=3"])), 4 * (50 << 50))
            with self.assertRaisesRegex(shell.PeerError, "GB free and .* GB are needed"):
                published_bench.main([folder])
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
