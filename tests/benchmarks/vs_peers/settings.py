"""What is compared with what: the job, its sizes, and how often."""
import argparse
import dataclasses

# LLaMA 3.1 8B at a tenth of its size: 3.2 GB, which a drive of 2 GB/s takes in under two seconds, in few enough files
# (34 to 144) that writing and not opening decides. Its ranks are balanced: an embedding on the first stage, a head on the
# last.
RUN = "llama3.1-8b-tp1pp1"
PARALLELISM = {1: (1, 1), 2: (1, 2), 8: (4, 2)}  # ranks: (tensor, pipeline)


@dataclasses.dataclass(frozen=True)
class Settings:
    rank_counts: tuple = (1, 2, 8)
    pairs: int = 7
    scale: float = 0.1
    block_bytes: int = 4 << 20
    queue_depth: int = 4
    null_scale: float = 0.3      # 9.7 GB made and dropped by one rank
    memcpy_bytes: int = 1 << 30  # of the source, and as many of the destination; copied four times a run

    def run_arguments(self, ranks, scale=None):
        """The arguments that `plan` and `run` have in common."""
        tensor, pipeline = PARALLELISM[ranks]
        arguments = [RUN, "--scale", repr(scale if scale is not None else self.scale)]
        for key, value in (("parallelism.tensor", tensor), ("parallelism.pipeline", pipeline),
                           ("storage.block_bytes", self.block_bytes), ("storage.queue_depth", self.queue_depth)):
            arguments += ["--set", f"{key}={value}"]
        return arguments


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="vs_peers.sh", description="Measures ckptsim beside fio, torch.save and memcpy. "
        "One JSON line on stdout; progress and a table on stderr.")
    parser.add_argument("directory", nargs="?", metavar="DIR",
                        help="a folder on the drive to measure; default: a temporary one in the checkout")
    parser.add_argument("--quick", action="store_true", help="eight ranks and five pairs alone, in under five minutes")
    parser.add_argument("--check", action="store_true", help="exit status 1 where a condition does not hold")
    parser.add_argument("--keep", metavar="FILE", help="where every single sample is written, as JSON")
    parser.add_argument("--pairs", type=int, help="comparisons of each kind; default 7, or 5 with --quick")
    parser.add_argument("--scale", type=float, default=Settings.scale,
                        help="size of the job; 0.1 (the default) is 3.2 GB, enough for a drive of 2 GB/s")
    parser.add_argument("--block-bytes", type=int, default=Settings.block_bytes, help="of the program and fio")
    parser.add_argument("--queue-depth", type=int, default=Settings.queue_depth, help="of the program and fio")
    # A few megabytes, once: shows that everything works and measures nothing.
    parser.add_argument("--smoke", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.pairs is not None and options.pairs < 1:
        parser.error(f"--pairs is {options.pairs}; at least one pair is needed")
    return options


def chosen(options):
    if options.smoke:
        return Settings(rank_counts=(2,), pairs=options.pairs or 1, scale=0.002, null_scale=0.002, memcpy_bytes=16 << 20,
                        block_bytes=256 << 10)
    return Settings(rank_counts=(8,) if options.quick else Settings.rank_counts,
                    pairs=options.pairs or (5 if options.quick else Settings.pairs), scale=options.scale,
                    block_bytes=options.block_bytes, queue_depth=options.queue_depth)
