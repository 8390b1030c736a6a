"""mpirun -np N python3 torch_save.py FOLDER BYTES,BYTES,...: what users do without this program. Each rank fills one bf16
tensor of its share of bytes, then all save theirs with torch.save and fsync. Rank 0 prints one JSON line."""
import json
import os
import resource
import sys
import time

import torch
from mpi4py import MPI


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def filled(words):
    """Random words; from the second 64 MiB on the first ones again, which costs the benchmark less time."""
    tensor = torch.empty(words, dtype=torch.int64)
    first = tensor[:8 << 20].random_()
    for begin in range(len(first), words, len(first)):
        rest = tensor[begin:begin + len(first)]
        rest.copy_(first[:len(rest)])
    return tensor


world = MPI.COMM_WORLD
torch.set_num_threads(1)
share = [int(text) for text in sys.argv[2].split(",")][world.rank]
state = {"model": {"weight": filled(max(1, share // 8)).view(torch.bfloat16)}}
path = os.path.join(sys.argv[1], f"rank-{world.rank}.pt")

world.Barrier()
start = time.perf_counter()
cpu_before = cpu_seconds()
with open(path, "xb") as file:
    torch.save(state, file)
    file.flush()
    os.fsync(file.fileno())
cpu = cpu_seconds() - cpu_before
world.Barrier()
seconds = time.perf_counter() - start

saved = world.allreduce(os.path.getsize(path))
cpu = world.allreduce(cpu)
rss = world.allreduce(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, op=MPI.MAX)
if world.rank == 0:
    print(json.dumps({"version": torch.__version__, "bytes": saved, "seconds": seconds, "cpu_seconds": cpu,
                      "max_rss_bytes": rss}))
