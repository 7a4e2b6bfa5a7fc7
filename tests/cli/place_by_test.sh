#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Parallel programs: rows that their ranks write, under faked launchers and a real mpirun, and carm
# place --by, its numbers done again by other means. Prints TAP. CARM = the program, CARM_TOP = the
# sources' root. With UPDATE=1 the golden file is rewritten. Counts decide, no time does.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
case ${CARM_TOP:-.} in /*) top=${CARM_TOP:-.} ;; *) top=$PWD/${CARM_TOP:-.} ;; esac
data=$top/tests/data
model=$data/sample-model.json
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
for word in SLURM_JOB_ID SLURM_STEP_ID SLURM_PROCID SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID PBS_JOBID \
    LSB_JOBID PMIX_RANK PMIX_NAMESPACE PMI_RANK OMPI_COMM_WORLD_RANK MV2_COMM_WORLD_RANK; do
    unset $word
done
cd "$tmp" || exit 1

run() {
    timeout 600 "$carm" place "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    keep $? place "$@"
}

python=
! python3 -c '' 2>/dev/null || python=yes

# ---- what is printed -----------------------------------------------------------------------------

run --by job,node,rank --ranks 2 "$model" "$data/job.csv" &&
    { [ ! "${UPDATE:-}" ] || cp "$tmp/out" "$data/place-by.txt"; } &&
    diff "$data/place-by.txt" "$tmp/out" >"$tmp/diff" && : >"$tmp/out"
ok "place = place-by.txt"
cat "$tmp/diff" >"$tmp/out" 2>/dev/null
[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'nodes such as n2 are placed under the roofs of host sample' "$tmp/err"
ok "says once that nodes stand under another one's roofs"
run --by job,node,rank "$model" "$data/job.csv" && [ "$(awk 'length > 80' "$tmp/out" | wc -l)" -eq 0 ]
ok "the table fits 80 columns"
LC_ALL=C run --by rank,job "$model" "$data/job.csv" && ! LC_ALL=C grep -q '[^ -~]' "$tmp/out" &&
    [ "$(grep -c '^solve (rank' "$tmp/out")" -eq 4 ] && ! grep -q 'not shown' "$tmp/out" &&
    [ "$(grep -n '^solve (job' "$tmp/out" | cut -d: -f1)" -gt "$(grep -n '^solve (rank 10' "$tmp/out" | cut -d: -f1)" ]
ok "views come as they were asked for"
run --merge "$model" "$data/job.csv" && grep -q '^solve (4 rows, imbalance 1.29): 8.000 Gflop/s' "$tmp/out"
ok "--merge still sums by name"

refuses "an unknown view" 2 "--by takes job, node and rank, each once" --by jobs "$model" "$data/job.csv"
refuses "a view twice" 2 "not 'job,job'" --by job,job "$model" "$data/job.csv"
refuses "no view" 2 "--by takes job" --by "" "$model" "$data/job.csv"
refuses "--by with --merge" 2 "cannot be combined" --by job --merge "$model" "$data/job.csv"
refuses "--ranks alone" 2 "--ranks needs --by rank" --ranks 3 "$model" "$data/job.csv"
refuses "ranks that are no number" 2 "--ranks needs a number" --by rank --ranks -1 "$model" "$data/job.csv"
refuses "too many ranks" 2 "--ranks needs a number" --by rank --ranks 1000000000 "$model" "$data/job.csv"
refuses "views of an intensity" 2 "cannot be combined with --intensity" --by job --intensity 1 "$model"
printf 'name,operations,metric,bytes,seconds\nt,1,exchange,1,1\nt,1,compare,1,1\n' >q.csv
refuses "a job of two metrics" 2 "have the metrics 'exchange' and 'compare'" --by job --metric exchange "$model" q.csv
printf 'name,flops,bytes,seconds\n' >q.csv
refuses "a file without rows" 2 "no points" --by job "$model" q.csv
printf 'name,flops,bytes,seconds\na,1,1,1\nb,1,1,x\n' >q.csv
refuses "a bad row, before there is output" 1 "line 3, column 7: seconds is 'x'" --by job "$model" q.csv

# ---- the numbers, from the files alone -----------------------------------------------------------

cat >check.py <<'PY'
import csv, json, math, sys
model = json.load(open(sys.argv[1]))
rows = [r for r in csv.DictReader(l for l in open(sys.argv[2]) if not l.startswith("#")) if r["name"] == "solve"]
places = [p for p in json.load(open(sys.argv[3])) if p["program"] == "solve"]
table = [p for p in csv.DictReader(open(sys.argv[4])) if p["program"] == "solve"]

def near(a, b):
    assert math.isclose(a, b, rel_tol=2e-5), (a, b)

def roofs(threads):
    s = next(x for x in model["roofs"] if x["threads"] == min(threads, 2))
    slope = max(x["bandwidth"] for x in s["memory"] if x["ldst"] == "2:1")
    return slope, max(x["rate"] for x in s["compute"]), s["dram_peak"]["bandwidth"]

def over(values):
    return max(values) / (sum(values) / len(values))

seen = []
for p, t in zip(places, table, strict=True):
    assert (t["view"], t["job"], t["host"], t["rank"]) == (p["view"], p["job"], p["host"], p["rank"])
    mine = [r for r in rows if p["view"] == "job" or r["host"] == p["host"] and p["rank"] in ("", r["rank"])]
    seen.append((p["view"], len(mine)))
    hosts = sorted({r["host"] for r in mine})
    n = len(hosts)
    get = lambda k: [float(r[k]) for r in mine]
    dram = [max(float(r["dram_bytes"]) for r in mine if r["host"] == h) for h in hosts]
    assert (p["ranks"], p["nodes"], p["threads"]) == (len(mine), n, len(mine) // n)
    near(p["flops"], sum(get("flops")) / n)
    near(p["bytes"], sum(get("bytes")) / n)
    near(p["dram_bytes"], sum(dram) / n)
    near(p["seconds"], max(get("seconds")))
    near(p["performance"], p["flops"] / p["seconds"])
    near(float(t["flops"]), p["flops"])
    if len(mine) == 1:
        assert p["uneven"] is None and t["imbalance_gain"] == "" and t["work_imbalance"] == ""
        continue
    u = p["uneven"]
    for key, name, column in (("flops", "work", "work_imbalance"), ("bytes", "bytes", "bytes_imbalance"),
                              ("seconds", "time", "imbalance")):
        near(u[name], over(get(key)))
        near(float(t[column]), u[name])
    assert (u["dram_bytes_of_nodes"] is None) == (n == 1)
    f_dram = over(dram) if n > 1 else 1
    slope, flat, memory = roofs(p["threads"])
    aware = min(slope * p["flops"] / p["bytes"] / u["bytes"], flat / u["work"])
    original = min(memory * p["flops"] / p["dram_bytes"] / f_dram, flat / u["work"])
    near(u["cache_aware_ceiling"], aware)
    near(u["original_ceiling"], original)
    near(float(t["aware_imbalance_at"]), aware)
    near(float(t["original_imbalance_at"]), original)
    gain = max(u["time"], p["cache_aware"]["roof"] / aware, p["original"]["roof"] / original)
    near(u["gain"], gain)
    near(u["lost"], 1 - 1 / gain)
    rates = sorted(a / b for a, b in zip(get("flops"), get("seconds")))
    near(u["rank_performance"]["least"], rates[0])
    near(u["rank_performance"]["most"], rates[-1])
    near(float(t["performance_median"]), (rates[(len(rates) - 1) // 2] + rates[len(rates) // 2]) / 2)
assert seen == [("job", 4), ("node", 2), ("node", 2)] + [("rank", 1)] * 4, seen
PY
if [ "$python" ]; then
    run --by job,node,rank --ranks 2 --csv by.csv --json "$model" "$data/job.csv" &&
        python3 check.py "$model" "$data/job.csv" "$tmp/out" by.csv 2>"$tmp/err"
    ok "sums, imbalance and its ceilings are those of the files; CSV and JSON have all ranks"
else
    skip "sums, imbalance and its ceilings are those of the files" "no python3"
fi
run --by job --csv by.csv "$model" "$data/job.csv" && run --csv - "$model" by.csv &&
    cut -d, -f1-9 "$tmp/out" >again && cut -d, -f1-9 by.csv | cmp -s - again && grep -q '^solve (job 4711.0)' "$tmp/out"
ok "its CSV is a file of points, for carm plot and carm report too"

# thousands of ranks
awk 'BEGIN { print "name,flops,bytes,seconds,host,job,rank"
    for (i = 0; i < 20000; i++) printf "app,1e9,1e9,%d.5,n%d,9.0,%d\n", 1 + i % 7919, i / 64, i }' >many.csv
run --by job,rank "$model" many.csv && [ "$(grep -c '^app (rank' "$tmp/out")" -eq 16 ] &&
    grep -q '19984 ranks between the slowest and the fastest are not shown (--ranks 0' "$tmp/out" &&
    grep -q '^app (job 9.0): 20000 ranks on 313 nodes' "$tmp/out" && grep -q '^20001 points' "$tmp/out"
ok "of many ranks the slowest and the fastest are shown"
run --by rank --ranks 0 "$model" many.csv && [ "$(grep -c '^app (rank' "$tmp/out")" -eq 20000 ] && ! grep -q 'not shown' "$tmp/out"
ok "... all of them where asked"

printf 'name,flops,bytes,seconds,host,job,rank\n"a\033[31m",1e9,1e9,1,"h\033]0;x\007","j\302\233","r\342\200\256"\n"a\033[31m",1e9,1e9,2,"h\033]0;x\007","j\302\233",2\n' >odd.csv
bad=$(printf '\033\\|\302\233\\|\342\200\256\\|\007')
run --by job,node,rank "$model" odd.csv && ! LC_ALL=C grep -q "$bad" "$tmp/out" "$tmp/err" &&
    run --by job,node,rank --csv - "$model" odd.csv && ! LC_ALL=C grep -q "$bad" "$tmp/out"
ok "odd hosts, jobs and ranks are safe to print"

# ---- rows of ranks -------------------------------------------------------------------------------

# fake RANK STEP OUTPUT: as srun would
fake() {
    SLURM_JOB_ID=4711 SLURM_STEP_ID=$2 SLURM_PROCID=$1 timeout 600 "$carm" run --counters none --name app -o "$3" -- true \
        >>run.out 2>>run.err </dev/null
}
for i in 0 1 2 3 4 5; do
    fake $i 0 slurm.csv &
done
wait
fake 0 1 slurm.csv
if [ "$python" ]; then
    python3 -c 'import csv, sys
rows = list(csv.DictReader(open("slurm.csv", newline="")))
assert sorted((r["job"], r["rank"]) for r in rows) == [("4711.0", str(i)) for i in range(6)] + [("4711.1", "0")], rows
assert len({r["host"] for r in rows}) == 1 and rows[0]["host"]' 2>"$tmp/err"
    ok "ranks of a job step append to one file, with job, rank and host, below one header"
else
    skip "ranks of a job step append to one file" "no python3"
fi
[ "$(grep -c '^carm: rank 5 ' run.err)" -eq 1 ] && [ "$(grep -c '^carm: time ' run.err)" -eq 2 ] && [ ! -s run.out ]
ok "one rank says all, the others a line"
run --by job "$model" slurm.csv && grep -q '^app (job 4711.0): 6 ranks on 1 node: not placed' "$tmp/out" &&
    grep -q '^app (job 4711.1): 1 rank on 1 node' "$tmp/out"
ok "two steps of a job are two runs"

cat >uneven.c <<'C'
#include <emmintrin.h>
/* (rank + 1) * 3000 additions and as many multiplications, on values that stay in registers, and a load of
 * 8 bytes for each. Every instruction stops in the stepper: vectors, unrolled, and no C library, whose start
 * goes through all variables of mpirun */
static void work(long n)
{
    const __m128d one = {1.0, 1.0};
    __m128d x = one, y = one;
    for (long i = 0; i < n; i += 20) {
        __asm__ volatile(".rept 10\n\taddpd %2, %0\n\tmulpd %2, %1\n\t.endr" : "+x"(x), "+x"(y) : "m"(one));
    }
}
/* stack: number of arguments, arguments, NULL, variables, NULL */
__attribute__((used)) static void begin(const char **stack)
{
    const char name[] = "OMPI_COMM_WORLD_RANK=";
    const char **variable = stack + (long)*stack + 2;
    for (; *variable; variable++) {
        long same = 0;
        while (name[same] && name[same] == (*variable)[same]) {
            same++;
        }
        if (!name[same]) {
            work(((*variable)[same] - '0' + 1) * 3000L);
        }
    }
    __asm__ volatile("syscall" : : "a"(231L), "D"(0L)); /* exit_group */
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin");
C
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
mpi() {
    timeout 600 mpirun --oversubscribe --mca btl self,vader -n 4 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}
if ! command -v mpirun >"$tmp/out" 2>&1; then
    skip "mpirun -n 4" "no mpirun (Debian: openmpi-bin)"
elif ! mpi true; then
    skip "mpirun -n 4" "mpirun does not work here: $(grep -m 1 '[a-z]' "$tmp/err" | tr '\n' ' ')"
elif ! cc -O1 -static -nostdlib -fno-stack-protector -o uneven uneven.c 2>"$tmp/err"; then
    skip "mpirun -n 4" "no compiler"
elif ! timeout 600 "$carm" run -q --counters step --no-time -o probe.csv -- true 2>"$tmp/err" ||
    ! grep -q ,stepped, probe.csv; then
    skip "mpirun -n 4" "ptrace does not work here"
elif [ ! "$python" ]; then
    skip "mpirun -n 4" "no python3"
else
    mpi "$carm" run -q --counters step --name app -o mpi.csv -- ./uneven
    ok "mpirun -n 4 carm run --counters step -- an uneven program"
    python3 - 2>"$tmp/err" <<'PY'
import csv
rows = sorted(csv.DictReader(open("mpi.csv", newline="")), key=lambda r: int(r["rank"]))
assert [r["rank"] for r in rows] == ["0", "1", "2", "3"], rows
assert len({r["job"] for r in rows}) == 1 and rows[0]["job"]  # a number, or Open MPI 5: prterun-HOST-PID@1
flops = [int(r["flops"]) for r in rows]
bytes = [int(r["bytes"]) for r in rows]
assert [b - a for a, b in zip(flops, flops[1:])] == [6000] * 3, flops
# a program's start reads its environment, which differs by a few bytes
assert all(abs(b - a - 48000) < 256 for a, b in zip(bytes, bytes[1:])), bytes
PY
    ok "each rank has its row, whose flops are exact and bytes as they must be, and all one job"
    run --by job,node --json "$model" mpi.csv && python3 - "$tmp/out" 2>"$tmp/err" <<'PY'
import csv, json, math, sys
rows = list(csv.DictReader(open("mpi.csv", newline="")))
for p in json.load(open(sys.argv[1])):
    flops = [int(r["flops"]) for r in rows]
    bytes = [int(r["bytes"]) for r in rows]
    assert p["ranks"] == 4 and p["nodes"] == 1 and p["flops"] == sum(flops)
    assert math.isclose(p["uneven"]["work"], max(flops) * 4 / sum(flops), rel_tol=1e-5)
    assert abs(p["uneven"]["work"] - 1.6) < 0.02, p["uneven"] # 4 / 2.5, but for what starts a program
    assert p["uneven"]["most_work"].startswith("rank 3 on "), p["uneven"]
    uneven = max(bytes) * 4 / sum(bytes)
    assert 1.2 < uneven < 1.6, uneven # what starts a program is even
    assert math.isclose(p["uneven"]["bytes"], uneven, rel_tol=1e-5)
    assert math.isclose(p["cache_aware"]["roof"] / p["uneven"]["cache_aware_ceiling"], uneven, rel_tol=1e-5)
    assert p["cache_aware"]["bound"] == "memory" and p["uneven"]["gain"] >= uneven * 0.9999
PY
    ok "its job and node are uneven by 4 to 2.5, and rank 3 is why"
    mpi "$carm" run -q --counters none --name app -o own.csv -- true && mpi "$carm" run -q --counters none --name app -o own.csv -- true &&
        run --by job "$model" own.csv && [ "$(grep -c '^app (job .*: 4 ranks on 1 node' "$tmp/out")" -eq 2 ] &&
        ! grep -q 'repeated runs' "$tmp/out"
    ok "two starts of mpirun are two jobs"
fi
finish
