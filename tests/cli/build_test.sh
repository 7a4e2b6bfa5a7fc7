#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds that go on from the model in place, and their budget. Prints TAP. CARM = the program.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
m=$tmp/model.json
# --budget: a busy machine may take longer than the 5 s of --quick
tiny="--quick --budget 60 --reps 64 --levels L1 --ops add --threads 1 --isa sse --memory 64M"

# rounds CONDITION: on the number of rounds of each roof
rounds() {
    python3 - "$m" "$1" 2>"$tmp/err" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
n = [len(x["rounds"]) for r in m["roofs"] for x in r["memory"] + r["compute"]]
times = [[y["at"] for y in x["rounds"]] for r in m["roofs"] for x in r["memory"] + r["compute"]]
assert all(t == sorted(t) for t in times), times
assert n and eval(sys.argv[2]), n
PY
}

# build ARGUMENTS...
build() {
    # shellcheck disable=SC2086 # words
    run build $tiny -o "$m" "$@"
}

if ! build; then
    grep -q 'cannot pin\|time stamp' "$tmp/err"
    ok "refuses for a known reason"
    finish
fi
rounds 'min(n) >= 4'
ok "a build has rounds"
run show --verbose --no-plot "$m" && grep -q ' rounds each, on 1 day; state of the machine: ' "$tmp/out"
ok "show tells how many, and the states"
cp "$m" "$tmp/first.json"
build && rounds 'max(n) >= 8'
ok "a second build adds its rounds"
build --fresh && rounds 'max(n) <= 4 * 3'
ok "--fresh starts over"

# what the model lacks for a point is measured when the point is placed
printf 'name,flops,bytes,seconds,threads,isa,precision\np,1e9,1e9,1,1,scalar,sp\n' >"$tmp/p.csv"
lacks='^carm: measuring the roofs of scalar sp with 1 thread, which the model lacks'
cp "$m" "$tmp/plain.json"
run place --no-measure "$m" "$tmp/p.csv" && ! grep -q 'measuring' "$tmp/err" && cmp -s "$m" "$tmp/plain.json"
ok "--no-measure leaves the model as it is"
sed 's/"hostname": "[^"]*"/"hostname": "elsewhere"/' "$m" >"$tmp/e.json"
run place "$tmp/e.json" "$tmp/p.csv" && ! grep -q 'measuring' "$tmp/err"
ok "another machine's model is no place for this one's roofs"
run place "$m" "$tmp/p.csv" && grep -q "$lacks" "$tmp/err" && ! grep -q 'no sp roofs' "$tmp/out" &&
    python3 - "$tmp/plain.json" "$m" 2>"$tmp/err" <<'PY'
import json, sys
plain, after = (json.load(open(f)) for f in sys.argv[1:])
*old, new = after.pop("roofs")
assert old == plain.pop("roofs") and after == plain
assert (new["isa"], new["precision"], new["threads"]) == ("scalar", "sp", 1), new
assert [x["level"] for x in new["memory"]] == ["L1"] and {"add", "div", "sqrt"} <= {x["op"] for x in new["compute"]}
PY
ok "place measures the roofs of scalar sp alone, and adds them"
run place "$m" "$tmp/p.csv" && ! grep -q 'measuring' "$tmp/err"
ok "... once"
build && rounds 'max(n) >= 8'
ok "a build goes on from such a model"
full="${tiny#--quick } --isa scalar"
# shellcheck disable=SC2086 # words
run build $full -o "$m" && python3 - "$m" 2>"$tmp/err" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
isas = {r["isa"]: [len(x["rounds"]) for x in r["memory"]] for r in m["roofs"] if r["precision"] == "dp"}
assert set(isas) == {"sse", "scalar"} and not m["config"]["quick"], (isas, m["config"])
PY
ok "a full build of another set keeps those of a quick one"
build --fresh

# the day before had all to itself: each rate three times as high
python3 - "$tmp/first.json" "$m" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
for r in m["roofs"]:
    for x in r["memory"] + r["compute"]:
        rate = "bandwidth" if "bandwidth" in x else "rate"
        x[rate] *= 3
        x["ci95"] = [3 * v for v in x["ci95"]]
        x["rounds"] = [{**y, "rate": x[rate], "at": y["at"] - 86400 + i, "state": "quiet"}
                       for i, y in enumerate(x["rounds"])]
json.dump(m, open(sys.argv[2], "w"))
PY
cp "$m" "$tmp/good.json"
build && python3 - "$tmp/good.json" "$m" 2>"$tmp/err" <<'PY'
import json, sys
good, after = (json.load(open(f)) for f in sys.argv[1:])
def rates(m):
    return {(r["isa"], r["threads"], *(x.get(k) for k in ("level", "ldst", "op"))): x.get("bandwidth", x.get("rate"))
            for r in m["roofs"] for x in r["memory"] + r["compute"]}
after = rates(after)
for key, rate in rates(good).items():
    assert after[key] > 0.9 * rate, (key, rate, after[key])
PY
ok "a bad day does not make the model worse"
run show --verbose --no-plot "$m" && grep -q ' on 2 days; ' "$tmp/out"
ok "show tells on how many days"

# another configuration, another machine
build --precision sp && rounds 'max(n) <= 4 * 3'
ok "another precision starts over"
# shellcheck disable=SC2086 # words
run build $tiny --ops add,mul --precision sp,bf16 -o "$m" &&
    grep -q '^carm: none of the chosen ISAs has bf16 on this CPU: measuring the other precisions$' "$tmp/err" &&
    grep -q '^sse sp, 1 thread: .* mul ' "$tmp/out" && grep -q '^Not run here, .* on this CPU: bf16[.]$' "$tmp/out"
ok "a precision that this CPU does not have is named, the others are measured"
cp "$tmp/first.json" "$m"
sed -i 's/"hostname": "[^"]*"/"hostname": "elsewhere"/' "$m"
build && rounds 'max(n) <= 4 * 3'
ok "another machine's model is replaced"
echo '{' >"$m"
build && rounds 'min(n) >= 4'
ok "a broken model is replaced"

# on a busy machine again, with more time
for budget in '' '--budget 60' '--budget 300'; do
    # shellcheck disable=SC2086 # words
    build --fresh --latency yes $budget && ! grep -q 'budget left no time' "$tmp/err" && break
done && python3 - "$m" "$CARM" 2>"$tmp/err" <<'PY'
import json, subprocess, sys
m = json.load(open(sys.argv[1]))
assert len(m["core"]) > 40, len(m["core"])
assert all(f["latency"] or f["throughput"] or f["note"] for f in m["core"])
names = [f["code"] for f in m["core"] if f["code"]]
for i in range(0, len(names), 50):
    subprocess.run([sys.argv[2], "asm", *names[i:i + 50]], check=True, stdout=subprocess.DEVNULL)
levels = {(l["level"], l["order"]) for l in m["latency"]}
assert ("L1", "random") in levels and ("DRAM", "random") in levels, levels
assert all(p["working_set_bytes"] < q["working_set_bytes"]
           for c in m["latency_curves"] for p, q in zip(c["points"], c["points"][1:]))
PY
ok "latencies, and their codes"
build --fresh && ! grep -q '"latency"' "$m"
ok "--quick alone: none"

cores=$($carm info | sed -n 's/^cores *\([0-9]*\).*/\1/p')
build --fresh --threads 1,cores --ops fma --isa avx2 --scaling && python3 - "$m" "${cores:-1}" 2>"$tmp/err" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
curves = {c["level"]: c for c in m["scaling"]}
assert set(curves) == {"L1", "peak"}, curves
for c in curves.values():
    threads = [p["threads"] for p in c["points"]]
    assert c["layout"] == "compact" and 1 in threads and int(sys.argv[2]) in threads and len(threads) <= 16, c
    codes = {r.get("code") for s in m["roofs"] for r in s["memory"] + s["compute"]}
    assert all(p["code"] in codes and p["rate"] > 0 for p in c["points"]), c
PY
ok "--scaling: the roofs' codes with 1 to all cores"
build --threads 1,cores --ops fma --isa avx2 && grep -q '"scaling"' "$m"
ok "... which a later build keeps"
refuses "a budget that is no number" 2 "--budget 'soon' is no number of seconds" build --budget soon
refuses "a negative budget" 2 "--budget '-1'" build --budget=-1
for _ in 1 2 3 4 5 6; do # on a busy machine 5 s are few
    build --fresh --budget 0 && rounds 'min(n) >= 1' && break
done
ok "a budget of nothing counts as 5 s: each roof has a round"

# ---- signals: the bounds only catch what hangs

# stopped SIGNAL: a long build gets it; its status is left in $status, what it says in $tmp/err
stopped() {
    cp "$m" "$tmp/before.json"
    # a shell's background jobs ignore SIGINT: env resets it
    env --default-signal=INT,TERM "$CARM" build -t 1 --levels L1 --fresh --budget 600 -o "$m" >"$tmp/out" 2>"$tmp/err" </dev/null &
    pid=$!
    sleep 1
    "$CARM" validate "$tmp/nowhere.json" 2>"$tmp/none" # does not wait for the build
    kill -"$1" $pid
    (sleep 60; kill -KILL $pid) 2>/dev/null &
    guard=$!
    status=0
    wait $pid || status=$?
    kill $guard 2>/dev/null
}
for signal in TERM INT; do
    stopped $signal
    [ $status -eq 1 ] && grep -q 'interrupted: nothing was written' "$tmp/err" && cmp -s "$m" "$tmp/before.json" &&
        build --wait 0 && ! grep -q 'wait' "$tmp/err"
    ok "SIG$signal ends a build in order, and its lock"
    grep -q '^carm: there is no model file' "$tmp/none" && [ "$(wc -l <"$tmp/none")" -eq 1 ]
    ok "... beside it, validate of no model fails at once"
done

# a search, whose codes lie with this user's models
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
own=$XDG_DATA_HOME/carm/search/codes.json
build --fresh --search --budget 0 && grep -q '^Search: ' "$tmp/out"
ok "a search says what it found"
mkdir -p "${own%/*}" && echo '{"schema": "carm-codes/1", "codes": [{}]}' >"$own"
refuses "a file of codes that is damaged" 1 "search/codes.json: codes[0].machine" build
rm "$own"
finish
