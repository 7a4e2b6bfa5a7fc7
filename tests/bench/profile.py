# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops and functions of carm run against what others say of them. usage: profile.py CARM OWN [SECONDS]

- functions of real programs against perf record, which samples the same run with a clock of its own
- points of carm's own kernels against what the kernels say of themselves (own.c)

Prints; the exit status is 1 where samples of one run differ by more than chance (5 standard errors)."""
import bisect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PERIOD_NS = 1999993  # perf's; carm's is 1/499 s
FAR = 5.0

SQL = ("with recursive t(i, x) as (select 1, 1 union all select i + 1, (x * 1103515245 + 12345) % 2147483648 from t "
       "where i < 400000) select count(*), sum(x) from (select x % 1000 as g, x from t order by x) group by g;")
DGEMM = "import numpy as n; a = n.ones((1200, 1200)); [a @ a for _ in range(10)]"


def quiet(command, **more):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **more)


def programs(folder):
    with open(f"{folder}/numbers", "w", encoding="utf-8") as file:
        file.writelines(f"{i}\n" for i in range(1500000))
    with open(f"{folder}/much.c", "w", encoding="utf-8") as file:
        file.writelines(f"int f{i}(int a, int b) {{ int s = {i}; for (int i = 0; i < a; i++) s += (i ^ b) * {i % 7}; "
                        f"return s > b ? s : b; }}\n" for i in range(1200))
    python = next((p for p in ("python3", "/usr/bin/python3") if quiet([p, "-c", "import numpy"]).returncode == 0), None)
    if python:
        yield "dgemm, numpy", [python, "-c", DGEMM]
    yield "bzip2 -9", ["bzip2", "-9", "-k", "-c", "numbers"]
    yield "SQLite", ["sqlite3", ":memory:", SQL]
    yield "gcc -O2", ["gcc", "-O2", "-c", "much.c", "-o", "much.o"]
    yield "FFTW plans", ["fftw-wisdom", "-n", "-o", "wisdom", "icf2048"]


def maps_and_samples(text):
    """Samples of perf script as (file, offset), by the maps that it shows."""
    maps, samples = {}, []
    for line in text.splitlines():
        found = re.search(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x)?([0-9a-f]+) .*: \S+ (.*)$", line)
        if found:
            begin = int(found[2], 16)
            maps.setdefault(int(found[1]), []).append((begin, begin + int(found[3], 16), int(found[5], 16), found[6]))
            continue
        found = re.match(r"\s*(\S.*?)\s+(\d+)/\d+\s+([0-9a-f]+)$", line)
        if found and found[1] != "carm":
            address = int(found[3], 16)
            for begin, end, offset, path in reversed(maps.get(int(found[2]), [])):
                if begin <= address < end:
                    samples.append((os.path.basename(path), address - begin + offset))
                    break
            else:
                samples.append(("", 0))
    return samples


def against_perf(carm, name, command, folder):
    run = quiet(["perf", "record", "-q", "-e", "task-clock:u", "-c", str(PERIOD_NS), "-o", "perf.data", "--",
                 carm, "run", "-q", "--counters", "none", "--functions", "--min-share", "0", "--json", "run.json", "--",
                 *command], cwd=folder)
    if run.returncode != 0:
        print(f"{name:14} failed")
        return False
    text = subprocess.run(["perf", "script", "-i", "perf.data", "--show-mmap-events", "-F", "comm,pid,tid,ip"], cwd=folder,
                          capture_output=True, text=True, check=False).stdout
    theirs = maps_and_samples(text)
    with open(f"{folder}/run.json", encoding="utf-8") as file:
        parts = [p for p in json.load(file)["parts"] if p["kind"] == "function"]
    begins = {}
    for i, part in enumerate(parts):
        begins.setdefault(part["module"], []).append((part["offset"], i))
    counts = [0] * len(parts)
    for list_ in begins.values():
        list_.sort()
    for module, offset in theirs:
        list_ = begins.get(module, [])
        at = bisect.bisect_right(list_, (offset, len(parts)))
        if at:
            counts[list_[at - 1][1]] += 1
    n, m = sum(p["samples"] for p in parts), len(theirs)
    worst, compared, covered = (0.0, ""), 0, 0
    for part, count in zip(parts, counts):
        both = (part["samples"] + count) / (n + m)
        if both >= 0.01:
            error = (both * (1 - both) * (1 / n + 1 / m)) ** 0.5
            off = (part["samples"] / n - count / m) / error if error else 0.0
            worst = max(worst, (abs(off), part["name"]))
            compared, covered = compared + 1, covered + both
    top = sorted(zip(parts, counts), key=lambda pair: -pair[0]["samples"])[:3]
    print(f"{name:14} {n:6} {m:6} {compared:9} {100 * covered:6.1f}% {worst[0]:8.1f}  " + "; ".join(
        f"{p['name'][:36]} {100 * p['samples'] / n:.1f}% {100 * c / m:.1f}%" for p, c in top))
    return worst[0] > FAR


def point(carm, own, folder, arguments, by):
    run = subprocess.run([carm, "run", "-q", "--counters", "translate", by, "--json", "own.json", "--", own, *arguments],
                         cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return None
    with open(f"{folder}/own.json", encoding="utf-8") as file:
        parts = json.load(file)["parts"]
    return parts[0], [float(word) for word in run.stdout.split()]


def against_own(carm, own, folder, seconds):
    for name, n in (("1", 768), ("2", 768), ("3", 768), ("4", 768), ("5", 768), ("triad", 1000), ("triad", 4000000)):
        once = subprocess.run([own, name, str(n), "1"], cwd=folder, capture_output=True, text=True, check=False)
        if once.returncode != 0:
            print(f"{name:8} {once.stderr.strip()}")
            continue
        rounds = str(max(1, int(seconds / float(once.stdout.split()[2]))))
        for by in ("--loops", "--functions"):
            found = point(carm, own, folder, (name, str(n), rounds), by)
            if not found:
                print(f"{name:8} failed")
                continue
            part, (flops, size, took) = found
            seen = part["flops"] / part["bytes"], 1e-9 * part["flops"] / part["seconds"]
            said = flops / size, 1e-9 * flops / took
            print(f"{name:6} {n:8} {seen[0]:9.5f} {said[0]:9.5f} {100 * (seen[0] / said[0] - 1):+7.2f}%  {seen[1]:8.2f} {said[1]:8.2f} "
                  f"{100 * (seen[1] / said[1] - 1):+7.2f}%  {part['name']}")


def main():
    carm, own = (os.path.abspath(path) for path in sys.argv[1:3])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 2.0
    far = False
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("perf") and quiet(["perf", "record", "-q", "-e", "task-clock:u", "-o", "perf.data", "true"],
                                          cwd=folder).returncode == 0:
            print("program        samples   perf functions covered  furthest  the three largest: carm, perf")
            for name, command in programs(folder):
                if shutil.which(command[0]):
                    far = against_perf(carm, name, command, folder) or far
        else:
            print("perf record does not work here: functions are not compared")
        print("kernel        n  flop/byte its own                 Gflop/s  its own")
        against_own(carm, own, folder, seconds)
    return far


if __name__ == "__main__":
    sys.exit(main())
