#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm report without a browser: the page's structure, its data, odd names, every refusal. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd) || exit 1
data=$top/tests/data
model=$data/validation-model.json
unset XDG_DATA_HOME
HOME=$tmp/home
export HOME
: >"$tmp/out"
: >"$tmp/err"

run() {
    timeout 600 "$carm" report "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# ---- the build

! grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|\.html\(|fetch\(|XMLHttp|import\(|https?:' \
    "$top"/plots/page/common/*.js "$top"/plots/page/report/*.js >"$tmp/out" 2>"$tmp/err"
ok "the page's scripts make no markup of text, run no text and load nothing"
! grep -nE 'url\(|@import|https?:' "$top"/plots/page/report/style.css >"$tmp/out" 2>"$tmp/err"
ok "its style loads nothing"
if make --version >/dev/null 2>&1; then
    make -s -C "$top" D3="$tmp/none.js" B="$tmp/b" "$tmp/b/plots/d3.js" >"$tmp/out" 2>"$tmp/err" &&
        [ -f "$tmp/b/plots/d3.js" ] && [ ! -s "$tmp/b/plots/d3.js" ] && grep -q 'install libjs-d3 and make again' "$tmp/out"
    ok "without d3 the build says what to install, and goes on"
    echo '/* d3 */ var d3={version:"7.8.5"}' >"$tmp/d3.js"
    make -s -C "$top" D3="$tmp/d3.js" B="$tmp/b" "$tmp/b/plots/d3.js" >"$tmp/out" 2>"$tmp/err" &&
        [ ! -s "$tmp/b/plots/d3.js" ] && grep -q 'no d3 version 3' "$tmp/out"
    ok "... as with a d3 that has another interface"
    echo '/* d3 */ var d3={version:"3.5.17"}' >"$tmp/d3.js"
    make -s -C "$top" D3="$tmp/d3.js" B="$tmp/b" "$tmp/b/plots/d3.js" >"$tmp/out" 2>"$tmp/err" &&
        cmp -s "$tmp/d3.js" "$tmp/b/plots/d3.js"
    ok "... and takes it once it is there"
else
    skip "without d3 the build says what to install" "no make"
fi

if ! run "$model" -o "$tmp/first.html" && grep -q 'built without d3' "$tmp/err"; then
    [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'install the package libjs-d3' "$tmp/err" && [ ! -e "$tmp/first.html" ]
    ok "carm report says what this build lacks"
    skip "the page" "this carm was built without d3: install libjs-d3 and make again"
    finish
fi

# ---- where the page goes

run "$model" "$data/points.csv" -o "$tmp/a.html" && [ ! -s "$tmp/out" ] && [ ! -s "$tmp/err" ] &&
    head -n 1 "$tmp/a.html" | grep -qx '<!DOCTYPE html>'
ok "-o names the page"
same='s/"generated": "[^"]*"/"generated": ""/'
run "$model" "$data/points.csv" -o - && sed "$same" "$tmp/a.html" >"$tmp/b.html" && sed "$same" "$tmp/out" | cmp -s - "$tmp/b.html"
ok "-o - is standard output"
"$carm" report "$model" - -o - <"$data/points.csv" >"$tmp/out" 2>"$tmp/err" && sed "$same" "$tmp/out" | cmp -s - "$tmp/b.html"
ok "points come from standard input, too"
mkdir "$tmp/here" && (cd "$tmp/here" && run "$model") && [ "$(ls "$tmp/here")" = report.html ]
ok "without -o it is report.html"
mkdir -p "$HOME/.local/share/carm" && cp "$model" "$HOME/.local/share/carm/$(uname -n).json" &&
    run "$data/points.csv" -o - && sed "$same" "$tmp/out" | cmp -s - "$tmp/b.html"
ok "without MODEL this machine's is taken"
begin=$(date +%s%N)
run "$model" -o "$tmp/time.html"
echo "# $((($(date +%s%N) - begin) / 1000000)) ms for a page"

# ---- what is in it

if ! python3 -c '' 2>/dev/null; then
    skip "the page's structure" "no python3"
else
    cat >"$tmp/data.py" <<'PY'
import json, re, sys
from structure import check
data, _ = check(open(sys.argv[1], encoding="utf-8").read())
assert data["model"] == json.load(open(sys.argv[2], encoding="utf-8"))
assert data["places"] == (json.load(open(sys.argv[3], encoding="utf-8")) if len(sys.argv) > 3 else [])
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", data["generated"])
assert re.fullmatch(r"\d+\.\d+\.\d+", data["version"])
PY
    PYTHONDONTWRITEBYTECODE=1
    PYTHONPATH=$top/tests/plots/page
    export PYTHONDONTWRITEBYTECODE PYTHONPATH
    python3 "$top/tests/plots/page/structure.py" "$tmp/a.html" >"$tmp/out" 2>"$tmp/err" &&
        python3 -c '
import re, sys
text = open(sys.argv[1]).read()
data = re.search("<script type=.application/json.*?</script>", text, re.S)
sys.exit(len(text) - len(data[0]) > 400000)' "$tmp/a.html"
    ok "one data block, nothing loaded, nothing run but what the policy's hashes name, 1.5 MB at most"
    "$carm" place --json "$model" "$data/points.csv" >"$tmp/places.json" 2>/dev/null
    python3 "$tmp/data.py" "$tmp/a.html" "$model" "$tmp/places.json" >"$tmp/out" 2>"$tmp/err"
    ok "the data is the model's file, and what carm place --json gives"
    printf 'name,flops,bytes,seconds,dram_bytes,threads,host\n' >"$tmp/hosts.csv"
    for host in sample sample.cluster samples other; do
        echo "$host,1e9,1e9,1,0,2,$host"
    done >>"$tmp/hosts.csv"
    "$carm" place --json "$model" "$tmp/hosts.csv" >"$tmp/places.json" 2>/dev/null
    run "$model" "$tmp/hosts.csv" -o "$tmp/hosts.html" &&
        [ "$(grep -c 'it was measured on' "$tmp/places.json")" -gt 0 ] &&
        python3 "$tmp/data.py" "$tmp/hosts.html" "$model" "$tmp/places.json" >"$tmp/out" 2>"$tmp/err"
    ok "... for points of another host, too"
    python3 "$tmp/data.py" "$tmp/time.html" "$model" >"$tmp/out" 2>"$tmp/err"
    ok "... without points, none"

    # of many points: figures of all, objects of those that took longest
    awk 'BEGIN { print "name,flops,bytes,seconds,dram_bytes,threads,operations,metric"
        for (i = 0; i < 2500; i++) {
            if (i % 100 == 7) print "\"<p" i ">\",,8e9,1,,1,,"
            else if (i % 100 == 8) print "p" i ",,8e9,1,,1,1e8,exchange"
            else print "p" i "," i * 1e8 ",8e9," (i % 977 + 1) / 100 "," (i % 2 ? i * 1e7 : "") ",1,,"
        } }' >"$tmp/many.csv"
    cat >"$tmp/many.py" <<'PY'
import json, sys
from structure import check
data, _ = check(open(sys.argv[1], encoding="utf-8").read())
wanted = json.load(open(sys.argv[2]))
places, m = data["places"], data["many"]
assert len(places) == len(wanted) == 2500
longest = sorted(range(2500), key=lambda i: (-wanted[i]["seconds"], i))[:500]
assert sorted(longest) == [i for i, p in enumerate(places) if p], "other objects"
assert all(p is None or p == w for p, w in zip(places, wanted))
def same(name, got, want):
    assert (got is None) == (want is None) and (want is None or abs(got - want) <= 5.1e-4 * abs(want)), (name, got, want)
for i, w in enumerate(wanted):
    assert m["name"][i] == w["name"]
    same("performance", m["performance"][i], w["performance"])
    same("seconds", m["seconds"][i], w["seconds"])
    roofs = m["sets"][m["set"][i]] if m["set"][i] >= 0 else None
    assert (roofs is None) == (w["roofs"] is None)
    if roofs:
        assert {**w["roofs"], "metric": w.get("metric", "")} == roofs, (roofs, w["roofs"])
    for key in ("cache_aware", "original"):
        at, figures = w[key], m[key]
        assert (figures["bound"][i] >= 0) == (at is not None)
        if at:
            assert m["bounds"][figures["bound"][i]] == at["bound"] and (i in figures["over"]) == at["over"]
            same("intensity", figures["intensity"][i], at["intensity"])
            same("share", figures["share"][i], at["share"])
            same("left", figures["left"][i], at["above"] and at["above"]["left"])
assert m["original"]["over"] and any(p["not_placed"] for p in wanted)
PY
    "$carm" place --no-measure --json "$model" "$tmp/many.csv" >"$tmp/places.json" 2>/dev/null
    run "$model" "$tmp/many.csv" -o "$tmp/many.html" && [ "$(wc -c <"$tmp/many.html")" -lt 1500000 ] &&
        python3 "$tmp/many.py" "$tmp/many.html" "$tmp/places.json" >"$tmp/out" 2>"$tmp/err"
    ok "many points come as arrays, those that took longest as carm place --json gives them"

    cat >"$tmp/ceilings.py" <<'PY'
import json, sys
from structure import check
data, _ = check(open(sys.argv[1], encoding="utf-8").read())
sets = [r for r in data["model"]["roofs"] if r.get("ceilings")]
assert sets and len(data["ceilings"]) == len(sets)
for chain_set, roofs in zip(data["ceilings"], sets):
    assert [chain_set[k] for k in ("isa", "precision", "threads")] == [roofs[k] for k in ("isa", "precision", "threads")]
    rates = {c["rate"] for c in roofs["ceilings"]} | {c["rate"] for c in roofs["compute"]} | {roofs["dram_peak"]["bandwidth"]}
    for kind in ("memory", "compute"):
        chain = [r for r in chain_set[kind] if not r["aside"]]
        assert chain and chain[-1]["step"] == "" and all(r["step"] for r in chain[:-1]), chain
        assert [r["rate"] for r in chain] == sorted(r["rate"] for r in chain)
        assert all(any(abs(r["rate"] / v - 1) < 1e-12 for v in rates if v) for r in chain_set[kind]), (chain_set[kind], rates)
PY
    python3 -c 'import json, sys
model = json.load(open(sys.argv[1]))
next(r for r in model["roofs"] if r["threads"] == 2)["ceilings"] = json.load(open(sys.argv[2]))
json.dump(model, open(sys.argv[3], "w"))' "$model" "$data/ceilings.json" "$tmp/c.json" &&
        run "$tmp/c.json" -o "$tmp/c.html" && python3 "$tmp/ceilings.py" "$tmp/c.html" >"$tmp/out" 2>"$tmp/err"
    ok "measured ceilings come as a chain for each set, with the file's rates"

    # names that would do harm as markup, as script, as part of a format or a template
    cat >"$tmp/hostile.py" <<'PY'
import csv, json, sys
names = ["<script>window.pwned=1</script>", "</script><script>window.pwned=1</script>", "<img src=x onerror=window.pwned=1>",
         "<!--<script>", "-->", "]]>", "\"'`\\", "a\nb\r\nc\td", "%s%n%d%100000d", "\u202ertl\u202c \u200f\u2066", "${window.pwned=1}",
         "{{constructor.constructor('window.pwned=1')()}}", "@@data@@ @@script@@", "\u2028\u2029", "&lt;b&gt; &amp;", "__proto__",
         "javascript:window.pwned=1", "=1+1", "\u00e9\u6f22\U0001f600", "\x1b[31m\x07", "x" * 3000]
folder, source = sys.argv[1:3]
with open(f"{folder}/hostile.csv", "w", encoding="utf-8", newline="") as f:
    out = csv.writer(f)
    out.writerow(["name", "flops", "bytes", "seconds", "dram_bytes", "note", "host"])
    for i, name in enumerate(names):
        out.writerow([name, 1e9, 1e9, 1, 1e8, name[:200], name[:60]])
model = json.load(open(source, encoding="utf-8"))
model["machine"]["cpu"] = "".join(names)[:200]
model["machine"]["hostname"] = names[1]
model["levels"][0]["note"] = names[0] + names[13]
model["roofs"][0]["memory"][0]["note"] = names[1]
model["roofs"][0]["compute"][0]["op"] = names[2]
model["more"] = {n: n for n in names}
json.dump(model, open(f"{folder}/hostile.json", "w", encoding="utf-8"), ensure_ascii=False)
json.dump(names, open(f"{folder}/names.json", "w"))
PY
    cat >"$tmp/odd.py" <<'PY'
import json, sys
from structure import check
folder = sys.argv[1]
text = open(f"{folder}/h.html", encoding="utf-8", newline="").read()
data, tags = check(text)
assert data["model"] == json.load(open(f"{folder}/hostile.json", encoding="utf-8"))
assert data["places"] == json.load(open(f"{folder}/places.json", encoding="utf-8"))
assert data["title"] == "</title><script>window.pwned=1</script>"
names, got = json.load(open(f"{folder}/names.json")), [p["name"] for p in data["places"]]
assert len(names) == len(got)
for want, name in zip(names, got):
    assert name == want or want.startswith(name) and len(name) > 1000, (want, name)
plain = check(open(f"{folder}/a.html", encoding="utf-8", newline="").read())[1]
assert tags == plain, "other elements than in a page with harmless names"
# the check itself: a page with the same data as it is, and one escaped but for <
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
    python3 "$tmp/hostile.py" "$tmp" "$model" >"$tmp/out" 2>"$tmp/err" &&
        "$carm" place --json "$tmp/hostile.json" "$tmp/hostile.csv" >"$tmp/places.json" 2>"$tmp/err" &&
        run --title '</title><script>window.pwned=1</script>' "$tmp/hostile.json" "$tmp/hostile.csv" -o "$tmp/h.html" &&
        python3 "$tmp/odd.py" "$tmp" >"$tmp/out" 2>"$tmp/err"
    ok "odd names stay whole inside the data, and unescaped ones would not pass"
fi

# ---- what it does not do

printf 'name,flops,bytes,seconds\na,1e9,1e9,1\n' >"$tmp/p.csv"
printf 'name,flops,bytes,seconds\n' >"$tmp/none.csv"
printf 'name,flops,bytes,seconds\na,1,1,0\n' >"$tmp/zero.csv"
echo '{' >"$tmp/broken.json"
refuses "two models" 2 "does: give one model only" "$model" "$tmp/p.csv" "$model"
refuses "standard input twice" 2 "once only" "$model" - -
refuses "an output that looks like a model" 2 "the page goes to -o FILE.html" "$model" -o "$tmp/x.json"
refuses "an output that looks like points" 2 "the page goes to -o FILE.html" "$model" -o "$tmp/p.csv"
refuses "an output without a name" 2 "the page goes to -o FILE.html" "$model" -o ""
refuses "a model that is not there" 1 "there is no model file $tmp/gone.json" "$tmp/gone.json" -o -
refuses "a broken model" 1 "$tmp/broken.json" "$tmp/broken.json" -o -
refuses "points that are not there" 1 "cannot read $tmp/gone.csv: No such file" "$model" "$tmp/gone.csv" -o -
refuses "a file without points" 2 "no points: $tmp/none.csv has only a header" "$model" "$tmp/none.csv" -o -
refuses "seconds of zero" 1 "$tmp/zero.csv: line 2, column 7: seconds is 0" "$model" "$tmp/zero.csv" -o -
refuses "an output that is a folder" 1 "cannot write $tmp: Is a directory" "$model" -o "$tmp"
refuses "an option that is none" 2 "--colour" "$model" --colour
echo old >"$tmp/old.html"
refuses "bad points, for a page that is there" 1 "line 2" "$model" "$tmp/zero.csv" -o "$tmp/old.html"
[ "$(cat "$tmp/old.html")" = old ] && [ -z "$(find "$tmp" -name '*.tmp')" ]
ok "... and leaves it as it was, with nothing beside it"
if [ -c /dev/full ]; then
    "$carm" report "$model" -o - >/dev/full 2>"$tmp/err"
    [ $? -eq 1 ] && grep -q 'cannot write the output' "$tmp/err"
    ok "says that its output could not be written"
else
    skip "says that its output could not be written" "no /dev/full"
fi
finish
