"""fio, told to do what a checkpoint does: as many writers, each with as many new files, one after another, each synced
before the next is opened, through io_uring past the page cache with the same blocks and depth."""
import json
import os

import shell

# This program has its buffers in huge pages, so that a block is few pieces of memory. glibc gives fio's to it likewise.
# Who has set this already decides.
HUGE_PAGES = {"GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")}

# openfiles=1 with fsync_on_close=1: a file is written, waited for, synced and closed before the next is opened.
# create_on_open=1 and fallocate=none: nothing of a file exists before. refill_buffers and scramble_buffers off: the
# random bytes of the start are written again and again, which costs fio nothing.
GLOBAL = """[global]
ioengine=io_uring
direct=1
rw=write
bs={block_bytes}
iodepth={queue_depth}
fixedbufs={registered}
fallocate=none
create_on_open=1
openfiles=1
file_service_type=sequential
fsync_on_close=1
refill_buffers=0
scramble_buffers=0
"""

WRITER = """[writer{number}]
directory={folder}/{number}
filename={names}
nrfiles={files}
filesize={file_bytes}
size={bytes}
"""


def file_blocks(writer, block_bytes):
    """A fio job's files have one size, a multiple of the block: the nearest to the writer's mean."""
    return max(1, round(writer.bytes / writer.files / block_bytes))


def total_bytes(writers, block_bytes):
    return sum(file_blocks(writer, block_bytes) * block_bytes * writer.files for writer in writers)


def job(settings, writers, registered, folder):
    text = GLOBAL.format(block_bytes=settings.block_bytes, queue_depth=settings.queue_depth, registered=int(registered))
    for number, writer in enumerate(writers):
        file_bytes = file_blocks(writer, settings.block_bytes) * settings.block_bytes
        names = ":".join(f"f{file}" for file in range(writer.files))
        text += WRITER.format(number=number, folder=str(folder).replace(":", r"\:"), names=names, files=writer.files,
                              file_bytes=file_bytes, bytes=file_bytes * writer.files)
    return text


def parse(report, expected_bytes):
    """GB/s out of fio's JSON: all bytes over the longest writer's time. fio starts its writers together when all are ready,
    and a writer's `job_runtime` ends after the fsync of its last file."""
    jobs = report["jobs"]
    written = sum(job["write"]["io_bytes"] for job in jobs)
    failed = [job["jobname"] for job in jobs if job["error"] != 0]
    if failed or written != expected_bytes:
        raise shell.PeerError(f"fio wrote {written} of {expected_bytes} bytes; jobs with errors: {failed or 'none'}")
    longest_ms = max(job["job_runtime"] for job in jobs)
    return written / (longest_ms / 1e3) / 1e9


def run(settings, writers, registered, folder):
    with shell.empty_folder(folder, "fio") as target:
        for number in range(len(writers)):
            (target / str(number)).mkdir()
        path = target / "job.fio"
        path.write_text(job(settings, writers, registered, target))
        report = json.loads(shell.run(["fio", "--output-format=json", path], HUGE_PAGES))
        return parse(report, total_bytes(writers, settings.block_bytes))


def version():
    return shell.run(["fio", "--version"]).strip()
