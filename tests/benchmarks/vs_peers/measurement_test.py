"""What is kept of the runs of one number of ranks, with runs that write nothing."""
import contextlib
import pathlib
import unittest
from unittest import mock

import measurement
import program
import settings
import torch_peer


def writing(registered):
    """The samples, where the program's runs find their buffers registered or not in this order; and what fio was told."""
    told = []

    def program_run(*_):
        return program.Sample(gb_per_s=1.0, idle_share=0.0, cpu_s_per_gb=0.1, max_rss_bytes=1, simd="avx2",
                              registered=answers.pop(0), version="0.1.0"), 0.5

    def fio_run(_settings, _writers, is_registered, _folder):
        told.append(is_registered)
        return 1.0

    answers = list(registered)
    replaced = ((measurement.program, "writers", lambda *_: [program.Writer(1000, 1)]),
                (measurement.program, "run", program_run), (measurement.fio, "run", fio_run),
                (measurement.torch_peer, "run", lambda *_: torch_peer.Sample(1.0, 1.0, 1, "1.13.0")),
                (measurement.shell, "need_space", lambda *_: None), (measurement, "say", lambda _: None))
    with contextlib.ExitStack() as stack:
        for module, name, replacement in replaced:
            stack.enter_context(mock.patch.object(module, name, replacement))
        samples = measurement.writing(settings.Settings(pairs=2), 8, pathlib.Path("nowhere"), {})
    return samples, told


class Registered(unittest.TestCase):
    STARTS = [True] * measurement.STARTS

    def test_where_it_is_so_in_every_run(self):
        samples, told = writing([*self.STARTS, True, True])
        self.assertIs(samples.registered, True)
        self.assertEqual(told, [True] * 4)

    def test_not_where_one_run_of_any_kind_had_to_do_without(self):
        self.assertIs(writing([*self.STARTS, True, False])[0].registered, False)
        self.assertIs(writing([*self.STARTS, False, True])[0].registered, False)
        samples, told = writing([False, *self.STARTS[1:], True, True])
        self.assertIs(samples.registered, False)
        self.assertEqual(told, [False] * 4)


if __name__ == "__main__":
    unittest.main()
