#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm compare on tests/data/sample-model.json and altered copies of it. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the golden files are rewritten.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
data=$top/tests/data
unset NO_COLOR XDG_DATA_HOME
cd "$tmp" || exit 1 # so that names of files are short and the same everywhere

# exits CODE ARGUMENTS...: that exit status
exits() {
    want=$1
    shift
    run "$@"
    [ $? -eq "$want" ]
}

# scale N ISA-SET LEVEL MIX FACTOR: the Nth set's roof of that level and mix, with its interval, times
# the factor. Reads and writes a model with one member a line.
scale() {
    awk -v set="$1" -v level="$2" -v mix="$3" -v by="$4" '
        /"isa":/ { n++ }
        /"level":/ { on_level = n == set && index($0, "\"" level "\"") }
        /"ldst":/ { on = on_level && index($0, "\"" mix "\"") }
        /"spread"/ { on = 0; ci = 0 }
        on && /"bandwidth":/ { match($0, /[0-9.]+/); $0 = sprintf("     \"bandwidth\": %.1f,", by * substr($0, RSTART, RLENGTH)) }
        on && /"ci95"/ { ci = 1; print; next }
        on && ci && /[0-9]/ { comma = /,/ ? "," : ""; match($0, /[0-9.]+/); $0 = sprintf("      %.1f%s", by * substr($0, RSTART, RLENGTH), comma) }
        { print }'
}

a=$data/sample-model.json
cp "$a" a.json
# the same machine a month later: L3 12% slower with one thread, L2 3% (less than it moves), memory of
# two threads 20%, the disturbed roof halved; more memory, a knee that moved
scale 1 L3 2:1 0.88 <a.json | scale 1 L2 2:1 0.97 | scale 2 DRAM update 0.8 | scale 2 DRAM 0:1 0.5 |
    sed 's/"created": "2025-06/"created": "2025-07/; s/17179869184/34359738368/; s/109051904/54525952/' >b.json
# one more, of another machine: a faster L1, no div, no set of two threads
scale 1 L1 2:1 1.5 <a.json | sed 's/"hostname": "sample"/"hostname": "other"/; s/"op": "div"/"op": "sqrt"/' |
    awk '/"threads": 2,/ && ++n == 2 { sub(/2/, "3") } 1' >c.json

golden compare.txt compare a.json b.json
golden compare-three.txt compare --verbose --ascii a.json b.json c.json
golden compare.csv compare --threads 1 --csv - a.json b.json

# ---- the same twice

run compare --threshold 0 --noise 0 a.json a.json && grep -q '^No significant difference in 53 roofs' out && [ ! -s err ]
ok "a model does not differ from itself"

sed 's/"disturbed": false/"disturbed": true/; s/"dram_peak"/"no_peak"/' a.json >marked.json
run compare marked.json a.json && grep -q '^Nothing to judge: all [0-9]* roofs were disturbed' out && ! grep -q '^No significant' out
ok "disturbed roofs alone are no agreement"

XDG_DATA_HOME=$tmp/data && export XDG_DATA_HOME && mkdir -p data/carm &&
    here=$("$carm" compare a.json 2>&1 >/dev/null) && false
case $here in *"no model to compare with: run \`carm build\`"*) true ;; *) false ;; esac
ok "one model alone needs this machine's"

cp b.json "data/carm/$(uname -n | tr '/ ' '__').json" && run compare a.json &&
    tail -n +4 out >alone && run compare a.json b.json && tail -n +4 out | cmp -s alone -
ok "one model alone is compared with this machine's"
unset XDG_DATA_HOME

# ---- models from rounds: equal ones in each roof that is measured; the ceilings have none

rounds() {
    awk '
        /"(memory|compute)": *\[/ { on = 1 }
        /"(ceilings|curves)": *\[|"dram_peak"/ { on = 0 }
        on && /"(bandwidth|rate)":/ { match($0, /[0-9.]+/); rate = substr($0, RSTART, RLENGTH) }
        on && /"note":/ {
            printf "\"rounds\": ["
            for (i = 0; i < 4; i++)
                printf "%s{\"rate\": %s, \"clock_hz\": 3e9, \"at\": %d, \"state\": \"quiet\"}", i ? ", " : "", rate, i
            printf "],\n"
        }
        { print }'
}
rounds <a.json >ra.json && rounds <b.json >rb.json
run compare ra.json rb.json && grep -q 'is made from the rounds of both' out &&
    grep -q 'Where a model has no rounds, a difference is' out && grep -q '^  L2 2:1 .*\* significant' out
ok "rounds: L2 3% lower in a virtual machine is significant"
exits 0 compare --verbose ra.json b.json && ! grep -q 'rounds of both' out && grep -q '^  L2 2:1 .*within noise' out
ok "rounds of one model alone are not used"
exits 0 compare --verbose --noise 4 ra.json rb.json && ! grep -q 'rounds' out && grep -q '^  L2 2:1 .*within noise' out
ok "--noise takes the place of rounds"

# ---- exit status

exits 0 compare a.json b.json
ok "exits 0 whatever differs"
exits 1 compare --threshold 5 a.json b.json && [ "$(wc -l <err)" -eq 1 ] && grep -qF \
    'carm: more than 5% below the baseline: L3 2:1 of avx512 dp, 1 thread, -12.0% in b.json' err
ok "--threshold 5 trips and says what"
exits 0 compare --threshold 12.5 a.json b.json && [ ! -s err ]
ok "--threshold 12.5 does not"
exits 0 compare --threshold 5 b.json a.json
ok "--threshold passes what is higher"
exits 0 compare --threshold 5 --threads 2 a.json b.json
ok "--threshold passes what is not significant or disturbed"
exits 1 compare --threshold 5 --noise 5 --threads 2 a.json b.json && grep -qF 'DRAM update' err
ok "--noise replaces the floor"
exits 0 compare --threshold 5 --noise 13 --threads 1 a.json b.json
ok "--noise 13 hides 12%"
sed 's/"precision": "dp"/"precision": "sp"/' a.json >d.json && exits 0 compare a.json d.json &&
    grep -q '^Nothing can be compared' out && exits 1 compare --threshold 5 a.json d.json &&
    grep -q 'has nothing to compare' err
ok "what shares no set passes no --threshold"

awk '/"dram_peak"/ { peak = 1 } # which is that of a disturbed roof, too
    peak && /"bandwidth"/ { sub(/[0-9.]+/, rate) } peak && /"code"/ { sub(/"d-[^"]*"/, code); peak = 0 }
    /"disturbed": false/ { sub(/false/, "true") }
    /"level":/ { memory = 1 } /"op":/ { memory = 0 }
    memory && /"bandwidth"/ { match($0, /[0-9.]+/); rate = substr($0, RSTART, RLENGTH) }
    memory && /"code"/ { code = $2; sub(/,/, "", code) } 1' a.json >restless.json && exits 3 compare --threshold 5 a.json restless.json &&
    [ "$(wc -l <err)" -eq 1 ] && grep -q 'roofs that the models share were disturbed.*build --fresh' err &&
    exits 0 compare a.json restless.json
ok "a machine that was disturbed throughout has an exit status of its own"

# ---- the clock: 4% lower, and with it everything but memory

awk '/"clock_hz":/ { match($0, /[0-9.]+/); sub(/[0-9.]+/, sprintf("%.1f", 0.96 * substr($0, RSTART, RLENGTH))) } 1' \
    a.json | scale 1 L1 2:1 0.96 >slow.json
run compare --threads 1 a.json slow.json && grep -q 'L1 2:1 .* -4\.0% .* 0\.0%  \* the same per cycle' out &&
    grep -q '^B is slower: L1 -4%, all by its clock (-4%)[.]$' out && ! grep -q 'equal$\|within noise$' out &&
    tr '\n' ' ' <out | grep -q '1 by the core clock alone' && run compare zen3-kvm zen4-kvm &&
    tr '\n' ' ' <out | grep -q ' B is faster: L3 .*, mostly its clock (+14%)'
ok "a lower clock is told from a slower machine"
exits 1 compare --threshold 3 a.json slow.json && grep -qF 'L1 2:1 of avx512 dp, 1 thread, -4.0% by the core clock in' err &&
    exits 0 compare --threshold 3 --ignore-clock a.json slow.json
ok "--ignore-clock passes a lower clock"

awk '/"threads": 2,/ && ++n == 2 { print; print "   \"handover_seconds\": 4.0e-8,"; next } 1' a.json >near.json
sed 's/4.0e-8/1.7e-7/' near.json >far.json
run compare near.json far.json && tr -s '\n ' ' ' <out | grep -q 'in 40 ns in A and in 170 ns in B' && run compare near.json near.json &&
    ! grep -q 'from thread to thread' out
ok "threads that lie elsewhere are said"

# ---- JSON, CSV, picture

if command -v python3 >/dev/null; then
    exits 1 compare --threshold 5 --json --csv b.csv a.json b.json c.json && python3 - >err 2>&1 <<'END'
import csv, json
o = json.load(open("out"))
assert o["schema"] == "carm-compare/1" and [m["file"] for m in o["models"]] == ["a.json", "b.json", "c.json"]
assert o["noise"] is None and o["threshold"] == 0.05 and o["tripped"] == 1, o["tripped"]
sets = {(s["isa"], s["threads"]): s for s in o["sets"]}
one = {r["name"]: r for r in sets["avx512", 1]["roofs"]}
d = one["L3 2:1"]["differences"]
assert d[0] is None and d[1]["verdict"] == "significant" and d[2]["verdict"] == "equal"
assert abs(d[1]["change"] + 0.12) < 1e-6 and d[1]["noise"] == 0.084
v = one["L3 2:1"]["values"]
half = [v[0]["value"] - v[0]["ci95"][0], v[1]["ci95"][1] - v[1]["value"]]
assert abs(d[1]["error"] - (half[0]**2 + half[1]**2)**0.5 / v[0]["value"]) < 1e-9
assert one["L2 2:1"]["differences"][1]["verdict"] == "equal"
assert one["div"]["values"][2] is None and one["div"]["differences"][2] is None
two = {r["name"]: r for r in sets["avx512", 2]["roofs"]}
assert two["DRAM 0:1"]["differences"][1]["verdict"] == "disturbed"
assert two["DRAM update"]["differences"][1]["verdict"] == "equal"
assert sets["avx512", 2]["models"][2] is None and not sets["avx512", 3]["compared"]
verdicts = [x["verdict"] for s in o["sets"] for r in s["roofs"] for x in r["differences"] if x]
assert [verdicts.count(w) for w in ("significant", "equal", "disturbed")] == [o["significant"], o["equal"], o["disturbed"]]
facts = {f["name"]: f for f in o["machines"]}
assert facts["host"]["values"] == ["sample", "sample", "other"] and not facts["host"]["same"] and facts["CPU"]["same"]
assert {f["name"]: f for f in o["levels"]}["L3 knee"]["values"] == ["104 MiB", "52 MiB", "104 MiB"]
assert [f["fitness"] for f in o["fitness"] if f["level"] == "all"][0][0] > 90
rows = list(csv.DictReader(open("b.csv")))
assert len([r for r in rows if r["verdict"] in ("significant", "equal", "disturbed")]) == len(verdicts)
worst = min((r for r in rows if r["verdict"] == "significant"), key=lambda r: float(r["change_percent"]))
assert worst["name"] == "L3 2:1" and worst["model"] == "b.json", worst
END
    ok "--json and --csv hold the same comparison"
else
    skip "--json and --csv hold the same comparison" "no python3"
fi

run compare --plot p.gp a.json b.json c.json --threads 1 && [ "$(grep -c '^[$]panel << CARM_END' p.gp)" -eq 4 ] &&
    grep -q '"B b 25.6 GB/s"' p.gp && grep -q 'intensity loaded and stored by the core, flop/byte' p.gp &&
    ! grep -q 'of memory traffic' p.gp
ok "--plot writes a script with a panel for each level"
sed 's/"level": "L2"/"level": "L9"/' a.json >no-l2.json
run compare --plot p.gp a.json no-l2.json c.json --threads 1 &&
    [ "$(sed -n 's/^.*"C c [0-9.]* [GT]B\/s".* \([0-9]*\)$/\1/p' p.gp | sort -u | wc -l)" -eq 1 ]
ok "a model keeps its colour in panels that another lacks"
if command -v gnuplot >/dev/null; then
    run compare --plot p.svg a.json b.json && grep -q '<svg' p.svg && grep -q 'A a (sample), B b (sample)' p.svg
    ok "--plot draws"
else
    skip "--plot draws" "no gnuplot"
fi

# ---- names that would steer a terminal or gnuplot

# shellcheck disable=SC2016 # shells and gnuplot are to see it as it is
sed 's/"hostname": "sample"/"hostname": "\\u001b[2J\\u202e`id`\\"$x"/; s/"op": "div"/"op": "d\\u001b[2Jv"/
    s/"level": "L3"/"level": "L\\u001b3"/; s/"isa": "avx512"/"isa": "avx\\u001b"/' a.json >evil.json
esc=$(printf '\033')
run compare --verbose evil.json evil.json && grep -qF 'd?[2Jv' out && ! grep -q "$esc" out &&
    run compare --csv - evil.json evil.json && ! grep -q "$esc" out &&
    run compare --json evil.json evil.json && ! grep -q "$esc" out &&
    run compare --plot e.gp evil.json evil.json && ! grep -q "$esc" e.gp && ! grep -q '"L3' e.gp &&
    exits 1 compare --threshold 5 evil.json e2.json
ok "names of files' text are made safe in every output"
scale 1 "L1" 2:1 0.5 <evil.json >e2.json
exits 1 compare --threshold 5 evil.json e2.json && ! grep -q "$esc" err
ok "and in what --threshold says"

# ---- refusals

refuses "no model" 2 "name a model: carm compare OLD.json" compare
refuses "a model that is not there" 1 "there is no model file none.json" compare a.json none.json
refuses "a file that is no model" 1 "bad.json" compare a.json "$(echo '{' >bad.json; echo bad.json)"
refuses "nine models" 2 "compare takes at most 8 operands" compare 1 2 3 4 5 6 7 8 9
refuses "--threshold x" 2 "--threshold needs a percentage" compare --threshold x a.json b.json
refuses "--threshold -5" 2 "--threshold needs a percentage" compare --threshold=-5 a.json b.json
refuses "--noise 100" 2 "--noise needs a percentage" compare --noise 100 a.json b.json
refuses "--noise 5%" 2 "--noise needs a percentage" compare --noise 5% a.json b.json
refuses "--noise nan" 2 "--noise needs a percentage" compare --noise nan a.json b.json
refuses "--ignore-clock alone" 2 "needs --threshold" compare --ignore-clock a.json b.json
refuses "--json with --csv -" 2 "both go to standard output" compare --json --csv - a.json b.json
refuses "--plot p.jpg" 2 "must end in .svg, .png or .pdf" compare --plot p.jpg a.json b.json
refuses "--isa that the baseline lacks" 1 "no roofs match --isa and --threads; the model has avx512" \
    compare --isa sse a.json b.json
refuses "--threads 0" 2 "--threads needs numbers" compare --threads 0 a.json b.json

exits 1 compare --plot p.svg a.json d.json && grep -q 'needs a compute roof that all models have' err
ok "refuses a picture of models that share no set"

run compare zen3-kvm zen4-kvm && tr -s '\n ' ' ' <out >joined &&
    grep -q 'not in B with avx2, compared under best ISA: L2 update, L3 update' joined &&
    ! grep -q "not in B: L2 update" joined
ok "a roof measured with another ISA is told from one that is not there"

finish
