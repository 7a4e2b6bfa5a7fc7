#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The core's bounds of carm run and llvm-mca's cycles against the measured time of loops whose data is in L1.
usage: mca.py [--most N] [--mcpu CPU] [--mca PROGRAM] [--programs FOLDER] collect CARM MODEL FILE
       mca.py time FILE
The loops of loops.c and strangers.c are compiled with several compilers and flags. A loop counts when its iteration is
straight code with more than 90% of the time, when memory, branches and other threads limit it by less than a tenth of
its time, and when no loop with the same instructions was met before. carm's figure is the largest bound of the core,
whether the time refutes it or not.
collect writes a line of JSON to FILE for each loop; time takes the least of some runs of each, which need a quiet
machine for a few seconds, and prints a line for each loop, and the medians of both errors."""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CORE = ("issue", "fp", "divider", "integer", "loads", "stores", "chain", "l1", "forwarding")
FLAGS = (("gcc", "-O2"), ("gcc", "-O3 -march=native"), ("clang", "-O3 -march=native"), ("gcc", "-O1"),
         ("gcc", "-O3 -march=native -ffast-math -funroll-loops"), ("clang", "-O2"), ("gcc", "-O0"))
SHARE, OTHERS, RUNS, LEAST = 0.9, 0.1, 5, 0.1  # seconds of a timed run
LARGE = re.compile("dram|l2|l3|large|jacobi|transpose|memory|field|two|spin|sleep|yield|lock|fault|tempor|writes|shar|"
                   "imbal")


def programs(folder):
    """Each of the programs with each set of flags: compiled once."""
    for compiler, flags in FLAGS:
        for source in ("loops.c", "strangers.c"):
            path = os.path.join(folder, compiler + re.sub(r"\W", "_", flags) + source[:-2])
            if not os.path.exists(path):
                subprocess.run([compiler, *flags.split(), "-g", "-w", "-pthread", "-o", path,
                                os.path.join(HERE, source), "-lm"], check=False, capture_output=True)
            if os.path.exists(path):
                yield path


def body(program, at):
    """The instructions of a loop of straight code that begins at an address; None = it is none."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={at}",
                           f"--stop-address={at + 4096}", program], capture_output=True, text=True, check=True).stdout
    out = []
    for line in text.splitlines():
        found = re.match(r"\s*([0-9a-f]+):\t(.*?)\s*(#.*)?$", line)
        if not found:
            continue
        insn = re.sub(r"\s*<.*>$", "", found[2])
        jump = re.match(r"j\w+\s+([0-9a-f]+)$", insn)
        if jump:
            return out + [re.sub(r"[0-9a-f]+$", ".L0", insn)] if int(jump[1], 16) == at else None
        if re.match("call|ret|jmp|rep|pause|lock", insn):
            return None
        out.append(insn)
    return None


def cycles(opt, insns):
    """llvm-mca's cycles of an iteration; None = it does not know an instruction."""
    done = subprocess.run([opt.mca, f"-mcpu={opt.mcpu}", "-iterations=200"], capture_output=True, text=True,
                          input=".L0:\n" + "\n".join(insns) + "\n", check=False)
    total = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    return int(total[1]) / 200 if total and not done.returncode else None


def hottest(opt, program, name, k):
    """The loop with nearly all of the time, with its verdict; None = none."""
    out = os.path.join(opt.programs, f"mca{os.getpid()}.json")
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([opt.carm, "run", "-q", "--counters", "translate", "-m", opt.model, "--hz", "1999", "--json", out,
                    "--", program, name, k], capture_output=True, check=False)
    if not os.path.exists(out):
        return None
    with open(out, encoding="utf-8") as file:
        parts = json.load(file)["parts"]
    rows = [p for p in parts if p.get("kind") == "loop" and p.get("time_share", 0) > SHARE and "verdict" in p
            and p.get("module") == os.path.basename(program)]
    return rows[0] if rows else None


def collect(opt):
    with open(opt.model, encoding="utf-8") as file:
        clock = json.load(file)["roofs"][0]["clock_hz"]
    os.makedirs(opt.programs, exist_ok=True)
    seen = set()
    for program in programs(opt.programs):
        for name in subprocess.run([program], capture_output=True, text=True, check=True).stdout.split():
            if LARGE.search(name) or len(seen) >= opt.most:
                continue
            k = subprocess.run([program, name], check=True, capture_output=True, text=True).stdout.strip()
            row = hottest(opt, program, name, k)
            insns = body(program, row["offset"]) if row else None
            key = "\n".join(insns or [])
            if not insns or key in seen:
                continue
            bounds, time = row["verdict"]["bounds"], row["verdict"]["iteration_seconds"]
            others = [b["seconds"] for b in bounds if b["limit"] not in CORE or b["estimate"]]
            theirs = cycles(opt, insns)
            if max(others, default=0.0) > OTHERS * time or theirs is None:
                continue
            seen.add(key)
            ours = max((b["seconds"] for b in bounds if b["limit"] in CORE and not b["estimate"]), default=0) * clock
            with open(opt.file, "a", encoding="utf-8") as file:
                file.write(json.dumps({"program": program, "name": name, "k": int(k), "iterations": row["iterations"],
                                       "share": row["time_share"], "clock": clock, "ours": ours, "theirs": theirs,
                                       "insns": len(insns)}) + "\n")


def processor(program, name, k):
    """Seconds of a run on processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, name, str(k)], check=True, capture_output=True)
    behind = resource.getrusage(resource.RUSAGE_CHILDREN)
    return behind.ru_utime - before.ru_utime


def time(opt):
    errors = []
    with open(opt.file, encoding="utf-8") as file:
        loops = [json.loads(line) for line in file]
    for l in loops:
        times = max(1, round(LEAST / (l["iterations"] * l["ours"] / l["clock"])))
        least = min(processor(l["program"], l["name"], l["k"] * times) for _ in range(RUNS))
        measured = least * l["share"] * l["clock"] / (l["iterations"] * times)
        errors.append((abs(l["ours"] / measured - 1), abs(l["theirs"] / measured - 1)))
        print(f"{os.path.basename(l['program'])[:36]:36} {l['name']:14} {l['insns']:3} {measured:7.2f} {l['ours']:7.2f}"
              f" {l['theirs']:7.2f} {errors[-1][0]:6.1%} {errors[-1][1]:6.1%}", flush=True)
    print(f"{len(errors)} loops: median error {statistics.median(e[0] for e in errors):.1%}, "
          f"llvm-mca {statistics.median(e[1] for e in errors):.1%}")


def main():
    options = argparse.ArgumentParser()
    ways = options.add_subparsers(required=True)
    options.add_argument("--most", type=int, default=200)
    options.add_argument("--mcpu", default="znver3")
    options.add_argument("--mca", default="llvm-mca")
    options.add_argument("--programs", default=os.path.join(tempfile.gettempdir(), "carm-mca"))
    way = ways.add_parser("collect")
    way.set_defaults(run=collect)
    way.add_argument("carm")
    way.add_argument("model")
    way.add_argument("file")
    way = ways.add_parser("time")
    way.set_defaults(run=time)
    way.add_argument("file")
    opt = options.parse_args()
    opt.run(opt)


main()
