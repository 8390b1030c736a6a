#!/usr/bin/env bash
# What would the published bench's way of measuring report on this drive, what does the drive do, and where does the
# difference come from? Goes from configs/runs/published-bench.json to the default run one setting at a time.
#
#   tests/benchmarks/published_bench.sh                 in a folder of this checkout: about eight minutes
#   tests/benchmarks/published_bench.sh /mnt/nvme0      on the drive that is mounted there
#   tests/benchmarks/published_bench.sh --scale 0.01    more bytes: on hosts with more memory than the drive can fill
#
# Installs what is missing and builds the release with LibTorch; CKPTSIM_BINARY names a built program instead. A Markdown
# table goes to stdout. docs/performance.md says how to read it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

show_help "$here/vs_peers/published_bench.py" "$@"
packages=(openmpi-bin python3)
[ -n "${CKPTSIM_BINARY:-}" ] || packages+=(libtorch-dev)
have_program ckptsim_libtorch.so "${packages[@]}"
exec /usr/bin/python3 "$here/vs_peers/published_bench.py" "$@"
