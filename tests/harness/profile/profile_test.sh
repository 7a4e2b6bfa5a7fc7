#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm run: the loops of a program of known loops (hot.c), and of programs of this machine. Prints TAP. Counts
# decide; of time only what differs by far.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
unset CARM_OUT CARM_COUNTERS DEBUGINFOD_URLS
iterations=1000000

run() {
    timeout 100 "$carm" run --counters translate --model "$top/tests/data/sample-model.json" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# shellcheck disable=SC2181 # the status is looked at with what was said
# Sums over the parts are those of the whole program, in every quantity.
cat >"$tmp/check.py" <<'END'
import json, re, sys

def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)

def sums(run):
    for name, value in run["whole"].items():
        if name in ("task_seconds", "page_faults", "context_switches"):
            continue
        total = sum(part.get(name, 0) for part in run["parts"])
        if total != value:
            sys.exit(f"{name}: {total} over all parts, {value} of the whole program")
    if sum(part.get("samples", 0) for part in run["parts"]) != run["samples"]:
        sys.exit("samples are missing")

def part(run, pattern, kind="loop", rounds=None):
    found = [p for p in run["parts"] if p["kind"] == kind and re.search(pattern, p["name"])
             and rounds in (None, p.get("iterations"))]
    if len(found) != 1:
        sys.exit(f"{len(found)} parts are named {pattern}: " + ", ".join(p["name"] for p in run["parts"]))
    return found[0]

def loop(run, pattern, rounds, entries, instructions, flops, loaded, stored=0):
    p = part(run, pattern, "loop", rounds)
    got = [p["iterations"], p["entries_low"], p["entries_high"], p["instructions"], p["flops"],
           p["load_bytes"], p["store_bytes"]]
    want = [rounds, entries, entries, rounds * instructions, rounds * flops, rounds * loaded, rounds * stored]
    if got != want:
        sys.exit(f"{p['name']}: counted {got}, not {want}")
    return p

run = load(sys.argv[1])
sums(run)
exec(sys.argv[2])
END
check() {
    python3 "$tmp/check.py" "$tmp/json" "$1" >>"$tmp/err" 2>&1
}

echo 'int main(void) { return 0; }' >"$tmp/true.c"
if ! ${CC:-cc} -o "$tmp/true" "$tmp/true.c" 2>/dev/null; then
    echo "1..0 # SKIP no compiler"
    exit 0
fi
if ! run --no-time "$tmp/true"; then
    echo "1..0 # SKIP $(head -n 1 "$tmp/err")"
    exit 0
fi

flags="-O2 -g -fno-ipa-icf -I$top"
here=$top/tests/harness/profile
# shellcheck disable=SC2086 # words
${CC:-cc} $flags -shared -fPIC -o "$tmp/libhot.so" "$here/hot_library.c" &&
    ${CC:-cc} $flags -fopenmp -o "$tmp/hot" "$here/hot.c" -L"$tmp" -lhot -Wl,-rpath,"$tmp" 2>"$tmp/err"
ok "the program of known loops is compiled"

loops='
m = int(sys.argv[3])
loop(run, "^scalar loop", m, 1, 4, 1, 8)
loop(run, "^sse loop", m, 1, 5, 2, 16, 16)
loop(run, "^avx2 loop", m, 1, 4, 8, 32)
inner = loop(run, "^nested loop", m, 100, 5, 2, 8)
outer = part(run, "^nested loop", "loop", 100)
if outer["entries_low"] != 1 or run["parts"][inner["parent"]] != outer or outer["flops"] != 0:
    sys.exit("the outer loop is entered once, around the inner one")
if outer["inside"]["flops"] != 2 * m:
    sys.exit("the inner loop is inside the outer one")
loop(run, "^inlined in caller loop", m, 1, 4, 1, 8)
loop(run, "^recursive loop", m, 10, 5, 2, 16, 16)
loop(run, "^parallel.* loop", m, 2, 5, 2, 8)
loop(run, "^hot_library loop .*libhot.so", m, 1, 5, 2, 8)
'
run --min-share 0 --json "$tmp/json" --repeat 3 "$tmp/hot" $iterations
python3 "$tmp/check.py" "$tmp/json" "$loops" $iterations >>"$tmp/err" 2>&1
ok "each loop has its instructions, flops, bytes, entries and trips"

python3 "$tmp/check.py" "$tmp/json" '
if run["parts"][0]["samples"] < 1 or not all("time_share" in p for p in run["parts"]):
    sys.exit("there are no shares of time")' >>"$tmp/err" 2>&1
ok "each part has its share of time"

run -q --functions --min-share 0 --json "$tmp/json" "$tmp/hot" $iterations
check '
p = part(run, "^nested$", "function")
if p["flops"] != 2000000:
    sys.exit("a function has all of its loops")'
ok "functions"

run -q --min-share 2 --json "$tmp/json" -o "$tmp/points.csv" "$tmp/hot" $iterations &&
    "$carm" place --json "$top/tests/data/sample-model.json" "$tmp/points.csv" >"$tmp/out" 2>>"$tmp/err" &&
    python3 - "$tmp/points.csv" "$tmp/json" >>"$tmp/err" 2>&1 <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8")))
run = json.load(open(sys.argv[2], encoding="utf-8"))
for column in ("flops", "bytes", "instructions", "loads", "stores", "sp_256"):
    total = sum(float(row[column] or 0) for row in rows)
    if total != run["whole"][column]:
        sys.exit(f"{column}: {total} over all rows, {run['whole'][column]} of the whole program")
if {row["kind"] for row in rows} - {"loop", "body", "kernel", "others", "unknown"}:
    sys.exit("a kind is not known")
if abs(sum(float(row["time_share"]) for row in rows) - 1.0) > 0.01:
    sys.exit("shares of time are not 1 together")
END
ok "points.csv has a row for each part, and carm place reads it"

if run -q --min-share 0 --report "$tmp/page.html" "$tmp/hot" $iterations; then
    grep -q '"part": {"kind": "loop", "source": "hot.c:' "$tmp/page.html"
    ok "a page"
else
    grep -q 'built without d3' "$tmp/err"
    ok "a page needs d3"
fi

strip "$tmp/hot" "$tmp/libhot.so" 2>/dev/null
run -q --min-share 0 --json "$tmp/json" "$tmp/hot" $iterations
check '
m = 1000000
known = [(p["iterations"], p["entries_low"], p["flops"], p["bytes"]) for p in run["parts"]
         if re.search("^hot[+]0x.* loop [+]0x", p["name"])]
for want in [(m, 1, m, 8 * m), (m, 1, 2 * m, 32 * m), (m, 1, 8 * m, 32 * m), (m, 100, 2 * m, 8 * m),
             (m, 10, 2 * m, 32 * m), (m, 2, 2 * m, 8 * m)]:
    if want not in known:
        sys.exit(f"no loop {want}: {known}")
loop(run, "^hot_library loop [+]0x.* .libhot.so.", m, 1, 5, 2, 8)'
ok "a stripped program"

# shellcheck disable=SC2086 # words
${CC:-cc} $flags -shared -fPIC -o "$tmp/liba.so" "$here/hot_library.c" && cp "$tmp/liba.so" "$tmp/libb.so" &&
    ${CC:-cc} $flags -o "$tmp/more" "$here/hot_more.c" -ldl 2>>"$tmp/err"
run -q --min-share 0 --json "$tmp/json" "$tmp/more" libraries $iterations "$tmp/liba.so" "$tmp/libb.so"
check '
loop(run, "^hot_library loop .*liba.so", 1000000, 1, 5, 2, 8)
loop(run, "^hot_library loop .*libb.so", 2000000, 1, 5, 2, 8)'
ok "libraries that come and go"

cat >"$tmp/timer.c" <<'END'
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static volatile int ticks;
static void tick(int sig) { (void)sig; ticks++; }
int main(void)
{
    struct itimerval every = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &every, 0);
    while (ticks < 100)
        pause();
    return 0;
}
END
${CC:-cc} -o "$tmp/timer" "$tmp/timer.c" && run -q --min-share 0 --json "$tmp/json" "$tmp/timer"
check '
if any(not 0 <= p.get("instructions", 0) < 1e9 for p in run["parts"]):
    sys.exit("a part has less than nothing")'
ok "system calls that signals interrupt"

run -q --min-share 0 --json "$tmp/json" "$tmp/more" fork $iterations
check 'loop(run, "^once loop", 1000000, 1, 4, 1, 8)'
ok "a child that executes no program of its own"

run -q --min-share 0 --json "$tmp/json" --repeat 3 "$tmp/more" times 3000000
check '
once, nine = part(run, "^once loop"), part(run, "^nine_times loop")
if once["entries_low"] != 10 or nine["instructions"] != 9 * once["instructions"]:
    sys.exit("the two loops are counted")
if nine["samples"] <= once["samples"]:
    sys.exit("nine times the work: " + str(nine["samples"]) + " to " + str(once["samples"]) + " samples")'
ok "samples follow the work"

printf '#!/bin/sh\n"%s" times %d\nexec "%s" fork %d\n' "$tmp/more" $iterations "$tmp/more" $iterations >"$tmp/script"
chmod +x "$tmp/script"
run -q --min-share 0 --json "$tmp/json" "$tmp/script"
check '
once = part(run, "^once loop")
if once["iterations"] != 2000000 or once["entries_low"] != 11:
    sys.exit("all programs of a script count")'
ok "a script, and a program that becomes another"

run "$tmp/true" && grep -q 'samples* of .* too few for loops: --repeat [0-9]* runs' "$tmp/err"
ok "a short program: too few samples"

if command -v c++ >/dev/null; then
    # shellcheck disable=SC2086 # words
    c++ $flags -o "$tmp/template" "$here/hot_template.cc" 2>>"$tmp/err"
    run -q --min-share 0 --json "$tmp/json" "$tmp/template" $iterations
    check 'loop(run, "^hot::Sum<double, 3>::over.unsigned long. loop hot_template.cc:", 3000000, 1, 4, 1, 8)'
    ok "a loop of a C++ template"
else
    skip "a loop of a C++ template" "no C++ compiler"
fi

# a kernel that forbids sampling
cat >"$tmp/no.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <dlfcn.h>
long syscall(long nr, ...)
{
    long a[6];
    va_list ap;
    va_start(ap, nr);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (nr == SYS_perf_event_open) {
        errno = EACCES;
        return -1;
    }
    return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END
if ${CC:-cc} -shared -fPIC -o "$tmp/no.so" "$tmp/no.c" -ldl 2>>"$tmp/err"; then
    # a sanitized carm wants its own library to be the first
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" LD_PRELOAD=$tmp/no.so timeout 100 "$carm" run --counters translate --min-share 0 --json "$tmp/json" \
        -- "$tmp/more" times $iterations >"$tmp/out" 2>"$tmp/err"
    check '
loop(run, "^once loop", 1000000, 10, 4, 1, 8)
if "time_share" in run["parts"][0]:
    sys.exit("there is a share of time")' &&
        grep -q 'shares of time are missing: sampling is not allowed here' "$tmp/err"
    ok "without samples there are counts"
else
    skip "without samples there are counts" "no shared libraries"
fi

run --loops --whole "$tmp/true"
[ $? -eq 2 ] && grep -q '^carm: choose one of --loops, --functions and --whole' "$tmp/err"
ok "refuses two kinds of parts"
for word in 101 x -1; do
    run --min-share=$word "$tmp/true"
    [ $? -eq 2 ] && grep -q '^carm: --min-share needs a percentage' "$tmp/err"
    ok "refuses --min-share=$word"
done
run --hz 20000 "$tmp/true"
[ $? -eq 2 ] && grep -q '^carm: --hz needs a whole number from 1 to 10000' "$tmp/err"
ok "refuses --hz 20000"

finish
