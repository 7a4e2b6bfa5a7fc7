#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm run --counters translate: programs print the same and end the same counted as free, and what cannot be
# counted is said. Hostile ones (hostile.c) and those of this machine; what is not installed is skipped.
# shellcheck disable=SC2016 # scripts of other shells
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
cd "$tmp" || exit 1
# shellcheck disable=SC3045 # dash and bash have it
ulimit -c 0
unset CARM_OUT CARM_COUNTERS
# each variable of the environment costs thousands of instructions: tunables are looked for in it
for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p'); do
    case $name in PATH | HOME | TMPDIR | CC | CARM* | LC_ALL | *SAN_OPTIONS) ;; *) unset "$name" ;; esac
done

if ! "$carm" run -q --counters translate -- true 2>err; then
    skip 'programs counted by translation' "$(cut -c1-150 err)"
    finish
fi

# both COMMAND...: free and counted; status and everything printed are the same
both() {
    rm -f p.csv
    timeout 600 "$@" >free.out 2>free.err </dev/null
    free=$?
    timeout 600 "$carm" run -q --counters translate --no-time --name row -o p.csv -- "$@" >out 2>err </dev/null
    counted=$?
    [ $free -eq $counted ] || echo "status $counted, free $free" >>err
    [ $free -eq $counted ] && cmp -s free.out out && cmp -s free.err err
}

# counts NAME COMMAND...: both, and it was counted
counts() {
    name=$1
    shift
    if ! command -v "$1" >/dev/null 2>&1; then
        skip "$name" "no $1 here"
        return
    fi
    both "$@" && grep -q '^row,.*,translated,' p.csv
    ok "$name: the same counted as free"
}

# names NAME REASON COMMAND...: both, and it was not counted, because
names() {
    name=$1 reason=$2
    shift 2
    both "$@" && grep -q "not counted, because $reason" p.csv
    ok "$name: not counted, because $reason"
}

# ---- hostile programs ---------------------------------------------------------------------------

# shellcheck disable=SC2086 # words
if ${CC:-cc} -O1 -D_GNU_SOURCE -pthread -o hostile "$top/tests/harness/translate/hostile.c" -ldl 2>err; then
    for task in rewrite remap jit alias cross middle edge overflow resume divide storm storm-of-code flags crossfire \
        nested interrupted children contexts branches libraries crowded forks divided stops space wx where vsyscall x87; do
        counts "$task" ./hostile $task
    done
    counts 'a chain of execs' ./hostile chain 20
    if setarch -R true 2>err; then
        for i in 1 2; do
            setarch -R "$carm" run -q --counters translate --no-time -- \
                sed -n 's,^\([0-9a-f]*\)-.* rw-s .*/dev/zero.*,\1,p' /proc/thread-self/maps >alias$i 2>err
        done
        [ -s alias1 ] && [ -s alias2 ] && ! grep -qxFf alias1 alias2
        ok 'translated code is written where nobody can guess'
    else
        skip 'translated code is written where nobody can guess' 'addresses cannot be fixed here'
    fi
    names 'a jump to nowhere' 'it jumps to memory that is not executable' ./hostile nowhere
    names 'int 0x80' 'it makes system calls of 32-bit code' ./hostile int80
    names 'gs' 'it uses the gs register' ./hostile gs
    names 'unaligned accesses that trap' 'it wants unaligned accesses to trap' \
        sh -c './hostile unaligned; echo "$?"'
    names 'locked memory' 'it locks its memory' ./hostile lock
    names 'memory locked behind a thread' 'it locks its memory' ./hostile lock-behind
    if ./hostile lock-beside 2>err | grep -q '^0'; then
        counts 'memory locked beside a thread' ./hostile lock-beside
    else
        skip 'memory locked beside a thread' 'all memory cannot be locked here'
    fi
    names 'a limited address space' 'it limits its address space' ./hostile limit
    names 'a limited address space beside a thread' 'it limits its address space' ./hostile limit-beside
    names 'seccomp' 'it restricts its own system calls' ./hostile seccomp
    names 'ptrace' 'it traces another process' ./hostile ptrace
    for end in 'death 139 signal 11' 'killed 137 signal 9'; do
        # shellcheck disable=SC2086 # task and status are two words
        set -- $end
        "$carm" run -q --counters translate --no-time --name row -o end.csv -- ./hostile "$1" >out 2>err
        [ $? -eq "$2" ] && grep -q "not counted, because $3 $4" end.csv
        ok "$1: ends by $3 $4"
    done
    # it may believe what it reads of its own memory, and carm must not
    for options in '' "--levels -m $top/tests/data/sample-model.json" \
        "--levels --sample 1 -m $top/tests/data/sample-model.json"; do
        # shellcheck disable=SC2086 # words
        timeout -k 1 600 "$carm" run -q --counters translate --no-time $options --name row -o over.csv -- ./hostile overwrite \
            >out 2>err
        status=$?
        [ $status -eq 0 ] && [ "$(cat out)" = overwritten ] &&
            grep -q 'not counted, because it has overwritten' over.csv
        ok "what is shared with carm is overwritten${options:+, ${options% -m*}}: not counted, and carm ends"
        rm -f over.csv
    done
    names 'counts that no processor reaches' 'it has overwritten its counts' ./hostile inflate
    names 'corrections that no processor reaches' 'it has overwritten its counts' ./hostile inflate-sites
    names 'a program that ends its counting' 'it has overwritten its counts' ./hostile halt
    sleep 30 &
    export VICTIM=$!
    names 'a process that is none of its own' 'a program that it starts cannot be traced' ./hostile foreign
    kill "$VICTIM"
    unset VICTIM
    counts 'a child that ends half a second after the program' sh -c 'sleep 0.5 >/dev/null 2>&1 &'
    timeout -s KILL 600 "$carm" run -q --counters translate --no-time -- sh -c 'echo $PPID >ran; sleep 9 >/dev/null 2>&1 &' \
        >out 2>err </dev/null &
    job=$!
    i=0
    while [ ! -s ran ] && [ $i -lt 600 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    sleep 0.3 # it waits for the child
    kill -TERM "$(cat ran)" 2>err
    wait $job
    [ $? -eq 143 ]
    ok 'SIGTERM ends carm while it waits for a child of a program that has ended'
    for back_end in none translate; do
        rm -f grandchild
        "$carm" run -q --counters $back_end -- sh -c 'sleep 600 >/dev/null 2>&1 & echo $! $PPID >grandchild; wait' \
            >out 2>err </dev/null &
        i=0
        while [ ! -s grandchild ] && [ $i -lt 600 ]; do
            sleep 0.1
            i=$((i + 1))
        done
        read -r pid parent <grandchild
        kill -KILL "$parent"
        wait $! 2>err
        i=0
        while grep -q 'State:.[^ZX]' "/proc/$pid/status" 2>err && [ $i -lt 600 ]; do
            sleep 0.1
            i=$((i + 1))
        done
        [ $i -lt 600 ]
        ok "where carm is killed, so is what its program has started: $back_end"
    done
    timeout -k 1 600 "$carm" run -q --counters translate --name row -o pipe.csv -- ./hostile replaced >out 2>err </dev/null &&
        [ -p replaced.bin ] && grep -q '^row.*,translated,' pipe.csv
    ok 'a pipe in the place of a file that was executed'
    rm -f replaced.bin
    names 'a shell that limits its address space' 'it limits its address space' \
        sh -c 'ulimit -v 500000; exec ./hostile crossfire'
    # shellcheck disable=SC3045 # dash and bash have it
    (ulimit -v 500000 && both ./hostile crossfire) &&
        grep -q 'not counted, because the counting needs 1 GiB of its address space' p.csv
    ok 'an address space of 500 MB: not counted'
    cp hostile setuid && chmod u+s setuid
    names 'a set-user-id program' 'it is a set-user-id or set-group-id program' ./setuid branches
    names 'a set-user-id program that another starts' 'it starts a program that is set-user-id' \
        sh -c './setuid branches; echo "$?"'
else
    skip 'hostile programs' 'no compiler'
fi

# from some call of ptrace on, the kernel refuses each
cat >refuse.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
static int calls;
long ptrace(int request, ...)
{
    va_list more;
    va_start(more, request);
    const pid_t pid = va_arg(more, pid_t);
    void *at = va_arg(more, void *);
    void *data = va_arg(more, void *);
    va_end(more);
    if (++calls >= atoi(getenv("REFUSE_FROM"))) {
        errno = EIO;
        return -1;
    }
    long word = 0;
    const long rc = syscall(SYS_ptrace, request, pid, at, request < 4 ? &word : data);
    return rc == 0 && request > 0 && request < 4 ? word : rc;
}
END
# shellcheck disable=SC2086 # a compiler may be two words
if grep -q __asan_init "$carm"; then
    skip 'ptrace is refused' 'the sanitizer comes first'
elif ${CC:-cc} -O1 -shared -fPIC -o refuse.so refuse.c 2>err; then
    for from in 1 4 6 7 8 10; do
        rm -f refused.csv
        REFUSE_FROM=$from LD_PRELOAD=./refuse.so timeout -s KILL 30 \
            "$carm" run -q --counters translate --name row -o refused.csv -- sh -c 'echo once; exit 3' >out 2>err
        [ $? -eq 3 ] && [ "$(cat out)" = once ] && grep -q '^row,.*not counted, because' refused.csv
        ok "ptrace is refused from call $from on: not counted, and nothing stays stopped"
    done
else
    skip 'ptrace is refused' 'no compiler'
fi

# functions of files whose paths are long, or are not written in /proc as they are
printf 'int main(void) { volatile double s = 0; for (int i = 0; i < 70000; i++) s += 0.5; return 0; }\n' >sum.c
deep=$(printf '%0180d/%0180d/%0180d/%0180d' 1 2 3 4)
broken='a
b'
# shellcheck disable=SC2086 # a compiler may be two words
if mkdir -p "$deep" "$broken" && ${CC:-cc} -O1 -o "$deep/sum" sum.c 2>err && cp "$deep/sum" "$broken/sum"; then
    for folder in "$deep" "$broken"; do
        rm -f sum.csv
        timeout 600 "$carm" run -q --counters translate --no-time --functions --name row -o sum.csv -- "$folder/sum" >out 2>err
        grep -q '^row: main,70000,' sum.csv
        ok "a function of a file whose path $([ "$folder" = "$deep" ] && echo 'has 724 characters' || echo 'has two lines')"
    done
else
    skip 'functions of files with unusual paths' "$(tail -n 1 err)"
fi

# a scatter that a signal interrupts halfway: one instruction
cat >scatter.c <<'END'
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
static char *p;
static void mend(int signo) { (void)signo; mprotect(p, 1 << 17, PROT_READ | PROT_WRITE); }
int main(void)
{
    p = mmap(0, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, mend);
    mprotect(p + 32768, 32768, PROT_NONE);
    __m512i at = _mm512_setr_epi32(0, 4096, 8192, 12288, 16384, 20480, 24576, 28672, 32768, 36864, 40960, 45056, 49152,
                                   53248, 57344, 61440);
    _mm512_i32scatter_epi32(p, at, _mm512_set1_epi32(7), 1);
    printf("%d %d\n", *(int *)(void *)p, *(int *)(void *)(p + 61440));
    return 0;
}
END
# shellcheck disable=SC2086 # a compiler may be two words
if ${CC:-cc} -O1 -mavx512f -o scatter scatter.c 2>err && ./scatter >out 2>err && [ "$(cat out)" = '7 7' ]; then
    rm -f scatter.csv
    for back_end in translate step step step; do # a hypervisor may lose a trap of a step
        "$carm" run -q --counters $back_end --no-time --name row -o scatter.csv -- ./scatter >out 2>err
    done
    python3 - scatter.csv >out 2>err <<'END'
import csv, sys
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    counts = [(row["instructions"], row["stores"]) for row in csv.DictReader(line for line in file if not line.startswith("#"))]
print(counts)
sys.exit(len(counts) != 4 or not int(counts[0][0]) or counts[0] != max(counts[1:], key=lambda c: int(c[0])))
END
    ok 'a scatter that a signal interrupts is one instruction with all its stores, stepped as translated'
else
    skip 'a scatter that a signal interrupts' 'no AVX-512 here'
fi

# memory where the engine's image usually lies, and in all that relative addresses reach
printf '#include <stdio.h>\nstatic double a[BYTES / 8];\nint main(void) { double s = 0;
    for (long i = 0; i < 1000; i++) { a[i * (BYTES / 8000)] = (double)i; s += a[i * (BYTES / 8000)] / 2; }
    printf("%%g\\n", s); return 0; }\n' >static.c
for bytes in 1800000000 2200000000; do
    model=small
    if [ $bytes -gt 2000000000 ]; then model=large; fi
    # shellcheck disable=SC2086 # a compiler may be two words
    if ${CC:-cc} -O1 -no-pie -fno-pie -mcmodel=$model -DBYTES=${bytes}L -o static static.c 2>err && ./static >out 2>err; then
        counts "fixed addresses and arrays of $bytes bytes" ./static
    else
        skip "fixed addresses and arrays of $bytes bytes" "$(tail -n 1 err)"
    fi
done
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups true 2>err; then
    # root within a container may not trace others' processes
    if [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 19 & 1)) -eq 1 ]; then
        counts 'a program that executes another one as another user' setpriv --reuid=65534 --clear-groups id -u
    else
        names 'a program that executes another one as another user' 'a program that it starts cannot be traced' \
            setpriv --reuid=65534 --clear-groups id -u
    fi
else
    skip 'a program that executes another one as another user' 'not root, or no setpriv'
fi

# sanitizers that have memory at places of their own
printf '#include <pthread.h>\n#include <stdio.h>\nstatic void *half(void *x) { *(double *)x /= 2; return NULL; }
int main(void) { double x = 3; pthread_t t; pthread_create(&t, NULL, half, &x); pthread_join(t, NULL);
    printf("%%g\\n", x); return 0; }\n' >sanitized.c
for sanitizer in thread memory; do
    # shellcheck disable=SC2086 # a compiler may be two words
    if { ${CC:-cc} -fsanitize=$sanitizer -pthread -o sanitized sanitized.c ||
        clang -fsanitize=$sanitizer -pthread -o sanitized sanitized.c; } 2>err && ./sanitized >out 2>err; then
        counts "the $sanitizer sanitizer" ./sanitized
    else
        skip "the $sanitizer sanitizer" 'no compiler here has it, or its programs do not run'
    fi
done

# ---- programs of this machine -------------------------------------------------------------------

seq 1 20000 >numbers
printf 'double f(double *a, int n) { double s = 0; while (n--) s += a[n] / 3; return s; }\n' >f.c
counts bzip2 bzip2 -9 -c numbers
counts gzip gzip -n -c numbers
counts xz xz -T2 -c numbers
counts zstd zstd -q -T2 -c numbers
counts 'openssl, hashes' openssl dgst -sha256 -sha512 numbers
counts 'openssl, AES' openssl enc -aes-256-cbc -K 00112233445566778899aabbccddeeff -iv 00112233445566778899aabbccddeeff \
    -in numbers
# shellcheck disable=SC2016 # perl's and the shells' own variables
counts perl perl -e 'my %h; $h{$_ % 100} += sqrt($_) for 1 .. 20000; print join(",", map { $h{$_} } sort keys %h)'
counts sqlite3 sqlite3 :memory: 'create table t(a); with recursive c(x) as (select 1 union all select x + 1 from c where
    x < 5000) insert into t select x from c; select sum(a), avg(a * a) from t;'
counts gawk gawk 'BEGIN { for (i = 0; i < 5000; i++) s[i % 7] += sin(i); for (k in s) print k, s[k] }'
counts ripgrep rg -j1 -c '9[0-9]*3' numbers
counts 'fdfind on two threads' fdfind -j2 '^numbers$' .
head -c 20000 numbers >sound
counts flac flac -s -c --force-raw-format --endian=little --sign=signed --channels=2 --bps=16 --sample-rate=44100 sound
counts lame lame --quiet -r sound -
if age-keygen -o key 2>/dev/null; then
    age -r "$(sed -n 's/.*public key: //p' key)" -o secret numbers
fi
counts 'age, in Go' age -d -i key secret
counts awk awk 'BEGIN { for (i = 0; i < 20000; i++) s += sin(i); print s }'
counts sed sed -n 's/9\([0-9]*\)/<\1>/gp' numbers
counts tar tar cf - --mtime=@0 numbers
counts git git -C "$top" log -3 --stat
counts gcc gcc -O2 -S -o - f.c
# shellcheck disable=SC2016
counts 'bash pipelines' bash -c 'for i in 1 2 3; do echo $i | tr 1-3 a-c; done | sort -r | while read x; do echo "[$x]"; done
    trap "echo usr1" USR1; kill -USR1 $$; (exit 7) || echo $?'
counts 'sort on two threads' sort -n -r --parallel=2 numbers
# what string functions and hashes of some languages execute depends on the kernel's random bytes
cat >random.c <<'END'
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const unsigned char *bytes = (const unsigned char *)getauxval(AT_RANDOM);
    for (int i = 0; i < 16; i++) {
        printf("%02x", bytes[i]);
    }
    puts("");
    fflush(stdout);
    return argc > 1 ? 0 : execl(argv[0], argv[0], "again", (char *)0);
}
END
if ${CC:-cc} -o random random.c 2>err; then
    for back_end in translate step; do
        "$carm" run -q --counters $back_end --no-time -- ./random >>random.out 2>err
    done
    ./random >random.free
    [ "$(wc -l <random.out)" -eq 4 ] && [ "$(sort -u random.out | wc -l)" -eq 1 ] && [ "$(sort -u random.free | wc -l)" -eq 2 ]
    ok 'a counted program has the same random bytes each time'
else
    skip 'a counted program has the same random bytes each time' 'no compiler'
fi

# what the dynamic linker executes depends on where the libraries lie: with other addresses each time, each of
# eight runs has another count
if ! setarch -R true 2>/dev/null; then
    skip 'the same program has the same counts' 'addresses cannot be fixed here'
elif ! command -v readelf >/dev/null; then
    skip 'the same program has the same counts' 'no readelf here'
else
    # stepping takes 14 s for 480 thousand instructions, and a hypervisor may lose traps: two of at most six runs are the
    # same, and the others have less
    # are_the_same N: so many runs have the largest counts
    are_the_same() {
        python3 - same.csv "$1" >out 2>err <<'END'
import csv, sys
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
counts = [tuple(float(row[k]) for k in ("instructions", "loads", "stores", "bytes")) for row in rows]
print(*counts, sep="\n")
sys.exit(counts.count(max(counts)) != int(sys.argv[2]) or not max(counts)[0])
END
    }
    for back_end in translate step; do
        rm -f same.csv
        [ $back_end = translate ] && same=3 most=3 || same=2 most=6
        for i in $(seq "$most"); do
            "$carm" run -q --counters $back_end --no-time --name "run $i" -o same.csv -- readelf -h /bin/true >out 2>err
            are_the_same "$same" && break
        done
        are_the_same "$same"
        ok "the same program has the same counts, $back_end"
    done
fi
counts gnuplot gnuplot -e 'set term dumb; plot sin(x)'
if [ -x /usr/bin/python3 ]; then
    counts 'python with threads' /usr/bin/python3 -S -c 'import threading, subprocess
r = {}
def f(n): r[n] = sum(i * i / 3 for i in range(2000))
t = [threading.Thread(target=f, args=(n,)) for n in range(4)]
[x.start() for x in t]; [x.join() for x in t]
print(sorted(r.items()), subprocess.run(["echo", "hello"], capture_output=True).stdout)'
fi
if /usr/bin/python3 -c 'import numpy' 2>err; then
    counts 'numpy with threads' /usr/bin/python3 -c 'import numpy as n, threading
a = n.arange(10000.0).reshape(100, 100)
r = {}
def f(k): r[k] = float((a @ a.T + k).sum())
t = [threading.Thread(target=f, args=(k,)) for k in range(3)]
[x.start() for x in t]; [x.join() for x in t]
print(sorted(r.items()), n.fft.fft(a[0])[:3], n.linalg.solve(a[:5, :5] + n.eye(5) * 9, n.ones(5)))'
else
    skip 'numpy with threads' "$(tail -n 1 err)"
fi
# code that is made while the program runs
counts 'node' node -e 'let s = 0; for (let i = 0; i < 300000; i++) s = (s + i * 7) % 1001;
    console.log(s, [1, 2].map(x => x * 2).join()); process.exit(5)'
if command -v javac >/dev/null 2>&1; then
    printf 'public class H { static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
    public static void main(String[] a) { System.out.println(f(22)); System.exit(5); } }\n' >H.java
    javac H.java 2>/dev/null
    counts java java -cp . H
fi
counts luajit luajit -e 'local s = 0 for i = 1, 300000 do s = s + i % 3 end print(s)'
counts 'grep -P, compiled by PCRE' grep -cP '(?<=9)[0-9]*3(?!4)' numbers
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -S -c 'import ctypes' 2>err; then
    counts 'callbacks of libffi' /usr/bin/python3 -S -c 'import ctypes as c
f = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_int), c.POINTER(c.c_int))
a = (c.c_int * 99)(*[i * 7919 % 1000 for i in range(99)])
c.CDLL(None).qsort(a, 99, 4, f(lambda x, y: x[0] - y[0]))
print(list(a))'
fi
printf '#include <stdio.h>
static int apply(int (*f)(int), int n) { volatile char room[2000]; room[n] = 1; return f(n) + (n ? apply(f, n - 1) : room[0]); }
int main(int argc, char **argv) { (void)argv; int k = argc + 2, s = 0; int add(int x) { return x + k; }
  for (int i = 0; i < 50; i++) { int mul(int x) { return x * i + k; } s += apply(add, i) + apply(mul, i); }
  printf("%%d\\n", s); return 0; }\n' >nested.c
# shellcheck disable=SC2086 # a compiler may be two words
if ${CC:-cc} -O1 -w -o nested nested.c 2>err; then
    counts 'an executable stack (nested functions)' ./nested
    if setarch -X true 2>err; then
        counts 'all memory executable' setarch -X ./nested
    else
        skip 'all memory executable' "$(cat err)"
    fi
else
    skip 'an executable stack' 'the compiler has no nested functions'
fi

# ---- longer ones: make soak ---------------------------------------------------------------------

if [ "${CARM_SOAK:-}" = 1 ]; then
    printf '#include <algorithm>\n#include <iostream>\n#include <map>\n#include <string>\nint main() { std::map<std::string, int> m;
    for (int i = 0; i < 20000; i++) m[std::to_string(i %% 997)] += i; std::cout << m.size() << m["7"] << "\\n"; }\n' >map.cc
    counts 'g++, compiling templates' g++ -O2 -S -o - map.cc
    g++ -O2 -o map map.cc 2>err && counts 'a program of C++' ./map
    film() { counts "ffmpeg, $1" ffmpeg -nostdin -v error -threads 2 -i film.avi -c:v "$1" -c:a "$2" -f matroska \
        -fflags +bitexact -flags +bitexact -; }
    if ffmpeg -nostdin -v error -f lavfi -i testsrc=duration=1:size=320x240:rate=25 -f lavfi -i sine=duration=1 \
        -pix_fmt yuv420p -c:v rawvideo -c:a pcm_s16le film.avi 2>err; then
        film libx264 aac
        film mpeg2video mp2
        counts 'ffmpeg, decoding' ffmpeg -nostdin -v error -i film.avi -f md5 -
    else
        skip ffmpeg "$(tail -n 1 err)"
    fi
    counts 'git grep -P' git -C "$top" grep -cP '(?<=s)tatic (?!v)[a-z]+' -- harness
    counts pypy3 pypy3 -S -c 'print(sum(i * i % 7 for i in range(1000000)))'
    counts gforth gforth -e ': f dup 2 < if drop 1 else dup 1- recurse swap 2 - recurse + then ; 22 f . bye'
    counts qemu-x86_64 qemu-x86_64 ./map
    # its ranks are children of mpirun, counted together, and each counted by itself
    if OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 true 2>err; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        counts 'mpirun with two ranks' mpirun --oversubscribe -n 2 sh -c 'echo rank'
        rm -f p.csv
        mpirun --oversubscribe -n 2 "$carm" run -q --counters translate --no-time --name rank -o p.csv -- ./map >out 2>err
        [ "$(grep -c '^rank,.*,translated,' p.csv)" -eq 2 ] && [ "$(sort -u out)" = "$(./map)" ]
        ok 'each of two ranks'
    else
        skip 'mpirun' "$(tail -n 1 err)"
    fi
fi

# ---- the command --------------------------------------------------------------------------------

# the program's output comes once: from the run for the time
"$carm" run --counters translate -o twice.csv --name both -- sh -c 'echo once; exit 3' >out 2>err
[ $? -eq 3 ] && [ "$(cat out)" = once ] && grep -q 'counted by *translation of .* million instructions' err &&
    grep -q '^both,.*,translated,' twice.csv
ok 'two runs: output and status of the free one'
# auto, where no counters work
auto() {
    CARM_PAPI_LIBRARY=/none CARM_LIKWID_LIBRARY=/none "$carm" run -o auto.csv "$@" >out 2>err
}
auto --name auto -- sh -c 'echo once; exit 3' </dev/null
[ $? -eq 3 ] && [ "$(cat out)" = once ] && head -n 1 err | grep -q '^carm: auto: ' &&
    grep -q '^carm: no counters work here, so the program ran twice (--counters none: once)$' err &&
    grep -q '^auto,.*,translated,' auto.csv
ok 'auto without counters: the answer, and behind it that the program ran twice'
[ "$(auto -q --name quiet -- true </dev/null; wc -c <err)" -eq 0 ]
ok '... quietly'
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 auto --name rank -- sh -c 'echo once >>ranks' </dev/null
[ "$(wc -l <ranks)" -eq 1 ] && grep -q 'a rank of a parallel program runs only once' err &&
    grep -q '^rank,.*unavailable' auto.csv
ok '... but no rank of a parallel program runs twice'
(auto --name file -- head -c 14 && cat) <numbers >rest
cat out rest | cmp -s - numbers && grep -q '^file,.*,translated,' auto.csv
ok 'both runs read a file from its place, and leave it where the first one stopped'
# shellcheck disable=SC2002 # a pipe is what is wanted
cat numbers | auto --name pipe -- cat
cmp -s out numbers && grep -q '^pipe,.*not counted, because the program reads standard input that can be read only once' auto.csv
ok 'a pipe belongs to the first run: not counted, because'
(echo 1; echo 2) | (while read -r _; do auto --name loop -- true; done; grep -c '^loop,.*,translated,' auto.csv >out)
[ "$(cat out)" -eq 2 ]
ok 'a program that does not read the pipe is counted, and leaves it alone'
auto --name closed -- true <&-
grep -q '^closed,.*,translated,' auto.csv
ok 'standard input may be closed'
run run --counters translate --steps 5 -- true
[ $? -eq 2 ] && grep -q 'belongs to --counters step' "$tmp/err"
ok 'refuses a budget'
run run --counters translate -- no-such-program
[ $? -eq 127 ] && grep -q "there is no program" "$tmp/err"
ok 'a program that is not there'
# a core file has nothing of carm's that is large
"$carm" run -q --counters translate --no-time -- cat /proc/self/smaps >smaps 2>err
awk '/^[0-9a-f]+-[0-9a-f]+ / { at = $1 } $1 == "Size:" { kib = $2 }
    $1 == "VmFlags:" && kib > 16384 { n++; if (!/ dd/) print at, kib }
    END { if (!n) print "no large mapping" }' smaps >large
[ -s smaps ] && [ ! -s large ]
ok 'large memory of the translator is left out of core files'
# kept code on a file system from which nothing is executed
mkdir noexec
if setarch -R true 2>err && unshare -rm mount -t tmpfs -o noexec none noexec 2>>err; then
    unshare -rm sh -c 'mount -t tmpfs -o noexec none noexec || exit
        for i in 1 2; do
            CARM_KEEP_CODE=1 XDG_CACHE_HOME=$PWD/noexec "$0" run -q --counters translate --no-time -o noexec.csv -- true ||
                exit
        done
        ls noexec/carm/translated | wc -l' "$carm" >out 2>err
    [ "$(cat out)" = 1 ] && [ "$(tail -n +2 noexec.csv | cut -d, -f9 | sort | uniq -c)" = '      2 translated' ]
    ok 'kept code where nothing may be executed'
else
    skip 'kept code where nothing may be executed' "$(cut -c1-150 err)"
fi
# what the engine is made of calls no C library: only libZydis
if [ -e "$top/build/engine/engine.so" ]; then
    nm -D --undefined-only "$top/build/engine/engine.so" | grep -v ' Zydis' >out
    [ ! -s out ]
    ok 'the engine needs nothing but Zydis'
fi
finish
