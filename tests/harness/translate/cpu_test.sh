#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm run --cpu: what the counted program sees, and that it does the same work. Prints TAP. CARM = the program,
# CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
cc=${CC:-cc}

if ! $cc -O1 -o "$tmp/cpu" "$top/tests/harness/translate/cpu.c" 2>"$tmp/err"; then
    echo "1..0 # SKIP no compiler"
    exit 0
fi
cd "$tmp" || exit 1

# field COLUMN FILE: of its last row
field() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i == name) { c = i } } } END { print $c }' "$2"
}

# counted NAME PROGRAM...: as that CPU; the row in row.csv, output in out
counted() {
    name=$1
    shift
    rm -f row.csv
    run run -q --whole --cpu "$name" -o row.csv -- "$@"
}

counted x86-64-v2 ./cpu && grep -qx 'GenuineIntel 106a5 sse4_2 1 fma 0 avx2 0 avx512f 0 xcr0 0' out &&
    grep -q '^model name.*: x86-64-v2 as carm shows it' out
ok 'a program sees the CPU of --cpu: cpuid, xgetbv, /proc/cpuinfo'
first=$(field instructions row.csv) bytes=$(field bytes row.csv)
[ "$(field note row.csv)" = 'as on x86-64-v2' ]
ok '... which its row says'
counted x86-64-v2 sh -c 'exec ./cpu' && grep -q '^GenuineIntel 106a5' out
ok '... and so does a program that it starts'
counted x86-64-v2 env LD_SHOW_AUXV=1 ./cpu && grep -q '^AT_HWCAP: *78bfbff$' out
ok '... and AT_HWCAP'
counted x86-64-v2 ./cpu && [ "$(field instructions row.csv)" = "$first" ] && [ "$(field bytes row.csv)" = "$bytes" ]
ok 'two runs execute the same'
if counted x86-64-v3 ./cpu; then
    grep -qx 'GenuineIntel 306c3 sse4_2 1 fma 1 avx2 1 avx512f 0 xcr0 7' out &&
        [ "$(field bytes row.csv)" -gt $((bytes / 2)) ] && [ "$(field instructions row.csv)" -lt "$first" ]
    ok 'wider vectors copy in fewer instructions'
    counted x86-64-v2 ./cpu wide &&
        grep -q 'not counted, because it executes an instruction that the CPU of --cpu lacks (vxorps of AVX)' row.csv &&
        [ -z "$(field flops row.csv)" ] && counted x86-64-v3 ./cpu wide && [ -n "$(field flops row.csv)" ]
    ok 'an instruction that the CPU lacks is named'
else
    grep -q 'this machine lacks [a-z0-9_]*, which x86-64-v3 has' err
    ok 'what this machine lacks is refused'
    skip 'an instruction that the CPU lacks is named' 'no AVX2'
fi
counted native ./cpu && [ "$(sed -n 1p out)" = "$(./cpu | sed -n 1p)" ]
ok 'native: as it is'
refuses 'another name' 2 '--cpu is x86-64-v2, x86-64-v3, ' run --cpu i386 -- ./cpu
refuses '--cpu with times' 2 '--cpu counts by translation, once: leave --repeat out' run --cpu x86-64-v2 --repeat 2 -- ./cpu

finish
