#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The core's bounds of carm run and llvm-mca's cycles against the measured cycles of hot loops of real programs, executed
alone with data in L1 (blocks.c).
usage: blocks.py collect PROGRAM FILE JSON...  adds the hot loops of straight code to FILE, settled; JSON: of carm run
       blocks.py time PROGRAM FILE             measures each loop of FILE; needs a quiet machine for some seconds
       blocks.py score PROGRAM FILE MODEL [CSV] prints the errors of both, each half of the loops for itself
A loop is one that has at least 0.1% of its program's time and whose code no loop before has. The second half, by a hash
of the code, is held back: rules for the bounds are found with the first half alone."""
import argparse
import concurrent.futures
import functools
import csv
import glob
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys

LEAST = 0.001
FOLDERS = ("/usr/bin/", "/usr/lib/x86_64-linux-gnu/", "/usr/lib/", "/usr/lib/x86_64-linux-gnu/*/", "/usr/lib/python3*/lib-dynload/",
           "/usr/lib/python3/dist-packages/**/", "/usr/lib/x86_64-linux-gnu/perl*/**/")
COLUMNS = ("program", "loop", "offset", "code", "instructions", "half", "measured", "carm", "limit", "llvm_mca")


def lines(*args, text=None, cpu=None):
    """What a program prints; nothing if it fails. cpu: seconds of processor time that it may take"""
    args = ("prlimit", f"--cpu={cpu}", *args) if cpu else args
    done = subprocess.run(args, capture_output=True, text=True, input=text, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


@functools.cache
def path_of(module, folders=()):
    """The file of a module's name; None = none."""
    found = [f for folder in (*folders, *FOLDERS) for f in glob.glob(folder + glob.escape(module), recursive=True)]
    return os.path.realpath(found[0]) if found else None


def is_held(code):
    return hashlib.sha256(bytes.fromhex(code)).digest()[0] % 2 == 1


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def settle(opt, l):
    """Most loops are settled at once, or never: those that need long are left out."""
    text = lines(opt.program, "settle", str(l["offset"]), l["code"], cpu=opt.patience)
    return {**l, "settled": text[0] if text else None}


def collect(opt):
    seen, new = {l["code"] for l in read(opt.file)}, []
    for name in opt.rest:
        with open(name, encoding="utf-8") as file:
            parts = json.load(file)["parts"]
        for p in parts:
            path = p.get("kind") == "loop" and p.get("time_share", 0) >= LEAST and path_of(p["module"], tuple(opt.folder))
            code = path and (lines(opt.program, "find", path, str(p["offset"])) or [""])[0]
            if code and code not in seen:
                seen.add(code)
                new.append({"program": os.path.basename(name)[:-5], "loop": p["name"], "offset": p["offset"] % 4096,
                            "code": code, "share": p["time_share"]})
    with open(opt.file, "a", encoding="utf-8") as file, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for l in pool.map(lambda l: settle(opt, l), new):
            file.write(json.dumps(l) + "\n")
            file.flush()


def settled(opt):
    return [l for l in read(opt.file) if l["settled"]]


def time(opt):
    loops = settled(opt)
    runs = [lines(opt.program, "time", text="".join(l["settled"] + "\n" for l in loops)) for _ in range(opt.runs)]
    assert all(len(r) == len(loops) for r in runs), [len(r) for r in runs]
    with open(opt.file, "w", encoding="utf-8") as file:
        for i, l in enumerate(loops):
            l["measured"] = sorted(float(r[i]) if r[i] != "-" else 0.0 for r in runs)
            file.write(json.dumps(l) + "\n")


def theirs(opt, l):
    """llvm-mca's cycles of an iteration; None = it does not know an instruction."""
    code = " ".join(f"0x{l['code'][i:i + 2]}" for i in range(0, len(l["code"]), 2))
    text = lines(opt.mc, "--disassemble", "-triple=x86_64", f"-mcpu={opt.mcpu}", text=code)
    text = [re.sub(r"^(\s*j\w+\s+)-?\d+", r"\1.L0", t) for t in text if not t.strip().startswith(".")]
    out = "\n".join(lines(opt.mca, f"-mcpu={opt.mcpu}", "-iterations=200", text=".L0:\n" + "\n".join(text) + "\n"))
    total = re.search(r"Total Cycles:\s+(\d+)", out)
    return (int(total[1]) / 200 if total else None), len(text), "; ".join(" ".join(t.split()) for t in text)


def show(name, errors):
    low, middle, high = statistics.quantiles(errors, n=4)
    return f"{name} {middle:.1%} (quartiles {low:.1%}, {high:.1%})"


def score(opt):
    loops = [l for l in settled(opt) if len(l.get("measured", [])) > 1 and l["measured"][0] > 0.3
             and l["measured"][1] < 1.03 * l["measured"][0]]  # two runs agree
    ours = lines(opt.program, "bound", opt.rest[0], text="".join(l["settled"] + "\n" for l in loops))
    rows = []
    for l, text in zip(loops, ours):
        cycles, limit, *origin = text.split(" ", 2)
        other, n, code = theirs(opt, l)
        if other is None:
            continue
        m = l["measured"][0]
        rows.append({"program": l["program"], "loop": l["loop"], "offset": l["offset"], "code": l["code"],
                     "instructions": n, "half": "held" if is_held(l["code"]) else "open", "measured": m,
                     "carm": float(cycles), "limit": limit, "llvm_mca": other, "text": code, "origin": origin,
                     "forwards": int(l["settled"].split()[4])})
    for r in sorted(rows, key=lambda r: r["carm"] / r["measured"]):
        if r["half"] == "open" and opt.verbose:
            print(f"{r['carm'] / r['measured'] - 1:+6.1%} {r['llvm_mca'] / r['measured'] - 1:+7.1%} {r['measured']:7.2f} "
                  f"{r['carm']:7.2f} {r['llvm_mca']:7.2f} {r['limit']:8} {r['forwards']} {r['program']} {r['loop']} | {r['text']}"
                  f" | {r['origin'][0] if r['origin'] else ''}")
    for half in ("open", "held", ""):
        some = [r for r in rows if half in (r["half"], "")]
        if len(some) > 1:
            print(f"{half or 'all':4} {len(some)} loops:",
                  show("carm", [abs(r["carm"] / r["measured"] - 1) for r in some]) + ",",
                  show("llvm-mca", [abs(r["llvm_mca"] / r["measured"] - 1) for r in some]))
    if len(opt.rest) > 1:
        with open(opt.rest[1], "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
            out.writeheader()
            out.writerows({**r, "measured": f"{r['measured']:.3f}", "carm": f"{r['carm']:.3f}"} for r in rows)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("way", choices=("collect", "time", "score"))
    options.add_argument("program")
    options.add_argument("file")
    options.add_argument("rest", nargs="*")
    options.add_argument("--folder", action="append", default=[], help="collect: of programs that are not installed, with a / behind")
    options.add_argument("--patience", type=int, default=3, help="collect: seconds of processor time for a loop")
    options.add_argument("--mcpu", default="znver4")
    options.add_argument("--mca", default="llvm-mca-19")
    options.add_argument("--mc", default="llvm-mc-19")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--verbose", action="store_true")
    opt = options.parse_args()
    {"collect": collect, "time": time, "score": score}[opt.way](opt)
    return 0


sys.exit(main())
