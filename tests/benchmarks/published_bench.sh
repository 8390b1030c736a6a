#!/usr/bin/env bash
# What would the published bench's way of measuring report on this drive, what does the drive do, and where does the
# difference come from? Goes from configs/runs/published-bench.json to the default run one setting at a time.
#
#   tests/benchmarks/published_bench.sh                 in a folder of this checkout: about five minutes
#   tests/benchmarks/published_bench.sh /mnt/nvme0      on the drive that is mounted there
#   tests/benchmarks/published_bench.sh --scale 0.01    more bytes: on hosts with more memory than the drive can fill
#
# Installs what is missing and builds the release with LibTorch; CKPTSIM_BINARY names a built program instead. A Markdown
# table goes to stdout. docs/performance.md says how to read it.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(realpath "$here/../..")"
source "$root/.ci/common.sh"
case " $* " in
  *" -h "* | *" --help "*) exec python3 -B "$here/vs_peers/published_bench.py" --help ;;
esac

packages=(openmpi-bin python3)
[ -n "${CKPTSIM_BINARY:-}" ] || packages+=("${build_packages[@]}" libtorch-dev)
install_packages "${packages[@]}" >&2

if [ -z "${CKPTSIM_BINARY:-}" ]; then
  echo "Building the release" >&2
  (
    cd "$root"
    [ -f build/release/ckptsim_libtorch.so ] || cmake --preset release
    cmake --build --preset release
  ) >&2
  export CKPTSIM_BINARY="$root/build/release/ckptsim"
fi

allow_mpirun
export PYTHONDONTWRITEBYTECODE=1 CKPTSIM_SOURCE="$root"
exec /usr/bin/python3 "$here/vs_peers/published_bench.py" "$@"
