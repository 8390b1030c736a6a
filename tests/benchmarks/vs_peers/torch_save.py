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


world = MPI.COMM_WORLD
torch.set_num_threads(1)
share = [int(text) for text in sys.argv[2].split(",")][world.rank]
words = torch.empty(max(1, share // 8), dtype=torch.int64).random_()  # a draw makes four elements of two bytes
state = {"model": {"weight": words.view(torch.bfloat16)}}
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
