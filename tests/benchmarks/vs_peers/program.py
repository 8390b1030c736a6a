"""This program: what it would write, and how fast it writes."""
import dataclasses
import json
import os
import pathlib

import shell

MEASURE = pathlib.Path(__file__).with_name("measure_process.py")


@dataclasses.dataclass(frozen=True)
class Writer:
    """What one rank writes."""
    bytes: int
    files: int


@dataclasses.dataclass(frozen=True)
class Sample:
    gb_per_s: float
    idle_share: float
    cpu_s_per_gb: float
    max_rss_bytes: int
    simd: str
    registered: bool
    version: str


def binary():
    return os.environ["CKPTSIM_BINARY"]


def writers(settings, ranks):
    """One for each rank, from the program's plan."""
    plan = json.loads(shell.run([binary(), "plan", *settings.run_arguments(ranks), "--json"]))
    return [Writer(rank["file_bytes"], rank["files"]) for rank in plan["ranks"]]


def parse(result):
    """One checkpoint's figures out of a result.json. A field that is not there is a KeyError: nothing is guessed."""
    effective = result["effective"]
    save = result["passes"][0]["checkpoints"][0]["save"]
    return Sample(
        gb_per_s=save["file_bytes"] / (save["duration_ns"] / 1e9) / 1e9,
        idle_share=save["idle_share"],
        cpu_s_per_gb=sum(rank["cpu_ns"] for rank in save["ranks"]) / 1e9 / (save["file_bytes"] / 1e9),
        max_rss_bytes=max(rank["max_rss_bytes"] for rank in save["ranks"]),
        simd=effective["simd"],
        registered=effective["registered_buffers"],
        version=result["tool"]["version"])


def parse_file(text, path):
    try:
        return parse(json.loads(text))
    except KeyError as missing:
        raise shell.PeerError(f"{path} has no field {missing}; build the program of this checkout") from missing


def run_command(settings, ranks, target, output, scale=None):
    return [binary(), "run", *settings.run_arguments(ranks, scale), "--backend", "io_uring", "--passes", 1,
            "--checkpoints-per-pass", 1, "--set", "checkpoint.fsync=file", "--target", target, "--output", output,
            "--progress", "none"]


def run(settings, ranks, folder, scale=None):
    """One checkpoint of new files by `ranks` MPI processes; also the CPU seconds of the whole processes."""
    with shell.empty_folder(folder, "ckptsim") as target:
        (target / "processes").mkdir()
        shell.run([*shell.mpirun(ranks), "/usr/bin/python3", MEASURE, target / "processes",
                   *run_command(settings, ranks, target, target / "results", scale)])
        [path] = (target / "results").glob("*/result.json")
        processes = sum(float(file.read_text()) for file in (target / "processes").iterdir())
        return parse_file(path.read_text(), path), processes


def null_gb_per_s(settings, core, folder):
    """Content, checksums and archives made and dropped by one rank on one core."""
    with shell.empty_folder(folder, "null") as output:
        text = shell.run(["taskset", "-c", core, binary(), "run", *settings.run_arguments(1, settings.null_scale),
                          "--backend", "null", "--passes", 1, "--checkpoints-per-pass", 1, "--output", output,
                          "--progress", "none", "--json"])
        return parse_file(text, "the result on backend null").gb_per_s
