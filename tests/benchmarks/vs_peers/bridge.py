"""From the published bench's way of measuring to this program's, one setting at a time: the steps and what they show."""
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    change: str  # what is different from the step before
    arguments: tuple


STEPS = (
    Step("published bench", "torch's writer, page cache, no fsync, zeros but for 32 bytes of each 4 KiB",
         ("published-bench",)),
    Step("no truncation", "files are deleted before each pass: no flush on close of a rewritten file, no cutting",
         ("published-bench", "--set", "checkpoint.between_passes=delete")),
    Step("content", "published bench again, with random bytes",
         ("published-bench", "--set", "content.compressible_fraction=0")),
    Step("fsync", "each file is synced", ("published-bench", "--set", "content.compressible_fraction=0", "--set",
                                          "checkpoint.fsync=file")),
    Step("writer", "this program's writer: no pass over whole tensors; with it torch's current dialect",
         ("llama3.1-405b-tp4pp2", "--backend", "buffered")),
    Step("default run", "direct I/O with four blocks in flight: no page cache", ("llama3.1-405b-tp4pp2",)),
)

PHASES = ("create", "write", "sync", "close")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a step: seconds of each pass, and where the time of all ranks went."""
    pass_seconds: tuple
    file_bytes: int
    first_shares: dict  # of pass 1, by phase
    last_shares: dict   # of the last pass


def shares(one_pass):
    """The share of all ranks' time that each phase took in a pass of a result."""
    ranks = [rank for checkpoint in one_pass["checkpoints"] for rank in checkpoint["save"]["ranks"]]
    total = sum(rank["duration_ns"] for rank in ranks)
    parts = {phase: sum(rank["phases"][f"{phase}_ns"] for rank in ranks) for phase in PHASES}
    parts["sync"] += sum(rank["phases"]["directory_sync_ns"] for rank in ranks)
    parts["create"] += sum(rank["phases"]["preallocate_ns"] for rank in ranks)
    return {phase: part / total for phase, part in parts.items()}


def run_of(result):
    passes = result["passes"]
    return Run(pass_seconds=tuple(one["save_average_s"] for one in passes), file_bytes=result["plan"]["file_bytes"],
               first_shares=shares(passes[0]), last_shares=shares(passes[-1]))


def median_shares(all_shares):
    return {phase: statistics.median(one[phase] for one in all_shares) for phase in PHASES}


def row(step, runs):
    """One line of the table: medians over the runs of a step."""
    averages = [statistics.median(seconds) for seconds in zip(*(run.pass_seconds for run in runs))]
    first, last = (median_shares([getattr(run, name) for run in runs]) for name in ("first_shares", "last_shares"))
    cells = [step.name, step.change, *(f"{seconds:.2f}" for seconds in averages),
             f"{runs[0].file_bytes / averages[0] / 1e9:.2f}", f"{runs[0].file_bytes / averages[-1] / 1e9:.2f}"]
    cells += [f"{100 * first[phase]:.0f} / {100 * last[phase]:.0f}" for phase in PHASES]
    return cells


def table(rows, passes):
    head = ["step", "different from the one above", *(f"pass {number} (s)" for number in range(1, passes + 1)),
            "GB/s, pass 1", f"GB/s, pass {passes}", *(f"{phase} %, pass 1 / {passes}" for phase in PHASES)]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
