#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# N builds in a row: mean and coefficient of variation of every roof, in per-cycle units (a machine
# whose clock wanders is still the same machine) and in absolute ones. Points that the builds marked as
# disturbed are counted, and left out of the means.
# usage: repeat.sh CARM N [build options]
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
    /"bytes_per_cycle":|"flops_per_cycle":/ { percycle = value($0) }
    /"disturbed":/ && percycle {
      print isa "." precision "." threads "." what "\t" percycle "\t" rate "\t" value($0)
      percycle = "" }
  ' "$f"
done | sed 's/ /_/g' | awk -F'\t' '
  { if (!($1 in all)) order[++keys] = $1
    all[$1]++
    if ($4 == "true") next
    n[$1]++; s[$1] += $2; q[$1] += $2 * $2; S[$1] += $3; Q[$1] += $3 * $3 }
  END {
    printf "%-26s %3s %9s %11s %8s %12s %8s\n", "roof", "n", "disturbed", "per cycle", "CV",
      "absolute", "CV"
    for (i = 1; i <= keys; i++) {
      k = order[i]
      if (!n[k]) { printf "%-26s %3d %9d\n", k, all[k], all[k]; continue }
      m = s[k] / n[k]; v = q[k] / n[k] - m * m
      M = S[k] / n[k]; V = Q[k] / n[k] - M * M
      printf "%-26s %3d %9d %11.3f %7.2f%% %12.4g %7.2f%%\n", k, all[k], all[k] - n[k], m,
        100 * sqrt(v > 0 ? v : 0) / m, M, 100 * sqrt(V > 0 ? V : 0) / M
    } }'
