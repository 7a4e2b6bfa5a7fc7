#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm show and carm plot on published machines. Prints TAP. CARM = the program.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
model=$top/tests/data/sample-model.json

# block NAME: the data blocks of that name in the script that the last run printed
block() {
    awk -v name="\$$1 << CARM_END" '$0 == name { on = 1; next } /^CARM_END/ { on = 0 } on' "$tmp/out"
}

# ---- show

run show --no-plot opteron-x4 && [ ! -s "$tmp/err" ] && grep -q '^  Copy BW  *13.90 GB/s' "$tmp/out" &&
    grep -q '^Ridge point 4.18 flop/byte$' "$tmp/out" &&
    grep -q '^  3-D FFT  *1.64  *14.0  Without SIMD 18.40  *No Affinity 11.48  *compute$' "$tmp/out" &&
    grep -q '^    printed:  4.4 flop/byte$' "$tmp/out" && [ "$(awk 'length > 80' "$tmp/out" | wc -l)" -eq 0 ]
ok "show opteron-x4"
for machine in opteron-x2 xeon t2plus cell; do
    run show --no-plot "$machine" && [ ! -s "$tmp/err" ] && grep -q 'as published$' "$tmp/out"
    ok "show $machine"
done
run show --no-plot --ascii Cell && ! LC_ALL=C grep -q '[^ -~]' "$tmp/out" && grep -q 'FMA 7.30' "$tmp/out"
ok "show takes the name in capitals, too, and is ASCII where asked"
run show --json cell && cmp -s "$tmp/out" "$top/data/roofline-2009.json"
ok "show --json prints the data file"
refuses "to show an unknown machine" 1 "opteron-x2, xeon, opteron-x4, t2plus, cell" show vax

cp "$model" "$tmp/xeon"
(cd "$tmp" && run show --verbose --no-plot xeon && grep -q '^Cache-aware roofline model' "$tmp/out")
ok "a file goes before a published machine of its name"

# ---- plot

run plot opteron-x4 --script && block slope_labels | grep -qF '"Copy BW 13.9 GB/s"' &&
    block slope_labels | grep -qF '"No Affinity 7 GB/s"' && block flat_labels | grep -qF '"Without balance 36.8 Gflop/s"' &&
    block kernel_labels | grep -qF '"3-D FFT 1.64"' && block crosses | grep -q '^1.07 11.4$' &&
    grep -q '^regions = 3$' "$tmp/out" && grep -q '^kernels = 4$' "$tmp/out"
ok "plot --script has ceilings, kernels and what they achieved"

# "# VALUE UNIT" and two points: a slope is performance / intensity from end to end, and ends at the peak
block lines | awk -v RS= '{ bad += !index("|17.6|13.9|7|73.6|36.8|18.4|", "|" $2 "|")
        bad += $3 == "GB/s" ? ($5 / $4 / $2 - 1) ^ 2 > 1e-9 || $8 != 73.6 : $5 != $2 || $8 != $2 }
    END { exit bad || NR != 6 }'
ok "... as lines of their values"

run plot xeon cell --balance both --script && [ "$(grep -c '^.lines << ' "$tmp/out")" -eq 4 ] &&
    [ "$(block kernel_labels | grep -c SpMV)" -eq 2 ] && block flat_labels | grep -q '"FMA 7.3 Gflop/s"' &&
    grep -q '^|Intel Xeon, multiply/add balance at the bottom$' "$tmp/out"
ok "plot --balance both has a second row with SpMV"
run plot t2plus --balance both --script && [ "$(grep -c '^.lines << ' "$tmp/out")" -eq 1 ] &&
    grep -q '^kernels = 4$' "$tmp/out"
ok "... and one roofline where the paper has one"
run plot opteron-x2 opteron-x4 --overlay --script && grep -q '^lines = 4$' "$tmp/out" &&
    grep -q '^regions = 0$' "$tmp/out"
ok "plot --overlay draws roofs alone"

refuses "to plot an unknown machine" 1 "opteron-x2, xeon, opteron-x4, t2plus, cell" plot vax -o "$tmp/p.svg"
refuses "an unknown second machine" 1 "opteron-x2, xeon, opteron-x4, t2plus, cell" \
    plot xeon vax -o "$tmp/p.svg"
refuses "two models" 2 "is named twice" plot "$model" "$model" -o "$tmp/p.svg"
refuses "an overlay of a model" 2 "published machines" plot "$model" --overlay -o "$tmp/p.svg"
refuses "another kind of a published machine" 2 "--kind ceilings" plot xeon --kind flops -o "$tmp/p.svg"
refuses "threads of a published machine" 2 "--threads" plot xeon --threads 1 -o "$tmp/p.svg"
refuses "a balance in between" 2 "top, bottom or both" plot xeon --balance middle -o "$tmp/p.svg"
refuses "a balance of another kind" 2 "--kind ceilings" plot "$model" --balance top -o "$tmp/p.svg"
refuses "a model without ceilings" 1 "carm build --ceilings" plot "$model" --kind ceilings -o "$tmp/p.svg"

if ! command -v gnuplot >/dev/null; then
    n=$((n + 1))
    echo "ok $n - plot draws # SKIP no gnuplot"
    echo "1..$n"
    exit $failed
fi

# draws FILE TEXT ARGUMENTS...: the picture is there, has the text and says nothing
draws() {
    file=$1 text=$2
    shift 2
    run plot "$@" -o "$tmp/$file" && [ ! -s "$tmp/err" ] && grep -q '</svg>' "$tmp/$file" &&
        grep -qF "$text" "$tmp/$file" && ! grep -q 'NaN\|nan,\|inf,' "$tmp/$file"
    ok "carm plot $*"
}
draws figure1.svg 'AMD Opteron X2 2214 17.6 Gflop/s' opteron-x2 opteron-x4 --overlay
draws figure2.svg 'Without ILP or SIMD 2.2 Gflop/s' opteron-x2
draws figure3.svg 'Without FMA 14.6 Gflop/s' xeon opteron-x4 cell --balance both
draws figure4.svg '25% issued FP 9.3 Gflop/s' t2plus
grep -qF 'Snoop filter 5.9 GB/s' "$tmp/figure3.svg" && grep -qF 'TLP only 6.2 Gflop/s' "$tmp/figure3.svg" &&
    grep -qF 'optimisations in reach' "$tmp/figure3.svg" && grep -qF 'LBMHD 1.07' "$tmp/figure3.svg"
ok "figure 3 has its ceilings, kernels and regions"
run plot cell -o "$tmp/p.png" && [ "$(head -c 4 "$tmp/p.png" | tail -c 3)" = PNG ]
ok "plot writes PNG"

finish
