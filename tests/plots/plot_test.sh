#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm plot: models and points in one picture, its options, what it draws read back from the SVG, and
# strings that are no names. Prints TAP. CARM = the program.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
model=$top/tests/data/sample-model.json
checker=$top/tests/plots/svg.py
header=name,flops,bytes,seconds,dram_bytes,threads,isa,precision,host

# points N NAME: N points of a generator that always gives the same ones, below the sample's roofs
points() {
    echo "$header"
    awk -v n="$1" -v name="$2" 'BEGIN {
        for (s = i = 1; i <= n; i++) {
            s = (s * 16807) % 2147483647; a = s / 2147483647
            s = (s * 16807) % 2147483647; b = s / 2147483647
            ai = exp((a * 8 - 4) * log(2)); top = 1.2e12 * ai; if (top > 2e11) top = 2e11
            printf "%s %d,1e9,%.9g,%.9g,%.9g,2,avx512,dp,%s\n", name, i, 1e9 / ai,
                1e9 / (top * exp(-b * 3)), 0.3e9 / ai, i % 2 ? "sample" : "other.example"
        }
    }'
}

sed 's/"hostname": "sample"/"hostname": "other"/' "$model" >"$tmp/other.json"
points 1 dgemm >"$tmp/p1.csv"
points 20 loop >"$tmp/p20.csv"
points 500 loop >"$tmp/p500.csv"
points 9 'void stencil::apply_boundary<double, std::vector<double, std::allocator<double>>>(long, int)' |
    sed 's/^\(.*(long\), \(int) [0-9]*\)/"\1, \2"/' >"$tmp/long.csv"
{
    echo "$header"
    echo 'tiny,1,1e9,1,1e9,2,avx512,dp,'
    echo 'huge,1e12,1e3,8,1e3,2,avx512,dp,'
    echo 'middle,1e9,1e9,0.1,1e9,2,avx512,dp,'
} >"$tmp/extreme.csv"
{
    echo "$header,flops_low,flops_high,bytes_low,bytes_high,metric,operations"
    echo 'kernel,1e9,1e9,0.02,1e9,2,avx512,dp,,0.5e9,2e9,0.8e9,1.2e9,,'
    echo 'fft,,1e9,0.02,1e9,2,avx512,dp,,,,,,exchange,1e9'
    echo 'count me,1e9,,0.02,,2,avx512,dp,,,,,,,'
} >"$tmp/rows.csv"
{
    echo "$header"
    i=0
    for step in basic transposed L3 L2 L1; do
        i=$((i + 1))
        echo "gemm-512-$i-$step,1e9,$((9 - i))e8,$((100 >> i))e-3,$((9 - i))e8,2,avx512,dp,"
    done
    echo 'gemm-512-6-BLIS,1e9,1e8,1e-3,2e8,2,avx512,dp,'
    echo 'gemm-512-v-1-2-3,1e9,5e8,0.02,5e8,2,avx512,dp,'
} >"$tmp/gemm.csv"

{
    echo 'name,flops,bytes,seconds,dram_bytes,threads,isa,precision,l2_bytes,l3_bytes'
    echo 'sweep,1e9,8e9,0.2,2.4e9,2,avx512,dp,4e9,3e9'
    echo 'blocked,1e10,2e10,0.2,1e8,2,avx512,dp,1e9,5e8'
    echo 'no level,1e9,2e9,0.2,1e9,2,avx512,dp,,'
} >"$tmp/levels.csv"

# ---- what it does not take

refuses "a size without a height" 2 "--size 1200x800" plot "$model" --size 1200 -o "$tmp/p.svg"
refuses "a size beyond its bounds" 2 "from 240 to 10000" plot "$model" --size 100000x800 -o "$tmp/p.svg"
refuses "a negative size" 2 "--size 1200x800" plot "$model" --size=-800x800 -o "$tmp/p.svg"
refuses "a picture too small for its letters" 1 "--font" \
    plot "$model" --size 240x240 --font Sans,30 -o "$tmp/p.svg"
refuses "a font with a quote" 2 "letters, digits" plot "$model" --font 'a"b' -o "$tmp/p.svg"
refuses "a font with markup" 2 "letters, digits" plot "$model" --font '<b>,12' -o "$tmp/p.svg"
refuses "a font with a backtick" 2 "letters, digits" plot "$model" --font "\`id\`" -o "$tmp/p.svg"
refuses "a font with a line end" 2 "letters, digits" plot "$model" --font 'a
b' -o "$tmp/p.svg"
refuses "a font of no size" 2 "from 4 to 96" plot "$model" --font 'Sans,x' -o "$tmp/p.svg"
refuses "a font of size nan" 2 "from 4 to 96" plot "$model" --font 'Sans,nan' -o "$tmp/p.svg"
refuses "an unknown theme" 2 "light, dark or print" plot "$model" --theme blue -o "$tmp/p.svg"
refuses "an unknown model" 2 "cache-aware, original, both or hierarchical" plot "$model" --model dram -o "$tmp/p.svg"
refuses "levels of a study" 2 "--model hierarchical is for --kind roofline and all" \
    plot "$model" "$tmp/gemm.csv" --kind gemm --model hierarchical -o "$tmp/p.svg"
refuses "a model of curves" 2 "--kind roofline" plot "$model" --kind curve --model both -o "$tmp/p.svg"
refuses "several models' curves" 2 "--kind roofline" \
    plot "$model" "$tmp/other.json" --kind curve -o "$tmp/p.svg"
refuses "points over curves" 2 "--kind roofline" plot "$model" "$tmp/p1.csv" --kind flops -o "$tmp/p.svg"
refuses "a file twice" 2 "named twice" plot "$model" "$tmp/p1.csv" "$tmp/p1.csv" -o "$tmp/p.svg"
refuses "arrows of one file" 2 "--arrows needs two files" plot "$model" "$tmp/p1.csv" --arrows -o "$tmp/p.svg"
sed 's/^loop 7,/loop none,/; s/,1e9,/,2e9,/' "$tmp/p20.csv" >"$tmp/after.csv"
run plot "$model" "$tmp/p20.csv" "$tmp/after.csv" --arrows --script && grep -q '^arrows = 19$' "$tmp/out" &&
    run plot "$model" "$tmp/p20.csv" "$tmp/after.csv" --script && grep -q '^arrows = 0$' "$tmp/out"
ok "an arrow for each name that both files have"
refuses "--kind gemm without points" 2 "carm study gemm" plot "$model" --kind gemm -o "$tmp/p.svg"
refuses "neither picture nor script" 2 "-o roofline.svg" plot "$model" "$tmp/p1.csv"
refuses "a script for a picture's name" 2 "FILE.gp" plot "$model" --script="$tmp/p.svg"
refuses "a file that is not there" 1 "no-such.csv" plot "$model" "$tmp/no-such.csv" -o "$tmp/p.svg"
printf '%s\n' "$header" 'a,,,,,,,,' >"$tmp/none.csv"
run plot "$model" "$tmp/none.csv" -o "$tmp/p.svg"
[ $? -eq 1 ] && grep -q 'no point of .*none.csv' "$tmp/err" && [ ! -e "$tmp/p.svg" ]
ok "refuses points of which none has a place"

# ---- scripts

run plot "$model" "$tmp/rows.csv" --script && grep -q '"kernel"' "$tmp/out" &&
    grep -q 'rows.csv: 1 row left out: it counts another metric than flops' "$tmp/err" &&
    [ "$(wc -l <"$tmp/err")" -eq 2 ] && ! grep -q '"fft"\|"count me"' "$tmp/out"
ok "rows without a place are left out and counted"
grep -q '^bars = 2$' "$tmp/out"
ok "what is uncertain of a point has bars"
run plot "$model" "$tmp/p1.csv" --script --threads 1 && grep -q '1 thread"\|1 thread,' "$tmp/out"
ok "--threads chooses the roofs"
run plot "$model" --script --threads 3 && grep -q '2 threads' "$tmp/out" &&
    grep -q 'note: the model has no roofs for 3 threads, so those for 2 are drawn (carm build --threads 3 measures them)' "$tmp/err"
ok "a number of threads that was not measured: the nearest, and it says so"
run plot "$model" --script --isa avx512 --title 'My machine' && grep -qx '|My machine' "$tmp/out"
ok "--title"
run plot "$top/data/machines/zen3-kvm.json" --kind flops --script &&
    [ "$(grep '^set ytics' "$tmp/out" | grep -o '" ' | wc -l)" -ge 3 ]
ok "an axis of less than a decade has more than one number"
python3 - "$model" "$top/tests/data/latency-model.json" >"$tmp/latency.json" <<'PY'
import json, sys
model, latency = (json.load(open(p)) for p in sys.argv[1:])
json.dump({**model, "latency_curves": latency["latency_curves"], "loaded": latency["loaded"],
           "core_to_core": [{"from": a, "to": b, "seconds": s, "ci95": [s, s], "disturbed": s > 9e-8}
                            for a, b, s in ((0, 2, 3e-8), (0, 5, 1e-7), (2, 5, 5e-8))]}, sys.stdout)
PY
run plot "$tmp/latency.json" --kind latency --script && grep -q 'latency, ns"' "$tmp/out" &&
    grep -qx '|pages, 4 KiB pages' "$tmp/out" && grep -q '^4096 1 1 1 0$' "$tmp/out"
ok "latency over working set"
run plot "$tmp/latency.json" --kind loaded --script && grep -q 'latency_over = "bandwidth of all threads, GB/s"' "$tmp/out" &&
    grep -qx '|1:0, 2 threads' "$tmp/out" && grep -q '^10 100 100 100 0$' "$tmp/out"
ok "latency beside streams"
# shellcheck disable=SC2016 # names of gnuplot's data
run plot "$tmp/latency.json" --kind core-to-core --script && grep -qx 'set xtics ("0" 0, "2" 1, "5" 2)' "$tmp/out" &&
    sed -n '/^\$cells/,/^CARM_END/p' "$tmp/out" | grep -qx '1 0 30' && grep -qx 'heat_high = 100' "$tmp/out" &&
    sed -n '/^\$marks/,/^CARM_END/p' "$tmp/out" | grep -c '100$' | grep -qx 2
ok "a line from core to core"
refuses "times from core to core that were not measured" 1 "two cores" plot "$model" --kind core-to-core -o "$tmp/p.svg"
refuses "latencies that were not measured" 1 "carm build" plot "$model" --kind latency -o "$tmp/p.svg"
mkdir "$tmp/folder"
awk '/"precision": "dp"/ && ++n == 2 { sub("dp", "int8") } 1' "$model" >"$tmp/int8.json"
run plot "$tmp/int8.json" --precision int8 --script && grep -q '^|performance, Gop/s' "$tmp/out" &&
    grep -q 'intensity, op/byte' "$tmp/out" && grep -q 'int8' "$tmp/out" && ! grep -q '^|.*flop' "$tmp/out"
ok "--precision int8: its roofs, in Gop/s"
run plot "$tmp/int8.json" --script && grep -q 'performance, Gflop/s' "$tmp/out"
ok "... and without it those of dp"
refuses "a precision that the model lacks" 1 "no bf16 roofs match" plot "$model" --precision bf16 --script
run plot "$model" --kind curve --script="$tmp/folder" && [ ! -s "$tmp/out" ] &&
    grep -q 'set multiplot' "$tmp/folder/curve.gp"
ok "--script=FOLDER/ writes a file named after the kind"
run plot "$model" "$tmp/p20.csv" --script="$tmp/s.gp" && run plot "$model" "$tmp/p20.csv" --script &&
    cmp -s "$tmp/s.gp" "$tmp/out"
ok "--script=FILE writes the same script as standard output gets"

run plot opteron-x2 opteron-x4 --overlay --script && grep -q '^line_dashes = "1 2 1 2"$' "$tmp/out" &&
    grep -qx '|operational intensity of memory traffic, flop/byte' "$tmp/out"
ok "roofs on each other differ by their dashes"

if ! command -v gnuplot >/dev/null; then
    skip "what is drawn" "no gnuplot"
    finish
fi
run plot "$model" "$tmp/p20.csv" --script="$tmp/s.gp" -o "$tmp/a.svg" &&
    (cd "$tmp" && gnuplot -d s.gp >b.svg 2>err) && cmp -s "$tmp/a.svg" "$tmp/b.svg"
ok "gnuplot draws the script to the same picture"
(cd "$tmp" && gnuplot -d -e 'format="pdf"; theme="dark"' s.gp >b.pdf 2>err) &&
    [ "$(head -c 4 "$tmp/b.pdf")" = %PDF ]
ok "... and in another format and theme"
run plot "$model" --size 800x600 -o "$tmp/p.png" && [ ! -s "$tmp/err" ] &&
    [ "$(od -An -tx1 -j16 -N8 "$tmp/p.png" | tr -d ' \n')" = 0000032000000258 ]
ok "--size is the PNG's in pixels"
run plot "$model" --size 700x500 --font 'DejaVu Serif,15' -o "$tmp/p.svg" &&
    grep -q 'width="700" height="500"' "$tmp/p.svg" && grep -q 'font-family="DejaVu Serif"' "$tmp/p.svg" &&
    grep -q 'font-size="15.00"' "$tmp/p.svg" && ! grep -q 'font-size="12.00"' "$tmp/p.svg"
ok "--size and --font are the SVG's"
for theme in light dark print; do
    for kind in roofline curve all; do
        run plot "$model" --kind $kind --theme $theme -o "$tmp/$theme.svg" && [ ! -s "$tmp/err" ] &&
            grep -q '</svg>' "$tmp/$theme.svg"
        ok "--kind $kind --theme $theme"
    done
    run plot "$top/tests/data/validation-model.json" --kind validation --theme $theme -o "$tmp/v.svg" &&
        [ ! -s "$tmp/err" ] && grep -q '</svg>' "$tmp/v.svg"
    ok "--kind validation --theme $theme"
done
run plot "$model" "$tmp/p20.csv" --theme print -o "$tmp/grey.svg" &&
    grep -o "<path stroke='rgb([^)]*)\|fill=.rgb([^)]*)\|color='rgb([^)]*)" "$tmp/grey.svg" |
    tr -cd '0-9,\n' | awk -F, 'END { exit NR < 50 } $1 != $2 || $2 != $3 { exit 1 }'
ok "print is grey"

if ! command -v python3 >/dev/null; then
    skip "the SVG read back" "no python3"
    finish
fi

# reads ARGUMENTS...: the checker finds what was drawn into $tmp/p.svg to be as it should
reads() {
    python3 "$checker" "$tmp/p.svg" "$@" >"$tmp/out" 2>"$tmp/err"
}

# ---- the picture against its model

# a machine of three times the sample's rates
python3 - "$model" "$tmp/other.json" <<'END' >"$tmp/out" 2>"$tmp/err"
import json, sys
def scale(x, by):
    if isinstance(x, dict):
        return {k: [v * by for v in x[k]] if k == "ci95" else
                x[k] * by if k in ("bandwidth", "rate", "performance", "p5", "p95", "min", "max") else
                scale(x[k], by) for k in x}
    return [scale(v, by) for v in x] if isinstance(x, list) else x
m = scale(json.load(open(sys.argv[1])), 3)
m["machine"]["hostname"] = "other"
json.dump(m, open(sys.argv[2], "w"))
END

run plot "$model" -o "$tmp/p.svg" && reads "$model" --text
ok "roofs lie where the model has them"
cp "$tmp/p.svg" "$tmp/good.svg"
sed '/path stroke/s/ L\([0-9.]*\),100\./ L\1,103./' "$tmp/good.svg" >"$tmp/p.svg" &&
    ! cmp -s "$tmp/p.svg" "$tmp/good.svg" && ! reads "$model" && grep -q 'drawn at' "$tmp/out"
ok "the checker sees a roof 3 pixels off"
awk '/path stroke=.rgb\(204, 121, 167\)/ { next } 1' "$tmp/good.svg" >"$tmp/p.svg"
! cmp -s "$tmp/p.svg" "$tmp/good.svg" && ! reads "$model" && grep -q 'is not drawn\|not ' "$tmp/out"
ok "... one that lacks"
sed 's/>div 6.91 Gflop/>div 6.91 Gflop and a name that is much longer than it was laid out for, by far too long for its place at the right/; s/text-anchor="end"/text-anchor="start"/' \
    "$tmp/good.svg" >"$tmp/p.svg"
! reads "$model" --text && grep -q 'leaves the picture' "$tmp/out"
ok "... and a text that leaves the picture"
run plot "$model" -o "$tmp/p.svg" --model original && reads "$model" --original --text
ok "the original model's roofs"
# two memory domains with cores, one of them slower, a memory-only one that was not measured, and far memory
python3 - "$model" "$tmp/domains.json" "$tmp/other-domains.json" <<'END' >"$tmp/out" 2>"$tmp/err"
import json, sys
m = json.load(open(sys.argv[1]))
dram = max(r["dram_peak"]["bandwidth"] for r in m["roofs"])
def pair(a, b, share, note=""):
    return {"from": a, "to": b, "threads": 1, "bandwidth": share * dram, "bandwidth_ci95": [share * dram, share * dram],
            "code": "update", "working_set_bytes": 1 << 30, "seconds": 0, "seconds_ci95": [0, 0], "page_bytes": 0,
            "disturbed": a == b == 1, "note": note}
m["numa_nodes"] = [{"node": i, "cores": 1 - i // 2, "memory_bytes": 1 << 34, "kind": ""} for i in range(3)]
m["numa"] = [pair(0, 0, 0.5), pair(0, 1, 0.2), pair(0, 2, 0.0, "no room"), pair(1, 1, 0.3), pair(-1, -1, 0.7)]
json.dump(m, open(sys.argv[2], "w"))
m["numa"][3]["bandwidth"] *= 1.1
json.dump(m, open(sys.argv[3], "w"))
END
run plot "$tmp/domains.json" -o "$tmp/p.svg" --model original && reads "$tmp/domains.json" --original --text &&
    grep -q '>numa:0 memory ' "$tmp/p.svg" && grep -q '>numa:1 memory (disturbed) ' "$tmp/p.svg" &&
    ! grep -q '>numa:0 to\|>numa:2\|>interleaved' "$tmp/p.svg"
ok "a slope of DRAM for the own memory of each domain"
! reads "$model" --original && grep -q 'a line that no roof has' "$tmp/out" &&
    ! reads "$tmp/other-domains.json" --original && grep -q 'slope .* drawn at' "$tmp/out"
ok "... which the checker misses elsewhere"
run plot "$tmp/domains.json" -o "$tmp/p.svg" && reads "$tmp/domains.json" --text &&
    run plot "$tmp/domains.json" "$tmp/other.json" --model original -o "$tmp/p.svg" &&
    reads "$tmp/domains.json" "$tmp/other.json" --original && ! grep -q '>numa:' "$tmp/p.svg"
ok "... none on the cache-aware model, nor beside another machine"
for many in 1 20 500; do
    run plot "$model" "$tmp/p$many.csv" --model both -o "$tmp/p.svg" &&
        reads "$model" --points "$tmp/p$many.csv" --text &&
        reads "$model" --points "$tmp/p$many.csv" --panel 2 --original
    ok "roofs and $many points on both models"
done
head -n 3 "$tmp/levels.csv" >"$tmp/two.csv"
run plot "$model" "$tmp/levels.csv" --model hierarchical -o "$tmp/p.svg" &&
    grep -q '1 point is not in the hierarchical view.*carm run --levels' "$tmp/err" &&
    reads "$model" --levels --points "$tmp/two.csv" --text && grep -q '>sweep: DRAM<' "$tmp/p.svg"
ok "a point for each level, with the one that binds"
! reads "$model" --points "$tmp/two.csv" && run plot "$model" "$tmp/two.csv" -o "$tmp/p.svg" &&
    ! reads "$model" --levels --points "$tmp/two.csv"
ok "... which the checker tells from the cache-aware view"
! reads "$model" --points "$tmp/p20.csv" && grep -q 'point loop' "$tmp/out" ||
    ! reads "$model" --points "$tmp/extreme.csv"
ok "the checker sees points that are not drawn"
for name in long extreme; do
    run plot "$model" "$tmp/$name.csv" -o "$tmp/p.svg" &&
        reads "$model" --points "$tmp/$name.csv" --text
    ok "points of $name.csv"
done
run plot "$model" "$tmp/p20.csv" "$tmp/extreme.csv" --size 640x480 --font ,9 -o "$tmp/p.svg" &&
    reads "$model" --text && grep -q '>p20.csv: 20 points<\|>1 loop 1<' "$tmp/p.svg"
ok "two files in a small picture"
run plot "$model" "$tmp/other.json" "$tmp/p20.csv" -o "$tmp/p.svg" &&
    reads "$model" "$tmp/other.json" --points "$tmp/p20.csv" --text &&
    grep -q '>Rooflines of sample and other<' "$tmp/p.svg"
ok "two machines with points of both"
run plot "$model" "$tmp/gemm.csv" --kind gemm -o "$tmp/p.svg" &&
    reads "$model" --points "$tmp/gemm.csv" --arrows 5 --text &&
    reads "$model" --points "$tmp/gemm.csv" --arrows 5 --panel 2 --original
ok "--kind gemm has its path on both models"

# ---- strings that are no names

# What would end a field, a data block or a string, run a command, be markup or a format, or turn the
# line around, in every place.
python3 - "$model" "$tmp" <<'END' >"$tmp/out" 2>"$tmp/err"
import csv, json, sys
model, tmp = sys.argv[1:]
def bad(place):
    return (f"{place}<b>&amp;\"'\\`touch {tmp}/ran-{place}-tick`$(touch {tmp}/ran-{place}-shell)%s%n\n"
            f"CARM_END\nsystem(\"touch {tmp}/ran-{place}-line\")\n!touch {tmp}/ran-{place}-bang\n"
            "@x{/Symbol a}\u202etxt")
with open(model) as f:
    m = json.load(f)
m["machine"]["hostname"] = bad("host")
m["machine"]["cpu"] = bad("cpu")
m["roofs"][-1]["compute"][1]["op"] = "o\"p<b>`touch ran-op`"
with open(tmp + "/bad.json", "w") as f:
    json.dump(m, f)
with open(tmp + "/bad`touch ran-file`\"<b>%s.csv", "w", newline="") as f:
    w = csv.writer(f)
    w.writerow("name flops bytes seconds dram_bytes threads isa precision host".split())
    for i in range(3):
        w.writerow([bad(f"point{i}"), 1e9, 1e9 / 2 ** i, 0.05, 1e9, 2, "avx512", "dp", ""])
with open(tmp + "/title", "w", newline="") as f:
    f.write(bad("title"))
END
bad_points="$tmp/bad\`touch ran-file\`\"<b>%s.csv"
no_command_ran() {
    [ "$(find "$tmp" . -maxdepth 1 -name 'ran-*' | wc -l)" -eq 0 ]
}
# shellcheck disable=SC2016 # the backtick is of the name that is looked for
for kind in roofline gemm all; do
    run plot "$tmp/bad.json" "$bad_points" --kind $kind --model both --title "$(cat "$tmp/title")" -o "$tmp/p.svg" &&
        no_command_ran && python3 -c 'import sys, xml.dom.minidom as d
text = "".join(t.firstChild.data for t in d.parse(sys.argv[1]).getElementsByTagName("text") if t.firstChild)
wanted = ["title<b>&amp;", "o\x27p<b>`touch ran-op` "]
wanted += ["point0<b>&amp;\x27\x27/`touch"] if sys.argv[2] == "roofline" else []
print([w for w in wanted if w not in text])
sys.exit(not all(w in text for w in wanted) or "\u202e" in text)' "$tmp/p.svg" $kind >"$tmp/out" 2>"$tmp/err"
    ok "hostile names are text: --kind $kind"
done
run plot "$tmp/bad.json" "$bad_points" "$model" "$tmp/p20.csv" -o "$tmp/p.svg" && no_command_ran &&
    python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$tmp/p.svg" 2>"$tmp/err" &&
    reads --text
ok "... of two machines, in the legend, too"
for format in png pdf; do
    run plot "$tmp/bad.json" "$bad_points" --kind all -o "$tmp/p.$format" && no_command_ran
    ok "... in a $format"
done
head -c 4000 /dev/urandom | tr -d '\0' >"$tmp/noise.csv"
run plot "$model" "$tmp/noise.csv" -o "$tmp/noise.svg"
[ $? -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && ! LC_ALL=C grep -q '[^ -~]' "$tmp/err" &&
    [ ! -e "$tmp/noise.svg" ]
ok "a file of noise is refused in plain words"
# The same names without the escaping of carm_plot_put_line and carm_plot_put_text.
run plot "$tmp/bad.json" "$bad_points" --script="$tmp/escaped.gp" &&
    python3 - "$tmp" <<'END' 2>"$tmp/err" && (cd "$tmp" && gnuplot -d raw.gp >raw.svg 2>gnuplot.err)
import json, re, sys
tmp = sys.argv[1]
script = open(tmp + "/escaped.gp").read()
host = json.load(open(tmp + "/bad.json"))["machine"]["hostname"]
raw = re.sub(r"(?m)^\|host<b>.*$", lambda m: "|" + host, script)
assert raw != script
open(tmp + "/raw.gp", "w").write(raw)
END
! no_command_ran
ok "unescaped ones would have run a command"
finish
