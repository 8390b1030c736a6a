"""Reading checkpoints back, and verifying them, beside fio, which reads the very same files right after."""
import dataclasses
import json

import fio_read
import program
import shell


@dataclasses.dataclass
class ReadSamples:
    """Of one number of ranks; GB/s and one entry a pair in every list, but for idle_share."""
    ckptsim: list = dataclasses.field(default_factory=list)
    verify: list = dataclasses.field(default_factory=list)
    fio: list = dataclasses.field(default_factory=list)
    fio_again: list = dataclasses.field(default_factory=list)
    idle_share: list = dataclasses.field(default_factory=list)


def parse(result):
    """The load of the result's only checkpoint: GB/s, idle share, and whether buffers were registered. A field that is not
    there is a KeyError, and a load out of a cache no measurement."""
    load = result["passes"][0]["checkpoints"][0]["load"]
    if load["cached_bytes_before"] != 0:
        raise shell.PeerError(f"{load['cached_bytes_before']} bytes of the checkpoint were in the page cache before its load")
    return (load["file_bytes"] / (load["duration_ns"] / 1e9) / 1e9, load["idle_share"],
            result["effective"]["registered_buffers"])


def parse_file(path):
    try:
        return parse(json.loads(path.read_text()))
    except KeyError as missing:
        raise shell.PeerError(f"{path} has no field {missing}; build the program of this checkout") from missing


def parse_verify(text):
    """GB/s of `ckptsim verify --json` over one checkpoint. One that is not right, or that the page cache answered for, is
    no measurement."""
    [checkpoint] = json.loads(text)["checkpoints"]
    if checkpoint["result"] != "right" or checkpoint["backend"] not in ("io_uring", "direct"):
        raise shell.PeerError(f"verify says \"{checkpoint['result']}\", by {checkpoint['backend']}")
    return checkpoint["file_bytes"] / checkpoint["duration_s"] / 1e9


def one_pair(settings, ranks, folder, samples, early, late):
    """New files are written, read back and verified by the program, with a process a rank and one thread each, and then
    read by fio twice: into `early`, into `late`."""
    with shell.empty_folder(folder, "reading") as target:
        shell.run([*shell.mpirun(ranks), *program.run_command(settings, ranks, target, target / "results"), "--load", "each"])
        [path] = (target / "results").glob("*/result.json")
        gb_per_s, idle_share, registered = parse_file(path)
        samples.ckptsim.append(gb_per_s)
        samples.idle_share.append(idle_share)
        samples.verify.append(parse_verify(shell.run(
            [*shell.mpirun(ranks), program.binary(), "verify", target, "--threads", "1", "--json"])))
        [checkpoint] = (target / "ckptsim").glob("*/checkpoint_01")
        for series in (early, late):
            series.append(fio_read.run(settings, registered, checkpoint, target))
