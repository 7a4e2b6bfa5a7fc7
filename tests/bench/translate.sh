#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Processor time of programs counted by translation over their free time: the least of RUNS of each.
#     tests/bench/translate.sh CARM [RUNS]
set -u
carm=$(cd "$(dirname "${1:?the program}")" && pwd)/${1##*/}
runs=${2:-3}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/carm-bench-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
cd "$tmp" || exit 1

# least COMMAND...: seconds of user and system time
least() {
    i=0
    while [ $i -lt "$runs" ]; do
        # shellcheck disable=SC2016 # the inner shell's
        sh -c 'exec 3>&1; { "$@" >/dev/null 2>&1 3>&-; } <numbers; times >&3' sh "$@" | awk '
            NR == 2 { gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4 }'
        i=$((i + 1))
    done | sort -n | head -n 1
}

# row NAME COMMAND...
row() {
    name=$1
    shift
    command -v "$1" >/dev/null 2>&1 || return 0
    free=$(least "$@")
    counted=$(least "$carm" run -q --counters translate --no-time -- "$@")
    echo "$free $counted" | awk -v name="$name" '{ printf "%-24s %8.2f s %8.2f s %6.2f\n", name, $1, $2, ($1 > 0 ? $2 / $1 : 0) }'
}

seq 1 1500000 >numbers
cat >triad.c <<'END'
#include <stdlib.h>
static double a[1 << 22], b[1 << 22], c[1 << 22];
int main(int argc, char **argv)
{
    const int n = atoi(argv[argc - 2]);
    for (long r = atol(argv[argc - 1]); r > 0; r--) {
        for (int i = 0; i < n; i++) {
            a[i] = b[i] + 1.5 * c[i];
        }
        __asm__ volatile("" : : "r"(a) : "memory");
    }
    return 0;
}
END
cat >throw.cc <<'END'
#include <stdexcept>
static int deep(int n) { if (n == 0) throw std::runtime_error("x"); return deep(n - 1) + 1; }
int main() { int n = 0; for (int i = 0; i < 60000; i++) try { deep(i % 20); } catch (std::exception &) { n++; } return n != 60000; }
END
# shellcheck disable=SC2086 # a compiler may be two words
{
    ${CC:-cc} -O3 -o triad triad.c
    ${CXX:-c++} -O1 -o throw throw.cc
} 2>/dev/null
printf '%-24s %10s %10s %6s\n' 'counted by translation' free counted ratio
row 'triad, 1000 doubles' ./triad 1000 2000000
row 'triad, 4 million' ./triad 4000000 30
row 'bzip2 -9' bzip2 -9 -c
row gzip gzip -c
row 'xz -3' xz -3 -T1 -c
row 'zstd -9' zstd -q -9 -c
row 'openssl sha256' openssl dgst -sha256
# shellcheck disable=SC2016 # perl's
row perl perl -e 'my %h; $h{$_ % 100} += $_ for 1 .. 3000000'
row awk awk 'BEGIN { for (i = 0; i < 3000000; i++) s += sin(i) }'
row SQLite sqlite3 :memory: 'create table t(a); with recursive c(x) as (select 1 union all select x + 1 from c where
    x < 800000) insert into t select x from c; select sum(a), count(distinct a % 17) from t;'
row 'C++ exceptions' ./throw
row true true
