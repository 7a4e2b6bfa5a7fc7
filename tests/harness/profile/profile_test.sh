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
# Of the programs whose time is looked at. Shares of time are within so many standard errors of the truth, which the
# program tells: chance reaches 5 once in a million runs. A long run says more about the samplers; the ticks
# of the preloaded timer are as good as chance, those of the task clock are better.
many=40000000
errors=5 timer_errors=5
if [ "${CARM_SOAK:-}" ]; then
    many=1000000000
    errors=3 timer_errors=4
fi

run() {
    timeout 600 "$carm" run --counters translate --model "$top/tests/data/sample-model.json" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    keep $? run "$@"
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

def truth():
    """The processor time that the program (hot.c) says each of its loops took."""
    times = {}
    with open(sys.argv[1].replace("json", "out"), encoding="utf-8") as file:
        for line in file:
            name, seconds = line.split()
            times[name] = times.get(name, 0.0) + float(seconds)
    return times

def shares(run, times, errors):
    """Samples are shared out among the loops as the times are, within so many standard errors."""
    samples = {name: sum(p.get("samples", 0) for p in run["parts"] if re.search(
                   "over" if name == "over" else rf"(^|in ){name}\b", p["name"])) for name in times}
    n = sum(samples.values())
    if n < 100 or n < 0.9 * run["samples"]:
        sys.exit(f"{n} of {run['samples']} samples are in the loops: {samples}")
    for name, seconds in times.items():
        share = seconds / sum(times.values())
        off = (samples[name] - n * share) / (n * share * (1.0 - share)) ** 0.5
        print(f"{name}: {samples[name] / n:.4f} of {n} samples, {share:.4f} of the time: {off:+.1f} standard errors")
        if abs(off) > errors:
            sys.exit(f"{name} is {off:+.1f} standard errors off")

run = load(sys.argv[1])
sums(run)
exec(sys.argv[2])
END
check() {
    python3 "$tmp/check.py" "$tmp/json" "$1" >>"$tmp/err" 2>&1
}

# The numbers of instructions are of GCC's code: clang 14 keeps a sum in memory where GCC has a register.
${CC:-cc} --version 2>/dev/null | grep -q 'Free Software Foundation' || CC=gcc
echo 'int main(void) { return 0; }' >"$tmp/true.c"
if ! ${CC:-cc} -o "$tmp/true" "$tmp/true.c" 2>/dev/null; then
    echo "1..0 # SKIP no GCC"
    exit 0
fi
if ! run --no-time "$tmp/true"; then
    echo "1..0 # SKIP $(head -n 1 "$tmp/err")"
    exit 0
fi

flags="-O2 -g -fno-ipa-icf -I$top"
here=$top/tests/harness/profile
template=
# shellcheck disable=SC2086 # words
if command -v c++ >/dev/null && c++ $flags -c -o "$tmp/template.o" "$here/hot_template.cc" 2>"$tmp/err"; then
    template="-DTEMPLATE $tmp/template.o"
fi
# shellcheck disable=SC2086 # words
${CC:-cc} $flags -shared -fPIC -o "$tmp/libhot.so" "$here/hot_library.c" &&
    ${CC:-cc} $flags -fopenmp -o "$tmp/hot" "$here/hot.c" $template -L"$tmp" -lhot -Wl,-rpath,"$tmp" 2>"$tmp/err"
ok "the program of known loops is compiled"

loops='
m = int(sys.argv[3])
times = truth()
loop(run, "^scalar loop", m, 1, 4, 1, 8)
loop(run, "^sse loop", m, 1, 5, 2, 16, 16)
if "avx2" in times:
    loop(run, "^avx2 loop", m, 1, 4, 8, 32)
if "avx512" in times:
    loop(run, "^avx512 loop", m, 1, 4, 8, 64)
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
if "over" in times:
    loop(run, "^hot::Sum<double, 3>::over.unsigned long. loop hot_template.cc:", 3 * m, 1, 4, 1, 8)
'
run --min-share 0 --hz 997 --json "$tmp/json" "$tmp/hot" $many
python3 "$tmp/check.py" "$tmp/json" "$loops" $many >>"$tmp/err" 2>&1
ok "each loop has its instructions, flops, bytes, entries and trips"
# "task clock" of perf_event_open, or "preloaded timer" where a container forbids that
sampled_by=$(check 'print(run.get("sampled_by"))' && tail -n 1 "$tmp/err")

for isa in avx2 avx512; do
    grep -q "^$isa " "$tmp/out" || skip "a loop of $isa" "this CPU has none"
done
[ "$template" ] || skip "a loop of a C++ template" "no C++ compiler"

check "shares(run, truth(), $errors)"
ok "each loop has its share of the time, within $errors standard errors"
cp "$tmp/out" "$tmp/truth"
! check 'times = truth(); times["sse"], times["scalar"] = times["scalar"], times["sse"]; shares(run, times, 5)'
ok "a wrong share is found"

${CC:-cc} -o "$tmp/forbid" "$top/tests/forbid.c" 2>>"$tmp/err"
# without CALLS PROGRAM...: functions of a program, as if a container forbade these system calls
export XDG_CACHE_HOME="$tmp/cache"
perf_event_open=298 timer_create=222 hz=499
without() {
    calls=$1
    shift
    # shellcheck disable=SC2086 # words
    timeout 600 "$tmp/forbid" $calls -- "$carm" run --counters none --functions --min-share 0 --hz $hz --json "$tmp/json" -- "$@" \
        >"$tmp/out" 2>"$tmp/err" </dev/null
}
"$tmp/forbid" $perf_event_open -- true 2>"$tmp/err"
can_forbid=$?
if [ $can_forbid -eq 0 ]; then
    without $perf_event_open "$tmp/hot" $((5 * many / 2)) &&
        grep -q 'samples by a preloaded timer, as perf_event_open is not allowed here' "$tmp/err" &&
        check "shares(run, truth(), $timer_errors)"
    ok "where perf_event_open is forbidden, a preloaded timer takes samples that give the same shares"
    without $perf_event_open sh -c "(setsid sh -c 'sleep 1; /bin/true; env; echo end' >$tmp/later 2>&1 &); exit 0"
    i=0
    while ! grep -q '^end' "$tmp/later" 2>/dev/null && [ $i -lt 100 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    grep -q '^end' "$tmp/later" && ! grep -q 'PRELOAD\|CARM_SAMPLES' "$tmp/later"
    ok "a process that outlives carm starts others without the timer, and without a word of ld.so"
else
    skip "samples without perf_event_open" "$(cat "$tmp/err")"
fi

run -q --functions --min-share 0 --json "$tmp/json" "$tmp/hot" $iterations
check 'begin = 0x'"$(nm "$tmp/hot" | awk '$3 == "nested" { print $1 }')"'
p = part(run, "^nested$", "function")
if p["flops"] != 2000000:
    sys.exit("a function has all of its loops")
if p["offset"] != begin:
    sys.exit("a function has its place in the file")'
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

if run -q --min-share 0 --report "$tmp/page.html" "$tmp/hot" $((20 * iterations)); then
    grep -q '"part": {"kind": "loop", "source": "hot.c:' "$tmp/page.html"
    ok "a page"
    python3 - "$tmp/page.html" "$here/hot.c" <<'END'
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
source = open(sys.argv[2], encoding="utf-8").read().splitlines()
data = json.loads(re.search('id="carm-data">(.*?)</script>', page, re.S).group(1))
assert len(data["loops"]) == len(data["places"]), "loops and places differ"
loops = [(p, l) for p, l in zip(data["places"], data["loops"]) if l and p["part"]["kind"] == "loop" and l["file"] == "hot.c"]
assert loops, "no loop of hot.c has its code"
for place, loop in loops:
    assert place["verdict"]["limit"] == loop["verdict"]["limit"], place["name"]
    assert loop["verdict"]["bounds"], place["name"]
    begin = int(place["part"]["source"].split(":")[1])
    counts = {l["line"]: l["executions"] for l in loop["lines"]}
    assert counts.get(begin, 0) > 0, f"{place['name']}: its line has no count: {counts}"
    for line in loop["lines"]:
        assert line["text"].rstrip("\u2026") in source[line["line"] - 1].replace("\t", "  "), line
END
    ok "... with the source of each loop and its counts"
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

# A loop that begins with code of an inlined function is not that function's; a loop of the C++ library, of functions inlined
# into one another, is at the line of the user's call.
cat >"$tmp/nest.cc" <<'END'
#include <map>
#include <stdlib.h>
static volatile unsigned char bytes[64];
static inline __attribute__((always_inline)) unsigned next(unsigned x)
{
    unsigned s = x;
    s ^= s << 13;
    return s + bytes[s % 64];
}
__attribute__((noinline)) unsigned beyond(unsigned x) { return x + bytes[0]; }
__attribute__((noinline)) unsigned outer(unsigned n)
{
    unsigned s = 1;
    do {
        s = next(s);  // the loop begins here
        s = beyond(s);
    } while (--n);
    return s;
}
typedef std::map<unsigned, unsigned> map;
__attribute__((noinline)) unsigned search(const map &m, unsigned n)
{
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++) {
        s += m.lower_bound(i % 1000)->second;  // and this one is in the library
    }
    return s;
}
int main(int, char **argv)
{
    map m;
    for (unsigned i = 0; i < 1000; i++) {
        m.emplace(i, i);
    }
    return (int)(outer(atoi(argv[1])) + search(m, 100000)) < 0;
}
END
# shellcheck disable=SC2086 # words
if [ "$template" ] && c++ $flags -o "$tmp/nest" "$tmp/nest.cc" 2>"$tmp/err"; then
    run -q --min-share 0 --json "$tmp/json" "$tmp/nest" 1000000
    check '
begins = open(sys.argv[1].replace("json", "nest.cc")).read().split("\n")
line = lambda words: 1 + next(i for i, text in enumerate(begins) if words in text)
if part(run, "^outer.unsigned int. loop", "loop", 1000000)["source"] != "nest.cc:%d" % line("the loop begins"):
    sys.exit("the loop is the outer function\x27s")
inner = [p for p in run["parts"] if p["kind"] == "loop" and p["name"].startswith("search") and p["iterations"] > 300000]
if not inner or any(p["source"] != "nest.cc:%d" % line("in the library") for p in inner):
    sys.exit("the search is at the line of its call: %s" % [p["name"] for p in inner])'
    ok "loops are at lines of the program's own, not at those of inlined functions"
else
    skip "lines of loops with inlined functions" "no C++ compiler"
fi

# shellcheck disable=SC2086 # words
${CC:-cc} $flags -shared -fPIC -o "$tmp/liba.so" "$here/hot_library.c" && cp "$tmp/liba.so" "$tmp/libb.so" &&
    ${CC:-cc} $flags -o "$tmp/more" "$here/hot_more.c" -ldl 2>>"$tmp/err"
run -q --min-share 0 --json "$tmp/json" "$tmp/more" libraries $iterations "$tmp/liba.so" "$tmp/libb.so"
check '
loop(run, "^hot_library loop .*liba.so", 1000000, 1, 5, 2, 8)
loop(run, "^hot_library loop .*libb.so", 2000000, 1, 5, 2, 8)'
ok "libraries that come and go"

# Two programs that have one path in turn; the second is replaced while it runs. Their loops are at other places.
cat >"$tmp/turn.c" <<'END'
#include <stdlib.h>
static volatile double x;
#ifdef SECOND
__attribute__((noinline)) int longer(int n) { return n * 3 + n % 7; }
__attribute__((noinline)) void second(long n) { while (n--) x = 1.0 / (x + 1.5); }
int main(int argc, char **argv) { second(atol(argv[1])); return longer(argc) == 0; }
#else
__attribute__((noinline)) void first(long n) { while (n--) x = x * 0.5 + 1.0; }
int main(int argc, char **argv) { first(atol(argv[1])); return argc == 0; }
#endif
END
# shellcheck disable=SC2086 # words
${CC:-cc} $flags -o "$tmp/turn1" "$tmp/turn.c" && ${CC:-cc} $flags -DSECOND -o "$tmp/turn2" "$tmp/turn.c"
# shellcheck disable=SC2016 # the inner shell's
turns='cd "$0"; cp turn1 turn; ./turn 4000000; sleep 0.1; cp turn2 new; mv new turn; ./turn 9000000 & sleep 0.1; rm turn; cp turn1 turn; wait'
run -q --min-share 0 --json "$tmp/json" sh -c "$turns" "$tmp"
check '
first, second = part(run, "^first loop"), part(run, "^second loop .*.turn, file 2 of this path.")
if (first["iterations"], second["iterations"]) != (4000000, 9000000):
    sys.exit("each has its own counts")
if not first["samples"] or not second["samples"]:
    sys.exit("each has its own samples")'
ok "two programs of one path are two, even when the path has another file by now"

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

run --min-share 0 --json "$tmp/json" --repeat 3 "$tmp/more" times 3000000
check '
once, nine = part(run, "^once loop"), part(run, "^nine_times loop")
if once["entries_low"] != 10 or nine["instructions"] != 9 * once["instructions"]:
    sys.exit("the two loops are counted")
if nine["samples"] <= once["samples"]:
    sys.exit("nine times the work: " + str(nine["samples"]) + " to " + str(once["samples"]) + " samples")'
ok "samples follow the work"
check '
if part(run, "^once loop")["counts_spread"] != 0 or part(run, "^nine_times loop")["counts_spread"] != 0:
    sys.exit("the counts of two runs differ")' && grep -q '^carm: counted twice: ' "$tmp/err"
ok "with --repeat, a deterministic program is counted twice alike"

run --verbose --min-share 0 --json "$tmp/json" -o "$tmp/twice.csv" --repeat 2 "$tmp/more" grows 20000000 "$tmp/size"
check '
once = part(run, "^once loop")
if once["iterations"] != 60000000 or not once["differs"] or abs(once["counts_spread"] - 0.25) > 0.001:
    sys.exit(f"the fourth run does a third more than the third: {once}")' && grep -Eq '^carm: counted twice: [0-9]+ rows? differs? by more than 5%' "$tmp/err" &&
    grep -q 'runs differ  .*once loop' "$tmp/err" && grep -q 'two counted runs differ by 25% here' "$tmp/twice.csv"
ok "... and of another one, the rows that differ are marked"

python3 - "$top/tests/data/sample-model.json" >"$tmp/bare.json" <<'END'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    model = json.load(file)
for roofs in model["roofs"]:
    roofs["memory"] = []
json.dump(model, sys.stdout)
END
run --model "$tmp/bare.json" "$tmp/more" times 30000000
grep -q '^carm: the model has no roofs of caches and memory, so nothing can be said of loops ' "$tmp/err" &&
    run "$tmp/more" times 30000000 && ! grep -q 'no roofs of caches' "$tmp/err"
ok "a model without roofs of memory is named as the reason"

cat >"$tmp/fft.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
typedef double number[2];
int main(int argc, char **argv)
{
    void *library = dlopen("libfftw3.so.3", RTLD_NOW);
    void *plan_at = library ? dlsym(library, "fftw_plan_dft_1d") : NULL;
    void *execute_at = library ? dlsym(library, "fftw_execute") : NULL;
    void *(*plan_dft)(int, number *, number *, int, unsigned);
    void (*execute)(void *);
    if (argc != 3 || !plan_at || !execute_at)
        return 77;
    memcpy(&plan_dft, &plan_at, sizeof plan_at);
    memcpy(&execute, &execute_at, sizeof execute_at);
    const size_t n = (size_t)atol(argv[1]);
    number *data = calloc(2 * n, sizeof *data);
    void *plan = plan_dft((int)n, data, data + n, -1, 1U << 6); /* FFTW_ESTIMATE */
    for (long i = atol(argv[2]); i > 0; i--)
        execute(plan);
    return 0;
}
END
${CC:-cc} -O2 -o "$tmp/fft" "$tmp/fft.c" -ldl 2>"$tmp/err"
run -q --min-share 0 --json "$tmp/json" "$tmp/fft" 4096 2000
if [ $? -eq 77 ]; then
    skip "FFTW" "libfftw3 is not installed"
else
    check '
fftw = [p for p in run["parts"] if re.search("libfftw3", p.get("module") or "")]
flops, whole = sum(p["flops"] for p in fftw), run["whole"]["flops"]
if flops < 0.999 * whole or not any(p["kind"] == "loop" and "libfftw3" in p["name"] for p in fftw):
    sys.exit(f"the flops are in loops of libfftw3: {flops} of {whole}")
if not 3.5 < flops / (2000 * 4096 * 12) < 5:
    sys.exit(f"5 n log2 n flops are those of radix 2, the best that is known are 34/9: {flops}")'
    ok "FFTW: its loops by name, rows that sum to the whole, as many flops as such a transform has"
fi

# ---- with the CPU's counters: a library that stands in for PAPI, as if this were a Skylake-SP

papi=$(dirname "$carm")/tests/libpapi.so
cat >"$tmp/events.py" <<'END'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    whole = json.load(file)["whole"]
flops, instructions = map(float, sys.argv[2].split(","))
events = {"INSTRUCTION_RETIRED": whole["instructions"] * instructions, "MEM_INST_RETIRED:ALL_LOADS": whole["loads"],
          "MEM_INST_RETIRED:ALL_STORES": whole["stores"]}
for name, width, bits in (("SCALAR", "scalar", 0), ("128B_PACKED", "128", 128), ("256B_PACKED", "256", 256), ("512B_PACKED", "512", 512)):
    events[f"FP_ARITH_INST_RETIRED:{name}_DOUBLE"] = whole["dp_" + width] * flops / max(1, bits / 64)
    events[f"FP_ARITH_INST_RETIRED:{name}_SINGLE"] = whole["sp_" + width] * flops / max(1, bits / 32)
print(" ".join(f"{name}={round(count)}" for name, count in events.items()))
END
# counters FLOPS,INSTRUCTIONS ARGUMENTS...: the counters have so many times what translation counted of the program
counters() {
    counts=$(python3 "$tmp/events.py" "$tmp/counted" "$1")
    shift
    CARM_UARCH=skylake-server CARM_PAPI_LIBRARY=$papi CARM_FAKE_COUNTS=$counts timeout 600 "$carm" run \
        --model "$top/tests/data/sample-model.json" "$@" >"$tmp/out" 2>"$tmp/err" <"${input:-/dev/null}"
}
# runs N: so many bytes are in the file to which "more grows" adds one in each run
runs() {
    [ "$(wc -c <"$tmp/size")" -eq "$1" ]
}
rm -f "$tmp/size"
run -q --json "$tmp/counted" "$tmp/more" times 3000000
if counters 1,1 -q --whole -o "$tmp/whole.csv" "$tmp/more" grows 1000 "$tmp/size" && grep -q '^more,.*,pmu,' "$tmp/whole.csv"; then
    runs 1
    ok "with counters, --whole runs a program once"
    counters 1,1 -q "$tmp/more" grows 1000 "$tmp/size" && runs 3
    ok "... else it runs twice, the second time for its loops"
    counters 1,1 --verbose --min-share 0 --json "$tmp/json" -o "$tmp/both.csv" "$tmp/more" times 3000000
    check '
loop(run, "^once loop", 3000000, 10, 4, 1, 8)
c = run["counters"]
if c["by"] != "papi" or c["warning"] or abs(c["flops"] - run["whole"]["flops"]) > 1e-6 * c["flops"]:
    sys.exit(f"the counters are those of the program: {c}")
if set(c["deviations"]) != {"flops", "instructions", "loads", "bytes"} or max(map(abs, c["deviations"].values())) > 1e-3:
    sys.exit(f"both agree: {c}")
if run["whole"]["cycles"] != 0:
    sys.exit("cycles are those of the counters")' &&
        grep -q "^carm: the program ran twice, the second time to count its loops (--whole: once)" "$tmp/err" &&
        grep -q '^carm: counted by *translation of' "$tmp/err" &&
        grep -Eq '^carm: check *PAPI counted 30.00 Mflop, translation 30.00 Mflop: [+-]0.0%; instructions [+-]0.0%, loads [+-]0.0%, bytes [+-]0.0%$' "$tmp/err" &&
        ! grep -q '^carm: warning' "$tmp/err" && grep -q '^more: once loop.*,translated,' "$tmp/both.csv"
    ok "... and the counters' totals are compared with the counted ones"
    counters 1.1,1 --verbose --json "$tmp/json" "$tmp/more" times 3000000
    grep -q '^carm: check *PAPI counted 33.00 Mflop, translation 30.00 Mflop: -9.1%; instr' "$tmp/err" &&
        grep -q "^carm: warning *flops differ by more than 5%; Intel's counters have all lanes of masked instructions" "$tmp/err" &&
        check '
c = run["counters"]
if abs(c["deviations"]["flops"] + 1 / 11) > 1e-3 or not c["warning"].startswith("flops differ"):
    sys.exit(f"a tenth more flops: {c}")'
    ok "... flops that deviate are reported with the probable reasons"
    ! grep -q 'Gop/s' "$tmp/err"
    ok "integers of small rows make no column"
    counters 1,0.5 "$tmp/more" times 3000000
    grep -q '^carm: warning *instructions differ by more than 5%; the runs executed different numbers of instructions' "$tmp/err"
    ok "... and another number of instructions"
    counters 1,1 --counters papi "$tmp/more" grows 1000 "$tmp/size" && runs 4 &&
        counters 1,1 --counters papi --functions --json "$tmp/json" "$tmp/more" grows 1000 "$tmp/size" && runs 6 &&
        check 'part(run, "^once$", "function")["flops"], run["counters"]'
    ok "--counters papi runs a program twice if functions are asked for"
    OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 counters 1,1 "$tmp/more" grows 1000 "$tmp/size"
    runs 7 && grep -q "^carm: counted by *the CPU's counters by papi" "$tmp/err" &&
        grep -q 'loops were not counted, because a rank of a parallel program runs only once' "$tmp/err"
    ok "a rank of a parallel program has the counters alone"
    mkfifo "$tmp/pipe"
    echo text >"$tmp/pipe" &
    input=$tmp/pipe counters 1,1 -o "$tmp/pipe.csv" cat
    [ "$(cat "$tmp/out")" = text ] && grep -q "^carm: counted by *the CPU's counters by papi" "$tmp/err" &&
        grep -q '^cat,.*,pmu,.*loops were not counted, because the program reads standard input that can be read only once' "$tmp/pipe.csv"
    ok "what translation cannot count, the counters have"
else
    skip "with the CPU's counters" "built without PAPI"
fi

printf '#!/bin/sh\n"%s" times %d\nexec "%s" fork %d\n' "$tmp/more" $iterations "$tmp/more" $iterations >"$tmp/script"
chmod +x "$tmp/script"
run -q --min-share 0 --json "$tmp/json" "$tmp/script"
check '
once = part(run, "^once loop")
if once["iterations"] != 2000000 or once["entries_low"] != 11:
    sys.exit("all programs of a script count")'
ok "a script, and a program that becomes another"

run "$tmp/true" && grep -q '^carm: true: .*: too short to see loops (.* samples* of .*). Try: carm run --repeat [0-9]' "$tmp/err"
ok "a short program: too few samples"
run sleep 0.6 && grep -q 'too short to see loops (.* samples* of .*). Take a larger problem' "$tmp/err"
ok "... and no hundreds of runs of one that takes its time"
run --no-time "$tmp/true" && grep -q '^carm: time *unknown: a counted run has no time' "$tmp/err" &&
    grep -q '^carm: --no-time has no shares of time: --loops and --functions show' "$tmp/err" &&
    run --no-time --functions "$tmp/more" times 1000000 &&
    grep -Eq '^carm: +time +Mflop +Minstr +MB flop/byte ' "$tmp/err" &&
    grep -Eq '^carm: +- +9 +36 +72 +0.125 .* nine_times' "$tmp/err" && ! grep -Eq -- '--no-time|--repeat' "$tmp/err"
ok "--no-time: counts without shares, and no word of too few samples"

if [ $can_forbid -eq 0 ]; then
    # each of 50 threads runs 4 ms, shorter than the period of 10 ms: together some 20 samples
    hz=100
    without $perf_event_open "$tmp/more" threads 200000000 50
    # shellcheck disable=SC2181 # the status is looked at with what was said
    [ $? -eq 0 ] && check '
for name in ("in_thread", "in_c11_thread", "once"):
    if part(run, f"^{name}$", "function")["samples"] < 3:
        sys.exit(f"{name} has too few samples")'
    ok "the preloaded timer: threads, short ones as well, a child, no system call is interrupted"
    hz=499

    without $perf_event_open "$tmp/more" libraries 60000000 "$tmp/liba.so" "$tmp/libb.so"
    check '
for name in ("liba", "libb"):
    if part(run, f"^hot_library .{name}.so", "function")["samples"] < 3:
        sys.exit(f"{name} has too few samples")'
    ok "the preloaded timer: libraries that come and go"

    without $perf_event_open "$tmp/more" signals 60000000
    # shellcheck disable=SC2181
    [ $? -eq 0 ] && grep -q '1 process of the program uses signal 62, which the samples need: it has none from then on' "$tmp/err" &&
        check '
if part(run, "^once$", "function")["samples"] < 3 or any(p["name"] == "in_between" for p in run["parts"]):
    sys.exit("there are samples until the program takes the signal")'
    ok "the preloaded timer leaves its signal to a program that wants it"

    # a child without the environment is not sampled: two thirds of the time, of each run
    # shellcheck disable=SC2016 # the inner shell's
    timeout 600 "$tmp/forbid" $perf_event_open -- "$carm" run --counters none --functions --repeat 3 --json "$tmp/json" -- \
        sh -c '"$1" times 10000000; env -i "$1" times 20000000' sh "$tmp/more" >"$tmp/out" 2>"$tmp/err" </dev/null
    grep -q "the samples saw [0-9]*% of the program's processor time: programs that it starts" "$tmp/err"
    ok "the preloaded timer: what it did not see of repeated runs"

    if ${CC:-cc} -static -o "$tmp/static" "$tmp/true.c" 2>/dev/null; then
        without $perf_event_open "$tmp/static"
        grep -q 'shares of time are missing: .* does not reach static or set-user-id programs' "$tmp/err"
        ok "a static program has no samples without perf_event_open"
    else
        skip "a static program has no samples without perf_event_open" "no static C library"
    fi

    without "$perf_event_open $timer_create" "$tmp/more" times $iterations
    grep -q '^carm: .*: shares of time are missing: 1 thread got no timer (Operation not permitted)' "$tmp/err"
    ok "where timers are forbidden, too, carm says so"
else
    skip "the preloaded timer" "seccomp does not work"
fi

run --min-share 0 --json "$tmp/json" "$tmp/more" threads 1000000 1000
check 'loop(run, "^in_thread loop", 1000500, 1000, 4, 1, 8)
if run.get("sampled_by") == "task clock" and not re.search(
        "100[0-9] threads and processes began, and the samples see little of one that runs shorter than 2 ms: --hz 10000",
        open(sys.argv[1].replace("json", "err"), encoding="utf-8").read()):
    sys.exit("nobody says that short threads have few samples")'
ok "1000 threads"

# more threads than CPUs take turns: a loop takes at least the time of all of them, divided by the CPUs
run --min-share 0 --json "$tmp/json" "$tmp/more" threads 400000000 $((8 * $(nproc)))
check 'import os
p = part(run, "^in_thread loop")
spent = p["time_share"] * run["cpu_seconds"]
if p["samples"] < 30 or p["seconds"] < 0.99 * spent / os.cpu_count():
    sys.exit("%g s for %g s on %d CPUs" % (p["seconds"], spent, os.cpu_count()))'
ok "the time of a loop that many threads take turns in"

# carm stops until the program has ended: the kernel's buffer of one CPU holds less than a second of samples
cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
# shellcheck disable=SC2016 # the inner shell's
"$carm" run --counters none --functions --hz 10000 -- sh -c 'kill -STOP $PPID; "$@"; kill -CONT $PPID' sh \
    taskset -c "$cpu" "$tmp/more" times 140000000 \
    >"$tmp/out" 2>"$tmp/err" </dev/null
if [ "$sampled_by" = 'task clock' ]; then
    grep -Eq '^carm: [0-9]+ samples were lost: the buffers were full' "$tmp/err"
    ok "samples that had no room are counted"
else
    skip "samples that had no room are counted" "no perf_event_open: the buffer of the preloaded timer is larger"
fi

# shellcheck disable=SC2016,SC2181 # the inner shell's; the status is looked at with what was said
run -q --functions --min-share 0 --json "$tmp/json" sh -c '"$@"; kill -9 $$' sh "$tmp/more" times 50000000
[ $? -eq 137 ] && check '
if not part(run, "^nine_times$", "function")["samples"] or "instructions" in run["whole"]:
    sys.exit("the samples stay, and there are no counts")'
ok "a program that a signal ends has its samples"

if [ "$(id -u)" -eq 0 ] && cp "$tmp/more" "$tmp/setuid" && chown nobody "$tmp/setuid" 2>/dev/null && chmod u+s "$tmp/setuid" &&
    ! findmnt -no OPTIONS -T "$tmp" 2>/dev/null | grep -qw nosuid; then
    run --functions "$tmp/setuid" times 50000000
    why='perf_event_open is not allowed here'
    [ "$sampled_by" != 'task clock' ] || why='[0-9]+ samples? of .* \(a set-user-id program has none\)'
    grep -q 'not counted, because it is a set-user-id or set-group-id program' "$tmp/err" &&
        grep -Eq "shares of time are missing: $why" "$tmp/err"
    ok "a set-user-id program"
    # under no_new_privs it would be an ordinary program
    if [ $can_forbid -eq 0 ] && "$tmp/forbid" $perf_event_open -- grep -q '^NoNewPrivs:[^0-9]*0' /proc/self/status; then
        without $perf_event_open "$tmp/setuid" times 20000000
        # shellcheck disable=SC2181
        [ $? -eq 0 ] && grep -q 'shares of time are missing: .* does not reach static or set-user-id programs' "$tmp/err" &&
            check 'sys.exit(1 if run["samples"] or run["parts"] else 0)'
        ok "the preloaded timer: a set-user-id program, which drops what is preloaded"
        # shellcheck disable=SC2016 # the inner shell's
        without $perf_event_open sh -c '"$1" times 10000000; "$2" times 50000000' sh "$tmp/more" "$tmp/setuid"
        grep -q "the samples saw [0-9]*% of the program's processor time: programs that it starts (static, set-user-id" "$tmp/err"
        ok "... and one that another program starts"
    else
        skip "the preloaded timer: a set-user-id program" "no seccomp filter without no_new_privs"
    fi
else
    skip "a set-user-id program" "only root can make one here"
fi

# a file system without room: what is there stays, and whole rows come or none
mkdir "$tmp/small"
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o "$tmp/no_room.so" "$here/no_room.c" 2>"$tmp/err"
# small ARGUMENTS...: a run in that folder; what it says is kept
small() {
    (cd "$tmp/small" && NO_ROOM=$tmp/small LD_PRELOAD=$tmp/no_room.so ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}" \
        run -q --min-share 0 "$@" "$tmp/more" times 1000000)
    code=$?
    cat "$tmp/err" >>"$tmp/said"
    return $code
}
small --whole -o points.csv && cp "$tmp/small/points.csv" "$tmp/before" &&
    ! small --functions -o points.csv && ! small --json loops.json && ! small --report page.html &&
    cmp "$tmp/small/points.csv" "$tmp/before" && [ "$(ls -A "$tmp/small")" = points.csv ] &&
    [ "$(sed -n 's/^carm: .*\(points.csv\|loops.json\|page.html\).*No space left on device.*/\1/p' "$tmp/said" | tr '\n' ' ')" = \
        'points.csv loops.json page.html ' ]
ok "a file system without room"

# of libraries, such files are large and compressed: reading libc's takes longer than counting a short program
cat >"$tmp/apart.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void spin(long n)
{
    for (long i = 0; i < n; i++) {
        __asm__ volatile("");
    }
}
int main(int argc, char **argv)
{
    spin(atol(argv[argc - 1]));
    return 0;
}
END
# apart N: the row of the function, counted with that argument
apart() {
    rm -f "$tmp/apart.csv"
    run -q --functions --min-share 0 --no-time -o "$tmp/apart.csv" "$tmp/apart" "$1"
    grep '^apart: spin,' "$tmp/apart.csv"
}
${CC:-cc} -g -O1 -o "$tmp/apart" "$tmp/apart.c" && objcopy --only-keep-debug "$tmp/apart" "$tmp/apart.debug" &&
    strip "$tmp/apart" && objcopy --add-gnu-debuglink="$tmp/apart.debug" "$tmp/apart" &&
    ! apart 1 | grep -q apart.c: && apart 10000000 | grep -q ',apart.c:[34],apart,'
ok "a debug file of its own is read for lines where its code has executed enough"

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
