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
    printf 'int main(int n, char **v) { (void)v; __asm__ volatile("rep bsf %%0, %%0" : "+r"(n)); return n; }\n' >bsf.c &&
        $cc -o bsf bsf.c 2>err && counted x86-64-v2 ./bsf && [ -n "$(field bytes row.csv)" ]
    ok '... but not bsf with a prefix, which newer CPUs call tzcnt'
    printf 'int main(int n, char **v) { (void)v; __asm__ volatile("rep bsr %%1, %%0" : "=r"(n) : "m"(n)); return n; }\n' >bsr.c &&
        $cc -o bsr bsr.c 2>err && counted x86-64-v2 ./bsr a a a a a a a
    old=$?
    counted x86-64-v3 ./bsr a a a a a a a
    [ $? -eq 28 ] && [ $old -eq 3 ]
    ok '... and bsr with a prefix is bsr, not lzcnt'
    # shellcheck disable=SC2016 # the counted shell expands them
    counted x86-64-v2 sh -c 'i=0; while [ $i -lt 100 ]; do ./bsr a a a a a a a; [ $? -eq 3 ] || exit 9; i=$((i + 1)); done'
    ok '... also in code that programs share'
    (
        export CARM_KEEP_CODE=1 XDG_CACHE_HOME="$tmp/cache"
        for _ in 1 2 3; do
            counted x86-64-v2 ./bsr a a a a a a a
            [ $? -eq 3 ] || exit 1
        done
    )
    ok '... and in code that is kept'
else
    grep -q 'this machine lacks [a-z0-9_]*, which x86-64-v3 has' err
    ok 'what this machine lacks is refused'
    skip 'an instruction that the CPU lacks is named' 'no AVX2'
fi
counted native ./cpu && [ "$(sed -n 1p out)" = "$(./cpu | sed -n 1p)" ]
ok 'native: as it is'

# ---- what differs from run to run ---------------------------------------------------------------

cat >asks.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Prints its random numbers, in which order the arguments ask for them, and 10000 times reads a clock. */
int main(int argc, char **argv)
{
    unsigned char bytes[40];
    struct timespec now;
    for (int i = 1; i < argc; i++) {
        const int fd = strcmp(argv[i], "call") == 0 ? -1 : open(argv[i], O_RDONLY);
        const ssize_t n = fd < 0 ? getrandom(bytes, sizeof bytes, 0) : read(fd, bytes, sizeof bytes);
        for (ssize_t k = 0; k < n; k++) {
            printf("%02x", bytes[k]);
        }
        putchar('\n');
    }
    for (int i = 0; i < 10000; i++) {
        clock_gettime(CLOCK_REALTIME, &now);
    }
    printf("%d\n", getauxval(AT_SYSINFO_EHDR) != 0);
    return 0;
}
END
cat >start.c <<'END'
#include <stdint.h>
#include <stdio.h>

/* Prints its arguments and environment, and the keys of the auxiliary vector. */
int main(int argc, char **argv, char **env)
{
    char **at = argv + argc + 1;
    for (int i = 0; i < argc; i++) {
        puts(argv[i]);
    }
    for (; *at; at++) {
        puts(*at);
    }
    printf("%d", argc >= 0 && env == argv + argc + 1 && (uintptr_t)(argv - 1) % 16 == 0);
    for (at++; *at; at += 2) {
        printf(" %lu", (unsigned long)(uintptr_t)*at);
    }
    puts("");
    return 0;
}
END
if $cc -O1 -o start start.c 2>err; then
    # AT_RSEQ_FEATURE_SIZE and AT_RSEQ_ALIGN, since Linux 6.3, and two more since 6.14; here with odd and even numbers of words
    for words in 'a' 'a b' 'a b c' "$(seq -s ' ' 2000)"; do
        # shellcheck disable=SC2086 # words
        env -i A=1 ./start $words >free && counted native env -i A=1 ./start $words &&
            tail -n 1 out | grep '^1 .* 15' | grep -qv ' \(27\|28\|29\|30\)\b' && sed '$d' free >want &&
            sed '$d' out | cmp - want >err && echo same
    done >sums
    [ "$(grep -c same sums)" -eq 4 ]
else
    false
fi
ok 'a program begins with the same entries in its auxiliary vector on all kernels'
if $cc -O1 -D_GNU_SOURCE -o asks asks.c 2>err; then
    for i in 1 2 3 4; do
        counted native ./asks call /dev/urandom call && mv out asks$i && echo "$(field instructions row.csv) $(field bytes row.csv)"
    done >sums
    [ "$(sort -u sums | wc -l)" -eq 1 ] && [ "$(wc -l <sums)" -eq 4 ] && cmp asks1 asks4 >err &&
        [ "$(sort -u asks1 | wc -l)" -eq 4 ] && tail -n 1 asks1 | grep -qx 0
    ok 'clocks and random numbers make no difference from run to run'
    [ "$(field asks_for row.csv)" = 'the time' ]
    ok '... and the row says that the program reads the time'
    run run -q --whole --counters translate --no-time -o row.csv -- ./asks call && mv out free1 &&
        run run -q --whole --counters translate --no-time -o row.csv -- ./asks call && ! cmp -s out free1 &&
        grep -q '"the time, random numbers"' row.csv
    ok 'without --cpu random numbers are random, and the row says so'
    counted native sh -c './asks call & wait; ./asks call; head -c 40 /dev/random >bytes; od -An -tx1 bytes' && mv out first &&
        counted native sh -c './asks call & wait; ./asks call; head -c 40 /dev/random >bytes; od -An -tx1 bytes' && cmp out first >err &&
        [ "$(sort first | uniq -d)" = 0 ] # the line without a vDSO
    ok 'two programs of a run draw other numbers'
else
    skip 'clocks and random numbers make no difference from run to run' 'no compiler'
fi
cat >maps.sh <<'END'
exec 3</proc/self/maps 4</proc/$$/maps
grep -c carm- <&3
grep -c /dev/zero <&4
grep -c '\[stack\]' /proc/self/maps
(echo x >&3) 2>/dev/null || echo read-only
END
sh maps.sh >free
"$carm" run -q --counters translate --no-time -- sh maps.sh >out 2>err
[ "$(tr '\n' ' ' <free)" = '0 0 1 read-only ' ] && cmp out free >err
ok 'a program does not see the memory of carm in its maps'
"$carm" run -q --counters translate --no-time -- cat /proc/self/maps >out 2>err
"$carm" run -q --counters translate --no-time -- dd if=/proc/self/maps bs=7 >out7 2>err
grep -q ' r-xp .*/ld-' out && [ -s out7 ] &&
    python3 - out out7 2>err <<'END'
import sys
for name in sys.argv[1:]:
    last = 0
    for line in open(name):
        begin, end = (int(x, 16) for x in line.split()[0].split("-"))
        assert last <= begin < end and len(line.split()) >= 5, line
        last = end
END
ok '... in whole lines, in order'
"$carm" run -q --counters translate --no-time -- sh -c 'ulimit -f 8; . ./maps.sh' >out 2>err && grep -qx 'read-only' out
ok '... and goes on where it may not write large files'
refuses 'another name' 2 '--cpu is x86-64-v2, x86-64-v3, ' run --cpu i386 -- ./cpu
refuses '--cpu with times' 2 '--cpu counts by translation, once: leave --repeat out' run --cpu x86-64-v2 --repeat 2 -- ./cpu

finish
