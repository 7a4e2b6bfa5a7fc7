#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# search.sh PROGRAM SECONDS [TARGET...]: runs libFuzzer on each target (all unless named), as many at a time as
# there are processors. Inputs that break a reader are left in tests/fuzz/inputs/TARGET/, and the reports in
# build-fuzz/. From the top of the source.
set -u
export UBSAN_OPTIONS=print_stacktrace=1

if [ "$1" = --target ]; then
  program=$2 seconds=$3 target=$4
  export CARM_FUZZ="$target"
  corpus=build-fuzz/corpus/$target
  report=build-fuzz/$target.txt
  inputs=tests/fuzz/inputs/$target
  [ "$target" != planted ] || inputs=build-fuzz/planted
  mkdir -p "$corpus" "$inputs"
  "$program" --seeds "$corpus" || exit 1
  if "$program" -max_total_time="$seconds" -timeout=10 -max_len=16384 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$inputs/" "$corpus" >"$report" 2>&1; then
    found=nothing
  else
    found="an input, see $report"
  fi
  rmdir "$inputs" 2>/dev/null
  printf '%-20s %12s runs: %s\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$report")" "$found"
  [ "$found" = nothing ]
  exit
fi

program=$1 seconds=$2
shift 2
# shellcheck disable=SC2046 # one word for each target
[ $# -gt 0 ] || set -- $("$program" --targets | grep -v '^planted$')
if "$0" --target "$program" 30 planted; then
  echo "the planted fault was not found: the search is worth nothing" >&2
  exit 1
fi
rm -rf build-fuzz/planted
printf '%s\n' "$@" | xargs -n 1 -P "${CARM_TEST_JOBS:-$(nproc)}" "$0" --target "$program" "$seconds"
