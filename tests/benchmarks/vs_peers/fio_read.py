"""fio, told to read what this program wrote as this program reads it back: as many readers, each the files of one rank, one
after another, through io_uring past the page cache with the same blocks and depth."""
import json

import fio
import shell

GLOBAL = """[global]
ioengine=io_uring
direct=1
rw=read
bs={block_bytes}
iodepth={queue_depth}
fixedbufs={registered}
openfiles=1
file_service_type=sequential
"""

READER = """[reader{number}]
directory={folder}
filename={names}
nrfiles={files}
"""


def files_by_rank(folder):
    """The checkpoint's files in the order in which each rank wrote them, from its manifest."""
    by_rank = {}
    for file in json.loads((folder / "manifest.json").read_text())["files"]:
        by_rank.setdefault(file["rank"], []).append(file["name"])
    return [by_rank[rank] for rank in sorted(by_rank)]


def job(settings, readers, registered, folder):
    text = GLOBAL.format(block_bytes=settings.block_bytes, queue_depth=settings.queue_depth, registered=int(registered))
    for number, names in enumerate(readers):
        text += READER.format(number=number, folder=str(folder).replace(":", r"\:"), names=":".join(names), files=len(names))
    return text


def whole_blocks(readers, folder, block_bytes):
    """What fio reads of the files: it leaves out what is less than a block at the end of each."""
    sizes = [(folder / name).stat().st_size for names in readers for name in names]
    if min(sizes) < block_bytes:
        raise shell.PeerError(f"a file of {min(sizes)} bytes is less than one block of {block_bytes}, and fio would not read "
                              "it; choose a larger --scale or smaller --block-bytes")
    return sum(size // block_bytes * block_bytes for size in sizes)


def parse(report, expected_bytes):
    """GB/s out of fio's JSON: all bytes over the longest reader's time."""
    jobs = report["jobs"]
    read = sum(job["read"]["io_bytes"] for job in jobs)
    failed = [job["jobname"] for job in jobs if job["error"] != 0]
    if failed or read != expected_bytes:
        raise shell.PeerError(f"fio read {read} of {expected_bytes} bytes; jobs with errors: {failed or 'none'}")
    return read / (max(job["job_runtime"] for job in jobs) / 1e3) / 1e9


def run(settings, registered, folder, scratch):
    """Reads the checkpoint in `folder`; the job file is made in `scratch`."""
    readers = files_by_rank(folder)
    path = scratch / "read.fio"
    path.write_text(job(settings, readers, registered, folder))
    report = json.loads(shell.run(["fio", "--output-format=json", path], fio.HUGE_PAGES))
    return parse(report, whole_blocks(readers, folder, settings.block_bytes))
