#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# carm fleet build under Open MPI's real mpirun, on several nodes that are one machine: mpirun starts
# the daemon of each node through tests/cli/fleet_rsh.sh, which gives it a host name of its own. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. Needs mpirun, carm-mpi, python3; with CI=true what
# lacks is a failure. Whatever a model's numbers are, they decide nothing here.
# shellcheck disable=SC2086,SC2181,SC2317 # options in words; a status that is looked at with more; called by traps
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
here=$(cd "${0%/*}" && pwd)
unset SLURM_JOB_ID SLURM_STEP_ID SLURMD_NODENAME OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE PMIX_RANK
cd "$tmp" || exit 1
mounted=
launcher=
end() {
    [ -z "$launcher" ] || kill -9 "$launcher" 2>/dev/null
    for m in $mounted; do umount "$m"; done
    rm -rf "$tmp"
}
trap end EXIT

# what each node is asked: as little as makes a model
quick='--quick --levels L1 --reps 64 --threads 1 --ops fma --memory 64M'
# the same for longer, where it is to be stopped before its end
slow='--reps 8192'

# count FILE STATUS [HOST]: rows of that status
count() {
    python3 - "$@" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(sum(r["status"] == sys.argv[2] and (len(sys.argv) < 4 or r["host"] == sys.argv[3]) for r in rows))
END
}

# valid FILE: every row is one, and every model what data/model.schema.json says
valid() {
    python3 - "$1" "$top/data/model.schema.json" >valid.out 2>&1 <<'END'
import json, sys
schema = json.load(open(sys.argv[2]))
try:
    from jsonschema import validate
except ImportError:
    def validate(instance, schema): pass
for line in open(sys.argv[1]):
    row = json.loads(line)
    assert list(row) == ["schema", "host", "job", "rank", "boot_id", "time", "status", "reason", "model"], row
    assert row["schema"] == "carm-fleet/1" and (row["model"] is not None) == (row["status"] == "ok"), row
    assert (row["reason"] is None) == (row["status"] == "ok"), row
    if row["model"]:
        validate(row["model"], schema)
        for roofs in row["model"]["roofs"]:
            assert all(m["bandwidth"] > 0 for m in roofs["memory"]), roofs
END
}

# reason FILE STATUS HOST: the reason in that row
reason() {
    python3 - "$@" <<'END'
import json, sys
for row in map(json.loads, open(sys.argv[1])):
    if row["status"] == sys.argv[2] and row["host"] == sys.argv[3]:
        print(row["reason"])
END
}

# within SECONDS COMMAND...: waits until it succeeds
within() {
    end=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.02
    done
}

# patient TEST: the test with a short limit and budget of each node; a busy machine's good nodes need longer ones
limit=12
budget=5
patient() {
    for limit in 12 40 120; do
        budget=$((limit * 5 / 12))
        rm -f "$1.jsonl"
        "$1" && return
    done
}

# ---- without MPI

"$carm" fleet build $quick --budget 60 -o one.jsonl >out 2>err
[ $? -eq 0 ] && [ "$(count one.jsonl ok)" = 1 ] && grep -q 'no MPI job here' err && grep -q '^1 of 1 node measured' out &&
    [ "$(tail -n 1 out)" = 'next: carm fleet show one.jsonl' ]
ok "without mpirun, this node alone"
valid one.jsonl
ok "its row holds a model that keeps to the schema"

"$carm" fleet build >out 2>err
[ $? -eq 2 ] && grep -q 'say where the rows go' err
ok "no output is misuse"
"$carm" fleet build --time-limit 0 -o x.jsonl >out 2>err
[ $? -eq 2 ] && grep -q -- '--time-limit needs seconds' err && [ ! -e x.jsonl ]
ok "a limit that is none is misuse"

printf '{"host":"cut' >>one.jsonl
"$carm" fleet build --isa nonsense -o one.jsonl >out 2>err
[ $? -eq 1 ] && [ "$(wc -l <one.jsonl)" = 3 ] && tail -n 1 one.jsonl | grep -q '"status":"failed","reason":".*nonsense' &&
    grep -q 'failed: .*nonsense' err
ok "rows are appended behind a line that was cut, and a build that refuses is a row with its words"

mkdir bare && cp "$carm" bare/carm
OMPI_COMM_WORLD_SIZE=2 bare/carm fleet build -o x.jsonl >out 2>err
[ $? -eq 1 ] && grep -q 'built without MPI: install mpicc' err
ok "an MPI job, but no carm-mpi: names the package"
SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 "$carm" fleet build -o x.jsonl >out 2>err
[ $? -eq 1 ] && grep -q 'srun started 3 tasks without MPI' err
ok "srun without MPI: says what to use"

# ---- with MPI

lacks=
command -v mpirun >/dev/null || lacks='no mpirun (Debian: openmpi-bin)'
[ -n "$lacks" ] || [ -x "${carm%/*}/carm-mpi" ] || lacks='carm was built without MPI (Debian: libopenmpi-dev)'
# real host names need a namespace: root's, or a user's own where the kernel lets users have them
[ -n "$lacks" ] || "$here/fleet_rsh.sh" name true >/dev/null 2>&1 || lacks='no namespace for host names (unshare)'
if [ -n "$lacks" ]; then
    if [ "${CI:-}" = true ]; then false; ok "MPI: $lacks"; else skip "mpirun" "$lacks"; fi
    finish
fi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# a sanitized build: MPI leaks, from libraries that it unloads, so that no suppression can name them
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# every node has a folder of its own for its model, so that its child can be told from the others
cat >node.sh <<END
#!/bin/sh
TMPDIR=$tmp/tmp.\$(hostname)
export TMPDIR
mkdir -p "\$TMPDIR"
exec "$carm" "\$@"
END
chmod +x node.sh

# fleet HOSTS ARGUMENTS... -- OPTIONS OF BUILD...
fleet() {
    hosts=$1
    shift
    args=()
    while [ "$1" != -- ]; do
        args+=("$1")
        shift
    done
    shift
    # The nodes are one machine: what one sends another goes through lo. Open MPI 5 finds no pair of interfaces
    # otherwise, as the kernel's route to the machine's own address of eth0 is not by eth0.
    exec timeout -k 5 600 mpirun --mca plm_rsh_agent "$here/fleet_rsh.sh" --mca btl_tcp_if_include lo --host "$hosts" "${args[@]}" \
        ./node.sh fleet build $quick --budget $budget "$@"
}

# child HOST: the process that measures there; rank HOST: the one that started it
child() {
    pgrep -f "^$carm build .*--output $tmp/tmp\.$1/carm-fleet-"
}
rank() {
    pid=$(child "$1") && ps -o ppid= -p "$pid" | tr -d ' '
}
stop() {
    within 100 child "$1" >/dev/null && kill -STOP "$(child "$1")"
}

four() {
    (fleet na:2,nb:2,nc:1,nd:1 -- -o four.jsonl) >out 2>err && [ "$(count four.jsonl ok)" = 4 ] &&
        grep -q '4 of 4 nodes measured.*2 ranks did not measure' out &&
        [ "$(grep -o '"host":"n[a-d]"' four.jsonl | sort -u | wc -l)" = 4 ]
}
patient four
ok "six ranks on four nodes: four models"
valid four.jsonl
ok "they keep to the schema"
grep -o '"hostname":"n[a-d]"' four.jsonl | sort -u | wc -l | grep -qx 4
ok "each model is of its own node"

cores=$("$carm" info --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["machine"]["cores"])' 2>/dev/null)
solo() {
    (fleet solo:8 --bind-to core:overload-allowed -- -o solo.jsonl --threads cores) >out 2>err &&
        [ "$(wc -l <solo.jsonl)" = 1 ] && grep -q '7 ranks did not measure' out &&
        grep -q "\"threads\":${cores:-$(nproc)},\"place\":\"machine\"" solo.jsonl
}
patient solo
ok "eight ranks on one node, each bound to a core: one model, of all cores"

twins() {
    (fleet twin1:1,twin2:1 -- -o twins.jsonl) >out 2>err && [ "$(count twins.jsonl ok twin)" = 2 ] &&
        grep -q '"rank":0' twins.jsonl && grep -q '"rank":1' twins.jsonl
}
five=
if mpirun --version | grep -q 'Open MPI) [5-9]'; then
    five=1
    # its ranks take one another for neighbours and wait for memory that they do not share: 5.0.7 hangs in a sum
    skip "two nodes of the same name" "Open MPI 5 takes them for one"
else
    patient twins
    ok "two nodes of the same name: two rows, told apart by rank"
fi

# one node is killed, one hangs, one has no room, one is well
mkdir -p tmp.nd
if mount -t tmpfs -o size=4k none tmp.nd 2>/dev/null; then
    mounted="$mounted $tmp/tmp.nd"
    head -c 8192 /dev/zero >tmp.nd/full 2>/dev/null
fi
bad() {
    (fleet na:1,nb:1,nc:1,nd:1 -- -o bad.jsonl $slow --time-limit $limit) >out 2>err &
    launcher=$!
    stop nb && stop nc && kill -9 "$(child nb)"
    wait $launcher
    rc=$?
    launcher=
    [ $rc -eq 1 ] && [ "$(wc -l <bad.jsonl)" = 4 ] && valid bad.jsonl && [ "$(count bad.jsonl ok na)" = 1 ]
}
patient bad
ok "bad nodes: a row each, the good one's model is there, exit status 1"
reason bad.jsonl killed nb | grep -q 'signal 9'
ok "a measurement that was killed: its row names the signal"
reason bad.jsonl timeout nc | grep -q "time limit of $limit s" && ! child nc
ok "one that hangs: its row names the limit, and it is gone"
if [ -n "$mounted" ]; then
    reason bad.jsonl failed nd | grep -q 'No space left'
    ok "a full disk on a node: its row says so"
else
    skip "a full disk on a node" "mounting needs root"
fi

# a rank is killed while mpirun goes on: all rows but its own
recovery() {
    (fleet na:1,nb:1,nc:1 --enable-recovery -- -o recovery.jsonl $slow --time-limit $limit) >out 2>err &
    launcher=$!
    stop nb && kill -9 "$(rank nb)"
    wait $launcher
    rc=$?
    launcher=
    [ $rc -eq 0 ] && [ "$(wc -l <recovery.jsonl)" = 3 ] && valid recovery.jsonl &&
        [ "$(count recovery.jsonl ok na)$(count recovery.jsonl ok nc)" = 11 ] &&
        reason recovery.jsonl lost nb | grep -q 'has not reported' && grep -q 'with status 0 all the same' err
}
# 5.0.7 aborts all ranks, whatever their error handlers: "Socket closed ... on a NULL communicator"
if [ "$five" ]; then
    skip "a rank is killed under --enable-recovery" "Open MPI 5 ends the job"
else
    patient recovery
    ok "a rank is killed under --enable-recovery: nothing is lost but its row, which says so"
    ! child nb
    ok "its measurement is gone with it"
fi

# ... and where that ends the whole job: what was gathered stays, the others say what happened
ended() {
    (fleet na:1,nb:1,nc:1 -- -o ended.jsonl $slow) >out 2>err &
    launcher=$!
    stop nb && stop nc && within 100 grep -q '"host":"na"' ended.jsonl && kill -9 "$(rank nc)"
    wait $launcher
    rc=$?
    launcher=
    [ $rc -ne 0 ] && [ "$(wc -l <ended.jsonl)" = 3 ] && valid ended.jsonl && [ "$(count ended.jsonl ok na)" = 1 ] &&
        [ "$(count ended.jsonl killed)" = 2 ] && reason ended.jsonl killed nb | grep -q -- --enable-recovery
}
if [ "$five" ]; then
    ended
    skip "a rank is killed, and mpirun ends the job" "Open MPI 5 aborts the rank that writes the rows, too"
else
    patient ended
    ok "a rank is killed, and mpirun ends the job: rows are kept, the others say why they lack"
fi

# the disk of rank 0 is full after two rows: it has whole pages, the last of which a third row does not fit into
mkdir small
row=$(grep '"host":"na"' ended.jsonl | wc -c)
if mount -t tmpfs -o size=$((3 * row - 300 - (3 * row - 300) % 4096)) none small 2>/dev/null; then
    mounted="$mounted $tmp/small"
    full() {
        rm -f small/fleet.jsonl
        (fleet na:1,nb:1,nc:1,nd:1 -- -o small/fleet.jsonl) >out 2>err
        [ $? -eq 1 ] && cp small/fleet.jsonl . && valid fleet.jsonl && [ "$(count fleet.jsonl ok)" -ge 1 ] &&
            [ "$(count fleet.jsonl failed)" -ge 1 ] && grep -q 'No space left' fleet.jsonl
    }
    patient full
    ok "rank 0's disk is full: whole rows before, and rows that say so"
else
    skip "rank 0's disk is full" "mounting needs root"
fi

(fleet na:1,nb:1 -- -o /dev/null) >out 2>err
[ $? -ne 0 ] && grep -q 'not a regular file' err && ! grep -q 'measured in' out
ok "rows that can go nowhere: no node is measured"

PMI_RANK=0 PMI_SIZE=3 timeout 600 "$carm" fleet build $quick -o other.jsonl >out 2>err
[ $? -eq 1 ] && grep -q 'belongs to another MPI than the one carm was built with' err && [ ! -e other.jsonl ]
ok "ranks of another MPI's mpirun: refused"

[ -z "$(find . -path "./tmp.n[${five:+a}bc]" -prune -o -name 'carm-fleet-*' -print)" ]
ok "no folder is left behind but those of killed ranks"
finish
