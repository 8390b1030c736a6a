#!/usr/bin/env bash
# From a fresh Debian 12 to a first pass table: installs what is missing, builds, and writes a LLaMA-3.1-405B
# checkpoint at a thousandth of its size from eight MPI ranks, twice a pass over three passes.
#
#   ./quickstart.sh                          in a folder of this checkout
#   CKPTSIM_TARGET=/mnt/nvme0 ./quickstart.sh   on the drive that is mounted there
set -euo pipefail
cd "$(dirname "$0")"
source .ci/common.sh

install_packages "${build_packages[@]}"

echo "Building the release"
[ -f build/release/build.ninja ] || cmake --preset release >build-configure.log || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build --preset release

target="${CKPTSIM_TARGET:-$PWD/quickstart-target}"
[ -n "${CKPTSIM_TARGET:-}" ] || mkdir -p "$target"
name=quickstart # a run of its own: it never removes another run's checkpoints
log="$(mktemp)"

clean_up() {
  rm -f "$log"
  # Only what this run made, and only where the program's own marker stands.
  [ ! -f "$target/ckptsim/.ckptsim-directory" ] || rm -rf "$target/ckptsim/$name"
  [ -n "${CKPTSIM_TARGET:-}" ] || rm -rf "$target"
}
trap clean_up EXIT

run() {
  mpirun -np 8 --oversubscribe --bind-to none build/release/ckptsim run llama3.1-405b-tp4pp2 --set name="$name" \
    --scale 0.001 --passes 3 --checkpoints-per-pass 2 --target "$target" --output results "$@"
}

allow_mpirun
echo "Running the main job on $target"
if ! run --progress plain 2> >(tee "$log" >&2); then
  wait # for tee: the message is in the log by then
  # The program never writes through the page cache unasked; where that is all there is, it names the backend.
  backend="$(sed -n 's/^ckptsim: .*--backend \([a-z_]*\).*/\1/p' "$log" | head -n 1)"
  [ -n "$backend" ] || exit 1
  echo "This file system has no direct I/O: running again with --backend $backend, through the page cache" >&2
  run --progress plain --backend "$backend"
fi
