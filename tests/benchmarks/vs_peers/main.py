"""vs_peers.sh's driver: measures, reports, checks."""
import dataclasses
import json
import os
import pathlib
import sys

import conditions
import figures
import measurement
import report
import settings
import shell


def keep(path, measured, line):
    samples = {str(ranks): dataclasses.asdict(of_ranks) for ranks, of_ranks in measured.by_ranks.items()}
    pathlib.Path(path).write_text(json.dumps({"line": line, "samples": {
        "by_ranks": samples, "null": measured.null, "memcpy": measured.memcpy}}, indent=1) + "\n")


def main(arguments):
    options = settings.parse(arguments)
    chosen = settings.chosen(options)
    with shell.scratch(options.directory, os.environ["CKPTSIM_SOURCE"]) as folder:
        measured = measurement.measure(chosen, folder)
    line = figures.line(measured, chosen)
    if options.keep:
        keep(options.keep, measured, line)
    verdicts = conditions.all_of(line)
    print(report.table(line), report.verdicts(verdicts), sep="\n\n", file=sys.stderr, flush=True)
    print(json.dumps(line))
    return 1 if options.check and not all(condition.holds for condition in verdicts) else 0


if __name__ == "__main__":
    shell.end_on_signals()
    try:
        sys.exit(main(sys.argv[1:]))
    except shell.PeerError as error:
        sys.exit(f"vs_peers: {error}")
