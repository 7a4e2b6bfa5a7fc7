#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What commands print on a terminal of 80 columns has no longer line and begins with the answer. Prints TAP. CARM = the program, CARM_TOP = the
# sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
cd "$tmp" || exit 1
if ! python3 -c 'import pty' 2>/dev/null; then
    skip "no line is beyond 80 columns" "no python3"
    finish
fi
cat >terminal.py <<'END'
"""terminal.py COMMAND...: runs it on a terminal of 80 columns, prints its lines that are longer; 1 = there are some,
or none of its first five has the text that $ANSWER matches"""
import fcntl, os, pty, re, select, struct, subprocess, sys, termios
master, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
command = subprocess.Popen(sys.argv[1:], stdin=terminal, stdout=terminal, stderr=terminal,
                           env=dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8", NO_COLOR="1"))
text = b""
# this end of the terminal stays open: what a command wrote just before its end could be lost with it
while select.select([master], [], [], 0.1)[0] or command.poll() is None:
    if select.select([master], [], [], 0)[0]:
        text += os.read(master, 4096)
status = command.wait()
text = text.decode().replace("\r\n", "\n")
text = re.sub("(?m)^ {80}\r", "", text).replace(" " * 80 + "\r", "\n")  # 80 blanks stay on the line, or reach the next
lines = [re.sub("\x1b\\[[0-9;]*[mK]", "", l.split("\r")[-1]) for l in text.split("\n")]
late = [l for l in lines if len(l) > 80]
answer = re.search(os.environ.get("ANSWER", ""), " ".join(" ".join(lines[:5]).split()))
print("\n".join(late or ["%d lines, status %d" % (len(lines), status)] + lines[:5]))
sys.exit(1 if late or status or len(lines) < 3 or not answer else 0)
END
# fits NAME ARGUMENTS...
fits() {
    name=$1
    shift
    timeout 300 python3 terminal.py "$@" >out 2>err </dev/null
    ok "no line of $name is beyond 80 columns"
}
model=$top/tests/data/sample-model.json
# begins NAME TEXT ARGUMENTS...: with an answer of that text, too
begins() {
    ANSWER=$2
    export ANSWER
    name=$1
    shift 2
    fits "$name" "$@"
    unset ANSWER
}
fits "carm --help" "$carm" --help
fits "carm run --help" "$carm" run --help
begins info "run counts programs here.*model: " "$carm" info
begins show "^zen4-kvm: [0-9.]+ Gflop/s" "$carm" show zen4-kvm
fits "show --roofs" "$carm" show --roofs zen4-kvm
fits "show --latency" "$carm" show --latency zen4-kvm
fits "show --verbose" "$carm" show --verbose zen4-kvm
fits "show --validation" "$carm" show --validation zen4-kvm
fits "show --list" "$carm" show --list
fits "show of a published machine" "$carm" show opteron-x4
begins place "between the ceilings of DRAM and L3" "$carm" place "$model" "$top/tests/data/points.csv"
fits "place --ceilings" "$carm" place --ceilings "$model" "$top/tests/data/points.csv"
begins "place --by" "below the ceiling of DRAM" "$carm" place --by job,node "$model" "$top/tests/data/job.csv"
fits "place --intensity" "$carm" place --intensity 0.25 "$model"
begins "compare of models" "B is slower: L3 -31%" "$carm" compare zen4-kvm zen3-kvm
fits "compare of points" "$carm" compare "$top/tests/data/gates-before.csv" "$top/tests/data/gates-after.csv" "$model"
begins build "^1 thread, .*: peak [0-9.]+ Gflop/s .* from L1; .* stayed disturbed" "$carm" build --quick --budget 12 --reps 64 --levels L1 --threads 1 -o b.json
fits "build --dry-run" "$carm" build --dry-run --quick
fits sol "$carm" sol transformer-block --arch h100-pcie
fits "sol --layers" "$carm" sol transformer-block --arch h100-pcie --layers
python3 - "$model" <<'END'
import json, sys
text = open(sys.argv[1]).read()
for i in range(12):
    m = json.loads(text)
    m["machine"]["hostname"] = "rack-%d-node-of-a-long-name-%04d" % (i % 3, i)
    for roofs in m["roofs"]:
        for memory in roofs["memory"]:
            factor = 0.8 if i == 7 and memory["level"] == "DRAM" else 1 + 0.001 * i
            memory["disturbed"] = False
            memory["bandwidth"] *= factor
            memory["ci95"] = [factor * end for end in memory["ci95"]]
    json.dump(m, open("node%d.json" % i, "w"))
m["created"] = "2026-01-01T00:00:00Z"
json.dump(m, open("earlier.json", "w"))
END
fits "fleet show" "$carm" fleet show --suspects node*.json earlier.json
fits "asm --account" "$carm" asm --account A.avx2.dp.2:1.u8
timeout 300 python3 terminal.py "$carm" run --counters none -- printf 'no end' >out 2>err &&
    grep -q '^no end *$' out && grep -q '^carm: printf: ' out
ok "behind an unfinished line of the program, carm begins one"
cat >sums.c <<'END'
#include <stdio.h>
static double x[4096];
__attribute__((noinline)) static double a_function_whose_name_takes_more_of_a_line_than_there_is(long turns)
{
    double sum = 0.0;
    for (long t = 0; t < turns; t++) {
        for (int i = 0; i < 4096; i++) {
            sum += x[i];
        }
    }
    return sum;
}
int main(void)
{
    printf("%g\n", a_function_whose_name_takes_more_of_a_line_than_there_is(100000));
}
END
if cc -O1 -g -o sums sums.c 2>err && "$carm" run --whole --counters translate -- ./sums 2>&1 | grep -q 'translation of'; then
    begins run "sums: .* in a_function.*, (may be )?limited by" "$carm" run --counters translate -m zen4-kvm -- ./sums
    fits "run --verbose" "$carm" run --verbose --counters translate -m zen4-kvm -- ./sums
    fits "run --levels" "$carm" run --levels --counters translate -m zen4-kvm -- ./sums
    fits "run --set" "$carm" run --set peak=2x --counters translate -m zen4-kvm -- ./sums
else
    skip "no line of run is beyond 80 columns" "no compiler, or translation does not work here"
fi
! timeout 300 python3 terminal.py printf '%81s\n\n\n' x >out 2>err
ok "planted: a line of 81 columns"
finish
