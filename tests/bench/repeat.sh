#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# N builds in a row, each from scratch: the median of every roof, its coefficient of variation in per-cycle
# units (a machine whose clock wanders is still the same machine) and in absolute ones, how far the lowest
# unmarked one lies below the median, and how many of the 95% intervals hold the median of the other
# builds. Roofs that the builds marked as disturbed are counted, and left out.
# usage: repeat.sh CARM N [build options]
set -eu
carm=$1
n=$2
shift 2
dir=$(mktemp -d "${TMPDIR:-/tmp}/carm-repeat-XXXXXX")
trap 'rm -rf "$dir"' EXIT
i=1
while [ "$i" -le "$n" ]; do
  "$carm" build --fresh "$@" -o "$dir/$i.json" | tail -n 1
  i=$((i + 1))
done
python3 "$(dirname "$0")/repeat.py" "$dir"/*.json
