#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""carm run --what-if against loops that were changed by hand (loops.c): a line for each change, with what was predicted, its
interval, and what the change by hand brings: the best of three runs of each. what_if.py [NAME...]; $CARM is the
program. A verdict ends each line: in (the interval holds the truth), near (within 10%), off, far (1.5 times and more), said (not
measured, with the reason)."""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CARM = os.environ.get("CARM", "build/carm")
SECONDS = 1.2
PAIRS = 3


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


def verdict(gain, low, high, truth):
    if low <= truth <= high:
        return "in"
    ratio = max(gain / truth, truth / gain)
    return "near" if ratio <= 1.1 else "off" if ratio < 1.5 else "far"


def bench(program, name, changes):
    times = repetitions(program, name, "", SECONDS)
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([CARM, "run", "-q", "--what-if", "--json", out.name, "--", program, name, "", str(times)],
                       stdout=subprocess.DEVNULL, check=False)
        found = json.load(open(out.name))["what_if"]
        loops = found["loops"]
    loop = max((l for l in loops), key=lambda l: l["reason"] is None, default=None)
    if loop is None or loop["reason"]:
        print(f"{name:14} not tried: {loop['reason'] if loop else found['reason']}", flush=True)
        return
    print(f"{name:14} held {loop['held_seconds']:.1f} s, {loop['snapshots']} snapshots, null {loop['null_ratio']:.3f}, copied "
          f"{loop['copied_time'] or 0:.2f}, inside {loop['inside'] or 0:.2f}", flush=True)
    for change in loop["changes"]:
        kind = change["change"]
        if kind not in changes:
            if change["measured"]:
                print(f"{'':14} {kind:18} {change['gain']:6.2f} [{change['ci95'][0]:.2f}, {change['ci95'][1]:.2f}]")
            elif not change.get("nothing_to_change"):
                print(f"{'':14} {kind:18} not known: {change['reason']}")
            continue
        changed = repetitions(program, name, kind, SECONDS / PAIRS)
        base = max(1, times // PAIRS)
        pairs = [(timed(program, name, "", base), timed(program, name, kind, changed, change.get("lines", 16))) for _ in range(PAIRS)]
        truth = min(pair[0] for pair in pairs) / min(pair[1] for pair in pairs)
        if not change["measured"]:
            print(f"{'':14} {kind:18} true {truth:6.2f}: {change['reason']}: said", flush=True)
            continue
        low, high = change["ci95"]
        print(f"{'':14} {kind:18} {change['gain']:6.2f} [{low:.2f}, {high:.2f}] true {truth:6.2f} "
              f"{verdict(change['gain'], low, high, truth)}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "loops")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-g", "-ftree-vectorize", "-march=x86-64-v3",
                        "-fno-tree-loop-distribute-patterns", "-o", program, os.path.join(HERE, "loops.c"), "-lm"], check=True)
        for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
            name, *changes = line.split()
            if len(sys.argv) == 1 or name in sys.argv[1:]:
                bench(program, name, changes)


if __name__ == "__main__":
    main()
