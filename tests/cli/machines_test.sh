#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Words for places, and what info and build --dry-run say on machines of twelve types. Prints TAP. CARM = the
# program; UPDATE=1 rewrites the golden texts.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
data=$top/tests/data/topologies
unset HWLOC_SYNTHETIC
export XDG_DATA_HOME="$tmp/data" # without a model of this machine
mkdir "$tmp/machines" && python3 "$data/make.py" "$tmp/machines"
ok "machines are made"

# of MACHINE ARGUMENTS...: on a machine of make.py, without the CPU's own ISAs and the memory of this machine
of() {
    machine=$1
    shift
    HWLOC_XMLFILE=$tmp/machines/$machine.xml run "$@"
}

# dry MACHINE ARGUMENTS...
dry() {
    machine=$1
    shift
    of "$machine" build --dry-run --isa sse --memory 64M -o model.json "$@"
}

for file in "$tmp"/machines/*.xml; do
    machine=${file##*/}
    machine=${machine%.xml}
    want=$data/$machine.txt
    of "$machine" info && sed -n '/^cores/,/^memory/p' "$tmp/out" | sed '/^memory/d' >"$tmp/text" &&
        dry "$machine" && sed '/^Not this/,/^unset/d' "$tmp/out" >>"$tmp/text"
    [ "${UPDATE:-}" ] && cp "$tmp/text" "$want"
    diff "$want" "$tmp/text" >"$tmp/err" 2>&1
    ok "$machine: info and build --dry-run"
done

# sets MACHINE "THREADS PLACE CPUS;..." ARGUMENTS...: the sets of a dry run, and the model's file name
sets() {
    machine=$1 want=$2
    shift 2
    of "$machine" build --dry-run --json --isa sse --memory 64M "$@" && python3 - "$tmp/out" "$want" 2>"$tmp/err" <<'PY'
import json, sys
plan = json.load(open(sys.argv[1]))
got = ";".join(f"{s['threads']} {s['place']} {s['cpus']}" for s in plan["sets"])
assert got == sys.argv[2], got
assert plan["seconds"] < plan["budget_seconds"] == 60 and not plan["this_machine"], plan
PY
    ok "$machine $*: $want"
}

big=2x96-smt2-ccd8
sets $big '1 core:16 16;8 l3:2 16-23' --on l3:2
sets $big '1 core:96 96;8 l3:12 96-103;96 socket:1 96-191' --on socket:1
sets $big '1 core:0 0;8 l3:0 0-7' --on core:0-7
sets $big '1 core:3 3;2 cpu:3,7 3,7;3 core:3,7,9 3,7,9' --on core:3,7,9
sets $big '1 core:96 96;4 S1:0-3 96-99' --on S1:0-3
sets $big '1 core:0 0;2 cpu:0-1 0-1;4 S0:0-1@S1:0-1 0-1,96-97' --on S0:0-1@S1:0-1
sets $big '1 core:8 8;8 l3:1 8-15' --on C1:
sets $big '16 cpu:0-15 0-15' --on cpu:0-15 --threads all
sets $big '1 core:0 0;24 1/l3 0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120,128,136,144,152,160,168,176,184' --threads 1,1/l3
sets $big '2 1/socket 0,96;24 1/l3 0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120,128,136,144,152,160,168,176,184' \
    --threads 2,24,spread
sets $big '16 l3:0 2/core 0-7,192-199' --on l3:0 --threads 2/core
sets 2x96-nps4 '8 1/numa 0,24,48,72,96,120,144,168' --threads 8,spread
sets 2x96-nps4 '2 1/l3 72,80' --on l3:9-10 --threads 1/l3
sets p8-e8 '1 core:8 16;8 kind:e 16-23' --on kind:e
sets p8-e8 '1 core:0 0;8 kind:p 0,2,4,6,8,10,12,14' --on kind:p
sets no-l3 '6 1/l2 0,4,8,12,16,20' --threads 1/l2
sets container '2 1/l3 6,8' --threads 1/l3
sets hbm '1 core:14 14;14 numa:1 14-27' --on M1

of $big build --dry-run --on l3:2 --memory 64M --isa sse && grep -q '^model .*[.]l3-2[.]json$' "$tmp/out"
ok "a place has a model of its own"

HWLOC_XMLFILE=$tmp/machines/$big.xml
export HWLOC_XMLFILE
refuses "a place that the machine does not have" 2 'there is no l3:24 here: this machine has l3:0-23' build --dry-run --on l3:24
refuses "a sort that it does not have" 2 'this machine has no l4:0: it has socket:0-1, numa:0-1, l3:0-23, l2:0-191' \
    build --dry-run --on l4:0
refuses "kinds where there is one" 2 'this machine has no kind:e' build --dry-run --on kind:e
refuses "a word without a number" 2 "'' is no number or range" build --dry-run --on l3:
refuses "a range backwards" 2 "'7-3' is no number or range" build --dry-run --on core:7-3
refuses "no word" 2 'this machine has no ,: it has' build --dry-run --on ,
refuses "likwid-bench's sizes" 2 'the size of a workgroup is --memory' build --dry-run --on S0:1GB:4
refuses "more than a domain has" 2 'has hardware threads 0 to 191, no 192' build --dry-run --on S0:192
refuses "sets that do not contain one another" 2 '8 and 1/l3 run on CPUs 0-7 and 0,8,16' build --dry-run --threads 8,1/l3
refuses "more than a unit has" 2 '17/l3: one l3 has only 16 hardware threads' build --dry-run --threads 17/l3
refuses "units that it does not have" 2 'this machine has no l4' build --dry-run --threads 1/l4
refuses "no units" 2 "'1/' is no number" build --dry-run --threads 1/
refuses "to measure" 1 'hwloc describes another machine' build --on l3:0
unset HWLOC_XMLFILE
finish
