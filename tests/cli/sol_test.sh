#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm sol: golden outputs, figures worked by hand, identities in sweeps, every refusal, hostile names
# in every output. Prints TAP. CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the
# golden files are rewritten.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
data=$top/tests/data
graph=$data/sol-graph.yaml
arch=$data/sol-arch.yaml
model=$data/sample-model.json
unset XDG_DATA_HOME
HOME=$tmp/home
export HOME

run() {
    timeout 600 "$carm" sol "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# same FILE: standard output is the golden file's
same() {
    if [ "${UPDATE:-}" ]; then cp "$tmp/out" "$data/$1"; fi
    diff "$data/$1" "$tmp/out" >"$tmp/err" 2>&1
    verdict_of=$?
    : >"$tmp/out"
    [ $verdict_of -eq 0 ]
}

# field SECTION KEY: its value in the YAML that the last run printed
field() {
    awk -v section="$1:" -v key="  $2:" '/^[a-z]/ { on = $0 == section }
        on && index($0, key) == 1 { print $2; exit }' "$tmp/out"
}

# ---- what is printed -------------------------------------------------------------------------------

golden sol.txt "$graph" --arch "$arch" --layers
golden sol-as-implemented.txt "$graph" --arch "$arch" --as-implemented --layers=2
golden sol-perf.yaml "$graph" --arch "$arch" -o -
golden sol.json "$graph" --arch "$arch" --json
golden sol-sweep.csv "$graph" --arch "$arch" --sweep DRAM_byte_per_cycle=25:400:5:log
golden sol-list.txt --list

run "$graph" --arch "$arch" --layers -o "$tmp/perf.yaml" && same sol.txt &&
    cmp -s "$data/sol-perf.yaml" "$tmp/perf.yaml"
ok "-o FILE comes beside the text"
run "$graph" --arch "$arch" --layers --sweep DRAM_byte_per_cycle=25:400:5:log --csv "$tmp/sweep.csv" &&
    same sol.txt && cmp -s "$data/sol-sweep.csv" "$tmp/sweep.csv"
ok "so does --csv FILE"
LC_ALL=C run transformer-block --arch h100-pcie --layers=all && ! LC_ALL=C grep -q '[^ -~]' "$tmp/out" &&
    [ "$(awk 'length > 100' "$tmp/out" | wc -l)" -eq 0 ] && ! grep -q ' $' "$tmp/out"
ok "the text is ASCII where the locale has no UTF-8, in 100 columns"
timeout 600 "$carm" sol - --arch "$arch" --layers <"$graph" >"$tmp/out" 2>"$tmp/err" && same sol.txt
ok "- is standard input"
mkfifo "$tmp/pipe" && { cat "$graph" >"$tmp/pipe" & } && run "$tmp/pipe" --arch "$arch" --layers && same sol.txt
ok "a pipe is read, too"
timeout 600 "$carm" sol "$graph" --arch - --layers <"$arch" >"$tmp/out" 2>"$tmp/err" && same sol.txt
ok "an architecture from standard input"
cp "$graph" "$tmp/transformer-block" && (cd "$tmp" && run transformer-block --arch b200) &&
    grep -q '^up-relu-down: 3 operations' "$tmp/out"
ok "a file goes before an example of its name"

# ---- figures worked by hand: sol-graph.yaml has them in its head -----------------------------------

run "$graph" --arch "$arch" -o - && [ "$(field unfused total_cycles)" = 983 ] &&
    [ "$(field fused total_cycles)" = 933 ] && [ "$(field fused_prefetched total_cycles)" = 524 ] &&
    [ "$(field unfused memory_bytes)" = 73728 ] && [ "$(field fused memory_bytes)" = 40960 ] &&
    [ "$(field workload total_macs)" = 524288 ] && [ "$(field workload total_other_ops)" = 4096 ] &&
    [ "$(field memory_breakdown intermediate_bytes)" = 32768 ] &&
    [ "$(field unfused arithmetic_intensity)" = 7.111111111111111 ]
ok "the intended design gives the figures worked by hand"
run "$graph" --arch "$arch" -o - --as-implemented && [ "$(field unfused total_cycles)" = 737 ] &&
    [ "$(field fused total_cycles)" = 524 ] && [ "$(field fused_prefetched total_cycles)" = 524 ] &&
    [ "$(field unfused compute_cycles)" = 524 ]
ok "... and so does the one as implemented"
run "$graph" --arch "$arch" -o - --precision nvfp4 && [ "$(field fused memory_bytes)" = 10240 ] &&
    [ "$(field workload bytes_per_element)" = 0.5 ] && [ "$(field fused compute_tc_cycles)" = 131 ]
ok "half a byte for each element of nvfp4"
run "$graph" --arch "$arch" -o - --set SRAM_capacity=0 && [ "$(field cache_aware alive_bytes)" = "" ] &&
    grep -qx 'cache_aware: null' "$tmp/out"
ok "no cache-aware estimates without a capacity"
run "$graph" --arch "$arch" --set DRAM_byte_per_cycle=200,freq_GHz=2 --set SRAM_capacity=20000 -o - &&
    [ "$(field unfused memory_cycles)" = 368 ] && [ "$(field arch freq_GHz)" = 2.0 ] &&
    grep -q '^    spilled_bytes: 0$' "$tmp/out"
ok "--set takes several figures, also given twice"

# the guide's worked example: what is consistent in it
run worked-example --arch h100-pcie -o - && [ "$(field unfused memory_bytes)" = 50000000 ] &&
    [ "$(field unfused memory_cycles)" = 49048 ] && [ "$(field fused memory_cycles)" = 19619 ] &&
    [ "$(field speedup fused_vs_unfused)" = 2.5 ] && [ "$(field speedup fused_prefetched_vs_fused)" = 1.0 ] &&
    [ "$(field unfused runtime_ms | cut -c1-5)" = 0.024 ] && [ "$(field fused bottleneck)" = '"memory"' ] &&
    [ "$(field unfused arithmetic_intensity)" = 0.02 ] && grep -qx 'whole_graph: true' "$tmp/out"
ok "the guide's worked example"
run worked-example --arch h100-pcie && grep -q 'has only totals' "$tmp/out" && grep -q ': totals only, fp16' "$tmp/out"
ok "... says that it has totals alone"

# an analysis with layers is summed over these
cat >"$tmp/layers.yaml" <<'Y'
layers:
  "a,\"\n<x>": {type: matmul, macs: 1000000, other_ops: 0, unfused_elements: 3000, fused_elements: 2000, intermediate_elements: 1000}
  b: {type: relu, macs: 0, other_ops: 1000, unfused_elements: 2000, fused_elements: 1000, intermediate_elements: 1000}
total: {macs: 1000000, other_ops: 1000, unfused_elements: 5000, fused_elements: 3000, intermediate_elements: 2000}
Y
run "$tmp/layers.yaml" --arch "$arch" --layers --points "$tmp/p.csv" && grep -q '^layers: 2 operations' "$tmp/out" &&
    grep -qF '  a,"?<x> ' "$tmp/out" && grep -qF '"a,""?<x>",2000000,6000,1e-06,4000,' "$tmp/p.csv" &&
    grep -q ' 1.100 us .*1.00x compute$' "$tmp/out"
ok "an analysis with layers"

# views alone: nothing to do, nothing divided by it
cat >"$tmp/views.yaml" <<'Y'
model_name: views
layers:
  s: {type: start, einsum_equation: "", is_real_einsum: false, tensor_names: {inputs: [], outputs: [s.o]},
      tensor_types: {inputs: [], outputs: [output]}, tensor_shapes: {inputs: [], outputs: [[32, 64]]},
      connections: {inputs: [], outputs: [v]}}
  v: {type: view, einsum_equation: "", is_real_einsum: false, tensor_names: {inputs: [s.o], outputs: [v.o]},
      tensor_types: {inputs: [input], outputs: [output]}, tensor_shapes: {inputs: [[32, 64]], outputs: [[64, 32]]},
      connections: {inputs: [s], outputs: []}}
Y
run "$tmp/views.yaml" --arch "$arch" --layers && grep -q 'neither computes nor moves' "$tmp/out" && ! grep -qi 'nan\|inf' "$tmp/out"
ok "views alone take no time"
refuses "to draw them" 1 "nothing to draw" "$tmp/views.yaml" --arch "$arch" --plot "$tmp/v.svg"

# ---- what real files have ------------------------------------------------------------------------------

run "$data/sol-pool.yaml" --arch "$arch" &&
    [ "$(grep -c 'avg_pool2d (1 layer): the equation does not fit the shapes' "$tmp/out")" -eq 1 ]
ok "the text says what was counted from the shapes"
run "$data/sol-pool.yaml" --arch "$arch" -o - && grep -qx 'remarks:' "$tmp/out" &&
    run "$data/sol-pool.yaml" --arch "$arch" --json && grep -q '"remarks": \[' "$tmp/out"
ok "... and so do YAML and JSON"
run "$data/sol-linear-bias.yaml" --arch "$arch" --json && ! grep -q 'not fit' "$tmp/out" && cp "$tmp/out" "$tmp/bias.json" &&
    run "$data/sol-aliases.yaml" --arch "$arch" --json && cmp -s "$tmp/out" "$tmp/bias.json"
ok "aliases are the values that they stand for"
run "$data/sol-linear-bias.yaml" --arch "$arch" && grep -q 'tensor_dtypes: most tensors are fp32, but all are taken as fp16' "$tmp/out" &&
    run "$data/sol-linear-bias.yaml" --arch "$arch" --precision fp32 && ! grep -q tensor_dtypes "$tmp/out"
ok "a precision that is not the tensors' is named"
sed 1d "$data/sol-split.yaml" >"$tmp/nameless.yaml"
run "$tmp/nameless.yaml" --arch "$arch" && grep -q '^nameless: 2 operations' "$tmp/out" &&
    timeout 600 "$carm" sol - --arch "$arch" <"$tmp/nameless.yaml" >"$tmp/out" 2>"$tmp/err" &&
    grep -q '^graph: 2 operations' "$tmp/out"
ok "a graph without model_name has its file's name"
sed '/^  sp:/,$d' "$data/sol-split.yaml" >"$tmp/start.yaml"
run "$tmp/start.yaml" --arch "$arch" && grep -q '^split: 0 operations' "$tmp/out" && grep -q 'neither computes nor moves' "$tmp/out"
ok "a graph of inputs alone has no operations"
cat >"$tmp/twice.yaml" <<'Y'
layers:
  max: {macs: 0, other_ops: 100, unfused_elements: 120, fused_elements: 120, input_elements: 100, output_elements: 20,
        output_is_intermediate: false, tensor_shapes: {inputs: [[10, 10]], outputs: [[10], [10]]}}
total: {macs: 0, other_ops: 100, unfused_elements: 120, fused_elements: 140, fused_prefetched_elements: 140}
Y
run "$tmp/twice.yaml" --arch "$arch" && grep -q 'fused_elements was 20 too high' "$tmp/out" &&
    run "$tmp/twice.yaml" --arch "$arch" --json && grep -q '"memory_elements": 120' "$tmp/out" && ! grep -q 140 "$tmp/out"
ok "an analysis that counts outputs twice is corrected, and says so"
run "$graph" --arch h100-pcie && grep -q '^  H100_PCIe: the MAC rates are twice' "$tmp/out"
ok "a note of the architecture is shown"
run "$graph" --arch "$arch" --set MAC_per_cycle_fp32_tc=2000,MAC_per_cycle_fp32_sm=10 --precision fp32 -o - &&
    [ "$(field arch mac_per_cycle_key)" = '"MAC_per_cycle_fp32_tc"' ] && [ "$(field fused compute_tc_cycles)" = 262 ]
ok "fp32 has a rate of its tensor cores"

# ---- sweeps ------------------------------------------------------------------------------------------

# a wider memory is never slower, no estimate is faster than fused+prefetched, none slower than unfused
for example in linear-relu-linear transformer-block convolution-stack long-context-attention; do
    run $example --arch h100-pcie --sweep DRAM_byte_per_cycle=100:50000:40:log && awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = NF; next }
        NF != n { bad = 1 }
        { u = $at["unfused_cycles"]; f = $at["fused_cycles"]; p = $at["fused_prefetched_cycles"]
          cf = $at["cache_aware_fused_cycles"]; cp = $at["cache_aware_fused_prefetched_cycles"]
          e = 1 + 1e-9
          if (f > u * e || p > f * e || f > cf * e || p > cp * e || cp > cf * e) bad = 1
          if (NR > 2 && ($1 <= last || u > lu * e || f > lf * e || p > lp * e || cf > lcf * e)) bad = 1
          last = $1; lu = u; lf = f; lp = p; lcf = cf }
        END { exit bad || NR != 41 }' "$tmp/out"
    ok "identities in a sweep of $example"
done
run long-context-attention --arch h100-pcie --sweep SRAM_capacity=1000000:4000000000:9:log && awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { s[NR] = $at["cache_aware_fused_prefetched_spilled_bytes"]; if ($1 != int($1)) bad = 1 }
    END { exit bad || s[10] != 0 || s[2] <= 0 }' "$tmp/out"
ok "a sweep of the capacity ends without spilled bytes"
run "$graph" --arch "$arch" --sweep freq_GHz=1:2:3 && [ "$(cut -d, -f1 "$tmp/out" | tr '\n' ' ')" = "freq_GHz 1 1.5 2 " ]
ok "a sweep in equal steps"
run worked-example --arch h100-pcie --sweep DRAM_byte_per_cycle=1000:2000 && awk -F, 'NF != 22 { bad = 1 }
    END { exit bad || NR != 12 }' "$tmp/out"
ok "a sweep without layers leaves cache-aware fields empty"

# ---- a CPU's model, points and pictures --------------------------------------------------------------

run transformer-block --arch "$model" --points "$tmp/points.csv" && grep -q 'fp64 on' "$tmp/out" &&
    grep -q 'With finite storage on the chip: L1 ' "$tmp/out"
ok "a model is an architecture"
"$carm" place --json "$model" "$tmp/points.csv" >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
    [ "$(grep -o '"over": true' "$tmp/out" | wc -l)" -eq 0 ] && grep -q '"name": "TransformerBlock"' "$tmp/out" &&
    grep -q '"name": "fc1"' "$tmp/out"
ok "its points are placed, none above the roofs"
run transformer-block --arch "$model" --threads 1 --points "$tmp/points.csv" &&
    sed -n 2p "$tmp/points.csv" | grep -q ',1,,dp,constructed,'
ok "--threads goes into the points"
mkdir -p "$tmp/home/.local/share/carm" && run "$graph" --arch "$model" && cp "$tmp/out" "$tmp/want" &&
    cp "$model" "$tmp/home/.local/share/carm/$(uname -n).json" && run "$graph" && cmp -s "$tmp/want" "$tmp/out"
ok "without --arch this machine's model is taken"
rm -rf "${tmp:?}/home"

if command -v gnuplot >/dev/null; then
    run linear-relu-linear --arch h100-pcie --plot "$tmp/sol.svg" && [ ! -s "$tmp/err" ] &&
        grep -q '</svg>' "$tmp/sol.svg" && grep -qF 'fused+prefetched' "$tmp/sol.svg" &&
        grep -qF 'fp16 contractions 1.51 Pflop/s' "$tmp/sol.svg" && grep -qF 'SRAM 20 TB/s' "$tmp/sol.svg" &&
        ! grep -q 'NaN\|nan,\|inf,' "$tmp/sol.svg"
    ok "--plot draws"
    run transformer-block --arch "$model" --plot "$tmp/sol.png" && [ "$(head -c 4 "$tmp/sol.png" | tail -c 3)" = PNG ]
    ok "... as PNG, too"
else
    skip "--plot draws" "no gnuplot"
    skip "... as PNG, too" "no gnuplot"
fi

# ---- hostile names -----------------------------------------------------------------------------------

# One operation whose names hold what ends strings, lines, markup and terminals' patience.
cat >"$tmp/hostile.yaml" <<'Y'
model_name: "m\"'`$(id)\n\e[31m<script>&amp;\u202e: # \\ end"
layers:
  "o,\"'\n\e]0;x\a<b>|%s%n{}[]\u202e":
    {type: "t\n<i>,\"", einsum_equation: "MK,KN->MN", elementwise_op: mul, reduction_op: add,
     is_real_einsum: true, is_einsum_supportable: true,
     tensor_names: {inputs: [x, w], outputs: [y]}, tensor_types: {inputs: [input, weight], outputs: [output]},
     tensor_shapes: {inputs: [[2, 3], [3, 4]], outputs: [[2, 4]]}, connections: {inputs: [], outputs: []}}
Y
sed 's/^name: .*/name: "chip\\"'"'"'<b>,\\u202e"/' "$arch" >"$tmp/hostile-arch.yaml"
# printable FILE: no control characters but tabs and newlines, no format characters
printable() {
    [ "$(LC_ALL=C tr -d '\t\n -~\200-\377' <"$1" | wc -c)" -eq 0 ] && ! grep -q "$(printf '\342\200\256')" "$1"
}
h="$tmp/hostile.yaml --arch $tmp/hostile-arch.yaml"
# shellcheck disable=SC2086 # two words and a path
{
    run $h --layers && printable "$tmp/out" && [ "$(grep -c '<script>' "$tmp/out")" -eq 1 ]
    ok "hostile names in the text"
    run $h --points "$tmp/p.csv" && printable "$tmp/p.csv" && [ "$(wc -l <"$tmp/p.csv")" -eq 3 ] &&
        "$carm" place --json "$model" "$tmp/p.csv" >"$tmp/out" 2>"$tmp/err" && [ "$(grep -c '"name"' "$tmp/out")" -ge 2 ]
    ok "... in points"
    run $h -o - && printable "$tmp/out" && cp "$tmp/out" "$tmp/h.yaml" && [ "$(grep -c '^[a-z]' "$tmp/h.yaml")" -eq 11 ]
    ok "... in YAML"
    run $h --json && printable "$tmp/out" && cp "$tmp/out" "$tmp/h.json"
    ok "... in JSON"
    if command -v gnuplot >/dev/null; then
        run $h --plot "$tmp/h.svg" && ! grep -q '<script>\|<b>' "$tmp/h.svg" && printable "$tmp/h.svg"
        ok "... in a picture"
    else
        skip "... in a picture" "no gnuplot"
    fi
}
if python3 -c 'import yaml' 2>/dev/null; then
    python3 - "$tmp/h.yaml" "$tmp/h.json" >"$tmp/out" 2>"$tmp/err" <<'PY'
import json, sys, yaml
model = "m\"'`$(id)\n\x1b[31m<script>&amp;\u202e: # \\ end"
y, j = yaml.safe_load(open(sys.argv[1])), json.load(open(sys.argv[2]))
for d in (y, j):
    assert d["workload"]["name"] == model, d["workload"]["name"]
    assert d["arch"]["name"] == "chip\"'<b>,\u202e", d["arch"]["name"]
assert [l["id"] for l in j["layers"]] == ["o,\"'\n\x1b]0;x\x07<b>|%s%n{}[]\u202e"]
assert j["layers"][0]["type"] == "t\n<i>,\""
PY
    ok "... read back by another reader as they were"
    python3 - "$data/sol-perf.yaml" "$data/sol.json" >"$tmp/out" 2>"$tmp/err" <<'PY'
import json, math, sys, yaml
y, j = yaml.safe_load(open(sys.argv[1])), json.load(open(sys.argv[2]))
layers = j.pop("layers")
def compare(a, b, key):
    if isinstance(a, dict):
        assert list(a) == list(b), key
        for k in a:
            compare(a[k], b[k], k)
    elif key.endswith("_cycles"):
        assert isinstance(a, int) and a == math.floor(b), (key, a, b)
    else:
        assert type(a) is type(b) and a == b, (key, a, b)
compare(y, j, "")
near = lambda a, b: math.isclose(a, b, rel_tol=1e-12)
c = [(max(l["macs"] / 1000, l["other_ops"] / 10), l) for l in layers]
assert near(j["unfused"]["total_cycles"], sum(max(k, 2 * l["unfused_elements"] / 100) for k, l in c))
assert near(j["fused"]["total_cycles"], sum(max(k, 2 * l["fused_elements"] / 100) for k, l in c))
assert near(j["fused_prefetched"]["total_cycles"], 524.288)
assert near(sum(l["unfused_cycles"] for l in layers), j["unfused"]["total_cycles"])
assert near(sum(l["fused_cycles"] for l in layers), j["cache_aware"]["fused"]["total_cycles"])
for s in ("unfused", "fused", "fused_prefetched"):
    assert near(j[s]["runtime_ms"], j[s]["total_cycles"] / (j["arch"]["freq_GHz"] * 1e6))
    assert near(j[s]["arithmetic_intensity"], 524288 / j[s]["memory_bytes"])
    assert near(j[s]["intensity_flop_per_byte"], (2 * 524288 + 4096) / j[s]["memory_bytes"])
PY
    ok "YAML and JSON agree, and with the formulas"
else
    skip "... read back by another reader as they were" "no python3 with yaml"
    skip "YAML and JSON agree, and with the formulas" "no python3 with yaml"
fi

# ---- refusals ----------------------------------------------------------------------------------------

refuses "no graph" 2 "carm sol GRAPH.yaml --arch" --arch b200
refuses "no machine" 1 "--arch: a100-sxm4, b200, h100-pcie" "$graph"
refuses "an unknown machine" 1 'neither a file nor an architecture "h200"' "$graph" --arch h200
refuses "an unknown example" 1 "the examples are linear-relu-linear, " resnet --arch b200
refuses "a graph that is not there" 1 "No such file" "$tmp/none.yaml" --arch b200
refuses "a folder as graph" 1 "cannot read $tmp: it is a directory" "$tmp" --arch b200
refuses "a machine that is not there" 1 "No such file" "$graph" --arch "$tmp/none.yaml"
refuses "an unknown precision" 2 "fp64, fp32, tf32, fp16, bf16, fp8, int8, nvfp4" "$graph" --arch b200 --precision fp12
refuses "a precision without rate" 1 "can be fp32, fp16, nvfp4" "$graph" --arch "$arch" --precision int8
refuses "a precision that a CPU's model lacks" 1 "--precision can be fp64" "$graph" --arch "$model" --precision fp16
refuses "roofs of an architecture" 1 "--isa and --threads choose among the roofs" "$graph" --arch b200 --threads 2
refuses "two instruction sets" 2 "take one value here" "$graph" --arch "$model" --isa avx2,sse
refuses "an instruction set that the model lacks" 1 "" "$graph" --arch "$model" --isa mmx
refuses "an unknown figure" 1 "DRAM_byte_per_cycle" "$graph" --arch b200 --set DRAM=3
refuses "a figure out of range" 1 "DRAM_byte_per_cycle" "$graph" --arch b200 --set DRAM_byte_per_cycle=2e12
for bad in DRAM_byte_per_cycle =3 freq_GHz= 'freq_GHz=2,,' freq_GHz=nan freq_GHz=2x freq_GHz:2; do
    refuses "--set $bad" 1 "--set takes figures" "$graph" --arch b200 --set "$bad"
done
for bad in freq_GHz freq_GHz=1 freq_GHz=1:2:1 freq_GHz=1:2:2.5 freq_GHz=1:2:99999 freq_GHz=1:2:3:lin freq_GHz=1:2: freq_GHz=a:b; do
    refuses "--sweep $bad" 2 "--sweep takes a figure" "$graph" --arch b200 --sweep "$bad"
done
refuses "a sweep of ratios from nothing" 2 "needs ends above zero" "$graph" --arch b200 --sweep SRAM_capacity=0:9:3:log
refuses "an unknown figure to sweep" 1 "DRAM_byte_per_cycle" "$graph" --arch b200 --sweep speed=1:2
refuses "--csv without --sweep" 2 "--csv needs --sweep" "$graph" --arch b200 --csv "$tmp/x.csv"
refuses "two outputs on standard output" 2 "choose one" "$graph" --arch b200 --json -o -
refuses "two sweeps on standard output" 2 "choose one" "$graph" --arch b200 --json --sweep freq_GHz=1:2
refuses "points on standard output" 2 "--points takes a file" "$graph" --arch b200 --points -
refuses "a table beside JSON" 2 "--json has all layers" "$graph" --arch b200 --json --layers
refuses "a table of nothing" 2 "--layers=20" "$graph" --arch b200 --layers=0
refuses "a table of words" 2 "--layers=20" "$graph" --arch b200 --layers=few
refuses "another kind of picture" 2 ".svg, .png or .pdf" "$graph" --arch b200 --plot sol.gif
refuses "standard input twice" 2 "read once only" - --arch -
refuses "an output that cannot be" 1 "$tmp/err/x" "$graph" --arch b200 -o "$tmp/err/x"
refuses "an empty file" 1 "$tmp/empty.yaml" "$tmp/empty.yaml" --arch b200 2>/dev/null
refuses "totals in a table" 1 "only totals" worked-example --arch b200 --layers
printf 'model_name: x\nlayers: {a: {type: add}}\n' >"$tmp/short.yaml"
refuses "a layer without its keys" 1 "$tmp/short.yaml, line 2" "$tmp/short.yaml" --arch b200
printf 'total: {macs: -1}\n' >"$tmp/negative.yaml"
refuses "negative totals" 1 "$tmp/negative.yaml, line 1" "$tmp/negative.yaml" --arch b200
awk 'BEGIN { print "a0: &a0 [x, x, x, x]"
    for (i = 1; i < 30; i++) printf "a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1 }' >"$tmp/bomb.yaml"
refuses "a bomb of aliases" 1 "the aliases so far stand for more than" "$tmp/bomb.yaml" --arch b200
refuses "zeros without end" 1 "/dev/zero, line 1: not UTF-8 text" /dev/zero --arch b200
# endless WORDS: what yes makes of them, from a pipe, is refused long before the limit of 2 GiB
endless() {
    yes -- "$1" 2>/dev/null | { timeout 600 "$carm" sol - --arch b200 >"$tmp/out" 2>"$tmp/err"; }
    [ $? -eq 1 ] && [ ! -s "$tmp/out" ] && grep -qF "standard input, line $2" "$tmp/err"
    ok "refuses \"$1\" without end"
}
endless y '2097152: more than 4 MiB without a value'
endless '- a' '1: not an einsum graph'
endless '# a' '1048576: more than 4 MiB without a value'
printf '{"schema": "carm-model/1"}' >"$tmp/bad.json"
refuses "a model that is none" 1 "$tmp/bad.json" "$graph" --arch "$tmp/bad.json"

# a run that fails leaves the old file whole
echo old >"$tmp/keep.csv" && ! run "$graph" --arch "$arch" --sweep freq_GHz=1:1000:4 --csv "$tmp/keep.csv" &&
    [ "$(cat "$tmp/keep.csv")" = old ] && [ "$(find "$tmp" -maxdepth 1 -name 'keep.csv?*' -o -maxdepth 1 -name '.keep*' | wc -l)" -eq 0 ]
ok "a sweep out of range leaves its old file whole"

finish
