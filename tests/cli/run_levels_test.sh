#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm run --levels: bytes of every level of whole programs and of their loops, against closed forms; what it
# refuses; what it says of models that do not fit. Prints TAP. Counts decide, no time does.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
case ${CARM_TOP:-.} in /*) ;; *) CARM_TOP=$PWD/${CARM_TOP:-.} ;; esac
unset CARM_OUT CARM_COUNTERS
cd "$tmp" || exit 1

levels() {
    timeout 600 "$carm" run --levels "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    keep $? run "$@"
}

# ---- what is refused ------------------------------------------------------------------------------

refuses '--levels without translation' 2 '--levels belongs to --counters translate' \
    run --levels --counters step -- true
refuses '--prefetch without --levels' 2 '--prefetch belongs to --levels' run --counters translate --prefetch next -- true
refuses 'an unknown prefetcher' 2 "--prefetch is none, next, streams or both, not 'all'" \
    run --counters translate --levels --prefetch all -- true
refuses '--sample without --levels' 2 '--sample belongs to --levels' run --counters translate --sample 1 -- true
refuses 'a sample of nothing' 2 "--sample needs a percentage from 0.01 to 100, not '0'" run --levels --sample 0 -- true
refuses '--levels without a model' 1 'model' run --counters translate --levels -m none.json -- true

# ---- small caches ---------------------------------------------------------------------------------

sample=$CARM_TOP/tests/data/sample-model.json
# 16 KiB, 64 KiB, 256 KiB; and one whose levels have no size
python3 - "$sample" <<'END'
import json, sys
model = json.load(open(sys.argv[1]))
sizes = dict(L1=16 << 10, L2=64 << 10, L3=256 << 10)
for level in model["levels"]:
    size = sizes.get(level["level"])
    level.update(os_size_bytes=size, knee_bytes=size)
for cache in model["machine"]["caches"]:
    cache["size_bytes"] = sizes["L%d" % cache["level"]]
json.dump(model, open("small.json", "w"))
other = json.loads(json.dumps(model))  # of a machine with more cores and no L3; and one with a cache beyond all memory
other["machine"].update(cores=64, threads=64)
other["levels"] = [l for l in other["levels"] if l["level"] != "L3"]
other["machine"]["caches"] = [c for c in other["machine"]["caches"] if c["level"] < 3]
for roofs in other["roofs"]:
    roofs["memory"] = [m for m in roofs["memory"] if m["level"] != "L3"]
json.dump(other, open("other.json", "w"))
other["levels"][1].update(os_size_bytes=1 << 32, knee_bytes=None)
json.dump(other, open("huge.json", "w"))
model["machine"]["caches"] = []
for level in model["levels"]:
    level.update(os_size_bytes=None, knee_bytes=None, resolved=False)
json.dump(model, open("unresolved.json", "w"))
END
refuses 'a model without sizes of caches' 1 'the model has no cache whose size is known' \
    run --levels -m unresolved.json -- true
refuses 'a cache that no memory can simulate' 1 'not enough memory to simulate the caches of 64 cores (2048 MiB at most)' \
    run --levels -m huge.json -- true

cat >walk.c <<'END'
#include <stdlib.h>
enum { LINES = 65536, LINE = 8, NEAR = 64 };
static volatile double area[LINES * LINE] __attribute__((aligned(4096)));
static volatile double other[LINES * LINE] __attribute__((aligned(4096)));
static volatile double near[NEAR * LINE] __attribute__((aligned(4096)));

/* 8 bytes of each line are stored */
__attribute__((noinline)) static void stream(int passes)
{
    for (; passes > 0; passes--) {
        for (long i = 0; i < LINES * LINE; i += LINE) {
            area[i] = 1.0;
        }
    }
}

/* every fourth line is loaded */
__attribute__((noinline)) static void stride(int passes)
{
    for (; passes > 0; passes--) {
        for (long i = 0; i < LINES * LINE; i += 4 * LINE) {
            (void)other[i];
        }
    }
}

/* lines that stay in the first level */
__attribute__((noinline)) static void resident(int passes)
{
    for (; passes > 0; passes--) {
        for (long i = 0; i < NEAR * LINE; i++) {
            (void)near[i];
        }
    }
}

int main(int argc, char **argv)
{
    double x = argc;
    for (int i = 0; i < 100; i++) {
        __asm__ volatile("addsd %0, %0" : "+x"(x));
    }
    stream(atoi(argv[argc - 1]));
    stride(atoi(argv[argc - 1]));
    resident(100);
    return 0;
}
END
if ! cc -O1 -fno-tree-vectorize -o walk walk.c 2>err; then
    skip 'bytes of every level' "no compiler: $(head -n 1 err)"
    finish
fi
levels --no-time --whole -m small.json -o whole.csv --name walk -- ./walk 2
if grep -q 'not counted' err || ! [ -s whole.csv ]; then
    skip 'bytes of every level' "translation does not work here: $(grep 'counted' err | head -n 1)"
    finish
fi
grep -q '^carm: caches       simulated: L1 16 KiB, .*; without prefetching$' err &&
    grep -q '^carm: L2 bytes .* capacity.* never used$' err
ok 'the levels are shown'

levels --no-time --whole -m other.json -- ./walk 1
grep -q '^carm: caches       simulated: L1 16 KiB, .*; L2 64 KiB, ' err && grep -q '^carm: L2 bytes ' err &&
    grep -q '^carm: DRAM bytes ' err && ! grep -q 'L3' err
ok 'the model of a machine with other cores and levels'

# ---- loops ----------------------------------------------------------------------------------------

levels --no-time --loops --min-share 0 -m small.json -o loops.csv --json loops.json -- ./walk 2
python3 - >out 2>err <<'END'
import csv, json
LINES, LINE, PASSES = 65536, 64, 2
rows = list(csv.DictReader(open("loops.csv")))
whole = list(csv.DictReader(open("whole.csv")))[0]
columns = ["l2_bytes", "l3_bytes", "dram_bytes", "l2_unused", "l3_unused", "dram_unused"]
value = lambda row, column: float(row[column] or 0)
for column in columns:  # of the same run
    program = json.load(open("loops.json"))["whole"][column]
    assert sum(value(r, column) for r in rows) == program, (column, program)
    assert abs(program - value(whole, column)) < 0.01 * program, (column, program, whole[column])
def loop(name):
    found = [r for r in rows if "walk: %s loop" % name in r["name"] and value(r, "l2_bytes")]
    assert len(found) == 1 and found[0]["levels_by"] == "simulated", (name, found)
    return {c: value(found[0], c) for c in columns}
for level in ["l2", "l3", "dram"]:
    got = loop("stream")  # a line comes and goes for each store, also those that others drive out
    assert got[level + "_bytes"] == 2 * PASSES * LINES * LINE, (level, got)
    assert got[level + "_unused"] == PASSES * LINES * (LINE - 8), (level, got)
    got = loop("stride")
    assert got[level + "_bytes"] == PASSES * LINES / 4 * LINE, (level, got)
    assert got[level + "_unused"] == PASSES * LINES / 4 * (LINE - 8), (level, got)
    got = loop("resident")
    assert got[level + "_bytes"] == 64 * LINE and got[level + "_unused"] == 0, (level, got)
parts = json.load(open("loops.json"))["parts"]
caches = lambda name: [p["caches"] for p in parts if p["name"].startswith(name + " loop") and
                       p.get("caches", [{"fills": 0}])[0]["fills"]][0]
first = caches("stream")[0]
assert [first[k] for k in ["lookups", "compulsory", "capacity", "conflict", "coherence", "writebacks"]] == \
    [PASSES * LINES, LINES, (PASSES - 1) * LINES, 0, 0, PASSES * LINES], first
first = caches("resident")[0]
assert [first[k] for k in ["lookups", "compulsory", "capacity", "conflict"]] == [100 * 512, 64, 0, 0], first
END
ok 'each loop has exactly the bytes that it causes, and their sum is the whole'

# ---- other caches ---------------------------------------------------------------------------------

refuses '--set without time' 2 '--set is about the time of loops: leave --no-time out' \
    run --set peak=2x --no-time --counters translate -- true
refuses '--set of no machine' 2 "--set: 'L2=big' is no change of a machine" run --set L2=big -- true
levels --set L3=16M,dram.bandwidth=2x --json set.json -m small.json -- ./walk 2
python3 - >out 2>>err <<'END'
import json
run = json.load(open("set.json"))
there = run["set"]
assert there["changes"] == ["L3 16 MiB (256 KiB today)", "DRAM bandwidth 2x"], there
then = {level["level"]: level["bytes"] for level in there["bytes"]}
LINES, LINE = 65536, 64
cold = 2 * LINES * LINE + LINES / 4 * LINE + 64 * LINE  # stored lines come and go once, loaded ones come
assert abs(then["DRAM"] - cold) < 0.02 * cold, (then, cold)
for level in ("L2", "L3"):  # behind caches that are the same
    now = run["whole"][level.lower() + "_bytes"]
    assert abs(then[level] - now) < 0.001 * now, (level, then, now)
assert run["whole"]["dram_bytes"] > 1.8 * cold, run["whole"]
assert len(there["parts"]) == len(run["parts"]), there
END
ok 'caches of other sizes are simulated beside those of the model'
grep -q '^carm: with L3 16 MiB (256 KiB today) and DRAM bandwidth 2x\( the program \(would\|may\) be\|: nothing is known\)' err &&
    grep -q '^carm: bytes with these caches: L2 .* today), L3 .*, DRAM ' err && ! grep -q 'maybe not known' err
ok 'what they would bring is said'
# a sample of both: their sets are chosen alike
timeout 600 "$carm" run --loops --no-measure --set L1=4x,L2=0.5x -m "$sample" -- ./walk 2 >out 2>err </dev/null &&
    grep -q '^carm: bytes with these caches: L2 ' err
ok 'a sample of the accesses serves both'
timeout -s INT 2 "$carm" run --no-measure --set L2=2x -m "$sample" -- ./walk 100000000 >out 2>err </dev/null
grep -q '^carm: --set: nothing is known of another machine: the timed run was ended by a signal' err
ok '--set of a run that was interrupted says so'

# ---- threads --------------------------------------------------------------------------------------

# two threads increment their own parts of one line, or of two
cat >sharing.c <<'END'
#include <pthread.h>
#include <stdlib.h>
enum { TIMES = 300000 };
static volatile long parts[16] __attribute__((aligned(128)));
static int ready;

static void *work(void *part)
{
    volatile long *mine = part;
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 2) {
    }
    for (int i = 0; i < TIMES; i++) {
        (*mine)++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;
    pthread_create(&other, NULL, work, (void *)&parts[atoi(argv[argc - 1])]);
    work((void *)parts);
    pthread_join(other, NULL);
    return 0;
}
END
# often COMMAND...: again, up to 10 times, until its run has taken the line in turns. On a busy machine the two threads
# may have run one after the other.
often() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rm -f near.json
        "$@"
        python3 - <<'END' && break
import json, sys
parts = json.load(open("near.json"))["parts"]
part = max((p for p in parts if p["name"].startswith("work loop")), key=lambda p: p["stores"])
sys.exit(part["caches"][0]["coherence"] < 600000 / 50)
END
    done
}
if cc -O1 -pthread -o sharing sharing.c 2>err; then
    often levels --no-time --loops --min-share 0 -m small.json --json near.json -- ./sharing 1
    cp err near
    levels --no-time --loops --min-share 0 -m small.json --json far.json -- ./sharing 8
    grep -q '^carm: coherence .* lines taken' near && grep -q 'another order can make at most' near &&
        python3 - >out 2>>err <<'END'
import json
INCREMENTS = 2 * 300000
def loop(name):
    found = [p for p in json.load(open(name))["parts"] if p["name"].startswith("work loop")]
    part = max(found, key=lambda p: p["stores"])
    return part["caches"][0], part["coherence_contested"]
near, contested = loop("near.json")
# in turns of 16 accesses while both run
assert INCREMENTS / 50 < near["coherence"] <= INCREMENTS, near
assert INCREMENTS < contested <= near["lookups"], (contested, near)
far, contested = loop("far.json")
assert far["coherence"] < INCREMENTS / 1000, far
END
    ok 'false sharing is coherence misses, in turns of some accesses'
    # the C library asks for clone3 first, which a container answers with ENOSYS: that is no thread
    if cc -o forbid "$CARM_TOP/tests/forbid.c" 2>err && ./forbid container -- true 2>>err; then
        # shellcheck disable=SC2317 # called by often
        contained() {
            timeout 600 ./forbid container -- "$carm" run --levels --no-time --loops --min-share 0 -m small.json \
                --json near.json -- ./sharing 1 >out 2>err </dev/null
        }
        often contained && ! grep -q 'take turns' err
        ok '... in a container, too'
    else
        skip 'false sharing in a container' "$(cat err)"
    fi
    levels --no-time --whole -m small.json --sample 10 -- ./sharing 1
    grep -q 'a line that threads contend for is counted only if the sample has it' err || grep -q 'BMI2' err
    ok 'a sample may miss it, and says so'
else
    skip 'false sharing' "no threads: $(head -n 1 err)"
fi

cat >many.c <<'END'
#include <pthread.h>
#include <stdlib.h>
enum { THREADS_MAX = 1024, WORDS = 512 };
static volatile long area[THREADS_MAX][WORDS] __attribute__((aligned(4096)));
static pthread_barrier_t all;

static void *work(void *mine)
{
    volatile long *at = mine;
    pthread_barrier_wait(&all);
    for (int i = 0; i < WORDS; i++) {
        at[i] = 1;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const int n = atoi(argv[argc - 1]);
    pthread_t threads[THREADS_MAX];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    pthread_barrier_init(&all, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        if (pthread_create(&threads[i], &small, work, (void *)area[i])) {
            _Exit(77);
        }
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
END
if cc -O1 -fno-tree-vectorize -pthread -o many many.c 2>err && ./many 1000; then
    levels --no-time --loops --min-share 0 -m small.json --json many.json -- ./many 1000
    grep -q '^carm: *1001 threads take turns on . simulated cores$' err && python3 - >out 2>>err <<'END'
import json
found = [p for p in json.load(open("many.json"))["parts"] if p["name"].startswith("work loop")]
part = max(found, key=lambda p: p["stores"])
assert part["caches"][0]["lookups"] == 1000 * 512, part
assert part["caches"][0]["compulsory"] == 1000 * 64, part  # whole pages, each of one thread
END
    ok 'the addresses of 1000 threads'
else
    skip 'the addresses of 1000 threads' "$(head -n 1 err)"
fi

# ---- a sample --------------------------------------------------------------------------------------

refuses 'prefetching of a sample' 1 'prefetching cannot be sampled' \
    run --levels --sample 10 --prefetch next -m small.json -- true
if ! grep -qw bmi2 /proc/cpuinfo; then
    skip 'a sample' 'this CPU has no BMI2'
    finish
fi
levels --no-time --loops --min-share 0 -m small.json --sample 10 --json sample.json -- ./walk 20
grep -q '^carm:  *sampled: 16 of 128 groups of sets' err &&
    grep -qE '^carm: DRAM bytes .* \(-[0-9.]+% to \+[0-9.]+%\); L3' err &&
    python3 - >out 2>>err <<'END'
import json
LINES, LINE, PASSES = 65536, 64, 20
run = json.load(open("sample.json"))
for name, lines in [("stream", 2 * PASSES * LINES), ("stride", PASSES * LINES / 4)]:
    found = [p for p in run["parts"] if p["name"].startswith(name + " loop") and p.get("l2_bytes")]
    assert len(found) == 1, (name, found)
    for cache in found[0]["caches"]:
        low, high = cache["bytes_behind_ci95"]
        assert abs(cache["bytes_behind"] / (lines * LINE) - 1) < 0.05, (name, cache)
        assert low <= 1.0001 * cache["bytes_behind"] and high >= 0.9999 * cache["bytes_behind"], cache
for q in ["l3_bytes", "dram_bytes"]:
    parts = sum(p.get(q, 0) for p in run["parts"])
    assert abs(parts / run["whole"][q] - 1) < 1e-6, (q, parts, run["whole"][q])
END
ok 'a sample has the bytes of loops within 5%, and an interval for each'

levels --no-time --whole -m small.json --sample 10 -o one-row.csv -- ./walk 20
python3 - >out 2>>err <<'END'
import csv, json, re
of_loops = json.load(open("sample.json"))["whole"]
whole = list(csv.DictReader(open("one-row.csv")))[0]
for q in ["l2_bytes", "l3_bytes", "dram_bytes"]:
    assert abs(float(whole[q]) / of_loops[q] - 1) < 0.01, (q, whole[q], of_loops[q])
said = re.search(r"L1 misses [0-9.]+% of ([0-9.e+]+) lookups", open("err").read())
assert abs(float(said[1]) / (of_loops["loads"] + of_loops["stores"]) - 1) < 0.001, said[1]
END
ok 'a sample is the same for one row of the whole program, whose lookups are its loads and stores'

# its length decides where nothing is asked for: the free run computes for 2 s, however fast the CPU is
cat >twice.sh <<'END'
[ -e ran ] || { : >ran; (ulimit -t 2; exec awk 'BEGIN { for (;;) i++ }') || :; }
END
levels --whole -m small.json -- sh twice.sh
grep -q '^carm:  *sampled, as it runs longer than 1 s; --sample 100 simulates all accesses' err
ok 'a long program is sampled, and the report says so'
rm -f ran
levels --whole --sample 100 -m small.json -- sh twice.sh
test -s err && ! grep -q sampled err
ok '--sample 100 simulates all accesses of a long program'

finish
