#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm fleet report without a browser: the page's structure, its data against carm fleet show --json, odd
# names, size, every refusal. Prints TAP. CARM = the program, CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd) || exit 1
unset XDG_DATA_HOME
HOME=$tmp/home
export HOME
: >"$tmp/out"
: >"$tmp/err"

run() {
    timeout 600 "$carm" fleet report "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# ---- the build

! grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|\.html\(|fetch\(|XMLHttp|import\(|https?:' \
    "$top"/plots/page/common/*.js "$top"/plots/page/fleet/*.js >"$tmp/out" 2>"$tmp/err"
ok "the page's scripts make no markup of text, run no text and load nothing"
! grep -nE 'url\(|@import|https?:' "$top"/plots/page/fleet/style.css >"$tmp/out" 2>"$tmp/err"
ok "its style loads nothing"

mkdir "$tmp/models"
cp "$top/tests/data/sample-model.json" "$tmp/models/n1.json"
if ! run "$tmp/models" -o "$tmp/first.html" && grep -q 'built without d3' "$tmp/err"; then
    [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -e "$tmp/first.html" ]
    ok "carm fleet report says what this build lacks"
    skip "the page" "this carm was built without d3: install libjs-d3 and make again"
    finish
fi

# ---- where the page goes

sed 's/"hostname": "[^"]*"/"hostname": "n2"/' "$tmp/models/n1.json" >"$tmp/models/n2.json"
run "$tmp/models" -o "$tmp/a.html" && [ ! -s "$tmp/out" ] && [ ! -s "$tmp/err" ] &&
    head -n 1 "$tmp/a.html" | grep -qx '<!DOCTYPE html>'
ok "-o names the page"
same='s/"generated":"[^"]*"/"generated":""/'
run "$tmp/models/n1.json" "$tmp/models/n2.json" -o - && sed "$same" "$tmp/a.html" >"$tmp/b.html" &&
    sed "$same" "$tmp/out" | cmp -s - "$tmp/b.html"
ok "-o - is standard output; files or their folder give the same page"
mkdir "$tmp/here" && (cd "$tmp/here" && run "$tmp/models") && [ "$(ls "$tmp/here")" = fleet.html ]
ok "without -o it is fleet.html"

# ---- what is in it

if ! python3 -c '' 2>/dev/null; then
    skip "the page's structure" "no python3"
else
    PYTHONDONTWRITEBYTECODE=1
    PYTHONPATH=$top/tests/plots/page
    export PYTHONDONTWRITEBYTECODE PYTHONPATH
    cat >"$tmp/fleets.py" <<'PY'
import json, sys
from fleet_make import Maker, failed, write
folder, top = sys.argv[1:3]
maker, other = Maker(top), Maker(top, cpu="Other CPU", cores=8, threads=16)
slow = {7: {("L3", 0, ""): 0.9}, 9: {("compute", 2, ""): 1.08}}
rows = [maker.row("n%d" % i, i, slow=slow.get(i)) for i in range(30)]
rows += [maker.row("n%d" % i, 50 * i + k, "2026-0%d-01T00:00:00Z" % k) for i in range(12) for k in range(1, 7)]
rows += [other.row("fat%d" % i, i) for i in range(4)]
rows += [failed("lost"), failed("gone", "killed", "signal 9"), '{"schema":3}\n', "{\n"]
odd = json.loads(rows[3])  # a node with a disturbed roof, and without another
odd["model"]["roofs"][0]["memory"][0].update(disturbed=True, note="planted")
del odd["model"]["roofs"][0]["memory"][1]
rows[3] = json.dumps(odd) + "\n"
write(folder + "/fleet.jsonl", rows)
write(folder + "/many.jsonl", (maker.row("node%04d" % i, i) for i in range(1000)))
names = ["<script>window.pwned=1</script>", "</script><script>window.pwned=1</script>", "<!--<script>", "-->", "]]>", "\"'`\\",
         "a\nb\tc", "%s%n%d%100000d", "\u202ertl\u202c \u200f\u2066", "@@data@@ @@script@@", "\u2028\u2029", "&lt;b&gt; &amp;", "__proto__",
         "\u00e9\u6f22\U0001f600", "x" * 200]
hostile = Maker(top, cpu=names[1], hypervisor=names[0])
hostile.text = hostile.text.replace('"op":"fma"', '"op":' + json.dumps(names[2]))
write(folder + "/hostile.jsonl", [hostile.row(n, i) for i, n in enumerate(names)] + [failed(n, n[:60], n) for n in names])
json.dump(names, open(folder + "/names.json", "w"))
PY
    python3 "$tmp/fleets.py" "$tmp" "$top" >"$tmp/out" 2>"$tmp/err"
    ok "fleets to look at"
    run "$tmp/fleet.jsonl" -o "$tmp/f.html" && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q '2 broken' "$tmp/err"
    ok "broken rows are counted on standard error, the page is made"
    python3 "$top/tests/plots/page/structure.py" "$tmp/f.html" >"$tmp/out" 2>"$tmp/err"
    ok "one data block, nothing loaded, nothing run but what the policy's hashes name"

    cat >"$tmp/data.py" <<'PY'
import json, re, sys
from structure import check
data, _ = check(open(sys.argv[1], encoding="utf-8").read())
show = json.load(open(sys.argv[2], encoding="utf-8"))
def near(a, b, step):
    return (a is None) == (b is None) and (a is None or abs(a * step - b) <= 0.51 * step + 1e-6 * abs(b))
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", data["generated"])
assert [f["host"] for f in data["failed"]] == [f["host"] for f in show["failed"]] == ["lost", "gone"]
assert [(b["file"], b["line"], b["reason"]) for b in data["broken"]] == [(b["file"], b["line"], b["reason"]) for b in show["broken"]]
assert len(data["broken"]) == 2 and data["counts"]["models"] == show["counts"]["models"]
letters = {"sound": ".", "suspect": "u", "small": "m", "slow": "s", "fast": "f"}
nodes = iter(show["nodes"])
flags = 0
for group, head, columns in zip(data["groups"], show["groups"], show["columns"]):
    assert group["nodes"] == head["nodes"] == len(group["names"]) and group["cpu"] == head["cpu"]
    n = len(group["columns"])
    assert n == len(columns["roofs"]) and all(len(group[k]) == n * group["nodes"] for k in ("share", "own", "z", "q", "state"))
    for mine, theirs in zip(group["columns"], columns["roofs"]):
        for key in ("name", "kind", "n", "disturbed", "median", "spread", "p5", "p95"):
            assert mine[key] == theirs[key] or abs(mine[key] / theirs[key] - 1) < 1e-9, (mine, theirs)
    names = [c["name"] for c in group["columns"]]
    for i, name in enumerate(group["names"]):
        node = next(nodes)
        assert name == node["node"] and letters[node["judged"]["verdict"]] == group["verdict"][i], node
        assert group["files"][i].endswith(", line %d" % node["line"]) and group["times"][i] == node["time"]
        for r in node["judged"]["roofs"]:
            j = next(j for j, c in enumerate(columns["roofs"]) if all(c[k] == r[k] for k in ("isa", "precision", "threads", "kind", "name")))
            at = i * n + j
            assert near(group["share"][at], r["off"], 1e-5) and near(group["z"][at], r["z"], 1e-2), (r, group["share"][at])
            assert bool(int(group["state"][at]) & 4) == r["flagged"] and abs(10 ** (-group["q"][at] / 100) / max(r["q"], 1e-300) - 1) < 0.02
            flags += r["flagged"]
    if group is data["groups"][0]:
        slow = group["names"].index("n7")
        assert group["verdict"][slow] == "s" and "L3" in names[group["worst"][slow]]
        odd = group["names"].index("n3")
        assert [group["state"][odd * n + j] for j in (0, 1)] == ["3", "0"] and group["share"][odd * n + 1] is None, group["state"][odd * n:odd * n + 3]
        history = {group["names"][h[0]]: h for h in group["history"]}
        assert set(history) == {"n%d" % i for i in range(12)} and history["n7"][1] == 7 and len(history["n7"]) == 9
        times = [h[0] for h in history["n7"][2:]]
        assert times == sorted(times, reverse=True), times
        roofs = [j for j, c in enumerate(group["columns"]) if c["kind"] != "level"]
        assert [group["share"][slow * n + j] for j in roofs] == history["n7"][2][1], "the newest is the one that is judged"
        changed = {m["node"]: m["change"] for m in show["nodes"] if m["group"] == 1 and m["change"]}
        assert len(changed) == 12 and changed["n7"]["verdict"] == "slow"
        drift = {group["names"][d["node"]]: d for d in group["drift"]}
        assert {m: d["verdict"] for m, d in drift.items()} == {m: letters[c["verdict"]] for m, c in changed.items() if c["roofs"]}
        assert drift["n7"]["roof"].startswith("L3") and any(near(drift["n7"]["share"], r["off"], 1e-5) for r in changed["n7"]["roofs"])
assert flags and next(nodes, None) is None
PY
    "$carm" fleet show "$tmp/fleet.jsonl" --json >"$tmp/show.json" 2>/dev/null &&
        python3 "$tmp/data.py" "$tmp/f.html" "$tmp/show.json" >"$tmp/out" 2>"$tmp/err"
    ok "the data is what carm fleet show --json gives, and the nodes' history"
    sed 's/"share":\[/"share":[77,/' "$tmp/f.html" >"$tmp/wrong.html" && ! python3 "$tmp/data.py" "$tmp/wrong.html" "$tmp/show.json" >"$tmp/out" 2>"$tmp/err"
    ok "... and values in other places would not pass"

    cat >"$tmp/odd.py" <<'PY'
import json, sys
from structure import check
folder = sys.argv[1]
text = open(f"{folder}/h.html", encoding="utf-8", newline="").read()
data, tags = check(text)
names = json.load(open(f"{folder}/names.json"))
group = data["groups"][0]
assert set(names) <= set(group["names"]), sorted(set(names) - set(group["names"]))
assert {f["reason"] for f in data["failed"]} == set(names) and group["cpu"] == names[1] and group["hypervisor"] == names[0]
assert names[2] in {c["name"] for c in group["columns"]}
assert data["title"] == "</title><script>window.pwned=1</script>"
assert tags == check(open(f"{folder}/f.html", encoding="utf-8", newline="").read())[1], "other elements than with harmless names"
raw = text[text.index('id="carm-data">') + 15:]
raw = raw[:raw.index("</script>")]
caught = 0
for undo in ("<", "<>&"):
    worse = raw
    for c in undo:
        worse = worse.replace(f"\\u{ord(c):04x}", c)
    assert worse != raw
    try:
        check(text.replace(raw, worse))
    except (AssertionError, json.JSONDecodeError):
        caught += 1
assert caught == 2, caught
PY
    run --title '</title><script>window.pwned=1</script>' "$tmp/hostile.jsonl" -o "$tmp/h.html" &&
        python3 "$tmp/odd.py" "$tmp" >"$tmp/out" 2>"$tmp/err"
    ok "odd names stay whole inside the data, and unescaped ones would not pass"

    begin=$(date +%s%N)
    run "$tmp/many.jsonl" -o "$tmp/many.html"
    size=$(wc -c <"$tmp/many.html")
    echo "# $((($(date +%s%N) - begin) / 1000000)) ms and $size bytes for 1000 nodes"
    [ "$size" -lt 2500000 ]
    ok "1000 nodes take less than 2.5 MB"

    grep '"status": "timeout"' "$tmp/fleet.jsonl" >"$tmp/lost.jsonl"
    run "$tmp/lost.jsonl" -o "$tmp/lost.html" && python3 "$top/tests/plots/page/structure.py" "$tmp/lost.html" >"$tmp/out" 2>"$tmp/err"
    ok "a fleet of failed nodes alone is a page, too"
    run "$tmp/fleet.jsonl" --strict -o "$tmp/strict.html"
    [ $? -eq 1 ] && [ -s "$tmp/strict.html" ] && grep -q '2 files or rows are broken (--strict)' "$tmp/err"
    ok "--strict: exit 1, with the page"
    sed -n 1,20p "$tmp/fleet.jsonl" >"$tmp/sound.jsonl"
    run "$tmp/sound.jsonl" --strict --fdr 5 --min-percent 0 -o "$tmp/strict.html" && [ ! -s "$tmp/err" ]
    ok "... and 0 where nothing is broken"
fi

# ---- what it does not do

echo '{' >"$tmp/broken.json"
mkdir "$tmp/empty"
refuses "no files" 2 "carm fleet report models"
refuses "an option of show" 2 "has no option --json (carm fleet show has it)" "$tmp/models" --json
refuses "... and another one" 2 "has no option --top (carm fleet show has it)" "$tmp/models" --top 3
refuses "a rate of false ones that is none" 2 "--fdr needs a percentage" "$tmp/models" --fdr x
refuses "a difference that is none" 2 "--min-percent needs a percentage" "$tmp/models" --min-percent 100
for end in json jsonl csv; do
    refuses "an output that ends in $end" 2 "the page goes to -o FILE.html" "$tmp/models" -o "$tmp/x.$end"
done
refuses "an output without a name" 2 "the page goes to -o FILE.html" "$tmp/models" -o ""
refuses "a path that is not there" 1 "$tmp/gone" "$tmp/gone" -o -
refuses "a folder without models" 1 "$tmp/empty" "$tmp/empty" -o -
refuses "a broken file alone" 1 "$tmp/broken.json" "$tmp/broken.json" -o -
refuses "an output that is a folder" 1 "cannot write $tmp: Is a directory" "$tmp/models" -o "$tmp"
echo old >"$tmp/old.html"
refuses "no model, for a page that is there" 1 "no model" "$tmp/broken.json" -o "$tmp/old.html"
[ "$(cat "$tmp/old.html")" = old ] && [ -z "$(find "$tmp" -name '*.tmp')" ]
ok "... and leaves it as it was, with nothing beside it"
if [ -c /dev/full ]; then
    "$carm" fleet report "$tmp/models" -o - >/dev/full 2>"$tmp/err"
    [ $? -eq 1 ] && grep -q 'cannot write the output' "$tmp/err"
    ok "says that its output could not be written"
else
    skip "says that its output could not be written" "no /dev/full"
fi
finish
