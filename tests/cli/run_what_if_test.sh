#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm run --what-if: the program's results, files and status are as without; what is measured and what is refused is
# in JSON. Prints TAP. No time decides.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
unset CARM_OUT CARM_COUNTERS
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME
cd "$tmp" || exit 1

refuses '--memory without --what-if' 2 '--memory belongs to --what-if' run --memory 1G -- true
refuses 'memory that is no number' 2 "--memory 'all' is no size: write 512M, 2G" run --what-if --memory all -- true
refuses '--what-if by functions' 2 'leave --functions out' run --what-if --functions -- true
refuses '--what-if of a stepped program' 2 '--what-if needs the loops' run --what-if --counters step -- true

cat >program.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile sig_atomic_t alarms;
static void on_alarm(int sig) { (void)sig; alarms++; }
int main(int argc, char **argv)
{
    enum { N = 1 << 17 };
    static double a[N], b[N];
    struct itimerval each = {{0, 1000}, {0, 1000}};
    FILE *begun = fopen("begun", "a");
    fputs("once\n", begun);
    fclose(begun);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &each, 0);
    for (int i = 0; i < N; i++) b[i] = i % 97;
    for (int r = 0; r < 8000; r++)
        for (int i = 0; i < N; i++) a[i] = 0.5 * a[i] + b[i];
    double s = 0;
    for (int i = 0; i < N; i++) s += a[i];
    FILE *f = fopen(argv[1], "a");
    fprintf(f, "%.17g\n", s);
    fclose(f);
    char line[16] = "";
    if (argc > 2 && fgets(line, sizeof line, stdin)) printf("%s", line);
    printf("%.17g %d\n", s, alarms > 0);
    return 7;
}
END
cc -O2 -g -o program program.c || exit 1
# whether the program or a copy of it does
lives() {
    readlink /proc/[0-9]*/exe 2>/dev/null | grep -qF "$tmp/program"
}
./program alone >want
"$carm" run --what-if --json json -- ./program file >"$tmp/got" 2>"$tmp/err" </dev/null
status=$?
if ! grep -q '"counted": "translation' json; then
    skip 'a program is as without' "translation does not work here: $(head -n 1 "$tmp/err")"
    finish
fi
cp got out
[ $status -eq 7 ] && cmp -s got want
ok 'output and status are as without'
# each run of it wrote a whole line: free, counted, tried
[ "$(sort -u file | wc -l)" -eq 1 ] && [ "$(wc -l <file)" -eq 3 ] && head -n 1 file | cmp -s - alone
ok 'what it writes into files is whole'
python3 - json 2>"$tmp/err" <<'END'
import json, sys
w = json.load(open(sys.argv[1]))["what_if"]
assert w["reason"] is None, w
loop = w["loops"][0]
assert loop["name"].startswith("main loop"), loop
kinds = ["huge_pages", "prefetch", "prefetch_indirect", "streaming_stores", "chains_broken", "divisions_cheap",
         "branches_known", "data_in_l1", "without_stores", "without_arithmetic", "all_cores"] + 4 * ["stream_in_l1"]
if loop["reason"] is None:
    assert [c["change"] for c in loop["changes"]] == kinds, loop
    for c in loop["changes"]:
        assert (c["gain"] > 0 and c["ci95"][0] <= c["gain"] <= (c["ci95"][1] or 1e9)) if c["measured"] else c["reason"], c
    assert {c["change"]: c for c in loop["changes"]}["divisions_cheap"]["nothing_to_change"], loop
END
ok 'JSON has each change, measured or with its reason'
! lives
ok 'no process is left'

"$carm" run --what-if --memory 256M -- ./program file >"$tmp/out" 2>"$tmp/err" </dev/null
if grep -q 'it runs under seccomp' err; then # as in a container: no copy is made
    skip 'memory is bounded' 'what runs under seccomp is not copied'
else
    grep -q 'not tried: copies of it may take .* (--memory)' err
    ok 'memory is bounded'
fi
echo hello | "$carm" run --what-if --json json -- ./program file x >"$tmp/out" 2>"$tmp/err"
[ $? -eq 7 ] && grep -q hello out
ok 'input that can be read only once is the first run'"'"'s'
# Ctrl-C in the third run, at the program and its copies: that run's line is not written
: >file
: >begun
setsid env --default-signal=INT "$carm" run --what-if --json json -- ./program file >"$tmp/out" 2>"$tmp/err" </dev/null &
pid=$!
i=0
while [ "$(wc -l <begun)" -lt 3 ] && [ $((i += 1)) -lt 1200 ]; do sleep 0.05; done
sleep 0.1
kill -INT -"$pid"
wait "$pid"
[ $? -eq 7 ] && [ "$(wc -l <file)" -eq 2 ] && grep -q '"reason": "interrupted"' json && ! lives
ok 'Ctrl-C ends the program, its copies and the measurement'
cat >steps.c <<'END'
#include <stdio.h>
enum { N = 400 };
static double a[N], b[N], c[N];
int main(void)
{
    for (int i = 0; i < N; i++) a[i] = i % 7;
    for (int t = 0; t < 800000; t++) {
        for (int i = 1; i < N; i++) c[i] = a[i] - a[i - 1];
        for (int i = 1; i < N; i++) b[i] = c[i] * (2 + a[i]);
        for (int i = 1; i < N; i++) a[i] = a[i] * 0.999 + 1e-3 * b[i] + 1e-3;
    }
    printf("%.17g\n", a[N / 2]);
}
END
cc -O2 -g -o steps steps.c || exit 1
"$carm" run --what-if --json json -- ./steps >"$tmp/out" 2>"$tmp/err" </dev/null
python3 - json 2>"$tmp/err" <<'END'
import json, sys
j = json.load(open(sys.argv[1]))
loops = j["what_if"]["loops"]
assert [l["nest"] for l in loops] == [True] and loops[0].get("part", 0) < len(j["parts"]), loops
assert all(p.get("parent", 0) < len(j["parts"]) for p in j["parts"]), j["parts"]
END
ok 'short loops in a row are tried as the nest around them, which has no samples of its own'

"$carm" run --what-if -- sh -c 'exit 3' >"$tmp/out" 2>"$tmp/err" </dev/null
[ $? -eq 3 ] && grep -q 'what if: nothing was tried: ' err
ok 'a program that is over at once is not tried'

finish
