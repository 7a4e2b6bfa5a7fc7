#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm study dwarfs: small kernels run on a model of this machine: rows by the paper's formulas,
# the simulated caches, interruption, going on, refusals, pictures. Prints TAP. CARM = the program.
# No test looks at how fast anything is.
set -u
kind=dwarfs seconds=200
# shellcheck source=tests/kernels/study.sh
. "${0%/*}/study.sh"

# rows FILE N: every row's arithmetic for grids of 16 points along an edge
rows() {
    awk -F, -v want="$2" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    {
        f = $at["flops"]; b = $at["bytes"]; d = $at["dram_bytes"]; i = d > 0 ? f / d : 0
        if ($at["name"] ~ /^dwarf-spmv/ && !(i > 0.1 && i < 0.26)) bad = 1
        if ($at["name"] ~ /^dwarf-lbmhd-16/ && (f != 16 ^ 3 * 1307 || i < 0.69 || i > 1.1)) bad = 1
        if ($at["name"] ~ /^dwarf-stencil-16/ && (f != 16 ^ 3 * 8 || i < 0.33 || i > 0.51)) bad = 1
        if ($at["name"] ~ /^dwarf-fft-16/ && (f != 5 * 16 ^ 3 * 12 || i < 0.62 || i > 0.94)) bad = 1
        if ($at["name"] ~ /^dwarf-transpose-16/ &&
            (f != "" || $at["operations"] != 16 ^ 3 || $at["metric"] != "exchange")) bad = 1
        if ($at["seconds"] <= 0 || $at["threads"] != 1 || $at["precision"] != "dp") bad = 1
        if ($0 !~ /DRAM bytes (compulsory|counted)/) bad = 1
        if (seen[$1]++) bad = 1
    }
    END { exit bad || NR - 1 != want }' "$1"
}

# ---- words --------------------------------------------------------------------------------------

refuses_words -n 16
refuses 'an n of nothing' 2 '--n needs a whole number from 1 to 1024' -n 0
refuses 'an unknown kernel' 2 '--kernels takes spmv, lbmhd, stencil, fft and transpose' \
    --kernels spmv,gemm
refuses 'what belongs to classes' 2 'study dwarfs has no option -k .carm study classes has it.' -k 3

# ---- a model -------------------------------------------------------------------------------

here
refuses_places -n 16
refuses 'a budget in which nothing fits' 1 'nothing could be measured: the budget left no time' \
    -t 1 --budget 0.000001
refuses 'a matrix that is not there' 1 'none.mtx' --kernels spmv --matrix none.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1000000000000\n1 1 1.0\n' >huge.mtx
refuses 'a matrix of 10^12 entries' 1 'huge.mtx' --kernels spmv --matrix huge.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n' >range.mtx
refuses 'an index out of range' 1 'range.mtx:3: entry 3, 1 lies outside of 2 x 2' --kernels spmv --matrix range.mtx

# ---- a study ------------------------------------------------------------------------------------

printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 1 -1\n2 2 2\n3 3 2\n' >s.mtx
study --kernels spmv --matrix s.mtx -t 1 -o m.csv && grep -q '^dwarf-spmv-s.mtx-plain,10,' m.csv
ok 'a symmetric matrix from a file has both halves'
fft=2
study --kernels fft -n 4 -t 1 >/dev/null || { fft=0; grep -q fftw err; }
ok 'the transform runs, or says that FFTW lacks'
want=$((6 + fft))
study --kernels lbmhd,stencil,fft,transpose -n 16 -t 1 -o p.csv && [ ! -s err ] && rows p.csv $want
ok 'kernels of 16^3 points have the counts of their formulas'
grep -q 'carm build --ceilings' words && grep -q 'The three Cs' words &&
    grep -q "Stencil optimised" out && grep -q 'Transpose plain' out
ok 'the report has the kernels, the three Cs and what to measure'
fits '^Kernels of the Roofline paper on .*: optimised versions reach [0-9]+% to [0-9]+% of their original roofs[.] ' \
    'carm report p.csv -o dwarfs.html (one interactive page)'
refuses 'a file with points' 1 'p.csv has points already: --resume' -t 1 -o p.csv
cp p.csv before.csv
study --kernels lbmhd,stencil,fft,transpose -n 16 -t 1 -o p.csv --resume &&
    cmp -s p.csv before.csv && grep -q "kept: $want points" out
ok 'a study that is complete measures nothing again'
sed -i '/stencil-16-plain/d' p.csv
study --kernels lbmhd,stencil,fft,transpose -n 16 -t 1 -o p.csv --resume &&
    grep -q "kept: $((want - 1)) points" out && rows p.csv $want
ok 'a lost row is measured again'
cp "$model" placed.json # which gets roofs that it lacks
"$carm" place placed.json p.csv >out 2>err && grep -q 'dwarf-stencil-16-optimised' out
ok 'carm place takes the rows'
if python3 -c '' 2>/dev/null; then
    study --kernels stencil,transpose -n 20 -t 1 --json && python3 - out <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
assert s["study"] == "dwarfs" and s["measured_ceilings"] is False
points = {(p["kernel"], p["version"]): p for p in s["points"]}
for version in ("plain", "optimised"):
    p = points["Stencil", version]
    assert p["operations"] == 8 * 20**3 and p["metric"] == "flop" and p["error"] < 1e-12
    m = p["misses"]
    # the two grids fit the last cache: every miss is compulsory
    assert m["compulsory"]["share"] > 0.99 and m["steps"][0]["traffic"] == "now"
    p = points["Transpose", version]
    assert p["operations"] == 20**3 and p["metric"] == "exchange" and p["error"] == 0
    assert p["operations"] / p["compulsory_bytes"] in (1 / 32, 1 / 48)
PY
    ok 'JSON has the same'
else
    skip 'JSON has the same' 'no python3'
fi

# ---- an interruption ----------------------------------------------------------------------------

interrupt 2 -t 1 -n 40 --kernels lbmhd,stencil,fft,transpose
ok 'an interrupted study keeps its rows'

# ---- pictures -----------------------------------------------------------------------------------

if command -v gnuplot >/dev/null; then
    pictures --kernels lbmhd,stencil,fft,transpose -n 16 -t 1 -o p.csv --resume
    grep -q 'Stencil' p.svg && grep -q 'LBMHD' p.svg
    ok 'it has the kernels'
else
    skip 'pictures' 'no gnuplot'
fi
finish
