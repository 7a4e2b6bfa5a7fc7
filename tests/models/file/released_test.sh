#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Models of released versions, tests/data/released/VERSION.json: each is read, shown, compared, drawn and placed on.
# CONTRIBUTING.md says how one is made. Prints TAP. CARM = the program, CARM_TOP = the sources' root.
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
: >"$tmp/out"
: >"$tmp/err"
if ! command -v python3 >/dev/null; then
    echo "1..0 # SKIP no python3"
    exit 0
fi

# missing CHANGELOG: the released versions, those with a date, that have no model
missing() {
    sed -nE 's/^## \[([0-9][^]]*)\] - [0-9]{4}-.*/\1/p' "$1" | while read -r v; do
        [ -s "$top/tests/data/released/$v.json" ] || echo "$v"
    done
}
missing "$top/CHANGELOG.md" >"$tmp/out"
[ ! -s "$tmp/out" ]
ok "every released version has a model"
printf '## [0.0.9] - 2026-01-02\n' >"$tmp/changes"
[ "$(missing "$tmp/changes")" = 0.0.9 ]
ok "... planted: a release without one"

# every rate of the file is in `carm show --csv`, with its unit and its interval; nothing else is
cat >"$tmp/rates.py" <<'PY'
import csv, json, sys
model, table = sys.argv[1:]
want = {}
for r in json.load(open(model, encoding="utf-8"))["roofs"]:
    key = (r["isa"], r["precision"], str(r["threads"]))
    rate = "op/s" if r["precision"].startswith("int") else "flop/s"
    for m in r["memory"]:
        want[key + ("memory", m["level"], m["ldst"])] = (m["bandwidth"], "byte/s", m["ci95"])
    for c in r["compute"]:
        want[key + ("compute", c["op"], "")] = (c["rate"], rate, c["ci95"])
    for c in r.get("ceilings", []):
        unit = "byte/s" if c["group"] in ("memory", "traffic") else rate
        want[key + ("ceiling", c["name"], "")] = (c["rate"], unit, c["ci95"])
    if r.get("dram_peak"):
        want[key + ("dram_peak", "DRAM", "")] = (r["dram_peak"]["bandwidth"], "byte/s", None)
got = {tuple(x[k] for k in ("isa", "precision", "threads", "kind", "name", "mix")): x for x in csv.DictReader(open(table))}
assert want and sorted(want) == sorted(got), set(want) ^ set(got)
for key, (rate, unit, ci95) in want.items():
    x = got[key]
    assert x["unit"] == unit, (key, x["unit"])
    if rate:
        assert abs(float(x["rate"]) / rate - 1) < 1e-9, key
    if rate and ci95:
        assert abs(float(x["ci95_low"]) / ci95[0] - 1) < 1e-9 and abs(float(x["ci95_high"]) / ci95[1] - 1) < 1e-9, key
PY
reads() { # MODEL: show has its figures
    "$carm" show --csv - "$1" >"$tmp/roofs.csv" 2>"$tmp/err" && python3 "$tmp/rates.py" "$1" "$tmp/roofs.csv" 2>>"$tmp/err"
}
printf 'name,flops,bytes,seconds,dram_bytes,threads,precision\na,1e9,1e9,1,1e9,1,dp\n' >"$tmp/points.csv"

# validation-model.json and sample-model.json have the form before rounds
for model in "$top"/tests/data/released/*.json "$top/tests/data/validation-model.json" "$top/tests/data/sample-model.json"; do
    name=${model##*/}
    case $model in
    */released/*)
        [ "$(sed -n 's/^ "carm_version": "\(.*\)",/\1/p' "$model")" = "${name%.json}" ]
        ok "$name: its version is its name" ;;
    esac
    if python3 -c 'import jsonschema' 2>/dev/null; then
        python3 -c 'import json, sys, jsonschema
jsonschema.validate(*(json.load(open(f)) for f in sys.argv[1:]))' "$model" "$top/data/model.schema.json" >"$tmp/out" 2>"$tmp/err"
        ok "$name: follows today's schema"
    else
        skip "$name: follows today's schema" "no python3-jsonschema"
    fi
    reads "$model"
    ok "$name: carm show has all its figures"
    run show --verbose "$model" && grep -q '^Cache-aware roofline model' "$tmp/out" && grep -q '^Validation' "$tmp/out"
    ok "$name: carm show, with its validation"
    run place --json "$model" "$tmp/points.csv" && python3 -c 'import json, sys
p = json.load(sys.stdin)[0]
assert p["cache_aware"]["share"] > 0 and p["original"]["share"] > 0, p' <"$tmp/out" 2>"$tmp/err"
    ok "$name: carm place"
    run compare --threshold 0 "$model" "$model"
    ok "$name: carm compare finds no difference to itself"
    run plot --script "$model" && grep -q 'EOD\|plot ' "$tmp/out"
    ok "$name: carm plot"
    PYTHONPATH=$top/python python3 -c 'import sys, carm
m = carm.load(sys.argv[1])
assert m.roofs().peak > 0 and m.table()' "$model" >"$tmp/out" 2>"$tmp/err"
    ok "$name: carm.py"
done

# ---- the checks find faults ----------------------------------------------------------------------

sed -i '2s/,[0-9.]*,byte/,1,byte/' "$tmp/roofs.csv"
! python3 "$tmp/rates.py" "$model" "$tmp/roofs.csv" 2>"$tmp/err"
ok "planted: another figure in the table"
"$carm" show --csv - "$model" | sed 's/flop/op/' >"$tmp/roofs.csv"
! python3 "$tmp/rates.py" "$model" "$tmp/roofs.csv" 2>"$tmp/err"
ok "planted: another unit"
sed 's/"bandwidth"/"rate"/' "$model" >"$tmp/renamed.json"
refuses "a model whose bandwidths have another name" 1 'bandwidth' show "$tmp/renamed.json"
finish
