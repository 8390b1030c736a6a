#!/usr/bin/env bash
# run.sh [SECONDS [NAME...]]: builds the libFuzzer programs (preset `fuzz`) and runs each, or those that are named, for so
# many seconds (15), as many at once as there are cores. Fails where one meets a crash, a leak, an input of more than
# five seconds, or memory beyond what its size allows; says where the input is. What is found on the way stays in
# build/fuzz/corpus and is the next run's beginning.
#
# run.sh --keep: puts into tests/fuzz/corpus what of the kept corpus, the seeds (make_seeds.py) and build/fuzz/corpus it
# takes to reach all that they reach.
set -euo pipefail
cd "$(dirname "$0")/../.."

declare -A dictionary=([archive]=zip [journal]=json [manifest]=json [model_file]=json [pickle]=pickle [result]=json [run_config]=json [zip]=zip)
programs=build/fuzz/tests/fuzz
limits=(-timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=256 -max_len=16384)

build() {
  cmake --preset fuzz >/dev/null
  cmake --build --preset fuzz -j "$(nproc)"
}

# Run by xargs, one NAME each.
fuzz_one() {
  local name="$1" log="build/fuzz/findings/$1.log"
  mkdir -p "build/fuzz/corpus/$name"
  if "$programs/fuzz_$name" "${limits[@]}" -max_total_time="$seconds" -artifact_prefix="build/fuzz/findings/$name-" \
    -dict="tests/fuzz/dictionaries/$2.dict" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" </dev/null >"$log" 2>&1; then
    echo "$name: $(grep -a 'DONE  ' "$log" | tr -s '\t ' ' ')"
  else
    tail -n 60 "$log"
    echo "$name failed: the input is named above; $programs/fuzz_$name INPUT shows it again"
    return 1
  fi
}

if [ "${1-}" = --keep ]; then
  build
  seeds="$(mktemp -d)"
  trap 'rm -rf "$seeds"' EXIT
  /usr/bin/python3 -B tests/fuzz/make_seeds.py "${CKPTSIM:-build/dev/ckptsim}" "$seeds"
  for name in "${!dictionary[@]}"; do
    kept="tests/fuzz/corpus/$name"
    mkdir -p "$kept.new" "$kept" "build/fuzz/corpus/$name"
    from=("$seeds/$name" "$kept" "build/fuzz/corpus/$name")
    longest=8192
    # Of kilobytes each: what was made of the seeds would be a megabyte, and begins from them again anyway.
    if [[ $name == journal || $name == result ]]; then
      from=("$seeds/$name" "$kept")
      longest=16384
    fi
    "$programs/fuzz_$name" -set_cover_merge=1 "${limits[@]}" -max_len="$longest" "$kept.new" "${from[@]}" \
      </dev/null >"build/fuzz/keep-$name.log" 2>&1 || { tail -n 60 "build/fuzz/keep-$name.log"; exit 1; }
    rm -rf "$kept"
    mv "$kept.new" "$kept"
  done
  du -sb tests/fuzz/corpus
  exit
fi

seconds="${1:-15}"
names=("${@:2}")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(printf '%s\n' "${!dictionary[@]}" | sort)
build
rm -rf build/fuzz/findings
mkdir -p build/fuzz/findings
export -f fuzz_one
export programs seconds
export limits_text="${limits[*]}"
for name in "${names[@]}"; do echo "$name ${dictionary[$name]}"; done |
  xargs -P "$(nproc)" -L 1 bash -c 'read -ra limits <<<"$limits_text"; fuzz_one "$@"' fuzz_one
