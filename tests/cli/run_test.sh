#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm run: programs that end well, badly and not at all; counted by stepping, by nobody and by
# regions; placed on a model. Prints TAP. Counts decide, no time does.
# shellcheck disable=SC2016 # scripts of other shells
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
set -u
case ${CARM_TOP:-.} in /*) ;; *) CARM_TOP=$PWD/${CARM_TOP:-.} ;; esac
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
unset CARM_OUT CARM_COUNTERS
# the start of a program looks for tunables in each variable: most of what would be stepped of a short one
for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p'); do
    case $name in PATH | *_PATH | HOME | TMPDIR | CC | CARM* | XDG_DATA_HOME | LC_ALL | *SAN_OPTIONS) ;; *) unset "$name" ;; esac
done
cd "$tmp" || exit 1

run() {
    timeout 600 "$carm" run "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    keep $status run "$@" || true
}

# refuses NAME STATUS PATTERN ARGUMENTS...
refuses() {
    name=$1 want=$2 pattern=$3
    shift 3
    run "$@"
    [ $status -eq "$want" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        grep -qE -- "^carm: $pattern" "$tmp/err"
    ok "refuses $name"
}

# field FILE NAME COLUMN: of the last row of that name
field() {
    awk -v name="$2" -v column="$3" '
    # the fields of a line of CSV, in which quotes are doubled
    function cut_up(line, fields,    n, quoted, i, c) {
        n = 1; quoted = 0; split("", fields)
        for (i = 1; i <= length(line); i++) {
            c = substr(line, i, 1)
            if (quoted && c == "\"" && substr(line, i + 1, 1) == "\"") { fields[n] = fields[n] c; i++ }
            else if (c == "\"") quoted = !quoted
            else if (c == "," && !quoted) n++
            else fields[n] = fields[n] c
        }
        return n
    }
    { n = cut_up($0, fields) }
    NR == 1 { for (i = 1; i <= n; i++) at[fields[i]] = i; next }
    fields[1] == name { found = NR; value = fields[at[column]] }
    END { print found && column in at ? value : "no row" }' "$1"
}

# ---- CPU time ----------------------------------------------------------------------------------------

# A program that ends once its own clock of CPU time is at 0.3 s: each writer of its CPU time must say so,
# however long it waited for a processor. Below twice that, since starting and ending take some, too.
cat >burn.c <<'END'
#include <time.h>
int main(void)
{
    struct timespec t;
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 300000000);
    return 0;
}
END
if ${CC:-cc} -O1 -o burn burn.c; then
    run -q --counters none --json burn.json -- ./burn && run -q --counters none --whole -o burn.csv --name burn -- ./burn
    [ $status -eq 0 ] && python3 - burn.json "$(field burn.csv burn task_seconds)" "$(field burn.csv burn seconds)" <<'END'
import json, sys
of = json.load(open(sys.argv[1]))
figures = of["cpu_seconds"], of["whole"]["task_seconds"], float(sys.argv[2])
sys.exit(0 if all(0.3 <= f < 0.6 for f in figures) and figures[2] <= float(sys.argv[3]) else f"CPU times: {figures}")
END
    ok "writes the CPU time that the program used: JSON, its counts, points"
fi

# ---- output of the counted run ----------------------------------------------------------------------

# each kind of output has its own number of instructions: the counted run meets the same one
cat >kinds.sh <<'END'
n=1; [ -f /dev/fd/1 ] && n=100000; [ -p /dev/fd/1 ] && n=200000
while [ $n -gt 0 ]; do n=$((n - 1)); done
END
counted() {
    sed -n 's/.*translation of \([0-9]*\)[.0-9]* million instructions.*/\1/p' "$1"
}
if "$carm" run --counters translate -- true 2>&1 | grep -q 'translation of'; then
    "$carm" run --whole --counters translate -- sh kinds.sh >file 2>to-file
    "$carm" run --whole --counters translate -- sh kinds.sh 2>to-pipe | cat
    "$carm" run --whole --counters translate -- sh kinds.sh >/dev/null 2>to-null
    file=$(counted to-file) pipe=$(counted to-pipe) null=$(counted to-null)
    [ "$null" -lt 5 ] && [ "$file" -gt $((10 * (null + 1))) ] && [ "$pipe" -gt $((file * 3 / 2)) ] && [ ! -s file ]
    ok "the counted run has output of the same kind"
    # does its work in one of both runs
    # shellcheck disable=SC2016 # the script's
    echo '[ -e ran ] && exit; : >ran; n=1500000; while [ $n -gt 0 ]; do n=$((n - 1)); done' >first.sh
    # shellcheck disable=SC2016
    echo '[ -e ran ] || { : >ran; exit; }; n=900000; while [ $n -gt 0 ]; do n=$((n - 1)); done' >second.sh
    for which in first second; do
        rm -f ran
        run --whole --counters translate -- sh $which.sh
        grep -q 'note .*the runs differ: [0-9.e+]* instructions were counted' err
        ok "work in the $which run alone is noticed"
    done
    rm -f ran
else
    skip "the counted run has output of the same kind" "translation does not work here"
fi

# ---- status, streams, names ---------------------------------------------------------------------

run --counters none -- sh -c 'echo to the program; exit 5'
[ $status -eq 5 ] && [ "$(cat out)" = 'to the program' ] && grep -q '^carm: counted by' err
ok "the program's status and output are its own"
for end in '' '\n'; do # of the program's output
    echo before >both
    "$carm" run --counters none -- printf "text$end" >>both 2>&1
    sed -n '3s/^carm: printf: .*/begun/; 1,3p' both >lines
    "$carm" run --counters none -- printf "text$end" >both 2>&1
    sed -n '2s/^carm: printf: .*/begun/; 1,2p' both >>lines
    [ "$(tr '\n' ' ' <lines)" = 'before text begun text begun ' ]
    ok "carm begins a line behind the program's output in the same file${end:+, whose line has ended}"
done
run -q --counters none -- true
[ $status -eq 0 ] && [ ! -s out ] && [ ! -s err ]
ok 'quiet says nothing'
mkfifo slow.json
timeout -s KILL 600 "$carm" run --counters none --model slow.json -- sh -c 'echo "$PPID" >ran' >out 2>err </dev/null &
job=$!
exec 8>slow.json # carm has opened the model, which nobody writes
kill -TERM "$(cat ran)"
wait $job
[ $? -eq 143 ]
ok 'once the program has ended, SIGTERM ends carm'
exec 8>&-
rm slow.json ran
timeout -s KILL 600 "$carm" run -q --counters none -- sh -c 'sleep 200 & echo $! >left; echo $PPID >ran; wait' >out 2>err </dev/null &
job=$!
i=0
while [ ! -s ran ] && [ $i -lt 600 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -TERM "$(cat ran)"
wait $job
[ $? -eq 143 ] && ! kill -0 "$(cat left)" 2>err
ok 'SIGTERM during a run goes to the children of the program, too'
for limit in '-s TERM' '-s KILL'; do
    # shellcheck disable=SC2086 # words
    run --counters none -- timeout $limit 0.2 sleep 9
    [ "$status" -ge 124 ] && grep -q '^carm: note .*it was cut (exit status 1[23][47], .*not all of its work' "$tmp/err"
    ok "a program that was cut is said to be: timeout $limit"
done
cat >once.c <<'END'
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    unsigned char *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*f)(void);
    memcpy(code, "\xb8\1\0\0\0\xc3", 6); /* mov eax, 1; ret */
    memcpy(&f, &code, sizeof f);
    volatile double s = f();
    for (long i = 0; i < 50000000; i++) {
        s += 0.5;
    }
    return s < 0;
}
END
model=$CARM_TOP/tests/data/sample-model.json
# shellcheck disable=SC2086 # a compiler may be two words
if ! "$carm" run -q --counters translate --no-time -- true 2>err; then
    skip 'rows of code of no file, small stacks' "$(tail -n 1 err)"
elif ${CC:-cc} -g -O1 -o once once.c 2>err; then
    run -m "$model" --name row --counters translate -o once.csv -- ./once
    grep -q '^row: main loop' once.csv && ! grep -q '^row: code of no known file' once.csv
    ok 'code of no file in which no sample fell is no row'
    # dec rdi; jnz; ret: a loop of a GHz or two
    sed 's/"\\xb8\\1\\0\\0\\0\\xc3", 6); .*/"\\x48\\xff\\xcf\\x75\\xfb\\xc3", 6);/; s/int (\*f)(void)/int (*f)(long)/; s/= f()/= 0; f(600000000)/; s/50000000/1/' \
        once.c >jit.c
    ${CC:-cc} -g -O1 -o jit jit.c 2>err && run -m "$model" -- ./jit &&
        grep -q '^carm: jit: .*% .*in code of no known file, made while it ran (by a JIT compiler, say):' err &&
        grep -q '^carm:  *[0-9.]*%  not known  *-  -  *code of no known file$' err
    ok 'code that the program has made is named, and has no verdict'
    if grep -q __asan_init "$carm"; then
        skip 'small stacks' 'a sanitizer needs more'
    else
        # shellcheck disable=SC3045 # dash and bash have it
        (ulimit -s 64 && run -m "$model" --name row --counters translate --loops -o small.csv -- sh -c 'ulimit -s; ./once' &&
            [ "$(cat out)" = 64 ] && grep -q '^row: main loop' small.csv && "$carm" show "$model" >out 2>err)
        ok 'a stack of 64 KiB is enough for carm, and stays that of the program'
        # shellcheck disable=SC3045 # dash and bash have it
        (ulimit -s 64 && "$carm" place "$model" small.csv >out 2>err && "$carm" compare "$model" "$model" >out 2>err &&
            "$carm" compare small.csv small.csv >out 2>err && "$carm" report "$model" small.csv -o small.html >out 2>err &&
            "$carm" fleet show "$model" >out 2>err && "$carm" build --dry-run >out 2>err)
        ok 'and for its other commands'
    fi
else
    skip 'rows of code of no file, small stacks' 'no compiler'
fi
rm ran left
(trap '' INT && "$carm" run -q --counters none -- grep SigIgn: /proc/self/status) 2>err | grep -q '02$' # not by timeout
ok 'a program inherits that SIGINT is ignored'
run --counters none -- sh -c 'kill -SEGV $$'
[ $status -eq 139 ] && grep -q 'signal 11' err
ok 'a crash is told and gives 128 + its signal'
run --counters none -- sh -c 'kill -KILL $$'
[ $status -eq 137 ]
ok 'a killed program gives 137'
run --counters none -- sh -c 'exec sh -c "exit 7"'
[ $status -eq 7 ]
ok 'a program that execs another'
run --counters none sh -c 'exit 3'
[ $status -eq 3 ]
ok 'without -- the first operand begins the command, its options are its own'
printf 'one\ntwo\n' >in
timeout 600 "$carm" run --counters none -- cat <in >out 2>err && cmp -s in out
ok 'standard input is the program'"'"'s'
refuses 'a program that is not there' 127 "there is no program 'no-such-program'" -- no-such-program
refuses 'a file that is no program' 126 "'\./in' is not a program that may be run" -- ./in
refuses 'no program' 2 'say which program to run' --counters none
refuses 'an unknown provider' 2 "there is no .*'perf'|.*perf" --counters perf -- true
refuses 'a budget without stepping' 2 '.*belongs to --counters step' --steps 5 -- true
refuses 'a budget of nothing' 2 '--steps needs a whole number' --counters step --steps 0 -- true
refuses 'a line end in a name' 2 '--name has control characters' --name 'a
b' -- true
refuses 'an escape sequence in a name' 2 '--name has control' --name "$(printf 'a\033[2Jb')" -- true
refuses 'a C1 control character in a name' 2 '--name has control' --name "$(printf 'a\302\233')" -- true
refuses 'threads that are no number' 2 "--threads 'two' is no number" --threads two -- true
refuses 'a folder below a file' 1 'cannot write in/points.csv: Not a directory' -o in/points.csv -- true
printf 'a,b\n1,2\n' >other.csv
run -q --counters none -o other.csv -- touch it-ran
[ $status -eq 1 ] && [ ! -e it-ran ] && grep -q 'other.csv' err && [ "$(wc -l <other.csv)" -eq 2 ]
ok 'a file of another kind is left as it was'

# ---- rows ---------------------------------------------------------------------------------------

run -q --counters none --name 'a "b", c' -o p.csv -- true && run -q --counters none -o p.csv -- true
[ "$(wc -l <p.csv)" -eq 3 ] && [ "$(field p.csv 'a "b", c' flops)" = '' ] &&
    [ -n "$(field p.csv true seconds)" ] && head -n 1 p.csv |
    grep -q '^name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,'
ok 'rows are appended, odd names quoted, what is not counted is empty'
[ "$(field p.csv true counted_by | cut -c1-11)" = unavailable ]
ok 'the row says that and why nobody counted'
SLURM_PROCID=3 run -q --counters none -o r.csv --name job -- true
[ "$(field r.csv job rank)" = 3 ]
ok 'the row has the rank of its launcher'
for i in 1 2 3 4 5 6 7 8; do
    timeout 600 "$carm" run -q --counters none --name "r$i" -o ranks.csv -- true </dev/null &
done
wait
[ "$(wc -l <ranks.csv)" -eq 9 ] && [ "$(grep -c '^name' ranks.csv)" -eq 1 ]
ok 'eight at once append eight rows below one header'

# ---- a program of known counts ------------------------------------------------------------------

cat >work.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* some 60 ms of the kernel's time for few instructions of the program */
static void spend(void)
{
    static char sink[64 << 20];
    int zeros = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 8; i++) {
        if (read(zeros, sink, sizeof sink) < 0) {
            exit(9);
        }
    }
    close(zeros);
}
/* n additions and n multiplications of doubles, in registers, and n prefetches */
static void compute(long n)
{
    double x = 1.0, y = 1.0;
    for (long i = 0; i < n; i++) {
        __asm__ volatile("addsd %1, %0\n\tmulsd %1, %1\n\tprefetcht0 (%%rsp)" : "+x"(x), "+x"(y));
    }
}
/* n of each: 16 additions of bytes, 8 results of 2 products and a sum of bytes, 2 words of 64 bits */
static void integers(long n)
{
    for (long i = 0; i < n; i++) {
        __asm__ volatile("paddb %%xmm1, %%xmm2\n\tpmaddubsw %%xmm1, %%xmm3\n\tpand %%xmm1, %%xmm4\n\t"
                         "pxor %%xmm5, %%xmm5" ::: "xmm2", "xmm3", "xmm4", "xmm5");
    }
}
static void *one(void *arg)
{
    compute(*(long *)arg);
    return NULL;
}
int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[2]) : 0;
    pthread_t t[1000];
    if (strcmp(argv[1], "plain") == 0) {
        compute(n);
    } else if (strcmp(argv[1], "integers") == 0) {
        spend();
        integers(n);
    } else if (strcmp(argv[1], "both") == 0) {
        compute(n);
        integers(n);
    } else if (strcmp(argv[1], "wait") == 0) {
        spend();
        compute(n);
        usleep(400000);
    } else if (strcmp(argv[1], "threads") == 0) {
        long k = argc > 3 ? atol(argv[3]) : 4;
        for (long i = 0; i < k; i++) {
            if (pthread_create(&t[i], NULL, one, &n) != 0) {
                return 9;
            }
        }
        for (long i = 0; i < k; i++) {
            pthread_join(t[i], NULL);
        }
    } else if (strcmp(argv[1], "fork") == 0) {
        int status = 0;
        if (fork() == 0) {
            compute(n);
            _exit(4);
        }
        compute(n);
        wait(&status);
        return WEXITSTATUS(status) + 10;
    } else if (strcmp(argv[1], "crash") == 0) {
        compute(n);
        *(volatile int *)8 = 0;
    } else if (strcmp(argv[1], "ready") == 0) { /* for ever; the n-th to begin says so */
        FILE *f = fopen("begun", "a+");
        char line[8];
        fputs("begun\n", f);
        rewind(f);
        while (fgets(line, sizeof line, f)) {
            n--;
        }
        fclose(f);
        if (n == 0) {
            f = fopen("ready", "w");
            fprintf(f, "%d\n", (int)getpid());
            fclose(f);
            for (;;) {
                compute(100);
            }
        }
    } else if (strcmp(argv[1], "leave") == 0) {
        if (fork() == 0) {
            sleep(2);
        }
        compute(n);
    } else if (strcmp(argv[1], "slow") == 0) {
        spend();
        compute(n);
    } else if (strcmp(argv[1], "exec") == 0) {
        compute(n);
        execl(argv[0], argv[0], "plain", argv[2], (char *)0);
    } else if (strcmp(argv[1], "copy") == 0) {
        char c;
        while (read(0, &c, 1) == 1) {
            if (write(1, &c, 1) != 1) {
                return 9;
            }
        }
    }
    return 0;
}
END
# static where the C library is there: a dynamic linker has ten times the instructions of the rest
if ! cc -O1 -static -pthread -o work work.c 2>err && ! cc -O1 -pthread -o work work.c 2>err; then
    skip 'stepping' 'no compiler'
elif timeout 600 "$carm" run -q --counters step --no-time --name probe -o probe.csv -- ./work plain 1 >out 2>err \
    </dev/null && [ "$(field probe.csv probe counted_by)" != stepped ]; then
    skip 'stepping' "ptrace does not work here: $(head -n 1 err)"
else
    # step_two FILE NAME TASK LESS MORE COLUMN DIFFERENCE: steps a task twice. Again, up to three times, where the counts
    # differ by something else: a hypervisor may lose traps of steps.
    step_two() {
        for _ in 1 2 3; do
            rm -f "$1"
            for k in "$4" "$5"; do
                run -q --counters step --no-time --name "$2$k" -o "$1" -- ./work "$3" "$k"
            done
            if [ $(($(field "$1" "$2$5" "$6") - $(field "$1" "$2$4" "$6"))) -eq "$7" ]; then return; fi
        done
    }
    # what start and end of a program add is the same for every n
    step_two s.csv n plain 100 300 fp_instructions 400
    base=$(field s.csv n100 flops)
    more=$(field s.csv n300 flops)
    [ $((${more%.*} - ${base%.*})) -eq 400 ]
    ok '200 more additions and multiplications are 400 more flops, exactly'
    more_of() { echo $(($(field s.csv n300 "$1") - $(field s.csv n100 "$1"))); }
    [ "$(more_of fp_adds)" -eq 200 ] && [ "$(more_of fp_muls)" -eq 200 ] &&
        [ "$(more_of fp_fmas)" -eq 0 ] && [ "$(more_of fp_instructions)" -eq 400 ] &&
        [ "$(more_of prefetches)" -eq 200 ]
    ok '... by kind, and 200 more software prefetches'
    integers_of() { echo $(($(field "$1" i3000 "$2") - $(field "$1" i1000 "$2"))); }
    step_two i.csv i integers 1000 3000 int_instructions 6000
    [ "$(integers_of i.csv int_ops)" -eq 84000 ] && [ "$(integers_of i.csv int8_ops)" -eq 80000 ] &&
        [ "$(integers_of i.csv int64_ops)" -eq 4000 ] && [ "$(integers_of i.csv int_adds)" -eq 32000 ] &&
        [ "$(integers_of i.csv int_dots)" -eq 48000 ] && [ "$(integers_of i.csv int_logic)" -eq 4000 ] &&
        [ "$(integers_of i.csv int_128)" -eq 84000 ] && [ "$(integers_of i.csv int_instructions)" -eq 6000 ] &&
        [ "$(integers_of i.csv flops)" -eq 0 ] && [ "$(integers_of i.csv operations)" -eq 84000 ] &&
        [ "$(field i.csv i3000 metric)" = op ] && [ "$(field i.csv i3000 precision)" = int8 ] &&
        [ "$(field i.csv i3000 isa)" = sse ]
    ok 'operations on vectors of integers, by width and by kind, exactly'
    run --counters translate --no-time --whole --name i1000 -o t.csv -- ./work integers 1000
    run --counters translate --no-time --whole --name i3000 -o t.csv -- ./work integers 3000
    if grep -q 'counted by *translation' err; then
        for column in int_ops int8_ops int16_ops int32_ops int64_ops int_128 int_256 int_512 int_adds \
            int_muls int_logic int_dots int_instructions; do
            echo "$column $(($(integers_of i.csv $column) - $(integers_of t.csv $column)))"
        done | { ! grep -v ' 0$'; }
        ok '... equal when translated'
        run --counters translate --loops --no-time -o loops.csv -- ./work integers 3000
        [ "$(awk -F, '$16 == 126000 && $17 == "op" && $8 == "int8"' loops.csv | wc -l)" -eq 1 ] &&
            grep -qE '^carm: +time +Mflop +Mop +Minstr +MB +per byte ' err
        ok '... of the loop that does them alone'
        run --counters translate --loops --no-time -- ./work both 3000
        grep -qE '^carm: .* inf op +3000 .* main' err && grep -qE '^carm: .* inf flop +3000 .* compute' err
        ok '... and each intensity has its own unit'
    else
        skip '... equal when translated' 'translation does not work here'
    fi
    [ "$(field s.csv n300 counted_by)" = stepped ] && [ "$(field s.csv n300 seconds)" = '' ]
    ok 'a stepped run has no time'
    run --counters step --no-time -- ./work plain 30
    grep -qE '^carm: intensity +0.00[0-9]* flop/byte: the program computes next to nothing' err
    ok 'a handful of operations has no place'
    run --counters step --no-time -- ./work plain 1
    grep -q '^carm: instructions .*, of which <0.1% compute$' err
    ok 'a handful of operations has no mix'
    zero=$((${base%.*} - 200))
    for word in threads fork exec; do
        run -q --counters step --no-time --name $word -o s.csv -- ./work $word 100
        flops=$(field s.csv "$word" flops)
        case $word in threads) want=800 ;; *) want=400 ;; esac
        [ $((${flops%.*} - zero)) -ge $want ] && [ $((${flops%.*} - 2 * zero)) -le $want ]
        ok "$word: every part of the program is counted"
    done
    [ "$(field s.csv fork flops)" != '' ]
    run -q --counters step --no-time -- ./work fork 10
    [ $status -eq 14 ]
    ok 'a stepped program keeps its status'
    run --counters step --no-time -- ./work crash 10
    [ $status -eq 139 ]
    ok 'a stepped program that crashes'
    run -q --counters step --no-time --name many -o s.csv --steps 100000000 -- ./work threads 10 50
    flops=$(field s.csv many flops)
    [ $status -eq 0 ] && [ $((${flops%.*} - zero)) -ge 1000 ]
    ok '50 threads, stepped'
    run --counters step --name timed -o t.csv -- true # with a dynamic linker
    [ $status -eq 0 ] && [ -n "$(field t.csv timed seconds)" ] && [ -n "$(field t.csv timed flops)" ]
    ok 'with its time: the program runs twice'
    run --counters step --steps 500 --name cut -o t.csv -- ./work plain 100000
    [ $status -eq 0 ] && [ "$(field t.csv cut flops)" = '' ] && grep -q 'the budget ended' err &&
        grep -q 'a larger --steps' err
    ok 'a budget that ends leaves no count, and says what to do'
    # interrupted NAME SIGNAL TARGET BEGUN OPTIONS...: carm or the program gets the signal in its BEGUNth run
    interrupted() {
        name=$1 sig=$2 target=$3 begun=$4
        shift 4
        rm -f begun ready
        "$carm" run --counters step --name "$name" -o u.csv "$@" -- ./work ready "$begun" \
            >out 2>err </dev/null &
        job=$!
        i=0
        while [ ! -s ready ] && [ $i -lt 600 ]; do
            sleep 0.1
            i=$((i + 1))
        done
        case $target in carm) kill -s "$sig" $job ;; *) kill -s "$sig" "$(cat ready)" ;; esac
        wait $job
        status=$?
        [ "$(field u.csv "$name" flops)" = '' ] && [ "$(field u.csv "$name" bytes)" = '' ] &&
            [ "$(field u.csv "$name" counted_by | cut -c1-11)" = unavailable ]
    }
    interrupted term TERM carm 2 && [ $status -eq 0 ] && grep -q 'signal 15 (Terminated) came from outside' err &&
        field u.csv term note | grep -q '^signal 15' && grep -q 'carm: so far ' err
    ok 'SIGTERM during the stepped run: not a count of the program'
    interrupted hup HUP program 1 --no-time && [ $status -eq 129 ] && grep -q 'signal 1 (Hangup)' err
    ok '... SIGHUP, sent to the program itself'
    interrupted kill KILL program 2 && grep -q 'signal 9 (Killed) ended the stepped run' err
    ok '... SIGKILL'
    interrupted early TERM carm 1 && grep -q 'the timed run was ended by a signal' err
    ok '... SIGTERM during the timed run'
    run --counters step --no-time --name left -o t.csv -- ./work leave 10
    [ $status -eq 0 ] && [ "$(field t.csv left flops)" = '' ] && ! grep -q budget err &&
        grep -q 'a child process was still running when the program ended after [0-9.]*\( million\)\? instructions' err
    ok 'a child that outlives the program is the reason, not the budget'
    printf 'x\n' | timeout 600 "$carm" run -q --counters step -o t.csv --name piped -- ./work copy >out 2>err
    [ "$(cat out)" = x ] && [ "$(field t.csv piped flops)" = '' ] &&
        field t.csv piped note | grep -q 'reads standard input that can be read only once'
    ok 'input that cannot be read twice: no count, and why'
    refuses 'a program that is not there, stepped' 127 "there is no program" --counters step --no-time \
        -- no-such-program
fi
run -q --counters none -- ./work threads 10 1000
[ $status -eq 0 ]
ok '1000 threads'

# ---- placed -------------------------------------------------------------------------------------

run --counters none -- true
grep -q 'unavailable: --counters none' err && ! grep -q 'integer ops' err
ok 'nobody counts, and it is said'
run -- true
grep -qE 'counted by +(unavailable: .*|the CPU.s counters|translation of)' err
ok 'auto counts or says why not'
cat >model.py <<'END'
import json, sys
roof = lambda level, b: dict(level=level, ldst="2:1", code="A", bandwidth=b, ci95=[b, b],
    spread=dict(min=b, p5=b, p95=b, max=b), bytes_per_cycle=1, clock_hz=1e9, working_set_bytes=1,
    window_bytes=1, passes=1, reps=1, counted_by="constructed", disturbed=False, note="")
op = lambda name, f: dict(op=name, code="B", rate=f, ci95=[f, f], spread=dict(min=f, p5=f, p95=f,
    max=f), flops_per_cycle=16, clock_hz=1e9, reps=1, counted_by="constructed", disturbed=False, note="")
level = lambda name: dict(level=name, os_size_bytes=None, knee_bytes=None, resolved=True, note="")
json.dump(dict(schema="carm-model/1", created="2026-01-01T00:00:00Z", carm_version="0",
    machine=dict(hostname="h", cpu="c", hypervisor=None, cores=1, threads=1, memory_bytes=1,
        page_bytes=4096, tsc_hz=1e9, caches=[]),
    config=dict(reps=1, precision="dp", ldst="2:1", memory_limit_bytes=1, quick=False),
    levels=[level("L1"), level("DRAM")],
    roofs=[dict(isa="avx2", precision="dp", threads=1, clock_hz=1e9,
        memory=[roof("L1", 1e14), roof("DRAM", 1e13)], compute=[op("fma", 1e15)],
        dram_peak=dict(bandwidth=1e13, code="A"))],
    curves=[], flop_curves=[], validation=[]), open(sys.argv[1], "w"))
END
python3 model.py m.json
sed 's/"disturbed": false/"disturbed": true/g' m.json >d.json
if [ -n "$(field t.csv timed flops 2>/dev/null)" ]; then
    i=0 # on a busy machine a short program may take longer
    while [ $i -lt 20 ]; do
        run --counters step -m m.json -o short.csv --name short$i -- ./work plain 2000
        field short.csv short$i seconds | awk '{ exit !($1 < 0.02) }' && break
        i=$((i + 1))
    done
    if [ $i -lt 20 ]; then
        grep -q 'flop/byte; not placed: it ran less than 20 ms' err && ! grep -q 'cache-aware' err &&
            field short.csv short$i note | grep -q 'start and end of the process are a large part'
        ok 'a program of less than 20 ms is not placed'
    else
        skip 'a program of less than 20 ms is not placed' 'no program ends in 20 ms here'
    fi
    run --counters step -m m.json -- ./work slow 2000
    grep -qE '^carm: cache-aware +.*flop/byte, .*of the roof .*below DRAM' err &&
        grep -q 'below the ceiling of DRAM' err && grep -qE '^carm: instructions .* compute: 50% of these add' err &&
        grep -qE '^carm: ceiling +SIMD as run: 0% of flops in vectors: .*4.0x below the machine.s [0-9.]+ [GTP]flop.s' err && grep -qE '^carm: original +not placed' err
    ok 'a point is placed on the cache-aware model, and it is said why not on the other'
    cat >mix.c <<'END'
static volatile float f;
static volatile double d;
int main(void)
{
    for (int i = 0; i < 5000000; i++) {
        f = f * 0.5f + 1.0f;
        d = 1.0 / (d + 1.5);
    }
    return 0;
}
END
    ${CC:-cc} -O1 -o mix mix.c && run --counters translate --whole -m m.json -- ./mix
    if grep -q 'not counted, because' err; then
        skip 'divisions are counted, and single precision under double roofs is told' "$(grep 'not counted' err)"
    else
        grep -q 'compute: 50% of these add, 25% multiply, 0% are FMAs, 25% divide or take roots;' err &&
            grep -q '^carm: roofs .* it computes in dp and sp, but the roofs are for dp' err
        ok 'divisions are counted, and single precision under double roofs is told'
    fi
    run --counters step -m m.json -- ./work wait 2000
    grep -qE '^carm: time .*, 0\.[0-7][0-9] cores busy' err &&
        grep -qE '^carm: waits +on CPUs for [0-9.]+ s of [0-9.]+ s: it may wait .*; on CPUs: [0-9.]+ .?flop/s' err
    waits=$?
    ran=$(sed -n 's/^carm: waits .*; on CPUs: //p' err)
    [ $waits -eq 0 ] && grep -qE "^carm: cache-aware .*flop/byte, $ran: " err
    ok 'a program that waits is told so, and placed by the time that it ran'
    if "$carm" run --counters translate -- true 2>&1 | grep -q 'translation of'; then
        run -v --counters translate --functions -m m.json -- ./work slow 30000000
        # without perf_event_open there are no shares of time: counts in place of rates
        grep -qE '^carm: roofs +avx2 dp' err && grep -qE '^carm: cache-aware .* of the roof' err &&
            ! grep -q '^carm: original' err && grep -qE '^carm: +time +(Gflop/s|Mflop) ' err
        ok 'the whole program has its place above the table of its parts'
    fi
    run --counters step -m m.json -o ints.csv -- ./work integers 2000
    grep -q '^carm: roofs .*the model has no int8 roofs, so only memory bounds it' err &&
        grep -qE '^carm: cache-aware +.* op/byte, .*op/s: .*, below DRAM' err
    ok 'integers without roofs of their own: memory bounds them'
    sed 's/"precision": "dp", "threads"/"precision": "int8", "threads"/; s/"op": "fma"/"op": "add"/' m.json >i.json
    run --counters step -m i.json -- ./work integers 2000
    grep -qE '^carm: integer ops +[0-9]* \(int8_ops 95%, int64_ops 5%; int_adds 38%, int_logic 5%, int_dots 57%\), .*op/s' err &&
        grep -q '^carm: roofs  *avx2 int8, 1 thread' err && grep -qE '^carm: cache-aware +.* op/byte, .*op/s: ' err
    ok 'integers are placed under their own roofs'
    timeout 600 "$carm" place i.json ints.csv >out 2>err
    grep -qE '^work: .*op/s under avx2 int8, 1 thread' out && tr -s ' \n' '  ' <out | grep -q 'own roof: .*with these instructions over 1000x is left'
    ok '... and by carm place'
    timeout 600 "$carm" place m.json ints.csv >out 2>err
    grep -qE '^work: .*op/s under avx2 dp, 1 thread' out && grep -q 'only memory bounds it' out
    ok '... or by memory alone'
    timeout 600 "$carm" place --precision dp m.json ints.csv >out 2>err
    grep -q 'not placed because its operations are on integers' out
    ok '... not under roofs of flops'
    run --counters step -m d.json -- ./work slow 2000
    grep -q '^carm: roofs .*disturbed while measured, so perhaps too low: L1, DRAM, fma (carm build' err
    ok 'roofs that were disturbed are named'
fi
run --counters none -- true
[ $status -eq 0 ]
ok 'a machine without a model does not cost the run'
rm -f it-ran
run --counters none -m no.json -- touch it-ran
[ $status -eq 1 ] && [ ! -e it-ran ] && grep -q '^carm: --model: there is no model file no.json' err
ok 'a model that is named has to be there: said before the program runs'
run --report page.html --counters none -m no.json -- touch it-ran
[ $status -eq 2 ] && [ ! -e it-ran ] && grep -qE "^carm: (--report: .*no.json|.*built without d3)" err
ok '... but a page needs one: said before the program runs'
mkdir gone
run -q --counters none -o kept.csv --json gone/loops.json --name rm -- sh -c 'rm -r gone; touch gone'
[ $status -eq 1 ] && [ "$(grep -c '^rm' kept.csv)" -ge 1 ]
ok 'JSON that cannot be written does not cost the rows'

# ---- regions ------------------------------------------------------------------------------------

run --regions -o regions.csv -- true
[ $status -eq 0 ] && grep -q 'no region ended in the program' err
ok 'a program without regions is told what to do'

build=$(dirname "$carm")
cat >region.c <<'END'
#include <carm.h>
int main(void)
{
    for (int i = 0; i < 20; i++) {
        double x = i;
        carm_region_begin("one, two");
        __asm__ volatile("addsd %0, %0\n\tmulsd %0, %0" : "+x"(x));
        carm_region_end("one, two");
    }
    return 0;
}
END
# a library under sanitizers wants them in its programs
san=
if ldd "$build/libcarm.so" | grep -q libasan; then san=-fsanitize=address,undefined; fi
if cc ${san:+"$san"} -I "${CARM_TOP:-.}/include" -o region region.c -L "$build" -lcarm -Wl,-rpath,"$build" 2>err; then
    run --regions --counters step -o regions.csv -- ./region
    [ "$(cat err)" = 'carm: 1 row of regions went to regions.csv' ] &&
        [ "$(field regions.csv 'one, two' flops)" = 40 ] &&
        [ "$(field regions.csv 'one, two' calls)" = 20 ] &&
        [ -n "$(field regions.csv 'one, two' seconds)" ]
    ok 'regions are counted by themselves, stepped in a sample'
    cat >many.c <<'END'
#include <carm.h>
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 3000; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        double x = i;
        carm_region_begin(name);
        for (int k = 0; k <= i % 3; k++) {
            __asm__ volatile("addsd %0, %0" : "+x"(x));
        }
        carm_region_end(name);
    }
    return 0;
}
END
    cc ${san:+"$san"} -I "${CARM_TOP:-.}/include" -o many many.c -L "$build" -lcarm -Wl,-rpath,"$build" 2>err &&
        run --regions --counters translate -o many.csv -- ./many && [ "$(grep -c '^r' many.csv)" -eq 3000 ] &&
        [ "$(field many.csv r2999 flops)" = 3 ] && ! grep -q '^r[^,]*,[^,]*,[^,]*,,' many.csv
    ok 'each of 3000 regions has the counts of the second run and its time of the first'
else
    skip 'regions' "cannot link with libcarm: $(head -n 1 err)"
fi

# ---- several runs ---------------------------------------------------------------------------------

if [ -x ./work ]; then
    # what the times say is theirs: only their number and the counts decide
    for i in 1 2; do run --whole --repeat 3 --name w --counters step -o "again$i.csv" -- ./work plain 1000; done
    run --whole --repeat 3 --name w --counters step -o double.csv -- ./work plain 2000
    [ "$(grep -c '^w,2000,' again1.csv)" -eq 3 ] && [ "$(cut -d, -f4 again1.csv | sort -u | wc -l)" -eq 4 ]
    ok '--repeat: a row for each run, with its own time'
    "$carm" compare again1.csv again2.csv "$CARM_TOP/tests/data/sample-model.json" >out 2>err &&
        grep -q '^w (3 and 3 runs)' out && grep -q '^  time .*\(within noise\|faster\|slower\|too few runs\)$' out &&
        grep -q '^  flops .* =' out
    ok '... which carm compare judges'
    "$carm" compare again1.csv double.csv "$CARM_TOP/tests/data/sample-model.json" >out 2>err &&
        grep -q '^  flops .* +100.*differs' out
    ok '... and twice the work differs'
    run --repeat 3 --counters none -o none.csv -- ./work plain 1000
    [ "$(grep -c '^work,' none.csv)" -eq 3 ]
    ok '... without counters'
    printf x | timeout 600 "$carm" run --whole --repeat 3 --counters none -o pipe.csv -- ./work copy >out 2>err
    [ "$(cat out)" = x ] && [ "$(grep -c '^work,' pipe.csv)" -eq 1 ] &&
        grep -q -- '--repeat: 1 of 3 runs were made: it reads standard input that can be read only once' err
    ok '... but of a program that reads a pipe once'
    printf x | timeout 600 "$carm" run -q --whole --repeat 3 --counters none -o unread.csv -- ./work plain 1000
    [ "$(grep -c '^work,' unread.csv)" -eq 3 ]
    ok '... of one that leaves the pipe unread three times'
    printf x >one.txt
    timeout 600 "$carm" run -q --whole --repeat 3 --counters step --name c -o file.csv -- ./work copy <one.txt >out 2>err
    [ "$(cat out)" = x ] && [ "$(grep -c '^c,' file.csv)" -eq 3 ] && [ "$(field file.csv c counted_by)" = stepped ]
    ok '... of one that reads a file'
fi
refuses '--repeat of an uncounted time' 2 '--repeat repeats the timed run: leave --no-time out' \
    --repeat 2 --no-time --counters step -- true
refuses '--repeat of regions' 2 '--repeat repeats the timed run: leave --regions out' --repeat 2 --regions -- true

finish
