#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm place on tests/data: golden tables, the arithmetic done again by other means, every refusal and
# odd names. Prints TAP. CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the golden
# files are rewritten.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
data=$top/tests/data
model=$data/sample-model.json
unset XDG_DATA_HOME
HOME=$tmp/home
export HOME

run() {
    timeout 600 "$carm" place "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    keep $? place "$@"
}

# refuses NAME CODE TEXT ARGUMENTS...: that exit code and one line that holds the text, perhaps behind good points
refuses() {
    name=$1 code=$2 text=$3
    shift 3
    run "$@"
    [ $? -eq "$code" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -qF -- "$text" "$tmp/err"
    ok "refuses $name"
}

# points LINE...: p.csv = the usual header and these lines
points() {
    printf '%s\n' name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by "$@" >"$tmp/p.csv"
}

# ---- what is printed -----------------------------------------------------------------------------

golden place.txt "$model" "$data/points.csv"
golden place-ceilings.txt --ceilings --threads 1 "$model" "$data/points.csv"
golden place-merge.txt --merge "$model" "$data/ranks.csv"
golden place.csv --csv - "$model" "$data/points.csv"

LC_ALL=C run "$model" "$data/points.csv" && ! LC_ALL=C grep -q '[^ -~]' "$tmp/out" &&
    grep -qF 't... table can hold it any more: ' "$tmp/out"
ok "the table is ASCII where the locale has no UTF-8"
run "$model" "$data/points.csv" && [ "$(awk 'length > 80' "$tmp/out" | wc -l)" -eq 0 ] &&
    sed -n '/^basic:/{n;p}' "$tmp/out" | grep -q '^    cache-aware: between'
ok "the table fits 80 columns, and the answer comes before the figures"

mkdir -p "$tmp/home/.local/share/carm" && cp "$model" "$tmp/home/.local/share/carm/$(uname -n).json"
run "$data/points.csv" && cmp -s "$data/place.txt" "$tmp/out"
ok "without MODEL this machine's is taken"
"$carm" place "$model" - <"$data/points.csv" >"$tmp/out" 2>"$tmp/err" && cmp -s "$data/place.txt" "$tmp/out"
ok "- is standard input"
run "$model" "$data/points.csv" "$data/ranks.csv" && grep -q '^15 points: ' "$tmp/out"
ok "several files"
run --csv "$tmp/places.csv" "$model" "$data/points.csv" && cmp -s "$data/place.txt" "$tmp/out" &&
    cmp -s "$data/place.csv" "$tmp/places.csv"
ok "--csv FILE comes beside the table"
run --csv - "$model" "$tmp/places.csv" && cut -d, -f1-9 "$tmp/out" >"$tmp/again" &&
    cut -d, -f1-9 "$tmp/places.csv" | cmp -s - "$tmp/again"
ok "its CSV is a file of points, too"

# ---- the numbers, from the model's file alone ----------------------------------------------------

if python3 -c '' 2>/dev/null; then
    run --json --ceilings "$model" "$data/points.csv" && cat >"$tmp/check.py" <<'PY' &&
import csv, json, math, sys
model = json.load(open(sys.argv[1]))
places = json.load(open(sys.argv[3]))
rows = list(csv.DictReader(l for l in open(sys.argv[2]) if not l.startswith("#")))
assert [p["name"] for p in places] == [r["name"] for r in rows]

def near(a, b):
    assert math.isclose(a, b, rel_tol=2e-5), (a, b)

seen = 0
for p, r in zip(places, rows):
    if not (r["flops"] and float(r["flops"]) and r["seconds"]):
        assert p["cache_aware"] is None and p["original"] is None and len(p["not_placed"]) == 1
        continue
    threads = min(int(r["threads"]), 2)
    roofs = next(x for x in model["roofs"] if x["threads"] == threads)
    assert p["roofs"] == {"isa": "avx512", "precision": "dp", "threads": threads}
    flat = {x["op"]: x["rate"] for x in roofs["compute"]}
    levels = {x["level"]: x["bandwidth"] for x in roofs["memory"] if x["ldst"] == "2:1"}
    for name, key, slopes in (("cache_aware", "bytes", levels),
                              ("original", "dram_bytes", {"DRAM": roofs["dram_peak"]["bandwidth"]})):
        got = p[name]
        if not r[key]:
            assert got is None
            continue
        seen += 1
        i = float(r["flops"]) / float(r[key])
        perf = float(r["flops"]) / float(r["seconds"])
        roof = min(i * max(slopes.values()), max(flat.values()))
        near(got["intensity"], i)
        near(p["performance"], perf)
        near(got["roof"], roof)
        near(got["share"], perf / roof)
        near(got["left_roof"], roof / perf)
        all = {k: v * i for k, v in slopes.items() if v * i <= max(flat.values())}
        all |= {k: v for k, v in flat.items() if v <= i * max(slopes.values())}
        assert {c["name"] for c in got["ceilings"]} == set(all)
        for c in got["ceilings"]:
            near(c["performance"], all[c["name"]])
            near(c["left"], all[c["name"]] / perf)
        assert got["over"] == (perf > 1.03 * roof)
        near_to = {k: v for k, v in all.items() if k != "div"}
        above = [v for v in near_to.values() if 1.03 * v >= perf]
        below = [v for v in near_to.values() if 1.03 * v < perf]
        assert (got["above"] is None) == (not above) and (got["below"] is None) == (not below)
        if above:
            near(got["above"]["performance"], min(above))
        if below:
            near(got["below"]["performance"], max(below))
assert seen == 14, seen
PY
        python3 "$tmp/check.py" "$model" "$data/points.csv" "$tmp/out" 2>"$tmp/err"
    ok "--json has roofs, ceilings and neighbours that the model's file gives"

    # more rows take no more memory: the peak after 200 000 against that after 10 000. Read while it
    # runs, as the peak that wait4 tells has the parent's in it.
    cat >"$tmp/memory.py" <<'PY'
import subprocess, sys
carm, model, folder = sys.argv[1:4]
def peak(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(l.split()[1]) for l in f if l.startswith("VmHWM"))
for options in ([], ["--csv", "-"], ["--json"], ["--csv", f"{folder}/o.csv"], ["--merge"]):
    child = subprocess.Popen([carm, "place", *options, model, "-"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, text=True)
    child.stdin.write("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by\n")
    few = 0
    for i in range(200_000):
        child.stdin.write(f"point {i % 500},{10**9 + i},{10**9 + 7919 * (i % 1000)}00,0.{i + 1:07},"
                          f"{10**8 + i},{1 + i % 2},avx512,dp,pmu\n")
        few = peak(child.pid) if i == 10_000 else few
    child.stdin.flush()
    many = peak(child.pid)
    child.stdin.close()
    assert child.wait() == 0, child.returncode
    print(f"{options}: {few} KiB, {many} KiB")
    assert many < 1.3 * few + 512, (options, few, many)
PY
    python3 "$tmp/memory.py" "$carm" "$model" "$tmp" >"$tmp/out" 2>"$tmp/err"
    ok "memory does not grow with rows: table, CSV, JSON, merge"
else
    skip "--json has what the model's file gives" "no python3"
    skip "memory does not grow with rows" "no python3"
fi

# ---- times and nonsense --------------------------------------------------------------------------

printf 'name,flops,bytes,seconds,threads,task_seconds\nwaits,1e9,1e9,1,1,0.1\nruns,1e9,1e9,0.1,1,0.1\ntwo,1e9,1e9,1,2,0.1\n' \
    >"$tmp/p.csv"
run "$model" "$tmp/p.csv" && [ "$(grep -c ': 10.00 Gflop/s under' "$tmp/out")" -eq 2 ] &&
    grep -q '^two: 1.000 Gflop/s' "$tmp/out" && grep -q 'note: it waits: on CPUs for 0.1 s of 1 s' "$tmp/out"
ok 'a program of one thread that waits is placed by its time on CPUs, as carm run places it'
printf 'name,flops,bytes,seconds,threads\nnonsense,1e18,1e10,1,1\n' >"$tmp/p.csv"
run "$model" "$tmp/p.csv" && grep -q 'over 1000 times the roof (fma): no processor does that' "$tmp/out"
ok 'numbers that no processor reaches are said to be wrong'
printf '%s\n' name,flops,bytes,seconds,threads,isa,precision,limit,limit_by,explains,second,gain_low,gain_high,advice \
    a,1e9,1e9,1,1,avx512,dp,l2,bound,0.93,,1.5,4,block b,1e9,1e9,1,1,avx512,dp,branches,estimate,0.8,,1,,no-branch \
    c,1e9,1e9,1,1,avx512,dp,unknown,bound,0.4,dram,1,1, d,1e9,1e9,1,1,avx512,dp,gremlins,bound,1,,,, e,1e9,1e9,1,1,avx512,dp,,,,,,, >"$tmp/p.csv"
run "$model" "$tmp/p.csv" && tr -s '\n ' ' ' <"$tmp/out" >"$tmp/words" &&
    grep -q 'verdict: limited by L2 bandwidth for 93% of its time: block the loops.*, 1.5..4x model ' "$tmp/words" &&
    grep -q 'verdict: may be limited by mispredicted branches for 80% of its time: compute both' "$tmp/words" &&
    grep -q 'verdict: limited by DRAM bandwidth for 40% of its time, the rest is not known cache-aware' "$tmp/words" &&
    [ "$(grep -c verdict: "$tmp/out")" -eq 3 ] && [ "$(grep -c 'cache-aware:' "$tmp/out")" -eq 3 ]
ok 'a verdict in the file is printed, and its advice takes the place of that by the roofs'
run --csv "$tmp/again.csv" "$model" "$tmp/p.csv" && cp "$tmp/out" "$tmp/once" && run "$model" "$tmp/again.csv" &&
    cmp -s "$tmp/out" "$tmp/once"
ok '... and comes through --csv'
run --set peak=2x --set dram.bandwidth=3x "$model" "$tmp/p.csv" && tr -s '\n ' ' ' <"$tmp/out" >"$tmp/words" &&
    grep -q ' with peak 2x and DRAM bandwidth 3x: roofs, shares and what is left are those of that machine ' "$tmp/words" &&
    ! grep -q 'of that machine' "$tmp/once"
ok 'changes of the machine add up, and the table says that it is of another one'

# ---- hosts, ISAs and other choices ---------------------------------------------------------------

printf 'name,flops,bytes,seconds,host,threads\na,1e9,1e9,1,x,1\nb,1e9,1e9,1,y,1\nc,1e9,1e9,1,x,1\nd,1e9,1e9,1,sample,1\ne,1e9,1e9,1,,1\n' >"$tmp/p.csv"
run "$model" "$tmp/p.csv" && [ "$(wc -l <"$tmp/err")" -eq 2 ] &&
    grep -q 'note: points of host x are placed under the roofs of another host, sample' "$tmp/err" &&
    grep -q 'host y' "$tmp/err" && [ "$(grep -c 'measured on x, but the model is of sample' "$tmp/out")" -eq 2 ]
ok "says once for each host that it is not the model's"
points a,1e9,1e9,1,,,,, b,1e9,4,1e8,,1,,, c,1e9,4,1e8,,1,,,pmu d,1e9,0,1,,1,,,
run "$model" "$tmp/p.csv" && tr -s ' \n' ' ' <"$tmp/out" >"$tmp/line" && [ "$(grep -o 'beyond any machine' "$tmp/line" | wc -l)" -eq 1 ] &&
    [ "$(grep -o 'threads not known: placed under the roofs of 2' "$tmp/line" | wc -l)" -eq 1 ] &&
    grep -qE ' cache-aware inf 0.9% 111.4 G - mul [0-9.]+x compute ' "$tmp/line"
ok "notes unknown threads and impossible units, and places a point without bytes under the peak"
"$carm" place --json "$model" "$tmp/p.csv" >"$tmp/p.json" 2>/dev/null &&
    python3 -c "
import json
d = json.load(open('$tmp/p.json'))[3]['cache_aware']
exit(0 if d['intensity'] is None and d['bound'] == 'compute' and 0 < d['share'] < 1 else 1)"
ok "... with an intensity of null in JSON"

points a,1e9,1e9,1,,1,neon,dp, b,1e9,1e9,1,,1,neon,dp, c,1e9,1e9,1,,4,,, d,1e9,1e9,1,,1,,mixed,
run "$model" "$tmp/p.csv" && [ "$(grep -c 'the model has no neon roofs' "$tmp/out")" -eq 1 ] &&
    grep -q 'the model has no roofs for 4 threads, so those for 2 are used' "$tmp/out" &&
    grep -q 'it computes in dp and sp, but the roofs are for dp' "$tmp/out"
ok "says what the model has no roofs of"
run --threads 2 --isa avx512 --precision dp "$model" "$tmp/p.csv" &&
    [ "$(grep -c 'under avx512 dp, 2 threads' "$tmp/out")" -eq 4 ] && ! grep -q 'note:' "$tmp/out"
ok "--threads, --isa and --precision choose the roofs"

refuses "threads that the model lacks" 1 "the model has avx512 dp with 1 thread, avx512 dp with 2" --threads 3 "$model" "$tmp/p.csv"
refuses "an ISA that the model lacks" 1 "no roofs match --isa" --isa sse "$model" "$tmp/p.csv"
refuses "a precision that the model lacks" 1 "no roofs match" --precision sp "$model" "$tmp/p.csv"
refuses "a precision that is none" 1 "no roofs match" --precision half "$model" "$tmp/p.csv"
sed 's/"precision": "dp"/"precision": "int8"/' "$model" >"$tmp/int.json"
printf 'name,operations,metric,bytes,seconds,precision\nk,1e9,op,1e9,1,int8\n' >"$tmp/p.csv"
run --precision int8 "$tmp/int.json" "$tmp/p.csv" && grep -q 'k: 1.000 Gop/s under avx512 int8' "$tmp/out" &&
    grep -q 'op/byte' "$tmp/out" && ! grep -q 'flop' "$tmp/out"
ok "roofs of integers take operations, in op/s"
refuses "a peak where the model has it" 2 "the peak of integer operations is in the model" --precision int8 --peak 1e9 \
    "$tmp/int.json" "$tmp/p.csv"
printf 'f,,,1e9,1,dp\n' >>"$tmp/p.csv"
run "$tmp/int.json" "$tmp/p.csv" && grep -q 'k: 1.000 Gop/s under avx512 int8' "$tmp/out" &&
    grep -q 'int8, 2 threads; roof in op/s, intensity in op/byte$' "$tmp/out" &&
    grep -q 'f: not placed because its flops were not counted' "$tmp/out"
ok "... by themselves, too, in a table of flops"
printf 'name,flops,int_ops,bytes,seconds,precision\nk,1e9,3e9,1e9,1,dp\n' >"$tmp/p.csv"
run --precision int8 "$tmp/int.json" "$tmp/p.csv" && grep -q 'k: 3.000 Gop/s under avx512 int8' "$tmp/out"
ok "... those of a row of flops where --precision says so"
points a,1e9,1e9,1,,1,,dp,
run "$tmp/int.json" "$tmp/p.csv" && grep -q 'the model has no dp roofs, so those of int8 are used' "$tmp/out"
ok "... and flops are noted to be under them"
points a,1e9,1e9,1,,1,neon,dp,
refuses "a list of threads" 2 "take one value each" --threads 1,2 "$model" "$tmp/p.csv"
refuses "threads that are no number" 2 "--threads needs numbers" --threads x "$model" "$tmp/p.csv"
refuses "no points" 2 "place needs a file of points" "$model"
refuses "nothing" 2 "place needs a file of points"
refuses "two models" 2 "does: give one model only" "$model" "$tmp/p.csv" "$model"
run "$model" "$tmp/p.csv" && cp "$tmp/out" "$tmp/before" && run "$tmp/p.csv" "$model" && cmp -s "$tmp/before" "$tmp/out"
ok "a model behind the points"
refuses "standard input twice" 2 "once only" "$model" - -
refuses "JSON and CSV on one output" 2 "both go to standard output" --json --csv - "$model" "$tmp/p.csv"
refuses "a model that is not there" 1 "there is no model file $tmp/none.json" "$tmp/none.json" "$tmp/p.csv"
refuses "points that are not there" 1 "cannot read $tmp/none.csv: No such file" "$model" "$tmp/none.csv"
refuses "a folder" 1 "cannot read $tmp: Is a directory" "$model" "$tmp"
refuses "an output that is a folder" 1 "cannot write $tmp: Is a directory" --csv "$tmp" "$model" "$tmp/p.csv"

points 'a,2.667e5,1e9,1,1e9,1,,dp,' 'b,1.2345e9,1e9,1e-9,1e9,1,,dp,' 'c,1e3,1e12,1e6,1e12,1,,dp,' \
    'd,1e14,8e8,1e-4,1e3,1,,dp,' 'e,4.714e6,1e9,1e-5,1e9,1,,dp,'
run "$model" "$tmp/p.csv" && [ "$(grep -cE \
    '^  (cache-aware|original) +[0-9.e+-]+ +>?[0-9.]+% +[0-9.e+-]+ [ kMGTPE] .* ([<>]?[0-9.]+x|ROOF) +(memory|compute|both)$' "$tmp/out")" -eq 10 ]
ok "columns stay apart, however small or large"

long=$(printf 'solver::step(%0900d) loop solver.c:123' 1)
points "\"$long\",1e9,1e9,1,1e9,1,,dp," && run "$model" "$tmp/p.csv" && grep -q '^solver::step(0*\(…\|[.]*\)0*1) loop solver[.]c:123: ' "$tmp/out" &&
    ! grep -q '^.\{81\}' "$tmp/out"
ok "a long name is cut in its middle"

# ---- intensities, other metrics, the program's own instructions ----------------------------------

run --intensity 1/32,4 "$model" && grep -q '^0.03125 flop/byte' "$tmp/out" && grep -q '^4 flop/byte' "$tmp/out" &&
    [ "$(grep -c 'cache-aware: roof .*flop/s (L1)' "$tmp/out")" -eq 1 ] && grep -q 'original: roof .*(DRAM)' "$tmp/out" &&
    [ "$(grep -c 'carm build --ceilings' "$tmp/out")" -eq 1 ]
ok "--intensity needs no points and hints once"
run --intensity 0.25 && grep -q '^0.25 flop/byte' "$tmp/out"
ok "... nor a model's name"
sed 's/"hostname": "sample"/"hostname": ""/' "$model" >"$tmp/nameless.json"
run --intensity 1 "$tmp/nameless.json" && grep -q '^Roofs of a machine without a name, ' "$tmp/out" &&
    run "$tmp/nameless.json" "$data/points.csv" && grep -q '^model: a machine without a name (' "$tmp/out"
ok "a model may have no host"
refuses "an intensity of zero" 2 "--intensity needs numbers" --intensity 0 "$model"
refuses "an intensity that is none" 2 "not '1,x'" --intensity 1,x "$model"
refuses "half an intensity" 2 "--intensity needs numbers" --intensity 1/ "$model"
refuses "an intensity behind a blank" 2 "not ' 1'" --intensity ' 1' "$model"
refuses "an endless intensity" 2 "--intensity needs numbers" --intensity 1,inf "$model"
refuses "an intensity by nothing" 2 "--intensity needs numbers" --intensity 1/0 "$model"
refuses "intensities with points" 2 "--intensity takes no points" --intensity 1 "$model" "$tmp/p.csv"
refuses "intensities as CSV" 2 "cannot be combined with --intensity" --intensity 1 --csv - "$model"

printf 'name,operations,metric,bytes,seconds,dram_bytes,flops\nt,1e9,exchange,32e9,16,32e9,\nu,1e9,,1e8,1,1e8,\nv,1e9,compare,1e9,1,,\nw,,,1e9,1,,1e9\n' >"$tmp/p.csv"
run --metric exchange "$model" "$tmp/p.csv" && grep -q 'roof: exchange/s' "$tmp/out" &&
    grep -q '^t: 62.50 Mexchange/s' "$tmp/out" && grep -q '^v: not placed because its operations have another metric' "$tmp/out" &&
    grep -q '^w: not placed because its operations are flops' "$tmp/out" && ! grep -qE 'flop/s|fma|mad |compute' "$tmp/out"
ok "--metric: memory alone bounds what is counted in exchanges"
run --metric exchange --peak 2e9 "$model" "$tmp/p.csv" && grep -qE 'peak +2.00x compute$' "$tmp/out"
ok "--peak is its roof"
run "$model" "$tmp/p.csv" && grep -q '^t: not placed because its operations are not flops (carm place --metric' "$tmp/out" &&
    grep -q '^u: not placed because its flops were not counted' "$tmp/out" && grep -q '^w: 1.000 Gflop/s' "$tmp/out"
ok "without it such points are told apart"
run --metric exchange --csv - "$model" "$tmp/p.csv" && cp "$tmp/out" "$tmp/m.csv" &&
    run --metric exchange "$model" "$tmp/m.csv" && grep -q '^t: 62.50 Mexchange/s' "$tmp/out" && grep -q '^u: 1.000 Gexchange/s' "$tmp/out"
ok "its CSV is a file of such points"
run --metric exchange --json "$model" "$tmp/p.csv" && grep -q '"metric": "exchange", "operations": 1000000000, "bytes"' "$tmp/out" &&
    ! grep -q '"flops"' "$tmp/out"
ok "... as is its JSON"
run --metric "$(printf 'a\033[31m')" "$model" "$tmp/p.csv" && grep -qF 'roof: a?[31m/s' "$tmp/out" && ! grep -q "$(printf '\033')" "$tmp/out"
ok "a metric's name is safe to print"
run --merge --metric exchange "$model" "$tmp/p.csv" "$tmp/p.csv" && grep -q '^t (2 rows.*: 125.0 Mexchange/s' "$tmp/out"
ok "--merge sums operations"
printf 'name,operations,metric,bytes,seconds\nt,1,exchange,1,1\nt,1,compare,1,1\n' >"$tmp/q.csv"
refuses "a sum of two metrics" 2 "rows of 't' have the metrics 'exchange' and 'compare'" --merge --metric exchange "$model" "$tmp/q.csv"
refuses "a peak of flops" 2 "--peak needs --metric" --peak 1e9 "$model" "$tmp/p.csv"
refuses "a peak of zero" 2 "--peak needs a rate above zero" --metric exchange --peak 0 "$model" "$tmp/p.csv"
refuses "a metric without a name" 2 "--metric needs a name" --metric "" "$model" "$tmp/p.csv"
refuses "a balance that is none" 2 "--balance is top or bottom, not 'up'" --balance up "$model" "$tmp/p.csv"
refuses "the mix of another metric" 2 "--runtime is about flops" --runtime --metric exchange "$model" "$tmp/p.csv"

awk '/"bandwidth"/ { first = ++n == 1 } first && /"disturbed": false/ { sub("false", "true"); first = 0 } 1' "$model" >"$tmp/d.json"
printf 'name,flops,bytes,seconds,threads\nt,1e11,1e12,1,1\n' >"$tmp/p.csv"
run "$tmp/d.json" "$tmp/p.csv" && grep -q 'note: disturbed while measured, so perhaps too low: L1 (carm' "$tmp/out" &&
    tr -s ' \n' '  ' <"$tmp/out" | grep -q 'times the roof (L1), which was disturbed while it was measured'
ok "a disturbed roof is the reason for a point above it, and is noted"
printf 'name,flops,bytes,seconds\nidle,0,1e9,.1\nbusy,1e9,1e9,.1\nmore,1e9,1e9,.2\n' >"$tmp/p.csv"
run "$model" "$tmp/p.csv" && [ "$(grep -c 'threads not known' "$tmp/out")" -eq 1 ] &&
    sed -n '/^busy/,/^more/p' "$tmp/out" | grep -q 'note: threads not known'
ok "the note about the roofs is with the first point that is placed"

printf 'name,flops,bytes,seconds,threads,instructions,fp_instructions,fp_adds,fp_muls,fp_fmas,prefetches,loads,flops_other,dp_scalar,dp_512\na,1e9,1e9,.1,1,2e9,9e8,4e8,5e8,0,0,6e8,0,8.8e8,1.2e8\nb,1e9,1e9,.1,1,,,,,,,,,,1e9\nc,1e9,1e9,.1,1,,,,,,,,,,\n' >"$tmp/p.csv"
run --runtime "$model" "$tmp/p.csv" && grep -q 'runtime: SIMD as run: 12% of flops in vectors: 15.57 Gflop/s, 7.16x below' "$tmp/out" &&
    tr -s ' \n' ' ' <"$tmp/out" | grep -q 'SIMD share 12%: vectorise: at most 7.2x' && grep -q 'runtime: balance as run: 0% of flops in FMAs' "$tmp/out" &&
    grep -q 'runtime: balance unknown: its adds, multiplies and FMAs were not counted' "$tmp/out" && [ "$(grep -c 'runtime: unknown' "$tmp/out")" -eq 1 ]
ok "--runtime: ceilings as a program's instructions leave them"
run --runtime --json "$model" "$tmp/p.csv" && grep -qF '"runtime": [{"kind": "simd", "known": true, "name": "SIMD as run: 12% of flops in vectors", "share": 0.12, "rate": 1.55656e+10' "$tmp/out" &&
    grep -qF '{"kind": "balance", "known": false, "counted": "its adds, multiplies and FMAs were not counted' "$tmp/out"
ok "... in JSON"
run --runtime --csv - "$model" "$tmp/p.csv" && head -n 1 "$tmp/out" | grep -qF ',simd_share,simd_rate,balance_share,' &&
    grep -q '^a,.*,0.12,1.55656e+10,0,5.96[0-9]*e+10,,,,,$' "$tmp/out" && grep -q '^c,.*,,,,,,,,,$' "$tmp/out"
ok "... in CSV"

# 3:1 is three quarters of the way from 1:0 (444.0 GB/s) to 2:1 (625.5 GB/s) in time for each byte: 567.5
printf 'name,flops,bytes,seconds,threads,fp_instructions,fp_adds,fp_muls,fp_fmas,fp_divides,loads,stores,load_bytes,store_bytes,flops_other,dp_scalar,dp_512\na,8e9,64e9,.2,1,1e9,1e9,0,0,0,75e7,25e7,48e9,16e9,0,0,8e9\nb,8e9,1e9,.2,1,1e9,1e9,0,0,0,75e7,25e7,48e9,16e9,0,0,8e9\nc,8e9,64e9,.2,1,,,,,,,,,,,,\n' >"$tmp/p.csv"
run --ceilings "$model" "$tmp/p.csv" && tr -s ' \n' '  ' <"$tmp/out" >"$tmp/flat" &&
    grep -qF "own roof: at 71.7% of what its instructions allow, at 51.2% of the machine's roof; with these instructions at most 1.4x is left; wider vectors, other operations or another algorithm could give another 1.4x (cache-aware 55.83 Gflop/s; memory: 3:1 loads to stores (between 1:0 and 2:1), 64 bytes an access: L1 567.5 GB/s, L2" "$tmp/flat" &&
    grep -qF "compute: 64 bytes 100% of its dp flops; rates: the peak; 0% of flops in FMAs: 55.83 Gflop/s)" "$tmp/flat" &&
    [ "$(grep -c 'own roof:' "$tmp/out")" -eq 2 ]
ok "the roof of a point's own mix"
run --json "$model" "$tmp/p.csv" && grep -qF '"own": {"roof": 5.58255e+10, "share": 0.716518, "gain": 1.40054, "bandwidth": 5.67497' "$tmp/out" &&
    [ "$(grep -cF '"own": null}' "$tmp/out")" -eq 1 ]
ok "... in JSON"
run --csv - "$model" "$tmp/p.csv" && head -n 1 "$tmp/out" | grep -qF ',aware_own_roof,aware_own_share,' && grep -q '^a,.*,5.58255e+10,0.716518,' "$tmp/out"
ok "... in CSV"
sed '1s/$/,time_share,samples/; 2s/,.2,1,/,.15,1,/; 2s/$/,.75,6/; 3s/$/,.97,500/; 4s/$/,,/' "$tmp/p.csv" >"$tmp/q.csv"
run "$model" "$tmp/q.csv" && tr -s ' \n' '  ' <"$tmp/out" >"$tmp/flat" &&
    grep -qF "own roof: at 95.5% of what its instructions allow" "$tmp/flat" && grep -qF 'cache-aware: as fast as its operations allow; with others, at most 1.4x is left' "$tmp/flat" &&
    grep -qF "its time comes from 6 samples, so it can be off by 57%: run longer, or carm run --repeat" "$tmp/flat" &&
    [ "$(grep -cF 'its time comes from' "$tmp/out")" -eq 1 ]
ok "a point at its own roof, its time of few samples"

# ---- files that are not fit (test_points.c has each mistake) -------------------------------------

points a,1,1,0,,,,,
refuses "seconds of zero" 1 "$tmp/p.csv: line 2, column 7: seconds is 0, not more than zero" "$model" "$tmp/p.csv"
points a,1,1,1,,,,, b,1,inf,1,,,,,
refuses "an infinite count" 1 "$tmp/p.csv: line 3, column 5: bytes is 'inf', not a finite number" "$model" "$tmp/p.csv"
echo old >"$tmp/old.csv"
refuses "... and leaves the CSV as it was" 1 "line 3" --csv "$tmp/old.csv" "$model" "$tmp/p.csv"
[ "$(cat "$tmp/old.csv")" = old ] && [ -z "$(find "$tmp" -name '*.tmp')" ]
ok "... with nothing left behind"
points
refuses "a file without points" 2 "no points" "$model" "$tmp/p.csv"
echo name,flops,bytes >"$tmp/p.csv"
refuses "a file without seconds" 1 "$tmp/p.csv: line 1, column 1: the column 'seconds' is missing" "$model" "$tmp/p.csv"
refuses "an empty file" 1 "/dev/null: the file is empty" "$model" /dev/null

# ---- odd names -----------------------------------------------------------------------------------

printf 'name,flops,bytes,seconds,note\n"a\033[31m\302\233b ""q"", <i>\nnext\342\200\256",1e9,1e9,1,"\033]0;x\007"\n"=1+1",1e9,1e9,1,\n"# c",1e9,1e9,1,\n\377\376,1e9,1e9,1,\n' >"$tmp/p.csv"
bad=$(printf '\033\\|\302\233\\|\342\200\256\\|\007')
run "$model" "$tmp/p.csv" && ! LC_ALL=C grep -q "$bad" "$tmp/out" && grep -qF 'a?[31m?b "q", <i>?next?: ' "$tmp/out" &&
    grep -qF '??: 1.000 Gflop/s' "$tmp/out"
ok "odd names are safe in the table"
run --csv - "$model" "$tmp/p.csv" && ! LC_ALL=C grep -q "$bad" "$tmp/out" &&
    grep -qF '"a?[31m?b ""q"", <i>' "$tmp/out" && grep -q '^"# c",' "$tmp/out"
ok "... in CSV"
cp "$tmp/out" "$tmp/odd.csv" && run "$model" "$tmp/odd.csv" && grep -q '^4 points' "$tmp/out"
ok "... which is read again"
run --json "$model" "$tmp/p.csv" && ! LC_ALL=C grep -q "$bad" "$tmp/out" && grep -qiF '"a\u001b[31m' "$tmp/out" &&
    { ! python3 -c '' 2>/dev/null || python3 -c 'import json, sys
names = [p["name"] for p in json.load(open(sys.argv[1]))]
assert names == ["a\x1b[31m\x9bb \"q\", <i>\nnext\u202e", "=1+1", "# c", "??"], names' "$tmp/out" 2>"$tmp/err"; }
ok "... and whole in JSON"
sed 's/"avx512"/"\\u001b[2J"/; s/"fma"/"\\u001b[2J"/; s/"Sample CPU/"\\u001b[2J/' "$model" >"$tmp/evil.json"
run --ceilings "$tmp/evil.json" "$data/points.csv" && ! grep -q "$bad" "$tmp/out"
ok "... as are the model's"

if [ -c /dev/full ]; then
    "$carm" place "$model" "$data/points.csv" >/dev/full 2>"$tmp/err"
    [ $? -eq 1 ] && grep -q 'cannot write the output' "$tmp/err"
    ok "says that its output could not be written"
else
    skip "says that its output could not be written" "no /dev/full"
fi

cat >"$tmp/levels.csv" <<'END'
name,flops,bytes,seconds,l2_bytes,l3_bytes,dram_bytes,l2_unused,l3_unused,dram_unused,levels_by
walk,1e9,1.6e10,1,8e9,4e9,2e9,0,1.8e9,2e8,simulated
END
"$carm" place "$top/tests/data/sample-model.json" "$tmp/levels.csv" >"$tmp/out" &&
    tr -s ' \n' ' ' <"$tmp/out" |
    grep -q 'levels: DRAM is nearest to its roof, at 11% of it; 10% of its bytes are never used: .*; simulated'
ok "a point for each level, and the one that binds"
"$carm" place --json "$top/tests/data/sample-model.json" "$tmp/levels.csv" >"$tmp/out" &&
    grep -q '"binds": "DRAM"' "$tmp/out" &&
    grep -q '"l2_bytes": 8000000000, "l3_bytes": 4000000000, "levels_by": "simulated", "levels": \[{"level": "L1"' "$tmp/out"
ok "the same in JSON"
"$carm" place --csv - "$top/tests/data/sample-model.json" "$tmp/levels.csv" >"$tmp/out" &&
    head -n 1 "$tmp/out" | grep -qF ',l2_bytes,l3_bytes,levels_by,l1_intensity,l1_roof,l1_share,l2_intensity,' &&
    grep -q '^walk,.*,8000000000,4000000000,simulated,0.0625,.*,0.125,.*,0.25,.*,0.5,9.42979e+09,0.106047,DRAM,"DRAM is nearest' "$tmp/out"
ok "... in CSV"
cat >"$tmp/levels.csv" <<'END'
name,flops,bytes,seconds,l2_bytes,l3_bytes,dram_bytes,l3_bytes_low,l3_bytes_high,dram_bytes_low,dram_bytes_high,levels_by,operations,metric,precision
part,1e9,1.6e10,1,8e9,4e9,2e9,,,1.6e9,2.5e9,simulated,,,
text,0,1.6e10,1,8e9,4e9,2e9,3.2e9,5e9,,,simulated,1e9,op,int8
END
"$carm" place "$top/tests/data/sample-model.json" "$tmp/levels.csv" >"$tmp/out" &&
    tr -s ' \n' ' ' <"$tmp/out" >"$tmp/line" && grep -q 'L3 0.25 flop/byte .* DRAM 0.5 (0.4 to 0.625) flop/byte' "$tmp/line" &&
    grep -q 'L2 0.125 op/byte .* L3 0.25 (0.2 to 0.312) op/byte .* DRAM 0.5 op/byte .* of .* Gop/s' "$tmp/line"
ok "intervals of the levels, and levels of integers"
"$carm" place --json "$top/tests/data/sample-model.json" "$tmp/levels.csv" >"$tmp/out" &&
    grep -q '"level": "DRAM", "intensity": 0.5, "intensity_low": 0.4, "intensity_high": 0.625' "$tmp/out"
ok "... in JSON"
head -n 2 "$tmp/levels.csv" >"$tmp/part.csv" &&
    "$carm" place --csv "$tmp/again.csv" "$top/tests/data/sample-model.json" "$tmp/part.csv" >"$tmp/out" &&
    "$carm" place "$top/tests/data/sample-model.json" "$tmp/again.csv" >"$tmp/again" && cmp -s "$tmp/out" "$tmp/again"
ok "... in CSV, which is read as points"
sed 's/1.6e9,2.5e9/2.1e9,2.5e9/' "$tmp/levels.csv" >"$tmp/wrong.csv"
refuses "DRAM bytes outside of their interval" 1 'dram_bytes_low and dram_bytes_high do not hold dram_bytes' \
    "$tmp/wrong.csv"
printf 'name,flops,bytes,seconds,dram_bytes,threads,isa,precision\ntiny,10,80,1,7,1,avx512,dp\ndense,1000,1,1,1,2,avx512,dp\n' >"$tmp/tiny.csv"
awk -v list="$top/tests/data/ceilings.json" '/"dram_peak": {/ && ++n == 2 { printf "   \"ceilings\": "
    while ((getline line <list) > 0) { print line }
    print "   ," } 1' "$top/tests/data/sample-model.json" >"$tmp/c.json"
run "$tmp/c.json" "$tmp/tiny.csv" && [ "$(tr -s '\n ' ' ' <"$tmp/out" | grep -o 'over 1000x' | wc -l)" -ge 4 ] &&
    ! grep -q '[0-9]\{5\}\.[0-9]*x' "$tmp/out"
ok "a factor beyond a thousand is no figure"

# ---- machines that are not here: memory domains, kinds of cores ------------------------------------

python3 - "$model" "$tmp" <<'PY'
import copy, json, sys
m = json.load(open(sys.argv[1]))
pair = lambda a, b, gbs, ns: {"from": a, "to": b, "threads": 2, "bandwidth": gbs * 1e9, "bandwidth_ci95": [gbs * 1e9] * 2,
    "code": "A.avx512.dp.1:0.u24", "working_set_bytes": 1 << 30, "seconds": ns * 1e-9, "seconds_ci95": [ns * 1e-9] * 2,
    "page_bytes": 2 << 20, "disturbed": False, "note": ""}
node = lambda n: {"node": n, "cores": 2, "memory_bytes": 1 << 34, "kind": ""}
domains = dict(m, numa_nodes=[node(0), node(1)], numa=[pair(0, 0, 40, 90), pair(0, 1, 10, 160)])
json.dump(domains, open(sys.argv[2] + "/domains.json", "w"))
def kind(on, times):
    k = copy.deepcopy(m)
    k["machine"]["on"] = on
    for r in k["roofs"]:
        for x in r["memory"]:
            x["bandwidth"] *= times
            x["ci95"] = [v * times for v in x["ci95"]]
            x["spread"] = {n: v * times for n, v in x["spread"].items()}
    return k
json.dump(dict(m, kinds=[kind("kind:p", 1.0), kind("kind:e", 0.5)]), open(sys.argv[2] + "/hybrid.json", "w"))
PY
printf 'name,flops,bytes,seconds,dram_bytes,threads,isa,precision,cores\na,1e8,1e10,1,1e10,1,avx512,dp,\nb,1e8,1e10,1,1e10,1,avx512,dp,p:0.50 e:0.50\n' >"$tmp/cores.csv"
roofs() { # [OPTION...] MODEL: the original model's roof of the first point, and the cache-aware one of both
    run --json "$@" "$tmp/cores.csv" && python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
print(p[0]["original"]["roof"], p[0]["cache_aware"]["roof"], p[1]["cache_aware"]["roof"])' "$tmp/out"
}
roofs "$tmp/domains.json" >"$tmp/roofs"
read -r own aware mixed <"$tmp/roofs"
roofs --pages numa:1 "$tmp/domains.json" >"$tmp/roofs"
read -r far _ _ <"$tmp/roofs"
[ "$(awk -v a="$own" -v b="$far" 'BEGIN { print a / b }')" = 4 ] && [ "$mixed" = "$aware" ]
ok "--pages: the roof of another node's memory"
run "$tmp/domains.json" "$tmp/cores.csv" && tr -s ' \n' ' ' <"$tmp/out" | grep -q "DRAM roofs are of memory on the threads' own node" &&
    run --pages numa:1 "$tmp/domains.json" "$tmp/cores.csv" && tr -s ' \n' ' ' <"$tmp/out" |
    grep -q 'those from numa:0 to the memory of numa:1: 0.25 times the bandwidth of its own, latency 1.78 times'
ok "... and notes that name the memory"
refuses "pages on a node without figures" 1 "no bandwidth to numa:7; it has numa:0 to numa:0, numa:0 to numa:1" --pages numa:7 "$tmp/domains.json" "$tmp/cores.csv"
refuses "pages nowhere" 2 "write numa:1 or interleaved" --pages near "$tmp/domains.json" "$tmp/cores.csv"
roofs "$tmp/hybrid.json" >"$tmp/roofs"
read -r own aware mixed <"$tmp/roofs"
[ "$(awk -v a="$mixed" -v b="$aware" 'BEGIN { print a / b }')" = 0.75 ] && run "$tmp/hybrid.json" "$tmp/cores.csv" &&
    tr -s ' \n' ' ' <"$tmp/out" | grep -q 'roofs mixed of 50% of p cores and 50% of e cores'
ok "a point of two kinds of cores: mixed roofs"
finish
