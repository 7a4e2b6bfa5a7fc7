#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Bandwidth and peak over threads, and memory domains: what readers make of a model of 16 threads on two L3, and what a build plans. Prints
# TAP. CARM = the program.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
export XDG_DATA_HOME="$tmp/data" # without a model of this machine
model=$tmp/model.json

# The sample's roofs of 1 and 2 threads become those of 1 and 16. DRAM: 10 GB/s for each of four threads of an L3.
python3 - "$top/tests/data/sample-model.json" "$model" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
m["machine"].update(cores=16, threads=16)
m["validation"], m["validation_points"], m["validation_roofs"] = [], [], []
for key in ("validation_fits", "validated"):
    m.pop(key, None)
stairs = lambda t: 10e9 * (4 * (t // 8) + min(t % 8, 4))
def times(roof, key, factor):
    roof[key] *= factor
    roof["ci95"] = [factor * x for x in roof["ci95"]]
    roof["rounds"] = []
for r in m["roofs"]:
    if r["threads"] == 2:
        r["threads"] = 16
        r.pop("ceilings", None)
        for x in r["memory"]:
            times(x, "bandwidth", 8 if x["level"] in ("L1", "L2") else 1)
        for x in r["compute"]:
            times(x, "rate", 8)
    for x in r["memory"]:
        if x["level"] == "DRAM":
            times(x, "bandwidth", stairs(r["threads"]) / x["bandwidth"])
    r["dram_peak"]["bandwidth"] = stairs(r["threads"])
for c in m["curves"] + m["flop_curves"]:
    c["threads"] = 16 if c["threads"] == 2 else c["threads"]
def curve(layout, level, f, threads, kind="2:1"):
    return {"layout": layout, "isa": "avx512", "precision": "dp", "level": level, "kind": kind, "points": [
        {"threads": t, "rate": f(t), "ci95": [0.99 * f(t), 1.01 * f(t)], "code": "A.avx512.dp.2:1.u4",
         "working_set_bytes": 0, "disturbed": t == 12} for t in threads]}
steps = [1, 2, 4, 6, 8, 10, 12, 14, 16]
m["scaling"] = [curve("compact", "L1", lambda t: 6e11 * t, [1, 8, 16]),
                curve("compact", "L2", lambda t: 2e11 * t, [1, 8, 16]),
                curve("compact", "DRAM", stairs, steps),
                curve("compact", "peak", lambda t: 1.1e11 * t, [1, 8, 16], "fma"),
                curve("spread", "DRAM", lambda t: 10e9 * min(t, 8), [1, 2, 8, 16])]
m["scaling_units"] = [{"place": "l3:0", "threads": 8}]
json.dump(m, open(sys.argv[2], "w"))
PY
ok "a model is made"

run show "$model" --no-plot && grep -qx 'DRAM: 4 of 8 threads on l3:0 reach 95% of 40.00 GB/s' "$tmp/out" &&
    grep -qx 'DRAM: 12 of 16 threads reach 95% of 80.00 GB/s' "$tmp/out" &&
    grep -qx 'DRAM: 8 threads get 40.00 GB/s compact, 80.00 GB/s spread' "$tmp/out" &&
    grep -qx 'L1, L2, peak: no saturation up to 16 threads' "$tmp/out"
ok "show: where bandwidth saturates"
run show "$model" --curves && grep -A 9 '^avx512 dp DRAM 2:1 over threads, compact$' "$tmp/out" >"$tmp/table" &&
    grep -q '^ *4 *40.00 GB/s' "$tmp/table" && grep -q '^ *12 *80.00 GB/s .* !$' "$tmp/table"
ok "show --curves: a line for each number of threads"
run show "$model" --json && python3 - "$model" "$tmp/out" <<'PY'
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert a["scaling"] == b["scaling"] and a["scaling_units"] == b["scaling_units"]
PY
ok "show --json has them"

# 30 GB/s of DRAM in 6 threads would be a roof that the model lacks; 4 of them are enough
cat >"$tmp/points.csv" <<'CSV'
name,flops,bytes,seconds,threads,isa,precision,dram_bytes
three,3e9,30e9,1,3,avx512,dp,29e9
six,4e9,40e9,1,6,avx512,dp,39.5e9
slow,1e9,10e9,1,6,avx512,dp,9e9
CSV
run place "$model" "$tmp/points.csv" --json && python3 - "$tmp/out" <<'PY'
import json, sys
three, six, slow = json.load(open(sys.argv[1]))
assert three["roofs"]["threads"] == 3 and six["roofs"]["threads"] == 6, (three["roofs"], six["roofs"])
assert abs(three["original"]["roof"] / 3.1034e9 - 1) < 1e-3, three["original"]
assert abs(six["original"]["roof"] / 4.0506e9 - 1) < 1e-3, six["original"]
assert "the roofs of 3 threads are interpolated between" in three["note"], three["note"]
assert "from carm build --scaling" in six["note"] or "interpolated" in six["note"], six["note"]
assert "4 of its 6 threads are enough: they reach 95% of the bandwidth of DRAM" in six["original"]["advice"], six
assert "enough" not in slow["original"]["advice"] and "enough" not in three["original"]["advice"], (slow, three)
PY
ok "place: roofs of the threads that a program had, and how many would do"
run place "$model" "$tmp/points.csv" --threads 5 && grep -q ' 5 threads' "$tmp/out"
ok "place --threads takes them"
refuses "threads beyond the curves" 1 'the model has avx512 dp with 1 thread, avx512 dp with 16 threads' \
    place "$model" "$tmp/points.csv" --threads 17

# shellcheck disable=SC2016 # names of gnuplot's data
run plot "$model" --kind scaling --script && grep -qx '|DRAM 2:1, compact' "$tmp/out" &&
    grep -qx '|DRAM 2:1, spread' "$tmp/out" && grep -qx 'curve_label = "bandwidth, GB/s; peak, Gflop/s"' "$tmp/out" &&
    sed -n '/^\$curves/,/^CARM_END/p' "$tmp/out" | grep -q '^12 80 79.2 80.8 1$'
ok "plot --kind scaling"
refuses "curves that were not measured" 1 'carm build --scaling' \
    plot "$top/tests/data/sample-model.json" --kind scaling -o "$tmp/p.svg"
sed 's/"threads": 12, "rate"/"threads": 13, "rate"/' "$model" >"$tmp/other.json"
run compare "$model" "$tmp/other.json" && grep -q 'DRAM threads that saturate.*12 of 16: 80.00 GB/s' "$tmp/out"
ok "compare: how many threads saturate"
if run report "$model" -o "$tmp/page.html"; then
    grep -q 'DRAM: 4 of 8 threads on l3:0 reach 95% of 40.00 GB/s' "$tmp/page.html"
    ok "the page has the sentences"
else
    skip "the page" "$(cat "$tmp/err")"
fi
sed 's/"threads": 8, "rate"/"threads": 30, "rate"/' "$model" >"$tmp/bad.json"
refuses "points out of order" 1 'scaling[0].points are not in the order of their threads' show "$tmp/bad.json"

# ---- memory domains: two of eight cores, and CXL memory
python3 - "$model" "$tmp/domains.json" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
m["numa_nodes"] = [{"node": n, "cores": c, "memory_bytes": 1 << 34, "kind": k} for n, c, k in ((0, 8, ""), (1, 8, ""), (3, 0, "CXL-DRAM"))]
def pair(a, b, rate, ns, note=""):
    s = ns * 1e-9
    return {"from": a, "to": b, "threads": 8 if a >= 0 else 16, "bandwidth": rate, "bandwidth_ci95": [0.99 * rate, 1.01 * rate],
            "code": "A.avx512.dp.1:0.u4" if rate else "", "working_set_bytes": 1 << 28, "seconds": s, "seconds_ci95": [s, s],
            "page_bytes": 2 << 20, "disturbed": bool(note), "note": note}
m["numa"] = [pair(0, 0, 40e9, 90), pair(1, 1, 40e9, 92), pair(-1, -1, 70e9, 0), pair(0, 3, 20e9, 250),
             pair(1, 3, 15e9, 300), pair(0, 1, 25e9, 140), pair(1, 0, 25e9, 140, "only 50% of the pages lie there")]
json.dump(m, open(sys.argv[2], "w"))
PY
run show "$tmp/domains.json" --no-plot && grep -qx "a domain's own memory: 40.00 GB/s, 90 to 92 ns" "$tmp/out" &&
    grep -qx "another domain's memory: 25.00 GB/s, 140 ns" "$tmp/out" &&
    grep -qx 'numa:3, memory only, CXL-DRAM: 15.00 GB/s to 20.00 GB/s, 250 to 300 ns' "$tmp/out" &&
    grep -qx 'pages interleaved, all cores: 70.00 GB/s' "$tmp/out"
ok "show: what memory domains have"
run show "$tmp/domains.json" --latency && grep -qx '  numa:0    numa:3          8  20.00 GB/s    250 ns' "$tmp/out" &&
    grep -qx '  numa:1    numa:0          8  25.00 GB/s    140 ns !' "$tmp/out" &&
    grep -qx '            only 50% of the pages lie there' "$tmp/out" &&
    grep -qx '  all       all            16  70.00 GB/s    -' "$tmp/out"
ok "show --latency: each pair"
# shellcheck disable=SC2016 # names of gnuplot's data
run plot "$tmp/domains.json" --kind numa --script && grep -qx 'set xtics ("0" 0, "1" 1, "3" 2)' "$tmp/out" &&
    grep -qx 'set ytics ("0" 0, "1" 1)' "$tmp/out" && grep -qx 'heat_unit = "GB/s"' "$tmp/out" &&
    grep -qx 'heat_unit = "ns"' "$tmp/out" && [ "$(grep -c '^2 1 15$\|^2 1 300$' "$tmp/out")" -eq 2 ]
ok "plot --kind numa"
refuses "domains of a machine with one" 1 'on a machine with several NUMA nodes' plot "$model" --kind numa -o "$tmp/p.svg"
run compare "$model" "$tmp/domains.json" && grep -q "a domain's own memory" "$tmp/out"
ok "compare: memory domains"
if run report "$tmp/domains.json" -o "$tmp/page.html"; then
    grep -q 'numa:3, memory only, CXL-DRAM: 15.00 GB/s to 20.00 GB/s' "$tmp/page.html"
    ok "the page has the domains"
else
    skip "the page" "$(cat "$tmp/err")"
fi

mkdir "$tmp/machines" && python3 "$top/tests/data/topologies/make.py" "$tmp/machines"
# plan MACHINE TEXT: what a build on that machine would measure
plan() {
    HWLOC_XMLFILE=$tmp/machines/$1.xml run build --dry-run --scaling --isa sse --memory 64M -o model.json &&
        grep -qx "scaling      $2" "$tmp/out" && grep -q 'at most 75 s' "$tmp/out"
    ok "$1: $2"
}
more=', and between them where the curves bend: at most 16 numbers'
plan 2x96-smt2-ccd8 "threads 1, 2, 4, 8, 16, 32, 64, 96, 128, 192, compact and spread$more"
plan p8-e8 "threads 1, 2, 4, 8, 16$more"
plan one-core 'threads 1'
finish
