# Shared by the benchmarks that run the program beside others. To be sourced; sets here and root.
#
#   show_help DRIVER ARGUMENTS...     ends with the driver's help, where that is asked for, before anything is built
#   have_program TEST PACKAGES...     installs what is missing and builds the release, unless CKPTSIM_BINARY names a program;
#                                     TEST is the file that the build has to have made
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(realpath "$here/../..")"
source "$root/.ci/common.sh"

show_help() {
  local driver="$1"
  shift
  case " $* " in
    *" -h "* | *" --help "*) exec python3 -B "$driver" --help ;;
  esac
}

have_program() {
  local made="$1"
  shift
  local packages=("$@")
  [ -n "${CKPTSIM_BINARY:-}" ] || packages+=("${build_packages[@]}")
  install_packages "${packages[@]}" >&2
  if [ -z "${CKPTSIM_BINARY:-}" ]; then
    echo "Building the release" >&2
    (
      cd "$root"
      [ -f "build/release/$made" ] || cmake --preset release
      cmake --build --preset release
    ) >&2
    export CKPTSIM_BINARY="$root/build/release/ckptsim"
  fi
  allow_mpirun
  export PYTHONDONTWRITEBYTECODE=1 CKPTSIM_SOURCE="$root"
}
