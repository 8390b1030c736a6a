#!/usr/bin/env bash
# From a fresh Debian 12 to a first pass table: installs what is missing, builds, and writes a LLaMA-3.1-405B
# checkpoint at a thousandth of its size from eight MPI ranks, twice a pass over three passes.
#
#   ./quickstart.sh                          in a folder of this checkout
#   CKPTSIM_TARGET=/mnt/nvme0 ./quickstart.sh   on the drive that is mounted there
set -euo pipefail
if [ $# -gt 0 ]; then
  sed -n '2,/^set /{ s/^# \{0,1\}//p }' "$0"
  case "$1" in
    -h | --help) exit 0 ;;
    *) echo "quickstart.sh: $1: it takes no arguments" >&2 && exit 2 ;;
  esac
fi
if [ -n "${CKPTSIM_TARGET:-}" ]; then
  # Before anything is installed or built.
  [ -d "$CKPTSIM_TARGET" ] && [ -w "$CKPTSIM_TARGET" ] || {
    echo "quickstart.sh: CKPTSIM_TARGET=$CKPTSIM_TARGET: no folder that this user may write to" >&2
    exit 3
  }
  CKPTSIM_TARGET="$(realpath "$CKPTSIM_TARGET")"
fi
cd "$(dirname "$0")"
source .ci/common.sh

install_packages "${build_packages[@]}"

echo "Building the release"
[ -f build/release/build.ninja ] || cmake --preset release >build-configure.log || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build --preset release

name=quickstart # a run of its own: it never removes another run's checkpoints
log="$(mktemp)"
finished=
if [ -n "${CKPTSIM_TARGET:-}" ]; then
  target="$CKPTSIM_TARGET"
else
  target="$(mktemp -d "$PWD/quickstart-target.XXXXXX")"
fi

clean_up() {
  # A run that was told to end still writes: it goes first.
  [ -z "$(jobs -p)" ] || { kill $(jobs -p) && wait; } 2>/dev/null || true
  rm -f "$log" "$log.pipe"
  if [ -z "${CKPTSIM_TARGET:-}" ]; then
    rm -rf "$target" # made above, for this run alone
  elif [ -n "$finished" ]; then
    build/release/ckptsim clean "$target" --run "$name" >/dev/null
  fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# mpirun in the background and waited for, so that a signal to this script is not held up until the run ends, and what it
# says on stderr both shown and kept.
run() {
  mkfifo "$log.pipe"
  tee "$log" <"$log.pipe" >&2 &
  local shown=$!
  mpirun -np 8 --oversubscribe --bind-to none build/release/ckptsim run llama3.1-405b-tp4pp2 --set name="$name" \
    --scale 0.001 --passes 3 --checkpoints-per-pass 2 --target "$target" --output results --progress plain "$@" \
    2>"$log.pipe" &
  local status=0
  wait $! || status=$?
  wait "$shown" # all that was said is in the log
  rm -f "$log.pipe"
  return "$status"
}

allow_mpirun
echo "Running the main job on $target"
if ! run; then
  # The program never writes through the page cache unasked; where that is all there is, it says so.
  grep -q '^ckptsim: .*--backend buffered' "$log" || exit 1
  echo "No direct I/O here: running again with --backend buffered, through the page cache" >&2
  run --backend buffered
fi
finished=yes
