"""Runs the steps of bridge.py in turn on one drive and prints the table."""
import argparse
import json
import os
import sys

import bridge
import shell


def arguments():
    parser = argparse.ArgumentParser(description="From the published bench's way of measuring to this program's.")
    parser.add_argument("directory", nargs="?", help="a folder on the drive to measure; default: one in the checkout")
    parser.add_argument("--scale", default="0.001", help="of the 405B job (default 0.001: 1.6 GB a checkpoint)")
    parser.add_argument("--rounds", type=int, default=3, help="how often every step is run (default 3)")
    parser.add_argument("--checkpoints", type=int, default=2, help="a pass (default 2)")
    return parser.parse_args()


def measure(step, options, folder):
    with shell.empty_folder(folder, "run") as target:
        output = shell.run([*shell.mpirun(8), os.environ["CKPTSIM_BINARY"], "run", *step.arguments, "--scale",
                            options.scale, "--passes", 3, "--checkpoints-per-pass", options.checkpoints, "--target",
                            target, "--output", folder / "results", "--json"])
    return bridge.run_of(json.loads(output))


def main():
    options = arguments()
    runs = {step.name: [] for step in bridge.STEPS}
    with shell.scratch(options.directory, os.environ["CKPTSIM_SOURCE"]) as folder:
        for number in range(options.rounds):
            order = bridge.STEPS if number % 2 == 0 else tuple(reversed(bridge.STEPS))
            for step in order:
                runs[step.name].append(measure(step, options, folder))
                seconds = ", ".join(f"{one:.2f}" for one in runs[step.name][-1].pass_seconds)
                print(f"round {number + 1} of {options.rounds}: {step.name}: {seconds} s", file=sys.stderr)
    print(bridge.table([bridge.row(step, runs[step.name]) for step in bridge.STEPS], 3))


if __name__ == "__main__":
    try:
        main()
    except shell.PeerError as error:
        sys.exit(f"published_bench: {error}")
