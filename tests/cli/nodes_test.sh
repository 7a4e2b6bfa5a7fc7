#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm on the nodes of a cluster, by the environment that srun and mpirun give: names of outputs, one
# measuring process for each node, and no nasm. Prints TAP.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
cd "$tmp" || exit 1
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
for v in $(env | sed -n 's/^\(\(SLURM\|OMPI\|PMIX\|PMI\|PBS\|LSB\)_[A-Z_a-z]*\)=.*/\1/p'); do unset "$v"; done

# where a busy machine may take longer than the 5 s of --quick
long=--budget=60
build() { "$carm" build --quick "$long" --levels L1 --threads 1 --reps 64 "$@" >out 2>err; }
short="--quick $long --levels L1 --threads 1 --reps 64"
host=$(uname -n)
# other sessions of this machine may measure: what they make us say is no error
quiet() { ! said err | grep -qv 'carm: waiting'; }

# ---- names -------------------------------------------------------------------------------------

SLURM_JOB_ID=12 SLURM_PROCID=3 build -o 'models/%j/%h-%t-100%%.json' && quiet &&
    [ -s "models/12/$host-3-100%.json" ] && grep -q "models/12/$host-3-100%.json" out
ok "an output's name with host, job and rank, in folders that lack"
while :; do :; done &
beside=$!
nice -n 1 "$carm" build --quick "$long" --levels L1 --threads 1 --reps 16 -o nice.json >out 2>err &&
    grep -q "warning: carm runs with nice $(nice -n 1 nice), so other processes go first" err
ok "build with nice beside a busy process warns"
kill "$beside"
before=$(date -u +%F)
build -o 'day-%d.json' && { [ -s "day-$before.json" ] || [ -s "day-$(date -u +%F).json" ]; }
ok "an output's name with the day"
cp day-*.json m.json

# refuses NAME PATTERN command...
refuses() {
    name=$1 pattern=$2
    shift 2
    "$carm" "$@" >out 2>err
    [ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -- "$pattern" err && [ ! -s out ]
    ok "$name"
}
refuses "an unknown letter" "--output a%q: there is no %q: there are %h (host), %j (job), %t (rank)" \
    build -o a%q
refuses "a lonely percent sign" "ends in a single %" build -o 100%
refuses "a job where there is none" "this is no job: none of SLURM_JOB_ID" build -o %j.json
refuses "validate: model" "--output %x" validate -o %x m.json
refuses "validate: points" "--csv %x" validate --csv %x m.json
refuses "validate: the model that it writes" "there is no %x" validate %x.json
refuses "plot" "--output %x" plot -o %x m.json
refuses "place" "--csv %x" place --csv %x m.json
refuses "compare: csv" "--csv %x" compare --csv %x m.json m.json
refuses "compare: plot" "--plot %x" compare --plot %x m.json m.json
refuses "run" "--output %x" run -o %x -- true
refuses "study: points" "--output %x" study -o %x gemm
refuses "study: picture" "--plot %x" study --plot %x gemm

SLURM_PROCID=4 "$carm" run --counters none --quiet -o 'points/of/%t.csv' -- true >out 2>err &&
    [ -s points/of/4.csv ]
ok "run makes the folders of its points"
PMI_RANK=2 "$carm" compare --csv 'c/%t.csv' m.json m.json >out 2>err && [ -s c/2.csv ]
ok "compare writes to the name that is meant"

"$carm" --help | tr -s ' \n' ' ' | grep -q '%j the job (Slurm' && "$carm" --man | grep -q '%j the job' &&
    ! "$carm" build --help | grep -q '%j the job'
ok "help and man page tell the letters once"

# ---- turns -------------------------------------------------------------------------------------

# shellcheck disable=SC2086
"$carm" build $short -o one.json >one.out 2>one.err &
one=$!
build -o two.json && wait $one && [ -s one.json ] && [ -s two.json ]
ok "two builds at once: both are done"

# until_found PATTERN FILE...: within a minute
until_found() {
    i=0
    until grep -q "$@" 2>/dev/null; do
        [ $i -lt 600 ] || return 1
        sleep 0.1
        i=$((i + 1))
    done
}
"$carm" build --levels L1 --reps 65536 --isa all --precision dp,sp -o killed.json >out 2>err &
one=$!
until_found "measures $one " ${CARM_LOCK_DIR:+"$CARM_LOCK_DIR"/carm-*.lock} /run/lock/carm-*.lock \
    /dev/shm/carm-*.lock /tmp/carm-*.lock
# shellcheck disable=SC2086
"$carm" build $short -o after.json >out.2 2>err &
two=$!
until_found "waiting for at most 600 s (--wait): process $one (carm build) has measured this node for" err
waited=$?
"$carm" build --wait 0 -o not.json >out 2>err.0
given_up=$?
kill -9 $one
wait $one 2>/dev/null
wait $two && [ $waited -eq 0 ] && [ -s after.json ] && [ ! -e killed.json ]
ok "a build waits and says so; when the other one is killed, it goes on"
[ $given_up -eq 1 ] && [ ! -s out ] && [ ! -e not.json ] && [ "$(wc -l <err.0)" -eq 1 ] &&
    grep -q "process $one (carm build) has measured this node for .* --wait 0 is over" err.0
ok "--wait 0: a build that would have to wait fails and names the process"
refuses "a time to wait that is none" "--wait needs seconds" build --wait soon -o m.json

# ---- ranks -------------------------------------------------------------------------------------

# ranks OUTPUT: four ranks of one step at once
ranks() {
    for r in 0 1 2 3; do
        # shellcheck disable=SC2086
        SLURM_JOB_ID=$$ SLURM_STEP_ID=$step SLURM_PROCID=$r "$carm" build $short -o "$1" \
            >"out$r" 2>"err$r" &
        eval "pid$r=$!"
    done
    bad=0
    for r in 0 1 2 3; do
        eval "wait \$pid$r" || bad=1
    done
    cat out? >out
    cat err? >err
    return $bad
}
step=0
ranks same.json && [ -s same.json ] && [ "$(grep -c 'roofs from' out)" -eq 1 ] &&
    [ "$(grep -c 'rank [0-3]: rank [0-3] \(measures\|has measured\) this node' err)" -eq 3 ]
ok "four ranks, one file: one measures, the others stand aside and say so"
step=1
ranks 'own-%t.json' && [ "$(grep -c 'roofs from' out)" -eq 4 ] &&
    [ -s own-0.json ] && [ -s own-1.json ] && [ -s own-2.json ] && [ -s own-3.json ]
ok "four ranks, a file for each: they take turns"
SLURM_JOB_ID=$$ SLURM_STEP_ID=2 SLURM_PROCID=0 build -o late.json &&
    SLURM_JOB_ID=$$ SLURM_STEP_ID=2 SLURM_PROCID=1 "$carm" build --quick -o late.json >out 2>err &&
    [ ! -s out ] && grep -q 'rank 1: rank 0 has measured this node' err
ok "a rank that comes late stands aside as well"
SLURM_JOB_ID=$$ SLURM_STEP_ID=2 SLURM_PROCID=0 build -o late.json && [ -s out ]
ok "the same rank measures again when it is told to"

if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
    cpu=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')
    # shellcheck disable=SC2086
    OMPI_COMM_WORLD_RANK=0 taskset -c "$cpu" "$carm" build $short -o few.json >out 2>err &&
        grep -q 'may use 1 of [0-9]* hardware threads.*mpirun --bind-to none' err
    ok "a rank that is bound to a core is told that it measures no more"
else
    skip "a rank that is bound to a core" "one CPU, or no taskset"
fi

# ---- no nasm -----------------------------------------------------------------------------------

PATH=/nonexistent "$carm" build --quick --budget 20 --reps 64 -o builtin.json >out 2>err && quiet &&
    PATH=/nonexistent "$carm" validate --quick "$long" --reps 16 --threads 1 --levels L1 builtin.json \
        >out 2>err && quiet
ok "build and validate without nasm"
PATH=/nonexistent "$carm" build --quick --ldst 3:2 -o builtin.json >out 2>err
[ $? -eq 1 ] && grep -q 'apt-get install nasm; it assembles test codes .* such as A[.].*[.]3:2[.]' err
ok "a code that is not built in: what to install, and which code"

finish
