#!/usr/bin/env bash
# The one check: installs what is missing, holds format, builds with warnings as errors, tidies, and runs every test, the
# unit and contract tests once more under AddressSanitizer and UndefinedBehaviorSanitizer. Only what is labelled `slow`
# (minutes of soaking) is left to: ctest --test-dir build/dev -L slow
set -euo pipefail
cd "$(dirname "$0")"
source .ci/common.sh

install_packages "${build_packages[@]}" "${check_packages[@]}"
allow_mpirun
jobs="$(nproc)"
# All tests of a preset; before ctest's own closing lines, which of them did not run, and why.
run_tests() {
  ctest --preset "$1" -j "$jobs" |
    awk -v list="python3 -B tests/skipped.py build/$1/Testing/Temporary/LastTest.log" \
      '/% tests passed/ { closing = 1 } closing { held = held $0 "\n"; next } { print; fflush() }
       END { system(list); printf "%s", held }'
}
step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

# Debian's LibTorch is built with sleef, mkldnn and others whose development files its headers do not need.
configure() { cmake --preset "$1" >"build-$1.log" 2>&1 || { cat "build-$1.log"; return 1; }; rm -f "build-$1.log"; }

step "Format"
mapfile -t sources < <(git ls-files '*.h' '*.cpp')
clang-format --dry-run --Werror "${sources[@]}"

step "Build, warnings are errors; every header compiles alone"
configure dev
cmake --build --preset dev -j "$jobs"
cmake --build --preset dev -j "$jobs" --target all_verify_interface_header_sets

step "clang-tidy"
mapfile -t tidied < <(git ls-files '*.cpp')
printf '%s\n' "${tidied[@]}" | xargs -P "$jobs" -n 4 clang-tidy -p build/dev --quiet --extra-arg=-Wno-unknown-warning-option 2> >(grep -v 'warnings generated' >&2)

step "Unit and contract tests under ASan and UBSan"
configure asan
cmake --build --preset asan -j "$jobs"
run_tests asan

step "Bad files: 15 seconds of libFuzzer for each reader"
tests/fuzz/run.sh 15

step "Tests"
run_tests dev
