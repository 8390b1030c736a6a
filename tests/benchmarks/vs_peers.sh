#!/usr/bin/env bash
# Is this program as fast as the drive allows? Measures it beside fio, torch.save and memcpy, in turn, on one drive.
#
#   tests/benchmarks/vs_peers.sh                    all of it, in a folder of this checkout: 20 minutes
#   tests/benchmarks/vs_peers.sh --quick /mnt/nvme0 eight ranks, five pairs, on the drive that is mounted there
#   tests/benchmarks/vs_peers.sh --check            exit status 1 where the program falls behind
#
# Installs what is missing and builds the release; CKPTSIM_BINARY names a built program instead. What the fields of the
# JSON line on stdout mean stands in docs/performance.md.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(realpath "$here/../..")"
source "$root/.ci/common.sh"
case " $* " in
  *" -h "* | *" --help "*) exec python3 -B "$here/vs_peers/main.py" --help ;;
esac

packages=(fio openmpi-bin python3 python3-torch python3-mpi4py util-linux)
[ -n "${CKPTSIM_BINARY:-}" ] || packages+=("${build_packages[@]}")
install_packages "${packages[@]}" >&2

if [ -z "${CKPTSIM_BINARY:-}" ]; then
  echo "Building the release" >&2
  (
    cd "$root"
    [ -f build/release/build.ninja ] || cmake --preset release
    cmake --build --preset release
  ) >&2
  export CKPTSIM_BINARY="$root/build/release/ckptsim"
fi

allow_mpirun
export PYTHONDONTWRITEBYTECODE=1 CKPTSIM_SOURCE="$root"
exec /usr/bin/python3 "$here/vs_peers/main.py" "$@"
