#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# carm under Debian's real Slurm: a controller and three node daemons on this machine, each of them on a
# node of its own by tests/cli/fleet_rsh.sh. Models of nodes come by srun, by a job array and by MPI; nodes
# are drained and processes killed meanwhile. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. Needs root, slurmctld, slurmd, slurm-client, munge;
# with CI=true what lacks is a failure. Whatever a model's numbers are, they decide nothing here.
# shellcheck disable=SC2046,SC2086,SC2181,SC2317 # options and processes in words; called by traps and within
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
here=$(cd "${0%/*}" && pwd)
for name in $(env | sed -n 's/^\(SLURM[A-Z_]*\|OMPI_[A-Z_]*\|PMIX*_[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
cd "$tmp" || exit 1
chmod 755 "$tmp"
daemons=
end() {
    [ -z "$daemons" ] || timeout 5 scancel --user=root 2>/dev/null
    # what hangs stopped in a test holds its node
    for pid in $(builds); do kill -9 "$pid" 2>/dev/null; done
    [ -z "$daemons" ] || sleep 0.5
    for pid in $daemons; do kill "$pid" 2>/dev/null; done
    for pid in $daemons; do
        for _ in $(seq 50); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -9 "$pid" 2>/dev/null
    done
    rm -rf "$tmp"
}
trap end EXIT

lacks=
for tool in slurmctld slurmd srun sbatch salloc scancel munged unshare python3; do
    PATH=$PATH:/usr/sbin command -v $tool >/dev/null || lacks="$lacks $tool"
done
PATH=$PATH:/usr/sbin
[ -z "$lacks" ] || lacks="not found:$lacks (Debian: slurmctld slurmd slurm-client munge)"
[ -n "$lacks" ] || [ "$(id -u)" = 0 ] || lacks='the daemons of Slurm need root'
[ -n "$lacks" ] || "$here/fleet_rsh.sh" name true 2>/dev/null || lacks='no namespaces for host names (unshare)'
if [ -n "$lacks" ]; then
    if [ "${CI:-}" = true ]; then false; ok "Slurm: $lacks"; else skip "Slurm" "$lacks"; fi
    finish
fi

# as little as makes a model
quick='--quick --levels L1 --reps 64 --threads 1 --ops fma --memory 64M'
# the same for longer, where it is to be stopped before its end
slow="$quick --reps 8192 --budget 1"

# builds [NODE]: the processes that measure for this test, on that node
builds() {
    for pid in $(pgrep -f "^$carm build "); do
        # one that has ended since has no environment, and the file is that of the one before
        { tr '\0' '\n' <"/proc/$pid/environ" >environ; } 2>/dev/null &&
            grep -qx "CARM_TEST_TMP=$tmp" environ && grep -q "^SLURMD_NODENAME=${1:-}" environ && echo "$pid"
    done
}

# within SECONDS COMMAND...: waits until it succeeds
within() {
    until_then=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $until_then ] || return 1
        sleep 0.02
    done
}
measures() {
    [ -n "$(builds "$1")" ]
}
stop() {
    within 100 measures "$1" && kill -STOP "$(builds "$1")"
}
state() {
    [ "$(sinfo -h -n "$1" -o %T)" = "$2" ]
}

# models FOLDER NAME...: these are its files, each a model that keeps to the schema and says its name
models() {
    python3 - "$top/data/model.schema.json" "$@" >models.out 2>&1 <<'END'
import json, os, sys
schema = json.load(open(sys.argv[1]))
try:
    from jsonschema import validate
except ImportError:
    def validate(instance, schema): pass
folder, names = sys.argv[2], sys.argv[3:]
assert sorted(os.listdir(folder)) == sorted(names), os.listdir(folder)
for name in names:
    model = json.load(open(os.path.join(folder, name)))
    validate(model, schema)
    assert name.split(".")[-2] == model["machine"]["hostname"], name
END
    status=$?
    [ $status -eq 0 ] || cat models.out >>err
    return $status
}

# rows FILE HOST=STATUS...: these rows and no others
rows() {
    python3 - "$@" >>err 2>&1 <<'END'
import json, sys
rows = sorted(f'{r["host"]}={r["status"]}' for r in map(json.loads, open(sys.argv[1])))
assert rows == sorted(sys.argv[2:]), rows
END
}

# ---- the cluster

mkdir munge state spool.node1 spool.node2 spool.node3 tmp.node1 tmp.node2 tmp.node3
chmod 755 munge
head -c 128 /dev/urandom >munge/key
chmod 600 munge/key
munged --foreground --force --key-file="$tmp/munge/key" --socket="$tmp/munge/socket" --pid-file="$tmp/munge/pid" \
    --log-file="$tmp/munge/log" --seed-file="$tmp/munge/seed" >munge/out 2>&1 &
daemons=$!
ports=$(python3 -c '
import socket
open_ = [socket.socket() for _ in range(4)]
for s in open_: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in open_))')
read -r control port1 port2 port3 <<END
$ports
END
cat >slurm.conf <<END
ClusterName=carm
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$control
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$tmp/munge/socket
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool.%n
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.%n.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.%n.log
TmpFS=$tmp/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,bf_interval=1
NodeName=node1 NodeAddr=127.0.0.1 Port=$port1 CPUs=$(nproc)
NodeName=node2 NodeAddr=127.0.0.1 Port=$port2 CPUs=$(nproc)
NodeName=node3 NodeAddr=127.0.0.1 Port=$port3 CPUs=$(nproc)
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
END
export SLURM_CONF=$tmp/slurm.conf CARM_TEST_TMP=$tmp
within 100 test -S munge/socket
slurmctld -D -i >slurmctld.out 2>&1 &
daemons="$daemons $!"
for node in node1 node2 node3; do
    "$here/fleet_rsh.sh" $node slurmd -D -N $node >slurmd.$node.out 2>&1 &
    daemons="$! $daemons"
done
three_idle() {
    [ "$(sinfo -h -t idle -o %D)" = 3 ]
}
within 100 three_idle
up=$?
cat slurmctld.out slurmctld.log slurmd.*.out slurmd.*.log munge/out >out 2>/dev/null
[ $up -eq 0 ]
ok "Slurm: a controller and three nodes"
[ $up -eq 0 ] || finish

# srun with a limit of its own, and no input
slurm_run() {
    timeout 600 srun "$@" </dev/null >out 2>err
}

# ---- srun, arrays

slurm_run -N 3 "$carm" build $quick -o models/%h.json && models models node1.json node2.json node3.json
ok "srun -N 3 carm build -o models/%h.json: a model of each node"

slurm_run -N 3 --ntasks-per-node=2 --overcommit "$carm" build $quick -o aside/%h.json &&
    models aside node1.json node2.json node3.json && [ "$(grep -c 'measures this node\|has measured' err)" -ge 3 ]
ok "two ranks on each node: one measures, the other stands aside and says so"

timeout 600 sbatch --wait --quiet --array=1-3 -N 1 -o /dev/null --wrap "$carm build $quick -o array/%j.%h.json" >out 2>err
rc=$?
files=$(cd array 2>/dev/null && ls)
[ $rc -eq 0 ] && [ "$(echo "$files" | sed 's/\..*//' | tr '\n' ' ')" = "$(echo "$files" | sed 's/_.*//' | head -n 1 |
    sed 's/.*/&_1 &_2 &_3 /')" ] && models array $files
ok "a job array: a model of each task, named by job and task"

# ---- what goes wrong

(slurm_run -N 3 "$carm" build $slow -o drain/%h.json) &
launcher=$!
stop node2 && scontrol update NodeName=node2 State=DRAIN Reason=test && within 100 state node2 draining
drained=$?
kill -CONT $(builds node2)
wait $launcher && [ $drained -eq 0 ] && models drain node1.json node2.json node3.json && within 100 state node2 drained
ok "a node is drained while it measures: its model comes, then it is out"
slurm_run -N 2 "$carm" build $quick -o rest/%h.json && models rest node1.json node3.json
ok "the others measure on"
scontrol update NodeName=node2 State=RESUME && within 100 three_idle

(slurm_run -N 3 "$carm" build $slow -o killed/%h.json) &
launcher=$!
stop node2 && kill -9 $(builds node2)
! wait $launcher && models killed node1.json node3.json && grep -q 'node2: task 1: Killed' err
ok "one node's process is killed: the models of the others are there, and Slurm names it"

cp -r models before
(slurm_run -N 3 "$carm" build $slow -o models/%h.json) &
launcher=$!
stopped=
for node in node2 node3; do ! stop $node || stopped="$stopped $node"; done
scancel --user=root
wait $launcher
# the others may have been done before, and then have another model
same() {
    for node in $stopped; do cmp "before/$node.json" "models/$node.json" >>err || return; done
}
[ "$stopped" ] && models models node1.json node2.json node3.json && same
ok "a job is cancelled: earlier models stay whole"
within 100 three_idle

# ---- gathering by MPI

# a sanitized build: MPI leaks, from libraries that it unloads, so that no suppression can name them
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# the nodes are one machine, as in fleet_mpi_test.sh
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_pml=ob1
mpi=
[ -x "${carm%/*}/carm-mpi" ] || mpi='carm was built without MPI'
if [ -z "$mpi" ] && command -v mpirun >/dev/null; then
    timeout 600 salloc --quiet -N 3 mpirun "$carm" fleet build $quick -o mpirun.jsonl </dev/null >out 2>err &&
        rows mpirun.jsonl node1=ok node2=ok node3=ok && grep -q "\"job\":\"[0-9]" mpirun.jsonl
    ok "mpirun in an allocation: a row of each node, with the job's number"
else
    skip "mpirun in an allocation" "${mpi:-no mpirun}"
fi
[ -n "$mpi" ] || srun --mpi=list 2>&1 | grep -q pmix || mpi='Slurm has no PMIx'
if [ -z "$mpi" ]; then
    # by the other algorithm, Slurm lets a rank out of MPI_Init before another has entered it, on a busy machine
    export SLURM_PMIX_FENCE=tree
    slurm_run -N 3 --mpi=pmix "$carm" fleet build $quick -o pmix.jsonl && rows pmix.jsonl node1=ok node2=ok node3=ok
    ok "srun --mpi=pmix: the same without mpirun"

    # a rank that ends otherwise than by MPI_Finalize ends the others, by exit or by a fault
    ends_others() { mpirun --version 2>/dev/null | grep -q 'Open MPI) [5-9]'; }
    if ends_others; then
        skip "a rank is killed" "Open MPI 5 ends the others by a segmentation fault in its own library"
    else
        # the good nodes of a busy machine need a longer limit
        for limit in 6 30 100; do
            rm -f lost.jsonl
            (slurm_run -N 3 --mpi=pmix "$carm" fleet build $slow -o lost.jsonl --time-limit $limit) &
            launcher=$!
            stop node2 && kill -9 "$(ps -o ppid= -p "$(builds node2)" | tr -d ' ')"
            ! wait $launcher && rows lost.jsonl node1=ok node2=lost node3=ok && break
        done
        ok "a rank is killed: nothing is lost but its row"
    fi
    within 100 three_idle

    (slurm_run -N 3 --mpi=pmix "$carm" fleet build $slow -o cancelled.jsonl) &
    launcher=$!
    stop node2 && within 100 grep -q '"host":"node1"' cancelled.jsonl && within 100 grep -q '"host":"node3"' cancelled.jsonl
    scancel --user=root
    # rank 0 may have been ended before it wrote the last row
    ! wait $launcher && { rows cancelled.jsonl node1=ok node2=killed node3=ok ||
        { ends_others && rows cancelled.jsonl node1=ok node3=ok; }; }
    gathered=$?
    if [ $gathered -ne 0 ] && ends_others && grep -q 'libmpi.*ompi_mpi_init' err; then
        skip "a gathering is cancelled" "Open MPI 5 ended a rank by a segmentation fault in its own MPI_Init"
    else
        [ $gathered -eq 0 ]
        ok "a gathering is cancelled: rows are kept, the node that lacks has its reason"
    fi
else
    skip "srun --mpi=pmix" "$mpi"
fi

# ---- and what it is for

cat ./*.jsonl >models/all.jsonl 2>/dev/null
"$carm" fleet show models >out 2>err && grep -q '3 nodes' out && grep -q node2 out && [ ! -s err ]
ok "carm fleet show: three nodes"

[ -z "$(builds)" ]
ok "nothing still measures"
finish
