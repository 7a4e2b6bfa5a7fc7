#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""carm run --what-if against loops that were changed by hand (loops.c, twins.c, strangers.c, outside.c, pieces.c, codes.c, tasks.c): a line
for each change, with what was predicted, its interval, and what the change by hand brings: the median ratio of some pairs of runs, one
right after the other, as other load lasts for seconds. what_if.py [NAME...]; $CARM is the program. A verdict ends each line: in (the
interval holds the truth), near (within 10%), off, far (1.5 times and more), said (not measured, with the reason). An interval that is
wider than 1.5 times, and a lower bound, are warnings. The last line sums up."""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CARM = os.environ.get("CARM", "build/carm")
SECONDS = float(os.environ.get("SECONDS", "1.2"))
TRUE_SECONDS, ROUNDS = 0.15, 5
COMMON = ["-O2", "-g", "-fno-math-errno", "-fno-tree-loop-distribute-patterns"]
PIECES = ["pieces.c", "pieces.cc", "pieces.f90", "-lstdc++", "-lgfortran"]
CODES = [p.replace("pieces", "codes") for p in PIECES]
TASKS = [p.replace("pieces", "tasks") for p in PIECES]
PROGRAMS = {"loops": ["loops.c", "-ftree-vectorize", "-march=x86-64-v3"], "twins": ["twins.c"], "strangers": ["strangers.c"],
            "outside": ["outside.c"], "outside3": ["outside.c", "-O3", "-march=x86-64-v3"],
            "pieces": PIECES, "pieces3": [*PIECES, "-O3", "-march=x86-64-v3"],
            "codes": CODES, "codes3": [*CODES, "-O3", "-march=x86-64-v3"],
            "tasks0": [*TASKS, "-O0"], "tasks": TASKS, "tasks3": [*TASKS, "-O3", "-march=x86-64-v3"]}
if "avx512vl" in open("/proc/cpuinfo").read():
    PROGRAMS["strangers512"] = ["strangers.c", "-O3", "-march=x86-64-v4", "-mprefer-vector-width=512"]
    PROGRAMS["pieces512"] = [*PIECES, *PROGRAMS["strangers512"][1:]]
    PROGRAMS["codes512"] = [*CODES, *PROGRAMS["strangers512"][1:]]
    PROGRAMS["tasks512"] = [*TASKS, *PROGRAMS["strangers512"][1:]]
scores = []


def timed(program, name, change, times, lines=16):
    out = subprocess.run([program, name, change, str(times), str(lines)], capture_output=True, text=True, check=True)
    return float(out.stdout)


def repetitions(program, name, change, seconds):
    times = 1
    while True:
        begin = time.monotonic()
        timed(program, name, change, 1)
        setup = time.monotonic() - begin
        begin = time.monotonic()
        timed(program, name, change, times)
        took = time.monotonic() - begin - setup
        if took > 0.05 or times > 1 << 24:
            return max(1, int(times * seconds / max(took, 1e-3)))
        times *= 8


def verdict(change, truth):
    gain = change["gain"]
    low, high = change["ci95"]
    error = max(gain / truth, truth / gain)
    warned = change.get("at_least", False) or (high or math.inf) > 1.5 * low
    inside = low <= truth <= (high or math.inf)
    scores.append((inside or (change.get("at_least", False) and truth > gain), error, warned))
    word = "in" if inside else "near" if error <= 1.1 else "off" if error < 1.5 else "far"
    return word + (" (at least)" if change.get("at_least") else " (warned)" if warned and not inside else "")


def bench(program, name, changes):
    times = repetitions(program, name, "", SECONDS)
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        begin = time.monotonic()
        subprocess.run([CARM, "run", "-q", "--no-measure", "--what-if", "--json", out.name, "--", program, name, "", str(times)],
                       stdout=subprocess.DEVNULL, check=False)
        took = time.monotonic() - begin
        found = json.load(open(out.name))["what_if"]
    loop = max(found["loops"], key=lambda l: l["reason"] is None, default=None)
    if loop is None or loop["reason"]:
        print(f"{name:14} not tried: {loop['reason'] if loop else found['reason']}", flush=True)
        return
    print(f"{name:14} {took:.0f} s, held {loop['held_seconds']:.1f} s, {loop['snapshots']} snapshots, null "
          f"{loop['null_ratio']:.3f}, copied {loop['copied_time'] or 0:.2f}, inside {loop['inside'] or 0:.2f}, {loop['name']}", flush=True)
    ahead = {c["change"]: c.get("lines", 16) for c in loop["changes"]}
    truths = {kind: [] for kind in ["", *changes]}
    for _ in range(ROUNDS):
        for kind, times in truths.items():
            times.append(timed(program, name, kind, f"{TRUE_SECONDS}s", ahead.get(kind, 16)))
    for change in loop["changes"]:
        kind = change["change"]
        low, high = change["ci95"] if change["measured"] else (0, 0)
        said = f"{change['gain']:6.2f} [{low:.2f}, {high or 999:.2f}]" if change["measured"] else f"not known: {change['reason']}"
        if kind in changes:
            truth = statistics.median(now / then for now, then in zip(truths[""], truths[kind]))
            said += f" true {truth:6.2f} {verdict(change, truth) if change['measured'] else 'said'}"
        if not change.get("nothing_to_change"):
            print(f"{'':14} {kind:18} {said}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, words in PROGRAMS.items():
            program = os.path.join(folder, name)
            words = [w if w.startswith("-") else os.path.join(HERE, w) for w in words]
            subprocess.run([os.environ.get("CC", "cc"), *COMMON, "-o", program, *words, "-lm", "-pthread"], check=True)
            for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
                name, *changes = line.split()
                if len(sys.argv) == 1 or name in sys.argv[1:]:
                    bench(program, name, changes)
    if scores:
        print(f"{len(scores)} predictions: {sum(s[0] for s in scores)} hold the truth, median error "
              f"{100 * (statistics.median(s[1] for s in scores) - 1):.0f}%, {sum(s[1] >= 1.5 and not s[2] for s in scores)} off by 1.5 "
              "times without a warning")


if __name__ == "__main__":
    main()
