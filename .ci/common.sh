# Shared by quickstart.sh and check.sh: what Debian packages are needed, and how mpirun is called. To be sourced.

build_packages=(build-essential cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libvalijson-dev
  libisal-dev zlib1g-dev liburing-dev libopenmpi-dev openmpi-bin)
check_packages=(libtorch-dev python3 python3-torch python3-mpi4py python3-jsonschema libgtest-dev libgmock-dev libbenchmark-dev clang clang-format clang-tidy
  libclang-rt-dev strace util-linux e2fsprogs iproute2 git fio zstd)

# Installs those of the named packages that are missing: as root, with sudo, or not at all but saying how.
install_packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    echo "This needs Debian 12 or a system with apt-get; missing: ${missing[*]}" >&2
    return 2
  fi
  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null && ! { [ -t 0 ] && command -v sudo >/dev/null; }; then
      echo "Packages are missing. Run this line, then this script again:" >&2
      echo "  su -c 'apt-get update && ${install[*]}'" >&2
      return 2
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}"
}

# Open MPI refuses root and more processes than cores unless told otherwise. What the user has set stays.
allow_mpirun() {
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT-1}"
    export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM-1}"
  fi
}
