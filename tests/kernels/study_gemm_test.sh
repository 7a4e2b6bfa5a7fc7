#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm study gemm: small products run on a model of this machine: rows exact by construction,
# variants, interruption, going on, refusals, pictures. Prints TAP. CARM = the program.
# No test looks at how fast anything is.
set -u
kind=gemm seconds=200
# shellcheck source=tests/kernels/study.sh
. "${0%/*}/study.sh"

# rows FILE N: every row's arithmetic, for n = 48 (no padding), one thread and the kernels of SSE:
# 2 n^3 flops, for each sum of two lanes one more, and for each further slice one to add it.
rows() {
    awk -F, -v want="$2" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    {
        f = $at["flops"]; b = $at["bytes"]; d = $at["dram_bytes"]
        plain = 2 * 48 ^ 3
        if ($at["name"] !~ /^gemm-48-/) bad = 1
        if ($at["name"] ~ /-1-basic$/ && f != plain) bad = 2
        if ($at["name"] ~ /-2-transposed$/ && f != plain + 48 * 48) bad = 3
        if ($at["name"] !~ /-6-/ && (f < plain || f > plain * 1.03)) bad = 4
        # 3/7 flop/byte is the loop alone (no FMA: 3/10); stores and transposing take some
        if ($at["name"] !~ /-6-/ && (f / b > 3 / 7 || f / b < 0.22)) bad = 5
        if (d < 32 * 48 * 48 || $at["seconds"] <= 0 || $at["threads"] != 1) bad = 6
        if ($at["precision"] != "dp" || $at["counted_by"] != "constructed") bad = 7
        if ($0 !~ ($at["name"] ~ /-6-/ ? "DRAM bytes at least" : "DRAM bytes simulated")) bad = 8
        if (seen[$1]++) bad = 9
    }
    END { if (bad) print "rule " bad; exit bad || NR - 1 != want }' "$1" >>err
}

# ---- words --------------------------------------------------------------------------------------

refuses_words -n 48
refuses 'an n of nothing' 2 '--n needs a whole number from 1 to 32768' -n 0
refuses 'an n that is no number' 2 '--n needs a whole number' -n 9x
refuses 'too many variants' 2 '--variants needs a whole number from 0 to 1000' --variants 5000
refuses 'what belongs to classes' 2 'study gemm has no option -k .carm study classes has it.' -k 3
refuses 'a precision of no library' 2 '--precision takes dp, int8 and bf16, not int16' --precision int16
refuses 'an unknown precision' 2 'unknown precision' --precision int7
refuses 'an ISA where the library chooses' 2 '--isa goes with the steps in dp' --precision int8 --isa sse
refuses 'variants of a library' 2 '--variants goes with the steps in dp' --precision bf16 --variants 3
refuses 'to go on with one point' 2 '--resume goes with the steps in dp' --precision int8 --resume

# ---- a model -------------------------------------------------------------------------------

here
refuses_places -n 48
refuses 'a budget in which nothing fits' 1 'nothing could be measured: the budget left no time' \
    -n 48 -t 1 --budget 0.000001

# ---- a study ------------------------------------------------------------------------------------

levels=$(grep -c '"level": "L3"' "$model")
study -n 48 -t 1 --isa sse -o p.csv && [ ! -s err ]
ok 'six steps of a small product'
steps=$(($(wc -l <p.csv) - 1))
rows p.csv "$steps" && { [ "$levels" -eq 0 ] || [ "$steps" -ge 5 ]; }
ok 'have the counts of their loops'
grep -q 'steps 1 to 5 share one intensity' words && grep -q 'DRAM bytes: simulated' words &&
    grep -q 'largest difference .* of the largest element' words &&
    grep -q 'Performance rises or holds from step to step' words
ok 'the report has what was found'
fits '^Matrix multiplication on .* reaches [0-9.]+ Gflop/s, [0-9]+% of its cache-aware roof, [0-9.]+x the basic version[.] ' \
    'carm report p.csv -o gemm.html (one interactive page)'
refuses 'a file with points' 1 'p.csv has points already: --resume' -n 48 -t 1 --isa sse -o p.csv
cp p.csv before.csv
study -n 48 -t 1 --isa sse -o p.csv --resume && cmp -s p.csv before.csv &&
    grep -q "kept: $steps points" out
ok 'a study that is complete measures nothing again'
sed '0,/"disturbed": false/s//"disturbed": true/' "$model" >disturbed.json
study -n 48 -t 1 --isa sse -o p.csv --resume -m disturbed.json &&
    grep -q 'note .*disturbed while measured, so perhaps too low: L1 (carm build' words
ok 'a roof that was disturbed is named'
next=$(sed -n '$s/^next: carm \(.*\) (one interactive page)$/\1/p' out)
# shellcheck disable=SC2086 # words
[ "$next" = 'report disturbed.json p.csv -o gemm.html' ] &&
    timeout 300 "$carm" $next >out 2>err </dev/null && [ -s gemm.html ]
ok 'the command in the last line writes the page'
sed -i '/-2-transposed,/d' p.csv
study -n 48 -t 1 --isa sse -o p.csv --resume && grep -q "kept: $((steps - 1)) points" out &&
    rows p.csv "$steps"
ok 'a lost row is measured again'
study -n 48 -t 1 --isa sse -o p.csv --resume --variants 20 && rows p.csv $((steps + 20)) &&
    grep -q ' 20 variants: ' out
ok 'twenty variants have the counts of their loops'
study -n 30 -t 1 --isa scalar --variants 3 && ! grep -q 'kept:' out && [ ! -s err ] &&
    [ "$(tail -n 1 out)" = 'next: carm study gemm, as before, with -o gemm.csv --plot gemm.svg' ]
ok 'an n that is no multiple of anything'
if python3 -c '' 2>/dev/null; then
    study -n 48 -t 1 --isa sse -o p.csv --resume --variants 20 --json && python3 - out "$steps" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
assert s["study"] == "gemm" and s["n"] == 48 and s["threads"] == 1
assert all("disturbed" in p for p in s["steps"])
assert len(s["steps"]) == int(sys.argv[2]) and len(s["variants"]) == 20
ours = [p for p in s["steps"] if "-6-" not in p["name"]]
at = [p["flops"] / p["bytes"] for p in ours]
assert abs(min(at) / s["facts"]["intensity_low"] - 1) < 1e-9
for p in ours + s["variants"]:
    assert p["kept"] and p["error"] < 1e-12 and p["rows"] == 48
    assert p["bytes_counted_by"] == "constructed" and p["dram_bytes_counted_by"] == ("constructed" if "-6-" in p["name"] else "simulated")
    assert p["dram_bytes_ci95"][0] <= p["dram_bytes"] <= p["dram_bytes_ci95"][1]
    assert abs(p["cache_aware"]["intensity"] * p["bytes"] / p["flops"] - 1) < 1e-9
PY
    ok 'JSON has the same'
else
    skip 'JSON has the same' 'no python3'
fi
if "$carm" --help | grep -q '^ *place '; then
    timeout 600 "$carm" place --no-measure p.csv >out 2>err </dev/null && grep -q 'gemm-48-1-basic' out
    ok 'carm place reads its points'
else
    skip 'carm place reads its points' 'this build has no carm place'
fi

if timeout 600 "$carm" build --quick --reps 16 --isa sse --threads 1 --levels L1 --ops mad \
    --memory 256M -o built.json >out 2>err </dev/null; then
    study -n 32 -t 1 --isa sse -m built.json --variants 1 && grep -q ' 1 variants: ' out
    ok 'on a model that carm build has just measured'
else
    skip 'on a model that carm build has just measured' "none can be built here: $(head -n 1 err)"
fi

# ---- int8 and bf16 --------------------------------------------------------------------------------

mkdir none && for f in libdnnl.so libdnnl.so.2 libdnnl.so.3; do : >"none/$f"; done
LD_LIBRARY_PATH=$PWD/none study -n 48 --precision int8
[ $? -eq 1 ] && grep -q '^carm: oneDNN is not installed .*apt-get install libdnnl-dev' err
ok 'no oneDNN: the package that has it'
study -n 96 -t 1 --precision int8 -o n.csv
if grep -q 'oneDNN is not installed' err; then
    skip 'a product of oneDNN' 'oneDNN is not installed'
else
    grep -q 'the model has no int8 roofs; .carm build --precision dp,int8. measures them' err && [ ! -s n.csv ]
    ok 'no roofs: the command that measures them'
    study -n 96 -t 1 --precision bf16
    [ $? -eq 1 ] && grep -qE 'has no bf16 (instructions|roofs|matrix product)' err
    ok 'bf16: what is missing'
    # the roofs of integers: their operations are add, mul and logic
    sed -e 's/"precision": "dp", "threads"/"precision": "int8", "threads"/' -e 's/"op": "mad"/"op": "logic"/' \
        -e '/"op": "fma"/s/fma/mul/g' "$model" >int8.json
    study -n 96 -t 1 --precision int8 -m int8.json -o n.csv && [ ! -s err ] &&
        grep -q '^  6 oneDNN [0-9.]* .* [0-9.e+]' out && grep -q 'of the highest int8 roof' words &&
        grep -q 'plain loops, 64 rows, largest difference 0 of' words && grep -q ' op/B ' out &&
        ! grep -q 'flop' out
    ok 'a product of oneDNN in int8'
    grep -q '^gemm-96-6-oneDNN-int8,,.*,int8,.*,1769472,op,' n.csv
    ok '... is a row of operations'
    study -n 96 -t 1 --precision int8 -m int8.json --json && python3 - out <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
p, f = s["steps"][0], s["facts"]
assert s["precision"] == "int8" and len(s["steps"]) == 1 and p["error"] == 0
assert p["flops"] == 2 * 96**3 and f["peak"] == 16e9 and f["peak_isa"] == "sse"
assert abs(f["library_share"] * f["peak"] * p["seconds"] / p["flops"] - 1) < 1e-9
shares = [u["share"] for u in f["uses"]]
assert shares == sorted(shares, reverse=True)
if f["library_isa"] == "avx2" and p["bytes_counted_by"] == "stepped":
    # of 32 products one vpmaddubsw and one vpmaddwd
    assert f["vector_instructions"] < f["instructions"]
    mul = [u for u in f["uses"] if u["what"] == "multiplications"]
    assert not mul or mul[0]["note"].startswith("5.53e+04 instructions, at most ")
PY
    ok 'JSON has the same'
    "$carm" place --no-measure int8.json n.csv >out 2>err && grep -q 'gemm-96-6-oneDNN-int8' out
    ok 'carm place reads it'
    if command -v gnuplot >/dev/null; then
        study -n 96 -t 1 --precision int8 -m int8.json --plot n.svg && grep -q 'Gop/s' n.svg &&
            ! grep -q 'flop' n.svg
        ok 'a picture in its unit'
    fi
fi

# ---- an interruption ----------------------------------------------------------------------------

interrupt 12 -n 48 -t 1 --isa sse --variants 1000 && had=$(($(wc -l <i.csv) - 1)) && rows i.csv "$had" &&
    [ "$had" -lt 1000 ]
ok 'an interrupted study keeps its rows'
sed -i '$d' i.csv
study -n 48 -t 1 --isa sse -o i.csv --resume && grep -q "kept: $steps points" out
ok 'and goes on'

# ---- pictures -----------------------------------------------------------------------------------

if command -v gnuplot >/dev/null; then
    pictures -n 48 -t 1 --isa sse -o p.csv --resume
    grep -q '2 B transposed' p.svg && grep -q 'Original roofline (DRAM)' p.svg
    ok 'it has the steps on both models'
    study -n 48 -t 1 --isa sse -o p.csv --resume --variants 20 --plot v.svg &&
        grep -q 'both packed' v.svg
    ok 'with variants it has these'
else
    skip 'pictures' 'no gnuplot'
fi
finish
