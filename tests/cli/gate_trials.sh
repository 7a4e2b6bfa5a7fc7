#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The script of docs/ci.md on one program again and again, and on the same program with one instruction, a hundredth of the
# bytes, and a sleep more: false alarms, and what is found.
#
# usage: gate_trials.sh RUNS [TIMES]     TIMES: how often times are compared, which tests in make check leave out (0)
# CARM = the program, CARM_TOP = the sources' root. Exits with 1 after a false alarm or a miss.
set -u
runs=$1
times=${2:-0}
carm=${CARM:-build/carm}
case $carm in */*) carm=$(cd "$(dirname "$carm")" && pwd)/${carm##*/} ;; esac
top=$(cd "${CARM_TOP:-.}" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/carm-gates-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
cd "$dir" || exit 1
mkdir bin && ln -s "$carm" bin/carm
PATH=$dir/bin:$PATH
wrong=0

python3 "$top/tests/ci.py" . "$top/docs/ci.md" "$top/docs/ci-jobs.md" >/dev/null || exit 1
for variant in same ONE BYTES=1172000 SLEEP=20; do # 1% of its 117 MB
    ${CC:-cc} -g -O2 -D"$variant" -o "bench-${variant%=*}" "$top/tests/data/gate.c" || exit 1
done

# gate VARIANT: the script's exit status for that program, in another environment each time
gate() {
    ln -f "bench-$1" bench
    JOB=$JOB-x
    sh script-1 >out 2>err
}
JOB=1
export JOB

# report WHAT TRIES COUNT EXPECTED
report() {
    echo "$1: $3 of $2"
    [ "$3" -eq "$4" ] || wrong=1
}

gate same && cp branch.csv main.csv || exit 1
[ -s main.csv ] || exit 1
i=0 alarms=0
while [ $i -lt "$runs" ]; do
    gate same || { alarms=$((alarms + 1)); cat err; }
    i=$((i + 1))
done
report 'false alarms of counts' "$runs" $alarms 0
for variant in ONE BYTES; do
    i=0 found=0
    while [ $i -lt "$runs" ]; do
        gate $variant || found=$((found + 1))
        i=$((i + 1))
    done
    grep -h -- '^carm: --exact' err | tail -n 2
    report "found $variant" "$runs" $found "$runs"
done
i=0 alarms=0 found=0 unknown=0
while [ $i -lt "$times" ]; do
    carm compare --run --threshold 20 ./bench-same ./bench-same >out 2>err
    case $? in 1) alarms=$((alarms + 1)) && cat out ;; 3) unknown=$((unknown + 1)) ;; esac
    carm compare --run --threshold 20 ./bench-same ./bench-SLEEP >out 2>err
    case $? in 1) found=$((found + 1)) ;; 3) unknown=$((unknown + 1)) ;; esac
    i=$((i + 1))
done
if [ "$times" -gt 0 ]; then
    report 'false alarms of times' "$times" $alarms 0
    report 'found SLEEP' "$times" $found "$times"
    echo "not comparable: $unknown of $((2 * times))"
fi
exit $wrong
