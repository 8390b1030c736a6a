"""Runs the steps of bridge.py in turn on one drive and prints the table."""
import argparse
import json
import os
import sys

import bridge
import shell

PASSES = 3


def scale(text):
    """Refuses here what the program would refuse later: a number above 0 and at most 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no number above 0 and at most 1")
    return value


def count(text):
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least 1")
    return value


def parse(arguments):
    parser = argparse.ArgumentParser(prog="published_bench.sh",
                                     description="From the published bench's way of measuring to this program's.")
    parser.add_argument("directory", nargs="?", metavar="DIR",
                        help="a folder on the drive to measure; default: one in the checkout")
    parser.add_argument("--scale", type=scale, default=0.001, help="of the 405B job (default 0.001: 1.6 GB a checkpoint)")
    parser.add_argument("--rounds", type=count, default=3, help="how often every step is run (default 3)")
    parser.add_argument("--checkpoints", type=count, default=2, help="a pass (default 2)")
    return parser.parse_args(arguments)


def needed_bytes(options):
    """The files of a pass and one checkpoint more; the two writers' files differ a little in size."""
    def file_bytes(step):
        return json.loads(shell.run([os.environ["CKPTSIM_BINARY"], "plan", *step.arguments, "--scale", options.scale,
                                     "--json"]))["file_bytes"]
    return (options.checkpoints + 1) * max(file_bytes(bridge.STEPS[0]), file_bytes(bridge.STEPS[-1]))


def measure(step, options, folder):
    with shell.empty_folder(folder, "run") as target:
        output = shell.run([*shell.mpirun(8), os.environ["CKPTSIM_BINARY"], "run", *step.arguments, "--scale",
                            options.scale, "--passes", PASSES, "--checkpoints-per-pass", options.checkpoints, "--target",
                            target, "--output", folder / "results", "--json"])
    return bridge.run_of(json.loads(output))


def main(arguments):
    options = parse(arguments)
    runs = {step.name: [] for step in bridge.STEPS}
    with shell.scratch(options.directory, os.environ["CKPTSIM_SOURCE"]) as folder:
        shell.need_space(folder, needed_bytes(options))
        for number in range(options.rounds):
            order = bridge.STEPS if number % 2 == 0 else tuple(reversed(bridge.STEPS))
            for step in order:
                runs[step.name].append(measure(step, options, folder))
                seconds = ", ".join(f"{one:.2f}" for one in runs[step.name][-1].pass_seconds)
                print(f"round {number + 1} of {options.rounds}: {step.name}: {seconds} s", file=sys.stderr, flush=True)
    print(bridge.table([bridge.row(step, runs[step.name]) for step in bridge.STEPS], PASSES))


if __name__ == "__main__":
    shell.end_on_signals()
    try:
        main(sys.argv[1:])
    except shell.PeerError as error:
        sys.exit(f"published_bench: {error}")
