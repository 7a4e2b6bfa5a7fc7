#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The command line on good and bad input and on bad luck: every refusal has one clear line with the
# remedy, exit 1 or 2, and leaves an earlier model whole. Prints TAP.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
dir=$tmp
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
export XDG_DATA_HOME="$dir/data"

# refuses NAME STATUS PATTERN command...: that exit status, no output, one line on standard error that matches
refuses() {
  name=$1 want=$2 pattern=$3
  shift 3
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  [ $? -eq "$want" ] && [ ! -s "$dir/out" ] && [ "$(said "$dir/err" | wc -l)" -eq 1 ] &&
    said "$dir/err" | grep -q -- "$pattern"
  ok "$name"
}

# --budget: a busy machine may take longer than the 5 s of --quick
quick="build --quick --budget 60 --levels L1 --threads 1 --reps 16"

# ---- misuse ------------------------------------------------------------------------------------

refuses "no such command" 2 "no command 'bild'" "$carm" bild
refuses "no such option" 2 "has no option --nope" "$carm" build --nope
refuses "a mistyped option" 2 "build has no option --treads; did you mean --threads?" "$carm" build --treads 1
refuses "a mistyped option of a sub-command" 2 "did you mean --largest?" "$carm" study --lagrest 2 gemm
refuses "a mistyped command" 2 "no command 'shwo' (did you mean show?)" "$carm" shwo
refuses "... of which nothing is near" 2 "no command 'frobnicate'; .carm --help. lists them" "$carm" frobnicate
# shellcheck disable=SC2086 # $quick is words
refuses "a mistyped folder, before anything is measured" 2 "there is no folder $dir/no/such; make it" \
    "$carm" $quick -o "$dir/no/such/m.json"
[ ! -e "$dir/no" ]
ok "... which is not made"
refuses "option without its value" 2 "needs a value" "$carm" build --isa
refuses "switch with a value" 2 "takes no value" "$carm" build --quick=yes
refuses "too many operands" 2 "build takes no operands, 'model.json'" "$carm" build model.json
refuses "unknown ISA" 2 "unknown ISA 'mmx'" "$carm" build --isa mmx
refuses "empty list" 2 "at least one value" "$carm" build --isa ,
refuses "unknown precision" 2 "unknown precision 'hp'" "$carm" build --precision hp
refuses "unknown operation" 2 "unknown operation 'cbrt'" "$carm" build --ops cbrt
refuses "unknown level" 2 "this machine has L" "$carm" build --levels L9
refuses "0 threads" 2 "at least 1 thread" "$carm" build --threads 0
refuses "too many threads" 2 "more than this machine's" "$carm" build --threads 100000
refuses "threads that are no number" 2 "is no number" "$carm" build --threads two
refuses "reps 0" 2 "--reps 0: give" "$carm" build --reps 0
refuses "negative reps" 2 "--reps -5" "$carm" build --reps=-5
refuses "reps that are no number" 2 "--reps 8k" "$carm" build --reps 8k
refuses "absurd reps" 2 "--reps 99999999999999999999" "$carm" build --reps 99999999999999999999
refuses "a ratio of 0:0" 2 "moves no data" "$carm" build --ldst 0:0
refuses "a mix that is none" 2 "unknown load:store mix" "$carm" build --ldst 2-1
refuses "a mix that is too long" 2 "too long" "$carm" build --ldst 99:1
refuses "non-temporal loads" 2 "no store" "$carm" build --ldst 1:0nt
refuses "non-temporal stores alone" 2 "add a mix" "$carm" build --ldst nt
refuses "unknown ceilings" 2 "group of ceilings 'simd': in-core, mix, memory, busy or traffic" \
  "$carm" build --ceilings=mix,simd
refuses "ceilings without their list" 2 "has no value: give --ceilings or --ceilings\[=LIST\]" \
  "$carm" build --ceilings=
refuses "a list of ceilings after a blank" 2 "takes no operands, 'mix'" \
  "$carm" build --ceilings mix
refuses "too many operands for a command that takes one" 2 "show takes at most 1 operand, 'b.json'" \
  "$carm" show a.json b.json
refuses "no sub-command" 2 "say which: carm study gemm, classes or dwarfs; .carm study --help." "$carm" study
refuses "... of fleet" 2 "say which: carm fleet build, show or report" "$carm" fleet
refuses "... behind options alone" 2 "say which: carm study gemm" "$carm" study --n 100 --json
refuses "no such sub-command" 2 "study has no sub-command 'lu': choose gemm, classes or dwarfs" \
  "$carm" study lu
refuses "help for no such sub-command" 2 "no sub-command 'lu'; .carm study --help." "$carm" help study lu
refuses "an option that no sub-command has" 2 "study has no option --nope; .carm study --help." \
  "$carm" study --nope gemm
refuses "... behind the sub-command" 2 "study gemm has no option --nope; .carm study gemm --help." \
  "$carm" study gemm --nope
for pair in gemm:--largest:classes gemm:-k:classes gemm:--matrix:dwarfs classes:--variants:gemm \
  classes:--n:gemm dwarfs:--largest:classes dwarfs:--variants:gemm; do
  name=${pair%%:*} option=${pair#*:}
  refuses "study $name with ${option%:*}" 2 \
    "study $name has no option ${option%:*} (carm study ${option#*:} has it); .carm study $name --help." \
    "$carm" study "$name" "${option%:*}" 1
done
for pair in show:--isa:build show:--reps:build show:--output:build show:--title:report build:--top:show \
  build:--strict:show report:--json:show report:--group:show report:--quick:build; do
  name=${pair%%:*} option=${pair#*:}
  refuses "fleet $name with ${option%:*}" 2 \
    "fleet $name has no option ${option%:*} (carm fleet ${option#*:} has it); .carm fleet $name --help." \
    "$carm" fleet "$name" models "${option%:*}" 5
done
refuses "an option of another sub-command before the name" 2 "study gemm has no option --largest" \
  "$carm" study --largest 5 gemm
refuses "an operand of a sub-command without any" 2 "study gemm takes no operands, 'x' is too many" \
  "$carm" study gemm x
refuses "... of fleet build" 2 "fleet build takes no operands, 'models'" "$carm" fleet build models
refuses "a size that is none" 2 "is no size" "$carm" build --memory lots
refuses "negative memory" 2 "is no size" "$carm" build --memory -1G
refuses "asm without a code" 2 "name a test code" "$carm" asm
refuses "asm of nonsense" 2 "is not understood" "$carm" asm Z.avx2.dp
refuses "asm: no such code of latencies" 2 "there is no code 'L.add'.*L.KIND" "$carm" asm L.add
refuses "asm: codes of two sorts" 2 "cannot be combined with --ai or other test codes" "$carm" asm L.load A.avx2.dp.2:1
refuses "build: latencies perhaps" 2 "latency.*perhaps" "$carm" build --latency perhaps
refuses "asm: unknown field" 2 "field 'x8'" "$carm" asm A.avx2.dp.2:1.x8
refuses "asm: fma in avx" 2 "take avx2" "$carm" asm B.avx.dp.fma
refuses "asm: tiles that are updated" 2 "amx has neither updates nor" "$carm" asm A.amx.int8.update
refuses "a study of tiles" 2 "no study uses tiles" "$carm" study gemm --isa amx
refuses "asm: intensity out of reach" 2 "out of reach" "$carm" asm C.avx2.dp.2:1.fma --ai 1e9
refuses "asm: intensity that is none" 2 "is no intensity" "$carm" asm C.avx2.dp.2:1.fma --ai 1//2

# ---- what this machine lacks -------------------------------------------------------------------

lacking=
for isa in avx512 avx2 avx; do
  "$carm" info --json | grep -q "\"$isa\"" || lacking=$isa
done
if [ -n "$lacking" ]; then
  refuses "an ISA that this CPU lacks" 1 "does not have $lacking" "$carm" build --isa "$lacking"
else
  skip "an ISA that this CPU lacks" "this CPU has all; the check is tested in test_harness"
fi
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
  refuses "threads outside the cpuset" 2 "do not fit this process's cpuset of 1" \
    taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')" "$carm" build --threads 2
else
  skip "threads outside the cpuset" "one CPU, or no taskset"
fi
refuses "more memory than there is" 1 "available: give less" "$carm" build --memory 900T
refuses "too little memory" 1 "too little memory" "$carm" build --memory 1M
if grep -q __asan_init "$carm"; then
  skip "an address space that is too small" "AddressSanitizer needs terabytes of it"
else
  refuses "an address space that is too small" 1 "too little memory" \
    sh -c "ulimit -v 30000; exec '$carm' build --quick -o '$dir/small.json'"
fi
# shellcheck disable=SC2086
refuses "no nasm for codes that are not built in" 1 "cannot start nasm.*install it.*A[.].*3:2" \
  env PATH="$dir" "$carm" $quick --ldst 3:2 -o "$dir/a.json"
# shellcheck disable=SC2086
TMPDIR=$dir/nowhere refuses "no folder for temporary files" 1 "set TMPDIR" "$carm" $quick \
  --ldst 3:2 -o "$dir/a.json"
# shellcheck disable=SC2086
env PATH="$dir" "$carm" $quick -o "$dir/builtin.json" >"$dir/out" 2>"$dir/err" &&
  [ -s "$dir/builtin.json" ] && [ -z "$(said "$dir/err")" ]
ok "the default plan needs no nasm"
# shellcheck disable=SC2086
env PATH="$dir" "$carm" $quick --latency yes --memory 64M -o "$dir/builtin-latency.json" >"$dir/out" 2>"$dir/err" &&
  { grep -q '"in_flight"' "$dir/builtin-latency.json" || grep -q 'budget left no time' "$dir/err"; }
ok "nor do latencies"
env PATH="$dir" "$carm" validate --quick --budget 60 --reps 16 --levels L1 "$dir/builtin.json" >"$dir/out" \
  2>"$dir/err" && [ ! -s "$dir/err" ]
ok "nor does its validation"
rm -f "$dir"/builtin*

if "$carm" info --json | grep -q '"avx"'; then
  refuses "an operation that no chosen ISA has" 1 "none of the chosen ISAs has fma" \
    "$carm" build --isa avx --ops fma
else
  skip "an operation that no chosen ISA has" "this CPU has no avx"
fi

# ---- places that cannot be written -------------------------------------------------------------

mkdir "$dir/readonly"
chmod 555 "$dir/readonly"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$dir"
  cp "$carm" "$dir/carm" # nobody may not look into root's folders
  # shellcheck disable=SC2086
  refuses "a read-only folder" 1 "choose another place" setpriv --reuid=65534 --regid=65534 --clear-groups \
    "$dir/carm" $quick -o "$dir/readonly/m.json"
elif [ "$(id -u)" -ne 0 ]; then
  # shellcheck disable=SC2086
  refuses "a read-only folder" 1 "choose another place" "$carm" $quick -o "$dir/readonly/m.json"
else
  skip "a read-only folder" "root may write everywhere, and there is no setpriv"
fi
# shellcheck disable=SC2086
refuses "a folder in place of a file" 1 "$dir" "$carm" $quick -o "$dir"
echo file >"$dir/file"
# shellcheck disable=SC2086
refuses "a folder that is a file" 1 "file" "$carm" $quick -o "$dir/file/m.json"

echo '{"old": true}' >"$dir/old.json"
# a limit on file size stands for a full disk
# shellcheck disable=SC2086
sh -c "trap '' XFSZ; ulimit -f 1; exec '$carm' $quick -o '$dir/old.json'" >"$dir/out" 2>"$dir/err"
status=$?
[ "$status" -eq 1 ] && grep -q '"old": true' "$dir/old.json" && grep -q "carm: " "$dir/err"
ok "a full disk leaves the old model whole"
[ "$(find "$dir" -maxdepth 1 -name '*old.json*' | wc -l)" -eq 1 ]
ok "... and no temporary file behind"
"$carm" show "$top/tests/data/sample-model.json" >/dev/full 2>"$dir/err"
[ $? -eq 1 ] && grep -q "cannot write the output" "$dir/err"
ok "output that cannot be written is an error"

# ---- interrupted -------------------------------------------------------------------------------

# a shell's background jobs ignore SIGINT: env resets it
env --default-signal=INT "$carm" build --threads 1 --reps 65536 -o "$dir/old.json" >"$dir/out" \
  2>"$dir/err" &
pid=$!
sleep 2
kill -INT "$pid"
wait "$pid"
status=$?
[ "$status" -eq 1 ] && grep -q "interrupted: nothing was written" "$dir/err" &&
  grep -q '"old": true' "$dir/old.json"
ok "SIGINT in the middle leaves the old model whole"
[ "$(find "$dir" -maxdepth 1 -name '*old.json*' | wc -l)" -eq 1 ]
ok "... and no temporary file behind"

# ---- the main road -----------------------------------------------------------------------------

# in little memory: the figures prove nothing here
"$carm" build --quick --budget 60 --reps 64 --memory 64M >"$dir/out" 2>"$dir/err"
status=$?
model=$(find "$dir/data/carm" -name '*.json')
[ "$status" -eq 0 ] && [ -s "$model" ] && [ -z "$(said "$dir/err")" ] && grep -q "roofs from 64" "$dir/out"
ok "build without -o writes the default model, quiet in a pipe"
"$carm" show >"$dir/out" 2>"$dir/err" && grep -q "L1 " "$dir/out" && grep -q "fma\|mad" "$dir/out"
ok "show finds it"
"$carm" info >"$dir/out" 2>"$dir/err" && head -n 5 "$dir/out" | grep -q "$model" && grep -q "^counters" "$dir/out" &&
  [ "$(tail -n 1 "$dir/out")" = "next: carm show" ]
ok "info names it"
"$carm" build --quick --budget 60 --reps 64 --levels L1 --threads 1 --json -o "$dir/j.json" >"$dir/out" 2>"$dir/err" &&
  cmp -s "$dir/out" "$dir/j.json"
ok "build --json prints what it wrote"
if python3 -c 'import jsonschema' 2>/dev/null; then
  python3 - "$top/data/model.schema.json" "$model" >"$dir/out" 2>"$dir/err" <<'PY'
import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))
PY
  ok "a measured model follows the published schema"
else
  skip "a measured model follows the published schema" "no python3-jsonschema"
fi
"$carm" build --quick --budget 60 --reps 64 --isa all --precision dp,sp --levels L1 --ops mad,fma,add,mul,div \
  --ldst 2:1,1:1,1:0,0:1,update,nt,3:2,2:1nt --threads 1 -o "$dir/all.json" >"$dir/out" 2>"$dir/err"
ok "all ISAs, precisions, mixes and operations"
# of every ISA and precision (tiles have neither dp nor sp): seven mixes in L1 (nt has no roof there), five operations or four
sets=$(grep -c '"dram_peak"\|"compute":' "$dir/all.json")
isas=$("$carm" info --json | sed -n '/"isas"/,/]/p' | grep '^    "' | grep -vc '"amx"')
[ "$sets" -eq $((isas * 2)) ]
ok "... gives one set of roofs for each"
grep -qE "^(L2|L3|DRAM) not resolved" "$dir/out"
[ $? -eq 1 ]
ok "... and is silent about levels that were not asked for"
l3=$("$carm" info --json | awk '/"level": 3/ { l3 = 1 } l3 && /"os_size_bytes"/ {
  gsub(/[^0-9]/, ""); print; exit }')
if [ "${l3:-0}" -ge 16777216 ]; then
  "$carm" build --quick --budget 60 --reps 64 --memory 16M --threads 1 -o "$dir/m.json" >"$dir/out" 2>"$dir/err"
  tr "\n" " " <"$dir/out" | grep -q "DRAM not resolved.*--memory"
  ok "a memory limit that forbids reaching DRAM is said"
else
  skip "a memory limit that forbids reaching DRAM is said" "the last cache is below 16 MiB"
fi

# ---- ceilings ----------------------------------------------------------------------------------

# Single points are compared with room for a machine that is busy; what stands between two steps of
# the ladder, several times, is more. Where a point stayed disturbed, nothing is concluded from it.
"$carm" build --quick --budget 20 --ceilings -o "$dir/c.json" >"$dir/out" 2>"$dir/err" &&
  grep -q '^[0-9]* ceilings' "$dir/out" && [ -z "$(said "$dir/err")" ]
ok "build --ceilings"
if python3 -c '' 2>/dev/null; then
  python3 - "$dir/c.json" "$carm" >"$dir/out" 2>"$dir/err" <<'PY'
import json, subprocess, sys
m = json.load(open(sys.argv[1]))
have = [r for r in m["roofs"] if "ceilings" in r]
assert len(have) == 1, "one set has ceilings"
r = have[0]
assert r["threads"] == max(x["threads"] for x in m["roofs"])
c = {x["name"]: x for x in r["ceilings"]}
groups = {x["group"] for x in r["ceilings"]}
assert groups == {"in-core", "mix", "memory", "busy", "traffic"}, groups
for x in r["ceilings"]:
    assert x["rate"] > 0 or x["note"], x
    if x["rate"] > 0:
        assert x["ci95"][0] <= x["rate"] <= x["ci95"][1], x
codes = sorted({x["code"] for x in r["ceilings"] if x["code"]})
for code in codes: # each is a code that can be printed
    subprocess.run([sys.argv[2], "asm", code], check=True, stdout=subprocess.DEVNULL)
op = "fma" if "tlp fma" in c else "mad"
pairs = [("tlp add", "ilp add"), ("tlp " + op, "ilp " + op), ("random", "dot"), ("jump 8", "dot")]
steps = ["ilp"] + [s for s in ("simd16", "simd32", "simd64") if s + " add" in c]
for o in ("add", op):
    pairs += [(a + " " + o, b + " " + o) for a, b in zip(steps, steps[1:])
              if a + " " + o in c and b + " " + o in c]
pairs.append((steps[-1] + " add", steps[-1] + " " + op if steps[-1] + " " + op in c
              else steps[-1] + " mad"))
compared = 0
for low, high in pairs:
    a, b = c[low], c[high]
    if not (a["rate"] and b["rate"]) or a["disturbed"] or b["disturbed"]:
        print("not compared:", low, high)
        continue
    core = a["group"] == "in-core" # per cycle: the clock moves
    x = a["ci95"][0] / (a["clock_hz"] if core else 1)
    y = b["ci95"][1] / (b["clock_hz"] if core else 1)
    print(low, "<=", high, x / y)
    assert x <= 1.15 * y, (low, high, x, y)
    compared += 1
    if low.startswith("tlp"): # latency against throughput: at least 4 by 1
        assert x <= 0.5 * y, (low, high, x, y)
print(compared, "of", len(pairs))
PY
  ok "each ceiling lies at or below the next one"
else
  skip "each ceiling lies at or below the next one" "no python3"
fi
# which of them cost nothing here depends on how quiet the machine is: tests/cli/show_test.sh has the order
"$carm" show --verbose --no-plot "$dir/c.json" >"$dir/out" 2>"$dir/err" && grep -q "tlp add" "$dir/out" &&
  grep -q "in order, balance on top: " "$dir/out" && grep -q "^    fp 1/4 " "$dir/out"
ok "show lists them"
"$carm" build --quick --budget 60 --reps 64 --threads 1 --levels L1 --ceilings=busy,traffic,memory -o "$dir/c1.json" \
  >"$dir/out" 2>"$dir/err" && "$carm" show --verbose --no-plot "$dir/c1.json" >"$dir/out" 2>"$dir/err" &&
  grep -q "busy 1/2 .*not measurable: the set has one thread" "$dir/out" &&
  grep -q "random .*not measured: memory is not among the levels of this build" "$dir/out" &&
  ! grep -q "tlp add" "$dir/out"
ok "... with the reasons of those that cannot be measured"
"$carm" build --quick --budget 60 --reps 64 --levels L1 --ceilings=in-core --json -o "$dir/c2.json" >"$dir/out" 2>"$dir/err" &&
  cmp -s "$dir/out" "$dir/c2.json" && [ "$(grep -o '"group": "[a-z-]*"' "$dir/c2.json" | sort -u)" = '"group": "in-core"' ]
ok "... and the chosen groups alone"
if python3 -c 'import jsonschema' 2>/dev/null; then
  python3 - "$top/data/model.schema.json" "$dir/c.json" "$dir/c1.json" >"$dir/out" 2>"$dir/err" <<'PY'
import json, sys, jsonschema
for f in sys.argv[2:]:
    jsonschema.validate(json.load(open(f)), json.load(open(sys.argv[1])))
PY
  ok "ceilings follow the published schema"
else
  skip "ceilings follow the published schema" "no python3-jsonschema"
fi

# ---- asm ---------------------------------------------------------------------------------------

good=0
for code in A.avx512.dp.2:1.u8.p1024 B.avx2.sp.fma C.sse.dp.1:1.mad A.scalar.sp.nt C.avx.dp.update.div \
  B.amx.bf16.dot C.amx.fp16.2:1.dot A.amx.int8.1:1; do
  "$carm" asm "$code" >"$dir/code.asm" 2>"$dir/err" &&
    timeout 600 nasm -f bin -o "$dir/code.bin" "$dir/code.asm" 2>>"$dir/err" &&
    [ -s "$dir/code.bin" ] || good=1
done
[ $good -eq 0 ]
ok "asm prints sources that plain nasm assembles"
"$carm" asm C.avx2.dp.2:1.fma --ai 1/12 --account >"$dir/out" 2>"$dir/err" &&
  grep -q "1/12 = 0.0833333 flop/byte" "$dir/out"
ok "asm --ai reaches the intensity exactly"

# ---- help --------------------------------------------------------------------------------------

good=0
for c in $("$carm" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
  "$carm" "$c" --help >"$dir/out" 2>"$dir/err" && grep -q "^usage: carm $c" "$dir/out" &&
    [ "$(awk 'length > 80' "$dir/out" | wc -l)" -eq 0 ] && [ "$(wc -l <"$dir/out")" -le 100 ] || good=1
done
[ $good -eq 0 ]
ok "every command has help of at most two screens"
good=0
for c in study fleet; do
  "$carm" "$c" --help >"$dir/parent" 2>"$dir/err" && grep -q "^usage: carm $c [a-z|]* \[options\]" "$dir/parent" &&
    ! grep -q "^options:" "$dir/parent" || good=1
  sed -n '/^sub-commands:/,/^$/s/^  \([a-z][a-z]*\)  *[a-z].*/\1/p' "$dir/parent" >"$dir/names"
  while read -r s; do
    "$carm" "$c" "$s" --help >"$dir/out" 2>"$dir/err" && grep -q "^usage: carm $c $s \[options\]" "$dir/out" &&
      [ "$(awk 'length > 80' "$dir/out" | wc -l)" -eq 0 ] || good=1
    "$carm" help "$c" "$s" >"$dir/full" && [ "$(wc -l <"$dir/full")" -ge "$(($(wc -l <"$dir/out") - 2))" ] &&
      grep -q "^usage: carm $c $s \[options\]" "$dir/full" || good=1
    "$carm" "$c" "$s" -h | cmp -s - "$dir/out" || good=1
    echo "$c $s" >>"$dir/subs"
  done <"$dir/names"
done
[ "$(tr '\n' , <"$dir/subs")" = "study gemm,study classes,study dwarfs,fleet build,fleet show,fleet report," ] || good=1
[ $good -eq 0 ]
ok "every sub-command has help of its own, and its command lists it with a line"
good=0
"$carm" study gemm --help >"$dir/out"
{ grep -q -- "--variants" "$dir/out" && ! grep -qE -- "--(largest|matrix|kernels)" "$dir/out"; } || good=1
"$carm" fleet show --help >"$dir/out"
{ grep -q -- "--group" "$dir/out" && ! grep -qE -- "--(isa|reps|title|output|time-limit)" "$dir/out"; } || good=1
[ $good -eq 0 ]
ok "... which shows its options alone"
if command -v python3 >/dev/null; then
  # a terminal of 200 and one of 60 columns; a pipe
  for columns in 200 60; do
    COLUMNS=$columns python3 - "$carm" run -- "/$(printf 'a%.0s' $(seq 30))/no such program" >"$dir/$columns" <<'PY'
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 25, int(os.environ["COLUMNS"]), 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
text = b""
try:
    while more := os.read(terminal, 4096):
        text += more
except OSError:
    pass
os.waitpid(pid, 0)
print(text.decode().replace("\r", ""), end="")
PY
  done
  "$carm" run -- "/$(printf 'a%.0s' $(seq 30))/no such program" 2>"$dir/err"
  [ "$(wc -l <"$dir/err")" -eq 1 ] && [ "$(wc -l <"$dir/200")" -eq 2 ] && [ "$(wc -l <"$dir/60")" -gt 2 ] &&
    [ "$(awk 'length > 60' "$dir/60" | wc -l)" -eq 0 ] && [ "$(awk 'length > 100' "$dir/200" | wc -l)" -eq 0 ] &&
    grep -q '^      ' "$dir/60" && [ "$(tr -s ' \n' '  ' <"$dir/60")" = "$(tr -s ' \n' '  ' <"$dir/err")" ]
  ok "on a terminal, sentences are wrapped to its width or 100 columns; in a file they are lines"
else
  skip "sentences are wrapped on a terminal" "no python3"
fi
"$carm" --version >"$dir/out" && grep -q "^carm [0-9]" "$dir/out"
ok "version"
finish
