#!/usr/bin/env bash
# Is this program as fast as the drive allows? Measures it beside fio, torch.save and memcpy, in turn, on one drive.
#
#   tests/benchmarks/vs_peers.sh                    all of it, in a folder of this checkout: a quarter of an hour
#   tests/benchmarks/vs_peers.sh --quick /mnt/nvme0 eight ranks, five pairs, on the drive that is mounted there
#   tests/benchmarks/vs_peers.sh --check            exit status 1 where the program falls behind
#
# Installs what is missing and builds the release; CKPTSIM_BINARY names a built program instead. What the fields of the
# JSON line on stdout mean stands in docs/performance.md.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

show_help "$here/vs_peers/main.py" "$@"
have_program build.ninja fio openmpi-bin python3 python3-torch python3-mpi4py util-linux
exec /usr/bin/python3 "$here/vs_peers/main.py" "$@"
