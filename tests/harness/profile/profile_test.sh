#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm run: the loops of a program of known loops (hot.c), and of programs of this machine. Prints TAP. Counts
# decide; of time only what differs by far.
set -u
carm=${CARM:-build/carm}
top=${CARM_TOP:-.}
case $top in /*) ;; *) top=$PWD/$top ;; esac
case $carm in /*) ;; *) carm=$PWD/$carm ;; esac
tmp=$(mktemp -d "${TMPDIR:-/tmp}/carm-profile-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
XDG_DATA_HOME=$tmp/data LC_ALL=C.UTF-8
export XDG_DATA_HOME LC_ALL
unset CARM_OUT CARM_COUNTERS DEBUGINFOD_URLS
n=0
failed=0
iterations=1000000

ok() {
    if [ $? -eq 0 ]; then verdict=ok; else verdict='not ok'; failed=1; fi
    n=$((n + 1))
    echo "$verdict $n - $1"
    [ "$verdict" = ok ] || sed 's/^/# /' "$tmp/err" "$tmp/out" 2>/dev/null | cut -c1-200 | tail -n 40
}

skip() {
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

run() {
    timeout 100 "$carm" run --counters translate --model "$top/tests/data/sample-model.json" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# Sums over the parts are those of the whole program, in every quantity.
cat >"$tmp/check.py" <<'END'
import json, re, sys

def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)

def sums(run):
    for name, value in run["whole"].items():
        if name in ("task_seconds", "page_faults", "context_switches"):
            continue
        total = sum(part.get(name, 0) for part in run["parts"])
        if total != value:
            sys.exit(f"{name}: {total} over all parts, {value} of the whole program")
    if sum(part.get("samples", 0) for part in run["parts"]) != run["samples"]:
        sys.exit("samples are missing")

def part(run, pattern, kind="loop", rounds=None):
    found = [p for p in run["parts"] if p["kind"] == kind and re.search(pattern, p["name"])
             and rounds in (None, p["iterations"])]
    if len(found) != 1:
        sys.exit(f"{len(found)} parts are named {pattern}: " + ", ".join(p["name"] for p in run["parts"]))
    return found[0]

def loop(run, pattern, rounds, entries, instructions, flops, loaded, stored=0):
    p = part(run, pattern, "loop", rounds)
    got = [p["iterations"], p["entries_low"], p["entries_high"], p["instructions"], p["flops"],
           p["load_bytes"], p["store_bytes"]]
    want = [rounds, entries, entries, rounds * instructions, rounds * flops, rounds * loaded, rounds * stored]
    if got != want:
        sys.exit(f"{p['name']}: counted {got}, not {want}")
    return p

run = load(sys.argv[1])
sums(run)
exec(sys.argv[2])
END
check() {
    python3 "$tmp/check.py" "$tmp/json" "$1" >>"$tmp/err" 2>&1
}

echo 'int main(void) { return 0; }' >"$tmp/true.c"
if ! ${CC:-cc} -o "$tmp/true" "$tmp/true.c" 2>/dev/null; then
    echo "1..0 # SKIP no compiler"
    exit 0
fi
if ! run --no-time "$tmp/true"; then
    echo "1..0 # SKIP $(head -n 1 "$tmp/err")"
    exit 0
fi

flags="-O2 -g -fno-ipa-icf -I$top"
here=$top/tests/harness/profile
# shellcheck disable=SC2086 # words
${CC:-cc} $flags -shared -fPIC -o "$tmp/libhot.so" "$here/hot_library.c" &&
    ${CC:-cc} $flags -fopenmp -o "$tmp/hot" "$here/hot.c" -L"$tmp" -lhot -Wl,-rpath,"$tmp" 2>"$tmp/err"
ok "the program of known loops is compiled"

loops='
m = int(sys.argv[3])
loop(run, "^scalar loop", m, 1, 4, 1, 8)
loop(run, "^sse loop", m, 1, 5, 2, 16, 16)
loop(run, "^avx2 loop", m, 1, 4, 8, 32)
inner = loop(run, "^nested loop", m, 100, 5, 2, 8)
outer = part(run, "^nested loop", "loop", 100)
if outer["entries_low"] != 1 or run["parts"][inner["parent"]] != outer or outer["flops"] != 0:
    sys.exit("the outer loop is entered once, around the inner one")
if outer["inside"]["flops"] != 2 * m:
    sys.exit("the inner loop is inside the outer one")
loop(run, "^inlined in caller loop", m, 1, 4, 1, 8)
loop(run, "^recursive loop", m, 10, 5, 2, 16, 16)
loop(run, "^parallel.* loop", m, 2, 5, 2, 8)
loop(run, "^hot_library loop .*libhot.so", m, 1, 5, 2, 8)
'
run --min-share 0 --json "$tmp/json" --repeat 3 "$tmp/hot" $iterations
python3 "$tmp/check.py" "$tmp/json" "$loops" $iterations >>"$tmp/err" 2>&1
ok "each loop has its instructions, flops, bytes, entries and trips"

echo "1..$n"
exit $failed
