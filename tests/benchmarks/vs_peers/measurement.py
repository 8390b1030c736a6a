"""Takes all samples, in turn, so that what else the machine does meets all alike."""
import dataclasses
import functools
import os
import pathlib
import statistics
import sys

import fio
import program
import reading
import shell
import torch_peer

SMALLEST_SCALE = 1e-9  # a run of few bytes: what starting and ending the processes costs
STARTS = 3


@dataclasses.dataclass
class Samples:
    """Of one number of ranks; one entry a pair in every list."""
    bytes: int
    registered: bool  # the program's buffers, in every run
    fio: list = dataclasses.field(default_factory=list)  # GB/s, as all four
    fio_again: list = dataclasses.field(default_factory=list)
    ckptsim: list = dataclasses.field(default_factory=list)
    torch: list = dataclasses.field(default_factory=list)
    idle_share: list = dataclasses.field(default_factory=list)
    cpu_s_per_gb: list = dataclasses.field(default_factory=list)
    process_cpu_s_per_gb: list = dataclasses.field(default_factory=list)
    torch_cpu_s_per_gb: list = dataclasses.field(default_factory=list)
    max_rss_bytes: list = dataclasses.field(default_factory=list)
    torch_max_rss_bytes: list = dataclasses.field(default_factory=list)
    read: reading.ReadSamples = dataclasses.field(default_factory=reading.ReadSamples)


@dataclasses.dataclass
class Measured:
    by_ranks: dict  # ranks: Samples
    null: list
    memcpy: list
    facts: dict     # simd, versions


def say(text):
    print(text, file=sys.stderr, flush=True)


def in_turn(steps, pair):
    """A B A B, and every second time backwards, so that no side always follows the same other one."""
    return steps if pair % 2 == 0 else steps[::-1]


def fio_turns(first, second, pair):
    """Which of fio's two series comes first: they swap every two pairs, so that over four pairs both have followed the same
    others, and what the one before leaves behind is no difference between them."""
    return (first, second) if pair // 2 % 2 == 0 else (second, first)


def writing(settings, ranks, folder, facts):
    """All pairs of one number of ranks."""
    writers = program.writers(settings, ranks)
    total = sum(writer.bytes for writer in writers)
    shell.need_space(folder, 1.2 * max(total, fio.total_bytes(writers, settings.block_bytes)))
    starts = [program.run(settings, ranks, folder, SMALLEST_SCALE) for _ in range(STARTS)]
    start_cpu = statistics.median(process_cpu for _, process_cpu in starts)
    samples = Samples(bytes=total, registered=all(sample.registered for sample, _ in starts))

    def this_program():
        sample, process_cpu = program.run(settings, ranks, folder)
        facts.update(simd=sample.simd, ckptsim=sample.version)
        samples.registered = samples.registered and sample.registered
        samples.ckptsim.append(sample.gb_per_s)
        samples.idle_share.append(sample.idle_share)
        samples.cpu_s_per_gb.append(sample.cpu_s_per_gb)
        samples.process_cpu_s_per_gb.append((process_cpu - start_cpu) / (total / 1e9))
        samples.max_rss_bytes.append(sample.max_rss_bytes)

    def torch_save():
        sample = torch_peer.run(writers, folder)
        facts["torch"] = sample.version
        samples.torch.append(sample.gb_per_s)
        samples.torch_cpu_s_per_gb.append(sample.cpu_s_per_gb)
        samples.torch_max_rss_bytes.append(sample.max_rss_bytes)

    def run_fio(series):
        series.append(fio.run(settings, writers, samples.registered, folder))

    for pair in range(settings.pairs):
        early, late = fio_turns(samples.fio, samples.fio_again, pair)
        steps = [functools.partial(run_fio, early), this_program, functools.partial(run_fio, late), torch_save]
        for step in in_turn(steps, pair):
            step()
        say(f"{ranks} ranks, pair {pair + 1} of {settings.pairs}: fio {samples.fio[-1]:.3f}, again "
            f"{samples.fio_again[-1]:.3f}, ckptsim {samples.ckptsim[-1]:.3f}, torch.save {samples.torch[-1]:.3f} GB/s")
    return samples


def reading_back(settings, ranks, folder):
    """All pairs of one number of ranks; fio's two series take turns in who reads first."""
    samples = reading.ReadSamples()
    for pair in range(settings.pairs):
        early, late = in_turn([samples.fio, samples.fio_again], pair)
        reading.one_pair(settings, ranks, folder, samples, early, late)
        say(f"{ranks} ranks, reading, pair {pair + 1} of {settings.pairs}: ckptsim {samples.ckptsim[-1]:.3f}, "
            f"verify {samples.verify[-1]:.3f}, fio {samples.fio[-1]:.3f}, again {samples.fio_again[-1]:.3f} GB/s")
    return samples


def making(settings, folder):
    """Backend null beside memcpy, on one core, the same for both."""
    core = min(os.sched_getaffinity(0))
    script = pathlib.Path(__file__).with_name("memcpy.py")
    null, memcpy = [], []
    steps = [lambda: memcpy.append(float(shell.run(["taskset", "-c", core, "/usr/bin/python3", script,
                                                    settings.memcpy_bytes]))),
             lambda: null.append(program.null_gb_per_s(settings, core, folder))]
    for pair in range(settings.pairs):
        for step in in_turn(steps, pair):
            step()
        say(f"one core, pair {pair + 1} of {settings.pairs}: memcpy {memcpy[-1]:.2f}, ckptsim on null {null[-1]:.2f} GB/s")
    return null, memcpy


def measure(settings, folder):
    facts = {"fio": fio.version()}
    null, memcpy = making(settings, folder)
    by_ranks = {ranks: writing(settings, ranks, folder, facts) for ranks in settings.rank_counts}
    for ranks, samples in by_ranks.items():
        samples.read = reading_back(settings, ranks, folder)
    return Measured(by_ranks, null, memcpy, facts)
