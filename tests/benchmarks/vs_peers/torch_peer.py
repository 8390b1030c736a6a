"""torch.save and fsync from MPI ranks: the same bytes by the same ranks, one file each."""
import dataclasses
import json
import pathlib

import shell

SCRIPT = pathlib.Path(__file__).with_name("torch_save.py")


@dataclasses.dataclass(frozen=True)
class Sample:
    gb_per_s: float
    cpu_s_per_gb: float
    max_rss_bytes: int
    version: str


def parse(text):
    report = json.loads(text)
    gigabytes = report["bytes"] / 1e9
    return Sample(gigabytes / report["seconds"], report["cpu_seconds"] / gigabytes, report["max_rss_bytes"],
                  report["version"])


def run(writers, folder):
    """yield_when_idle: a rank that waits at a barrier lets another have its core."""
    with shell.empty_folder(folder, "torch") as target:
        shares = ",".join(str(writer.bytes) for writer in writers)
        return parse(shell.run([*shell.mpirun(len(writers)), "--mca", "mpi_yield_when_idle", 1, "/usr/bin/python3", SCRIPT,
                                target, shares]))
