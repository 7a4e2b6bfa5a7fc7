#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm study classes: the application classes run on a model of this machine: rows exact by
# construction, budget, interruption, going on, refusals, pictures. Prints TAP. CARM = the program.
# No test looks at how fast anything is.
set -u
kind=classes seconds=200
# shellcheck source=tests/kernels/study.sh
. "${0%/*}/study.sh"

# rows FILE: every row's arithmetic, and as many of each class as said
rows() {
    awk -F, -v want="$2" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    {
        split($at["name"], name, /[ ^]/)
        f = $at["flops"]; b = $at["bytes"]; d = $at["dram_bytes"]
        if (name[1] == "APP-L1") { if (f * 64 != b) bad = 1 }
        else if (name[1] == "APP-L3") { if (f * 4 != b) bad = 1 }
        else if (name[1] == "APP-D") { if (f != b * 16) bad = 1 }
        else bad = 1
        # stores of 2:1 are filled and written back: 4/3; a set in a cache is touched once
        if (d < b * 1.333 && d * 2 ^ name[3] > b * 1.0001) bad = 1
        if (d * 2 ^ name[3] < b * 0.9999) bad = 1
        if ($at["seconds"] <= 0 || $at["threads"] != 1 || $at["precision"] != "dp") bad = 1
        if ($at["counted_by"] != "constructed" || $0 !~ /DRAM bytes estimated/) bad = 1
        if (seen[$1]++) bad = 1
        if (++count[name[1]] > most) most = count[name[1]]
    }
    END { exit bad || NR - 1 != want }' "$1"
}

# ---- words --------------------------------------------------------------------------------------

refuses_words -k 1
refuses 'a k beyond 20' 2 '--largest needs a whole number from 0 to 20' -k 21
refuses 'what belongs to gemm' 2 'study classes has no option --n .carm study gemm has it.' --n 100

# ---- a model -------------------------------------------------------------------------------

here
refuses_places -k 1

# ---- a study ------------------------------------------------------------------------------------

study -k 1 -t 1 -o p.csv --budget 60 && [ ! -s err ] && rows p.csv 6
ok 'three classes with 1 and 2 iterations have the counts of their codes'
grep -q '1. One application, several intensities in the original model: true' words &&
    grep -q 'APP-L1 .*72 flops an iteration, 1/64 flop/byte' words &&
    grep -q 'APP-D .*1023410176 flops an iteration, 16 flop/byte; data in DRAM' words &&
    grep -q 'each with its own data' words
ok 'the report has table 2, the meaning of threads and observation 1'
fits '^Application classes on .*: [0-3] of [1-3] observations of the cache-aware paper hold[.] ' \
    'carm report p.csv -o classes.html (one interactive page)'
refuses 'a file with points' 1 'p.csv has points already: --resume' -t 1 -o p.csv
cp p.csv before.csv
study -k 1 -t 1 -o p.csv --resume && cmp -s p.csv before.csv && grep -q 'kept: 6 points' out
ok 'a study that is complete measures nothing again'
sed -i '/APP-L3 2^1,/d' p.csv
cp p.csv torn.csv
printf 'APP-L3 2^1,17' >>torn.csv
study -k 1 -t 1 -o p.csv --resume --budget 60 && grep -q 'kept: 5 points' out &&
    rows p.csv 6
ok 'a lost row is measured again'
refuses 'a torn row' 1 'torn.csv: line 7, column' -k 1 -t 1 -o torn.csv --resume
study -k 0 -t 1 --budget 0.000001
[ $? -eq 1 ] && grep -q 'no instance fits into the budget.*--budget' err
ok 'a budget in which nothing fits is told'
for budget in 2 6 15; do # a busy machine needs more for the first
    study -t 1 --budget $budget -o b.csv && break
done
grep -q 'left out: APP-D from N = 2^.*--budget gives more' words
ok 'what a budget leaves out is said'
if python3 -c '' 2>/dev/null; then
    study -k 1 -t 1 -o p.csv --resume --json && python3 - out <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
assert s["study"] == "classes" and s["observations"]["intensity_constant_cache_aware"] is True
assert [c["name"] for c in s["classes"]] == ["APP-L1", "APP-L3", "APP-D"]
for c, i in zip(s["classes"], (1 / 64, 1 / 4, 16)):
    assert c["flops"] == i * c["bytes"] and len(c["points"]) == 2
    for p in c["points"]:
        assert p["flops"] == p["iterations"] * c["flops"] and p["cache_aware"]["intensity"] == i
PY
    ok 'JSON has the same'
else
    skip 'JSON has the same' 'no python3'
fi

# ---- an interruption ----------------------------------------------------------------------------

interrupt 4 -t 1 --budget 50 && rows i.csv "$(($(wc -l <i.csv) - 1))"
ok 'an interrupted study keeps its rows'
had=$(wc -l <i.csv)
study -k 1 -t 1 -o i.csv --resume --budget 60 && rows i.csv "$(($(wc -l <i.csv) - 1))" &&
    [ "$(wc -l <i.csv)" -ge "$had" ] && grep -q '^APP-D 2^1,' i.csv
ok 'and goes on'

# ---- pictures -----------------------------------------------------------------------------------

if command -v gnuplot >/dev/null; then
    pictures -k 1 -t 1 -o p.csv --resume
    grep -q 'APP-L3' p.svg && grep -q '1st' p.svg && grep -q 'Original roofline (DRAM)' p.svg
    ok 'it has the classes on both models'
else
    skip 'pictures' 'no gnuplot'
fi
finish
