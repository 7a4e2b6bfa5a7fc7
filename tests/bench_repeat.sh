#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# N builds in a row: median and coefficient of variation of every roof, in per-cycle units (a machine
# whose clock wanders is still the same machine) and in absolute ones.
# usage: bench_repeat.sh CARM N [build options]
set -eu
carm=$1
n=$2
shift 2
dir=$(mktemp -d "${TMPDIR:-/tmp}/carm-repeat-XXXXXX")
trap 'rm -rf "$dir"' EXIT
i=1
while [ "$i" -le "$n" ]; do
  "$carm" build "$@" -o "$dir/$i.json" | tail -n 1
  "$carm" show --no-plot --ascii "$dir/$i.json" >"$dir/$i.txt"
  "$carm" show --json "$dir/$i.json" >"$dir/$i.model"
  i=$((i + 1))
done
# roofs in the file's order: one "key value" a line for each
for f in "$dir"/*.model; do
  awk '
    function value(line) { sub(/^[^:]*: */, "", line); gsub(/[",]/, "", line); return line }
    /"isa":/ { isa = value($0) }
    /"precision":/ { precision = value($0) }
    /"threads":/ { threads = value($0) }
    /"level":/ { level = value($0) }
    /"ldst":/ { what = level " " value($0) }
    /"op":/ { what = "peak " value($0) }
    /"bandwidth":|"rate":/ { rate = value($0) }
    /"bytes_per_cycle":|"flops_per_cycle":/ {
      print isa "." threads "." what "\t" value($0) "\t" rate }
  ' "$f"
done | sed 's/ /_/g' | awk -F'\t' '
  { if (!($1 in n)) order[++keys] = $1
    n[$1]++; s[$1] += $2; q[$1] += $2 * $2; S[$1] += $3; Q[$1] += $3 * $3 }
  END {
    printf "%-28s %4s %14s %8s %14s %8s\n", "roof", "n", "per cycle", "CV", "absolute", "CV"
    for (i = 1; i <= keys; i++) {
      k = order[i]; m = s[k] / n[k]; v = q[k] / n[k] - m * m
      M = S[k] / n[k]; V = Q[k] / n[k] - M * M
      printf "%-28s %4d %14.3f %7.2f%% %14.4g %7.2f%%\n", k, n[k], m,
        100 * sqrt(v > 0 ? v : 0) / m, M, 100 * sqrt(V > 0 ? V : 0) / M
    } }'
