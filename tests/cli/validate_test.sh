#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm validate: a tiny model is built and validated, its file's arithmetic done again by other means,
# every refusal seen with its place and remedy, and the model found whole after bad luck. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. No test looks at how fast or how good anything is.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
mkdir "$tmp/empty" "$tmp/temp"
XDG_DATA_HOME=$tmp/data TMPDIR=$tmp/temp
export XDG_DATA_HOME TMPDIR
path=$PATH

run() {
    timeout 600 env PATH="$path" "$carm" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# good ARGUMENTS...: carm validate with few repetitions exits 0 and says nothing on standard error.
# The budget is one that a busy machine does not exhaust, so that no point is left out
good() {
    run validate --quick --reps 16 --budget 50 "$@" && [ ! -s "$tmp/err" ]
}

# refuses NAME STATUS PATTERN ARGUMENTS...: that exit status, no output, and one line on standard
# error that matches. So many repetitions that one that measured would not end in time.
refuses() {
    name=$1 status=$2 pattern=$3
    shift 3
    timeout 600 env PATH="$path" "$carm" validate --reps 500000 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ $got -eq "$status" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        grep -qE -- "^carm: $pattern" "$tmp/err"
    ok "refuses $name"
}

# edit CODE: e.json = the model before any validation, changed; m = model, r = its first roofs
edit() {
    python3 - "$tmp/plain.json" "$tmp/e.json" "$1" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
r = m["roofs"][0]
exec(sys.argv[3])
json.dump(m, open(sys.argv[2], "w"), indent=1)
PY
}

check() {
    python3 "$tmp/check.py" "$@" >"$tmp/out.check" 2>&1
    status=$?
    [ $status -eq 0 ] || cp "$tmp/out.check" "$tmp/err"
    return $status
}

if ! python3 -c '' 2>/dev/null; then
    skip "carm validate" "no python3, which edits and checks the models"
    finish
fi

# What a validation must hold, counted from the names of codes and from the roofs alone.
cat >"$tmp/check.py" <<'PY'
import csv, json, math, re, sys
m = json.load(open(sys.argv[2]))
points, rest = m.get("validation_points", []), sys.argv[3:]
key = lambda x: (x["isa"], x["precision"], x["op"], x["threads"])
names = [x["level"] for x in m["levels"]]

def close(a, b, what, tolerance=1e-6):
    assert math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12), f"{what}: {a} is not {b}"

def roofs_of(p):
    return next(r for r in m["roofs"] if (r["isa"], r["precision"], r["threads"]) ==
                (p["isa"], p["precision"], p["threads"]))

def predict(p, model):
    """flop/s that a model promises at a point and the intensity that it sees; None: no such roof"""
    r = roofs_of(p)
    peak = next(c["rate"] for c in r["compute"] if c["op"] == p["op"])
    mix = {x["level"]: x["bandwidth"] for x in r["memory"] if x["ldst"] == m["config"]["ldst"]}
    if model == "cache-aware":
        seen, bandwidth = p["bytes"], mix[p["level"]]
    elif model == "original":
        seen, bandwidth = p["traffic_bytes"][-1], r.get("dram_peak", {}).get("bandwidth")
    else:  # two loads and a store, which is filled and written back, are four of three accesses
        seen, bandwidth = p["traffic_bytes"][-1], mix.get("DRAM", 0) * 4 / 3
    return (min(p["flops"] / seen * bandwidth, peak), p["flops"] / seen) if bandwidth else None

def sets(*want):  # OP LEVEL,LEVEL ...: these sets and no others, every entry once
    want = dict(zip(want[::2], want[1::2]))
    assert {p["op"] for p in points} == set(want), "operations of the points"
    for op, levels in want.items():
        at = [(p["level"], round(math.log2(p["flops"] / p["bytes"]) * 2)) for p in points if p["op"] == op]
        grid = [(l, i) for l in levels.split(",") for i in range(-16, 13)]
        assert sorted(at) == sorted(grid), f"{op}: {len(at)} points at {sorted(set(grid) ^ set(at))}"
        for list_, of in (("validation", "model"), ("validation_roofs", "code"), ("validation_fits", "form")):
            ids = [(v["level"], v[of]) for v in m.get(list_, []) if v["op"] == op]
            assert len(ids) == len(set(ids)), f"{list_} of {op} has entries twice"
            assert {i[0] for i in ids} - {"all", "peak"} <= set(levels.split(",")), f"{list_} of {op}"
        assert {v["level"] for v in m["validation_roofs"] if v["op"] == op} == \
            {"peak", *levels.split(",")}, f"roofs of {op}"

def scores():
    for k in {key(p) for p in points}:
        mine = [p for p in points if key(p) == k]
        for model in ("cache-aware", "original", "original-mix"):
            for level in [*dict.fromkeys(p["level"] for p in mine), "all"]:
                what = f"{k} {model} {level}"
                some = [p for p in mine if level in ("all", p["level"])]
                said = [v for v in m["validation"] if key(v) == k and (v["model"], v["level"]) == (model, level)]
                pairs = [(p["flops"] / p["seconds"], predict(p, model)) for p in some]
                if pairs[0][1] is None:
                    assert not said, f"{what}: a score without a roof"
                    continue
                assert len(said) == 1, f"{what}: {len(said)} scores"
                off = [abs(a - b[0]) / a for a, b in pairs]
                rrmse = math.sqrt(sum(x * x for x in off) / len(off))
                worst = pairs[off.index(max(off))]
                v = said[0]
                close(v["n"], len(some), what + " n")
                close(v["rrmse"], rrmse, what + " rrmse")
                close(v["fitness"], 100 / (1 + rrmse), what + " fitness")
                close(v["rrmse_model"], math.sqrt(sum((a / b[0] - 1) ** 2 for a, b in pairs) / len(pairs)), what)
                close(v["worst_error"], worst[0] / worst[1][0] - 1, what + " worst")
                close(v["worst_intensity"], worst[1][1], what + " worst's intensity")
                if model == "cache-aware":  # against roofs of the same rounds
                    off = [1 - p["paired"] / a for p, (a, _) in zip(some, pairs)]
                    rrmse = math.sqrt(sum(x * x for x in off) / len(off))
                    close(v["rrmse_beside"], rrmse, what + " paired")

def intensities():
    for p in points:
        i = round(math.log2(p["flops"] / p["bytes"]) * 2) + 16
        close(p["flops"] / p["bytes"], 2 ** (-8 + i / 2), f"{p['level']} {p['code']}", 0.01)

def counts(*levels):  # bytes, flops and traffic of these levels by the numbers in the code's name
    for p in points:
        kind, isa, precision, mix, op, u, f = re.match(
            r"(C)\.(\w+)\.(\w+)\.(2:1)\.(\w+)\.u(\d+)\.f(\d+)", p["code"]).groups()
        element = {"dp": 8, "sp": 4}[precision]
        vector = {"scalar": element, "sse": 16, "avx": 32, "avx2": 32, "avx512": 64}[isa]
        loads, stores = 2 * int(u) * vector, int(u) * vector
        times = p["bytes"] / (loads + stores)
        assert times == int(times) and (isa, precision, op) == key(p)[:3], p["code"]
        close(p["flops"], times * int(f) * vector / element * (2 if op == "fma" else 1), p["code"] + " flops")
        home = names.index(p["level"])
        assert len(p["traffic_bytes"]) == len(names) - 1, p["code"]
        for link, got in enumerate(p["traffic_bytes"], 1):
            first_touch = p["working_set_bytes"] / p["reps"]
            close(got, times * (loads + 2 * stores) if link <= home else first_touch,
                  f"{p['level']} {p['code']}: bytes into level {link}")
    assert set(levels) <= {p["level"] for p in points}, "levels"

def table(file):  # the CSV holds the file's points, in order
    lines = open(file).read().splitlines()
    assert lines[0].startswith("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by"), lines[0]
    rows = list(csv.DictReader(lines))
    assert len(rows) == len(points) and None not in rows[0] and len({r["name"] for r in rows}) > 28
    for row, p in zip(rows, points):
        got = [float(row[x]) for x in ("flops", "bytes", "seconds", "dram_bytes", "threads")]
        assert got == [p["flops"], p["bytes"], p["seconds"], p["traffic_bytes"][-1], p["threads"]], row
        assert (row["isa"], row["precision"], row["op"], row["level"], row["code"], row["counted_by"]) == \
            (p["isa"], p["precision"], p["op"], p["level"], p["code"], p["counted_by"]), row
        close(float(row["cache_aware"]), predict(p, "cache-aware")[0], row["name"])

def printed(file, op):  # the tables say what the file says, in lines that fit
    text = fits(file)
    for word in ("cache-aware model", "original model", "\n  roof ", "\n  peak ", "start-up", "theory",
                 "extensions: rooflines fitted", "chosen by AICc", "\nmeasured in ", f"{m['config']['ldst']} loads to stores"):
        assert word in text, f"'{word}' is missing"
    for v in m["validation"]:
        if v["op"] == op and v["model"] in ("cache-aware", "original"):
            row = re.search(rf"^  {v['level']} +{v['n']} .*$", text, re.M)
            number = f"{v['rrmse']:.4f} {v['fitness']:7.2f}%"
            assert row and number in row.group(), f"{v['level']}: {number} in {row}"

def fits(file):  # its text, in lines that fit
    text = open(file).read()
    for line in re.sub("^(measured in|  !) .*", "", text, flags=re.M).splitlines():  # paths, reasons
        assert len(line) <= 80 and line == line.rstrip(), f"{len(line)} columns: {line}|"
    return text

def answer(file, op):  # without --verbose: a sentence, then one table of fitness
    text = fits(file)
    sentence, rows = text.split("\n\n")[:2]
    assert re.fullmatch(r"The (cache-aware|original) model .*fitness \d+\.\d%.*; "
                        r"(no point|\d+ of \d+ points) stayed disturbed(: do not trust [^.]*)?\.( With \d+ threads? this is .*? stored roofs\.)*", " ".join(sentence.split())), sentence
    heads, *rows = rows.splitlines()
    columns = heads.split()[1:-2]
    scores = {(v["model"], v["level"]): v for v in m["validation"] if v["op"] == op}
    aware = scores["cache-aware", "all"]  # one figure, that of the same rounds where the machine's state has changed
    beside = "_beside" if aware.get("fitness_beside", 0) >= aware["fitness"] + 3 else ""
    assert ("this is the fitness against roofs measured beside the points" in " ".join(sentence.split())) == bool(beside)
    want = [x for x in (("cache-aware", beside), ("original", "")) if (x[0], "all") in scores]
    assert len(rows) == 1 + len(want) and f" {op}, " in rows[0], rows
    for row, (model, of) in zip(rows[1:], want):
        numbers = row[row.index(model):].split()[1:]
        for level, number in zip(columns, numbers):
            v = scores.get((model, level))
            assert number == (f"{v['fitness' + of]:.2f}%" if v else "-"), f"{level}: {number} in {row}"
        assert numbers[len(columns)] == f"{scores[model, 'all']['rrmse' + of]:.4g}", row
    for word in ("paired", "worst, at I", "start-up", "chosen by AICc", "\n  theory:"):
        assert word not in text, f"'{word}' without --verbose"

globals()[sys.argv[1]](*rest)
PY

# ---- a tiny model ------------------------------------------------------------------------------

first=fma second=mad
run info --json && grep -q '"fma": true' "$tmp/out" || first=mad second=add
run build --quick --reps 16 --budget 50 --threads 1 --levels L1,L2,DRAM --ops $first,$second --ldst 2:1,1:0 --memory 256M
ok "a tiny model is built"
model=$(find "$tmp/data" -name '*.json')
cp "$model" "$tmp/plain.json" || finish
cp "$model" "$tmp/other.json"
levels=$(python3 -c 'import json, sys
print(",".join(x["level"] for x in json.load(open(sys.argv[1]))["roofs"][0]["memory"] if x["ldst"] == "2:1"))' "$model")
isa=$(sed -n 's/.*"isa": "\([a-z0-9]*\)".*/\1/p' "$model" | head -n 1)

# ---- a good run --------------------------------------------------------------------------------

good --ops $first --levels "${levels%,DRAM}"
ok "validates the default model, quiet in a pipe"
check answer "$model" "$tmp/out" $first
ok "the output is a sentence and a table of fitness, as the file says"
good --verbose --ops $first --levels "$levels"
ok "--verbose, on $levels"
[ "$(grep -c "^ *L[0-9] *29 \|^ *DRAM *29 " "$tmp/out")" -eq "$(echo "$levels" | tr , '\n' | wc -l)" ] &&
    tr -s '\n ' ' ' <"$tmp/out" | grep -qF "model $model, points ${model%.json}.points.csv"
ok "a row of 29 points for each level; the files are named"
check printed "$model" "$tmp/out" $first
ok "the tables say what the file says, in 80 columns without blanks at their ends"
check sets "$model" $first "$levels"
ok "the file has each point, roof and fit once"
check scores "$model"
ok "scores of both models, done again from the points and roofs, agree"
check intensities "$model"
ok "intensities are within 1% of the grid"
check counts "$model" L1
ok "bytes, flops and traffic are what the codes' names say"
case $levels in
*DRAM*)
    check counts "$model" DRAM
    ok "... in DRAM loads and twice the stores"
    grep -q '"original"' "$model"
    ok "... and the original model is scored" ;;
*) skip "... in DRAM loads and twice the stores" "a working set of 256 MiB does not reach DRAM here" ;;
esac
check table "$model" "${model%.json}.points.csv"
ok "MODEL.points.csv holds the points"
if python3 -W ignore -c 'import jsonschema' 2>/dev/null; then
    python3 - "$top/data/model.schema.json" "$model" >"$tmp/out" 2>"$tmp/err" <<'PY'
import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))
PY
    ok "the validated model follows the published schema"
else
    skip "the validated model follows the published schema" "no python3-jsonschema"
fi
if command -v gnuplot >/dev/null; then
    run plot --kind validation -o "$tmp/v.svg" && [ ! -s "$tmp/err" ] && grep -q '</svg>' "$tmp/v.svg"
    ok "carm plot draws it"
else
    skip "carm plot draws it" "no gnuplot"
fi

good --ops $second --levels L1 && check sets "$model" $first "$levels" $second L1 && check scores "$model"
ok "a second operation stands beside the first"
check table "$model" "${model%.json}.points.csv"
ok "... in the points, too"
good --ops $first --levels L1 --json && cmp -s "$tmp/out" "$model"
ok "--json prints the file"
check sets "$model" $first "$levels" $second L1 && check scores "$model"
ok "a validation done twice replaces, not doubles"

good --ops $second --levels L1 -o "$tmp/checked.json" --csv "$tmp/mine.csv" "$tmp/other.json" &&
    cmp -s "$tmp/other.json" "$tmp/plain.json" && check sets "$tmp/checked.json" $second L1
ok "-o leaves MODEL as it was"
check table "$tmp/checked.json" "$tmp/mine.csv" && [ -z "$(find "$tmp" -name '[co]*.points.csv')" ]
ok "--csv names the points' file"

# ---- theory ------------------------------------------------------------------------------------

python3 - "$top/data/microarchitectures.json" "$tmp" <<'PY'
import copy, json, sys
t = json.load(open(sys.argv[1]))
def put(name, *entries):
    json.dump(dict(t, microarchitectures=list(entries)), open(f"{sys.argv[2]}/{name}.json", "w"))
entries = t["microarchitectures"]
mine = dict(next(e for e in entries if e["name"] == "Zen 4"), name="My core")
put("one", mine)
put("two", *entries[:2])
put("broken", dict(mine, issue=-1))
PY
good --ops $second --levels L1 --theory "$tmp/one.json" && grep -q "cycle of a core of My core, as given" "$tmp/out"
ok "a theory of one's own"
good --ops $second --levels L1 --theory "zen 2" && grep -q "cycle of a core of Zen 2, as given" "$tmp/out"
ok "a theory by its name"
refuses "a theory that is not known" 2 'unknown microarchitecture "Zen 9"; known are .*"Haswell"' --theory "Zen 9"
refuses "a theory of two entries" 2 "$tmp/two.json has 2 entries" --theory "$tmp/two.json"
refuses "a broken theory" 1 "$tmp/broken.json: microarchitectures.0..issue is -1" --theory "$tmp/broken.json"
refuses "a theory that is not there" 1 "--theory: cannot read $tmp/none.json: No such file" --theory "$tmp/none.json"

# a loop whose one turn is longer than the level's working set is not of that level
edit '[x.update(working_set_bytes=4096) for x in r["memory"] if x["level"] == "L1"]'
good --levels L1 --isa "$isa" --threads 1 "$tmp/e.json" && python3 - "$tmp/e.json" 2>"$tmp/err" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
sets = [p["working_set_bytes"] for p in m["validation_points"]]
assert 0 < len(sets) < 29 and max(sets) <= 4096, sets
PY
ok "loops that do not fit a level have no point there"

# stored roofs of another state: one figure, against the roofs of the same rounds, and its reason
edit '[x.update(bandwidth=0.4 * x["bandwidth"], ci95=[0.4 * v for v in x["ci95"]], spread={k: 0.4 * v for k, v in x["spread"].items()}) for x in r["memory"]]; r.pop("dram_peak", 0)'
good --ops $second --levels L1 --isa "$isa" "$tmp/e.json" && check answer "$tmp/e.json" "$tmp/out" $second &&
    tr '\n' ' ' <"$tmp/out" | grep -q "state has changed since the model was built. Run .carm build. again"
ok "roofs of another state: the fitness is that against roofs beside the points"

# ---- models that are not fit --------------------------------------------------------------------

e=$tmp/e.json
refuses "a model that is not there" 1 "there is no model file $tmp/none.json: run .carm build. to create it" "$tmp/none.json"
head -n 100 "$tmp/plain.json" >"$tmp/cut.json" # at the end of a line: between two members
refuses "a cut model" 1 "$tmp/cut.json: line [0-9]+, column [0-9]+: the file ends too early" "$tmp/cut.json"

# unfit NAME CODE PATTERN ARGUMENTS...: a model edited so is refused; the message begins with its path
unfit() {
    edit "$2"
    what=$1 text=$3
    shift 3
    refuses "$what" 1 "$e: $text" --levels L1,L2 "$@" "$e"
}
unfit "a model of another host" 'm["machine"]["hostname"] = "other"' "the model is of host other, this is .*--force"
unfit "a model of another CPU" 'm["machine"]["cpu"] = "Other"' 'the model is of a CPU "Other".*--force'
unfit "a model of other caches" 'm["machine"]["caches"][0]["size_bytes"] *= 2' "the model .* other caches .*--force"
good --force --ops $second --levels L1 "$e"
ok "... and takes it with --force"
unfit "another version" 'm["schema"] = "carm-model/9"' 'schema is "carm-model/9"; this carm reads "carm-model/1"'
unfit "a roof of NaN" 'r["memory"][0]["bandwidth"] = float("nan")' "line [0-9]+, column [0-9]+: .*NaN"
unfit "a roof of null" 'r["memory"][0]["bandwidth"] = None' "roofs.0..memory.0..bandwidth is null, not a number"
unfit "a negative bandwidth" 'r["memory"][0]["bandwidth"] = -1' "roofs.0..memory.0..bandwidth is -1"
unfit "a negative peak" 'r["compute"][1]["rate"] = -1' "roofs.0..compute.1..rate is -1"
unfit "a level without its roof" 'r["memory"] = [x for x in r["memory"] if x["level"] != "L1"]' \
    "roofs.0. \($isa, 1 thread\) has no L1 roof .* 2:1, though levels.0. is resolved: .*--levels"
unfit "a mix without roofs" 'm["config"]["ldst"] = "1:1"' "roofs.0. .* has no L1 roof with the model's mix 1:1"
edit 'm["levels"] = []; [x.update(memory=[]) for x in m["roofs"]]'
refuses "no levels" 1 "$e: roofs.0. .* has no memory roof with the model's mix 2:1" "$e"
unfit "roofs whose level is none" 'm["levels"] = []' 'roofs.0..memory.0..level "L1" is not among'
unfit "more threads than here" 'r["threads"] = 100000' "roofs.0. .* of 100000 threads: .*; choose with --threads"
unfit "an ISA that is none" 'r["isa"] = "avx9"' "roofs.0.: unknown ISA 'avx9'"
unfit "a code that is none" 'r["memory"][0]["code"] = "A.nonsense"' \
    "roofs.0..memory.0..code is a test code that this carm does not know: code 'A.nonsense'"
unfit "a code that is another roof's" 'r["memory"][0]["code"] = r["compute"][0]["code"]' \
    "roofs.0..memory.0..code is B.* cannot have measured that $isa L1 roof"
unfit "a code of another operation" 'r["compute"][0]["code"] = r["compute"][1]["code"]' \
    "roofs.0..compute.0..code is B.* cannot have"
unfit "a working set beyond memory" 'r["memory"][0]["working_set_bytes"] = 1 << 50' \
    "roofs.0. .* the working set of L1 takes 1073741824 MiB, [0-9]+ MiB are available"
cp "$tmp/plain.json" "$e"
rm "$tmp/e.points.csv" # of --force

# ---- words that are not fit ---------------------------------------------------------------------

refuses "an operation that is none" 2 "unknown operation 'cbrt'" --ops cbrt "$e"
refuses "an operation that the model lacks" 2 "--ops: no set asked for has a roof of div: .carm show" --ops div "$e"
refuses "... beside one that it has" 2 "--ops: no set asked for has a roof of div" --ops $first,div "$e"
refuses "no operation" 2 "--ops needs at least one" --ops "" "$e"
refuses "an ISA that the model lacks" 2 "no roofs match --isa and --threads; the model has $isa with 1" --isa mmx "$e"
refuses "threads that the model lacks" 2 "no roofs match --isa and --threads; the model has" --threads 77 "$e"
refuses "a level that the model lacks" 2 "--levels: the model has no level 'L9'" --levels L1,L9 "$e"
refuses "no level" 2 "--levels needs at least one" --levels "" "$e"
refuses "3 repetitions" 2 "--reps 3: give 16 to" --reps 3 "$e"
refuses "repetitions that are no number" 2 "--reps 1k: give 16 to" --reps 1k "$e"
refuses "two models" 2 "validate takes at most 1 operand" "$e" "$tmp/plain.json"

# ---- places that cannot be written, told before measuring ---------------------------------------

refuses "a folder in place of the model" 1 "cannot write $tmp/empty: Is a directory" -o "$tmp/empty" --levels L1 "$e"
refuses "a model below a file" 1 "cannot write $e/m.json: Not a directory" -o "$e/m.json" --levels L1 "$e"
refuses "points below a file" 1 "cannot write $e/p.csv: Not a directory" --csv "$e/p.csv" --levels L1 "$e"
refuses "points in place of the model" 2 "the points would overwrite the model" --csv "$tmp/temp/../e.json" "$e"
refuses "points in place of the output" 2 "the points would overwrite the model" -o "$tmp/x" --csv "$tmp/x" "$e"

cmp -s "$e" "$tmp/plain.json" && [ ! -e "$tmp/e.points.csv" ]
ok "what refuses leaves the model whole and no points"
# the codes of fma and mad are built in
edit 'c = r["compute"][0]; c["code"] = c["code"].replace(c["op"], "div"); c["op"] = "div"'
path=$tmp/empty
refuses "to go without nasm" 1 "cannot start nasm.*install it.*C[.].*div" --levels L1 --ops div "$e"
path=$PATH
cp "$tmp/plain.json" "$e"

# ---- interrupted -------------------------------------------------------------------------------

# a shell's background jobs ignore SIGINT: env resets it
env --default-signal=INT "$carm" validate --reps 500000 --levels L1 "$e" >"$tmp/out" 2>"$tmp/err" &
pid=$!
sleep 1.5
kill -INT $pid
wait $pid
[ $? -eq 1 ] && [ ! -s "$tmp/out" ] && grep -q "^carm: interrupted: nothing was written" "$tmp/err" &&
    cmp -s "$e" "$tmp/plain.json"
ok "SIGINT leaves the model as it was"
find "$tmp/temp" "$tmp" -name '.*' -o -path "$tmp/temp/*" >"$tmp/out"
[ ! -s "$tmp/out" ] && [ ! -e "$tmp/e.points.csv" ]
ok "... and no file behind"
finish
