#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Files of other tools on the command line: places, roofs, and what goes out in their forms. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the golden files are rewritten.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
data=$top/tests/data
other=$data/import
model=$data/sample-model.json
unset XDG_DATA_HOME
HOME=$tmp/home CARM_UARCH=skylake-server
export HOME CARM_UARCH

run() {
    timeout 600 "$carm" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# golden FILE: standard output is the file's
golden() {
    if [ "${UPDATE:-}" ]; then cp "$tmp/out" "$data/$1"; fi
    diff "$data/$1" "$tmp/out" >"$tmp/err" 2>&1
    same=$?
    : >"$tmp/out"
    [ $same -eq 0 ]
    ok "place and show = $1"
}

# refuses CODE TEXT ARGUMENTS...: that exit code and one line that holds the text
refuses() {
    code=$1 text=$2
    shift 2
    run "$@"
    got=$?
    [ $got -eq "$code" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -qF -- "$text" "$tmp/err"
    ok "carm $1 refuses: $text"
}

# ---- in ------------------------------------------------------------------------------------------

for f in google-benchmark.json hyperfine.json perf.json likwid.csv advisor.csv carm-tool.csv; do
    echo "== $f"
    "$carm" place --work "$other/work.csv" "$model" "$other/$f" 2>&1
done >"$tmp/out"
golden import-place.txt
for f in ert.json carm-tool-roofs.csv; do
    echo "== $f"
    LC_ALL=C "$carm" show --verbose --no-plot "$other/$f" 2>&1
done >"$tmp/out"
golden import-show.txt

run place "$model" - <"$other/carm-tool.csv" && false
"$carm" place "$model" - <"$other/google-benchmark.json" >"$tmp/out" 2>"$tmp/err" && grep -q BM_triad "$tmp/out"
ok "another tool's file on standard input"
run place "$other/ert.json" "$other/google-benchmark.json" && grep -qF '(roofs of ERT 1.1.0)' "$tmp/out"
ok "points of one tool under the roofs of another"
run compare "$other/carm-tool-roofs.csv" "$model" && grep -q '^  L2 2:1 .*significant' "$tmp/out" &&
    grep -qF 'has no intervals' "$tmp/err"
ok "compare takes the CARM Tool's roofs"
sed 's/"MPI_PROCS": 2, //; s/"MPI_PROCS": 1, //' "$other/ert.json" >"$tmp/ert.json"
run compare "$model" "$tmp/ert.json" && grep -q '^  L1 update ' "$tmp/out" && grep -q '^  fma ' "$tmp/out" &&
    grep -qF 'compared with avx512, 2 threads' "$tmp/err"
ok "compare takes ERT's roofs, which name no ISA"
if command -v gnuplot >/dev/null; then
    run plot --script "$other/ert.json" "$other/carm-tool-roofs.csv" "$other/carm-tool.csv" --threads 1,4 &&
        grep -q spmv "$tmp/out"
    ok "plot draws roofs and points of other tools"
else
    skip "plot draws roofs and points of other tools" "no gnuplot"
fi
run report -o "$tmp/page.html" "$model" "$other/likwid.csv" && grep -q 'joined by their rates' "$tmp/page.html"
ok "report shows points of likwid"

refuses 1 'a report needs a model of carm build' report -o "$tmp/x.html" "$other/ert.json"
refuses 1 '--json prints a model file as it is' show --json "$other/ert.json"
awk 'BEGIN { print "name,flops,bytes,seconds"; for (i = 0; i <= 100000; i++) print "p" i ",1e9,8e9,1" }' >"$tmp/many.csv"
refuses 2 'a page can show at most 100000 points' report -o "$tmp/x.html" "$model" "$tmp/many.csv"
refuses 2 "--format is auto, points," place --format excel "$model" "$data/points.csv"
refuses 1 'no table of metrics' place --format likwid "$model" "$data/points.csv"
refuses 1 'cannot read' place --work "$tmp/none.csv" "$model" "$data/points.csv"
refuses 2 'choose one' place --json --google-benchmark "$model" "$data/points.csv"

# ---- out -----------------------------------------------------------------------------------------

run show --carm-tool "$tmp/roofs.csv" --no-plot "$model"
"$carm" show --csv - "$model" | grep -E '^avx512,dp,1,(memory,[^,]*,[0-9]|compute,fma)' | cut -d, -f4-6,7 |
    awk -F, '{printf "%s %s %s %.2f\n", $1, $2, $3, $4 / 1e9}' | sort >"$tmp/mine"
"$carm" show --csv - --threads 1 "$tmp/roofs.csv" | grep -E '^avx512,dp,1,(memory|compute,fma)' | cut -d, -f4-6,7 |
    awk -F, '{printf "%s %s %s %.2f\n", $1, $2, $3, $4 / 1e9}' | sort >"$tmp/theirs"
[ -s "$tmp/mine" ] && cmp "$tmp/mine" "$tmp/theirs" >"$tmp/err" 2>&1
ok "the CARM Tool's form has the roofs of the model"
run place --google-benchmark "$model" "$data/points.csv" && cp "$tmp/out" "$tmp/bench.json" &&
    python3 -m json.tool "$tmp/bench.json" >"$tmp/out"
ok "Google Benchmark's form is JSON"
"$carm" place --csv - "$model" "$data/points.csv" 2>"$tmp/err" | cut -d, -f2-5 | sed 1d | grep ',.*,[0-9]' >"$tmp/mine"
"$carm" place --csv - "$model" "$tmp/bench.json" 2>"$tmp/err" | cut -d, -f2-5 | sed 1d | grep ',.*,[0-9]' >"$tmp/theirs"
[ -s "$tmp/mine" ] && diff "$tmp/mine" "$tmp/theirs" >"$tmp/err" 2>&1
ok "Google Benchmark's form has the points as they were"

finish
