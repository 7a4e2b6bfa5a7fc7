#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm fleet show on altered copies of tests/data/sample-model.json: the text, CSV and JSON, broken files,
# nodes that share a name, history, refusals. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
unset NO_COLOR XDG_DATA_HOME
cd "$tmp" || exit 1

run() {
    "$carm" fleet show "$@" >"$tmp/out" 2>"$tmp/err"
}

# exits CODE ARGUMENTS...: that exit status
exits() {
    want=$1
    shift
    run "$@"
    [ $? -eq "$want" ]
}

# says TEXT: standard output holds it, wherever its lines break
says() {
    tr -s '\n ' ' ' <"$tmp/out" | grep -qF -- "$1"
}

# node HOST SEED CREATED [LEVEL FACTOR]: a model whose rates are the sample's with up to 1% of noise, and those
# of the level times the factor
node() {
    awk -v host="$1" -v seed="$2" -v created="$3" -v level="${4:-none}" -v by="${5:-1}" '
        function scaled(text) { match(text, /[0-9.]+/); return sprintf("%.1f", f * substr(text, RSTART, RLENGTH)) }
        /"hostname":/ { print "  \"hostname\": \"" host "\","; next }
        /"created":/ { print " \"created\": \"" created "\","; next }
        /"level":/ { on = index($0, "\"" level "\"") }
        /"disturbed": true/ { sub(/true/, "false") }
        /"bandwidth":|"rate":/ {
            seed = (seed * 1103515245 + 12345) % 2147483648
            f = (0.99 + 0.02 * seed / 2147483648) * (on ? by : 1)
            match($0, /: /); print substr($0, 1, RSTART + 1) scaled(substr($0, RSTART)) (/,/ ? "," : ""); next
        }
        /"ci95"/ { ci = 1; print; next }
        ci && /[0-9]/ { print "      " scaled($0) (/,/ ? "," : ""); next }
        /\]/ { ci = 0 }
        { print }' "$top/tests/data/sample-model.json"
}

mkdir -p fleet/rack2
i=0
while [ $i -lt 40 ]; do
    dir=fleet
    [ $i -lt 20 ] || dir=fleet/rack2
    factor=1
    [ $i -ne 13 ] || factor=0.9
    node "n$i" $((1000 + 37 * i)) "2026-10-01T0$((i / 10)):0$((i % 10)):00Z" L3 $factor >"$dir/n$i.json"
    i=$((i + 1))
done

# ---- the text

run fleet && [ ! -s err ] && grep -q '^40 files: 40 models of 40 nodes in 1 group$' out &&
    grep -q '^Group 1: 40 nodes, ' out
ok "groups of folders, and of folders below them"
grep -q '^Slow outliers: 1 of 40 nodes' out && grep -q '^  n13 .* -[89]\.[0-9]%  L3' out && ! grep -q '^Fast' out &&
    says 'compare it with a sound node of its group (carm compare SOUND.json NODE.json)'
ok "the slow node, on its level, by how much, and what to do"
[ "$(awk '{ if (length($0) > 80) n++ } END { print n + 0 }' out)" -eq 0 ]
ok "at most 80 columns"

run --roof 'L1 2:1' --group 1 fleet && grep -q '^  L1 2:1 ' out && ! grep -q '^  L2 2:1' out && ! grep -q '^Slow' out
ok "--roof and --group"
run --min-percent 20 fleet && grep -q '^0 of 40 nodes are outliers' out &&
    [ "$(tail -n 1 out)" = 'next: carm fleet report, with the same files: one interactive page' ]
ok "--min-percent"
run --json --csv rows.csv fleet && run --csv - fleet && cmp -s out rows.csv &&
    grep -q ',n13,.*,L3,.*,slow$' rows.csv && [ "$(grep -c ',slow$' rows.csv)" -eq "$(grep -c ',n13,' rows.csv)" ]
ok "--csv has a row for each node and roof"
if command -v python3 >/dev/null; then
    run --json fleet && python3 - out <<'END' >err 2>&1
import csv, json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "carm-fleet-show/1" and d["counts"]["slow"] == 1, d["counts"]
assert len(d["nodes"]) == 40 and d["groups"][0]["nodes"] == 40
bad = [n for n in d["nodes"] if n["judged"]["verdict"] == "slow"]
assert [n["node"] for n in bad] == ["n13"] and any(r["name"] == "L3" and r["flagged"] for r in bad[0]["judged"]["roofs"])
rows = list(csv.DictReader(open("rows.csv")))
columns = {(r["name"], r["isa"] or "", r["threads"] or 0): r for r in d["columns"][0]["roofs"]}
assert len(rows) == 40 * len(columns), (len(rows), len(columns))
r = next(r for r in rows if r["name"] == "L1 2:1")
c = columns[r["name"], r["isa"], int(r["threads"])]
assert abs(float(r["median"]) / c["median"] - 1) < 1e-6, (r, c)
assert abs((float(r["value"]) / float(r["median"]) - 1) * 100 - float(r["off_percent"])) < 1e-3, r
END
    ok "--json and --csv hold the same"
else
    skip "--json and --csv hold the same" "no python3"
fi

# ---- odd nodes: half the memory, small pages, a roof that is missing

cp -R fleet odd
sed -i 's/"memory_bytes": 17179869184/"memory_bytes": 8589934592/' odd/n3.json
sed -i 's/"page_bytes": 2097152/"page_bytes": 4096/' odd/n4.json
sed -i 's/"ldst": "update"/"ldst": "7:1"/' odd/n5.json
run odd && says '3 nodes are odd: memory, pages' && grep -q '^Odd nodes: 3,' out && ! grep -q '^Group 2' out &&
    grep -q '^  n3  group [23]: memory 8 GiB, not 16 GiB$' out && grep -q '^  n4  group [23]: page bytes 4096, not 2097152$' out &&
    grep -q '^  n5  group 1: no roof avx512 dp, 1 thread: L1 update and [0-9]* more$' out
ok "odd nodes are in the headline, with a line each"
run --group 2 odd && grep -q '^Group 2: 1 node' out && ! grep -q '^Odd' out
ok "the table of an odd group"
cp -R fleet shaky
python3 - shaky/*.json shaky/rack2/*.json <<'END'
import json, sys
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        model = json.load(file)
    model["roofs"][0]["memory"][0]["disturbed"] = True
    with open(name, "w", encoding="utf-8") as file:
        json.dump(model, file)
END
run shaky && ! grep -q 'odd' out
ok "a roof that is disturbed on all nodes is missing on none"

# ---- rows, failures, broken files

{
    for f in fleet/n1.json fleet/n13.json; do
        printf '{"schema":"carm-fleet/1","host":"row%s","job":"7","rank":0,"status":"ok","reason":null,"model":' "${f#fleet/}"
        tr -d '\n' <"$f"
        echo '}'
    done
    echo '{"schema":"carm-fleet/1","host":"dead","job":"7","rank":3,"time":"2026-10-01T00:00:00Z","status":"timeout","reason":"took longer than 900 s","model":null}'
} >fleet.jsonl
run fleet.jsonl && grep -q '2 models of 2 nodes in 1 group; 1 failed row$' out &&
    grep -q '^  dead 2026-10-01T00:00:00Z timeout: took longer than 900 s$' out
ok "rows, and a node that failed with its reason"
if python3 -c 'import jsonschema' 2>/dev/null; then
    python3 - "$top/data/fleet.schema.json" <<'END' >err 2>&1
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
for line in open("fleet.jsonl"):
    jsonschema.validate(json.loads(line), schema)
for bad in ({"host": "n", "status": "ok"}, {"host": "n"}, {"host": "", "status": "failed"}):
    try:
        jsonschema.validate(bad, schema)
        raise AssertionError(bad)
    except jsonschema.ValidationError:
        pass
END
    ok "rows by their schema"
else
    skip "rows by their schema" "no python3-jsonschema"
fi

head -c 3000 fleet/n5.json >fleet/cut.json
sed 's,carm-model/1,carm-model/7,' fleet/n5.json >fleet/rack2/new.json
run fleet && grep -q '^42 files: 40 models of 40 nodes in 1 group; 2 broken, left out$' out && [ "$(wc -l <err)" -eq 2 ] &&
    grep -q '^carm: left out: fleet/cut.json: line .*the file ends too early' err &&
    grep -q '^carm: left out: fleet/rack2/new.json: schema is "carm-model/7"; this carm reads' err
ok "broken models among good ones: named and left out"
exits 1 --strict fleet && grep -q '^Slow outliers: 1 of 40' out && [ "$(tail -n 1 err)" = "carm: 2 files or rows are broken (--strict)" ]
ok "--strict: the same, with exit status 1"
rm fleet/cut.json fleet/rack2/new.json
exits 0 --strict fleet
ok "--strict without one: 0"

# ---- names, history

mkdir other
node n1 5 2026-10-01T00:01:00Z >other/n1.json
run fleet other && grep -q '41 models of 41 nodes' out && says 'n1 is the name of 2 nodes: they were measured at the same time; they are listed as #1 to #2'
ok "two nodes with one name, measured at one time"
cp fleet/n1.json other/n1.json
run fleet other && grep -q '41 models of 40 nodes' out && says 'fleet/n1.json and other/n1.json hold the same model of n1: it is counted once'
ok "a copy is counted once"
rm other/n1.json
i=0
while [ $i -lt 40 ]; do
    factor=1
    [ $i -ne 13 ] || factor=0.9
    [ $i -ne 21 ] || factor=0.93
    node "n$i" $((1000 + 37 * i)) 2026-11-01T00:00:00Z L3 $factor | sed 's/"flop_curves"/"of_old"/' >"other/n$i.json"
    i=$((i + 1))
done
run fleet other && grep -q '80 models of 40 nodes in 1 group$' out && grep -q '^Slow outliers: 2 of 40' out &&
    grep -q '^Slower than before.*: 1 of 40 nodes' out && grep -q '2026-11-01T00:00:00Z against 1 model since 2026-10-01T02:01:00Z' out
ok "history: what changed since then; models without curves are read"

# ---- names that would steer a terminal

mkdir evil
# shellcheck disable=SC2016
for i in 1 2 3 4 5 6; do
    sed 's/"hostname": "[^"]*"/"hostname": "\\u001b[2J\\u202e`id`\\"'$i'"/; s/"cpu": "/&\\u001b[1m/; s/"op": "div"/"op": "d\\u001b[2Jv"/' fleet/n$i.json >evil/$i.json
done
printf '{"host":"x\\u001b[2J","status":"f\\u001b","reason":"\\u202e"}\n{"host":"\\u001b"}\n' >evil/rows.jsonl
esc=$(printf '\033')
run evil && ! grep -q "$esc" out && ! grep -q "$esc" err && run --csv - evil && ! grep -q "$esc" out &&
    run --json evil && ! grep -q "$esc" out && LC_ALL=C run --ascii evil && ! LC_ALL=C grep -q '[^ -~]' out
ok "names of files' text are made safe in every output"

# ---- refusals

refuses "no path" 2 "name folders or files with models"
refuses "a path that is not there" 1 "cannot read none: No such file" none
mkdir empty
refuses "an empty folder" 1 "empty has no model" empty
refuses "--fdr 0" 2 "--fdr needs a percentage above 0" --fdr 0 fleet
refuses "--fdr x" 2 "--fdr needs a percentage above 0" --fdr x fleet
refuses "--min-percent 100" 2 "--min-percent needs a percentage" --min-percent 100 fleet
refuses "--group 0" 2 "--group needs the number of a group" --group 0 fleet
refuses "--group 9" 2 "--group 9: there is 1 group" --group 9 fleet
refuses "--roof that none has" 2 "--roof L7: no roof's name contains that" --roof L7 fleet
refuses "--top -1" 2 "--top needs a number" --top=-1 fleet
refuses "--json with --csv -" 2 "both go to standard output" --json --csv - fleet
exits 1 "$top/data/fleet.schema.json" && grep -q 'none of 1 file holds a model' err
ok "refuses files without any model"
"$carm" fleet >out 2>err
[ $? -eq 2 ] && grep -q 'say which: carm fleet build, show or report' err
ok "refuses no sub-command"

finish
