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
    echo "$free $counted" | awk -v name="$name" '{
        printf "%-24s %8.2f s %8.2f s %6s\n", name, $1, $2, ($1 > 0 ? sprintf("%.2f", $2 / $1) : "-") }' | tee -a ratios
}

seq 1 1500000 >numbers
head -c 12000000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >sound
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
cat >dgemm.c <<'END'
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
static double a[1000 * 1000], b[1000 * 1000], c[1000 * 1000];
int main(void)
{
    const int n = 1000;
    const double one = 1;
    for (int i = 0; i < n * n; i++) { a[i] = i % 7; b[i] = i % 11; }
    for (int i = 0; i < 12; i++) dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &n);
    return 0;
}
END
cat >fft.c <<'END'
#include <stdlib.h>
void *fftw_plan_dft_1d(int, double *, double *, int, unsigned);
void fftw_execute(void *);
static double in[2 << 16], out[2 << 16];
int main(int argc, char **argv)
{
    void *plan = fftw_plan_dft_1d(atoi(argv[argc - 2]), in, out, -1, 1U << 6);
    for (long i = atol(argv[argc - 1]); i > 0; i--) fftw_execute(plan);
    return 0;
}
END
cat >throw.cc <<'END'
#include <stdexcept>
static int deep(int n) { if (n == 0) throw std::runtime_error("x"); return deep(n - 1) + 1; }
int main() { int n = 0; for (int i = 0; i < 60000; i++) try { deep(i % 20); } catch (std::exception &) { n++; } return n != 60000; }
END
awk 'BEGIN { for (i = 0; i < 100; i++) print "int f" i "(int *a, int n) { int s = " i "; for (int i = 0; i < n; i++) { if (a[i] % 3 == 1)",
    "s += a[i] * " i "; else if (a[i] > s) a[i] = s ^ n; } switch (s % 5) { case 0: return n; case 1: return s; default: return -s; } }" }' >f.c
# shellcheck disable=SC2086 # a compiler may be two words
{
    ${CC:-cc} -O3 -o triad triad.c
    ${CC:-cc} -O2 -o dgemm dgemm.c -l:libopenblas.so.0
    ${CC:-cc} -O2 -o fft fft.c -l:libfftw3.so.3
    ${CXX:-c++} -O1 -o throw throw.cc
} 2>/dev/null
cat >j.js <<'END'
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
const m = new Map(), x = new Float64Array(1000);
for (let i = 0; i < 2e6; i++) m.set(i % 1000, 'x' + i);
for (let r = 0; r < 200000; r++) for (let i = 0; i < 1000; i++) x[i] = x[i] * 0.5 + i;
console.log(f(35), m.size, x[5]);
END
cat >J.java <<'END'
public class J {
    static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
    public static void main(String[] a) {
        var m = new java.util.HashMap<Integer, String>();
        double[] x = new double[1000];
        for (int i = 0; i < 2000000; i++) m.put(i % 1000, "x" + i);
        for (int r = 0; r < 200000; r++) for (int i = 0; i < 1000; i++) x[i] = x[i] * 0.5 + i;
        System.out.println(f(40) + " " + m.size() + " " + x[5]);
    }
}
END
cat >j.lua <<'END'
local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end
local x, t = {}, {}
for i = 1, 1000 do x[i] = 0 end
for i = 1, 1000000 do t[i % 1000] = 'x' .. i end
for r = 1, 200000 do for i = 1, 1000 do x[i] = x[i] * 0.5 + i end end
print(f(35), #t, x[5])
END
javac J.java 2>/dev/null
mkdir repository && git init -q repository && cp f.c numbers repository &&
    git -C repository add . && git -C repository -c user.name=x -c user.email=x commit -qm x
printf '%-24s %10s %10s %6s\n' 'counted by translation' free counted ratio
export OPENBLAS_NUM_THREADS=1
row 'dgemm, OpenBLAS' ./dgemm
row 'triad, 1000 doubles' ./triad 1000 2000000
row 'triad, 4 million' ./triad 4000000 30
row 'FFTW, 1024 points' ./fft 1024 200000
row 'FFTW, 65536 points' ./fft 65536 1500
row 'bzip2 -9' bzip2 -9 -c
row gzip gzip -c
row 'xz -3' xz -3 -T1 -c
row 'zstd -9' zstd -q -9 -c
row 'gcc -O2' gcc -O2 -S -o /dev/null f.c
row SQLite sqlite3 :memory: 'create table t(a); with recursive c(x) as (select 1 union all select x + 1 from c where
    x < 800000) insert into t select x from c; select sum(a), count(distinct a % 17) from t;'
# shellcheck disable=SC2016 # perl's
row perl perl -e 'my %h; $h{$_ % 100} += $_ for 1 .. 3000000'
row python /usr/bin/python3 -S -c 'print(sum(i * i % 7 for i in range(4000000)))'
row gawk gawk 'BEGIN { for (i = 0; i < 3000000; i++) s += sin(i) }'
row 'openssl sha3' openssl dgst -sha3-512 numbers numbers numbers numbers numbers numbers
row 'openssl des-ede3-cbc' openssl enc -des-ede3-cbc -K 00 -iv 00 -in sound
/usr/bin/python3 -c 'import numpy' 2>/dev/null &&
    row numpy /usr/bin/python3 -c 'import numpy as n; a = n.arange(2e6); print(sum(float(n.sqrt(a * k).sum()) for k in range(60)))'
row git git -C repository log -p
row sed sed -n 's/9\([0-9]*\)3/<\1>/gp'
row flac flac -s -8 -c --force-raw-format --endian=little --sign=signed --channels=2 --bps=16 --sample-rate=44100 sound
row ripgrep rg -c '9[0-9]*3' numbers
row 'C++ exceptions' ./throw
command -v ffmpeg >/dev/null 2>&1 && ffmpeg -v error -f lavfi -i testsrc=duration=2:size=640x360:rate=25 -pix_fmt yuv420p -c:v rawvideo film.avi &&
    row 'ffmpeg, x264' ffmpeg -nostdin -v error -threads 2 -i film.avi -c:v libx264 -f null -
row luajit luajit j.lua
row true true
grep -v '^true' ratios | awk '{ $0 = substr($0, 25) } $1 >= 0.1 { sum += log($5); n++ } END {
    printf "geometric mean of %d programs of 0.1 s and more: %.2f\n", n, exp(sum / n) }'
# these compile while they run, into memory that stays writable
row node node j.js
[ -e J.class ] && row java java -cp . J
