#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts of carm run on programs in C, C++ and Fortran whose limits are known by construction (strangers.*),
and the gains that they predict against changed twins that do the same work without the limit.
usage: strangers.py [--twins] [--verbose] [--under CMD] CARM MODEL [NAME...]
--under   a command that each run of a program goes through (taskset, say)
Prints a line for each loop, and the score. A limit is right when it is one of those named; "explains" is what the
bound explains of the time."""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
O2, O3 = "-O2 -fno-tree-vectorize", "-O3 -march=native"
O0, AVX2, FAST = "-O0", "-O3 -mavx2 -mfma", "-O3 -march=native -ffast-math"
SSE = "-O3"
# name, flags, what limits it, (name and flags of the twin), a part of the row's name where it is not the largest
LOOPS = [
    ("nbody", O2, "divider", ("nbody_x", O2)),
    ("nbody", SSE + " -ffast-math", "divider", None),
    ("nbody", FAST, "divider", None),
    ("normalise", O2, "divider", ("normalise_x", O2)),
    ("gcd", O2, "divider chain", None),
    ("modulo", O2, "divider", ("modulo_x", O2)),
    ("newton", O2, "chain divider", None),
    ("sum_l1", O2, "chain", ("sum_l1_x", O2)),
    ("sum_l2", O2, "chain", ("sum_l2_x", O2)),
    ("sum_l1", O0, "chain forwarding", ("sum_l1", O2)),
    ("sum_l1", AVX2, "chain", ("sum_l1", FAST)),
    ("prefix", O2, "chain", None),
    ("seidel", O2, "chain forwarding", None),
    ("mandelbrot", O2, "chain", ("mandelbrot_x", O2)),
    ("fnv", O2, "chain", ("fnv_x", O2)),
    ("crc", O2, "chain", None),
    ("crc_insn", O2, "chain", None),
    ("x87", O2, "chain", None),
    ("bits", O2, "chain issue integer", None),
    ("random_walk", O2, "chain", None),
    ("counter", O2, "chain forwarding", None),
    ("dot_avx2", O2, "loads", None),
    ("fma_chains", O2, "fp", None),
    ("copy_avx512_l2", O2, "l2", None),
    ("copy_avx512_l3", O2, "l3", None),
    ("split_lines", O2, "loads l1", ("split_lines_x", O2)),
    ("shuffles", O2, "fp", None),
    ("convert", O2, "fp", ("convert", O3)),
    ("popcounts", O2, "integer issue loads chain", None),
    ("scan", O2, "issue chain", None),
    ("butterfly", O2, "issue loads stores l1 fp", ("butterfly", O3)),
    ("polynomial", O2, "issue chain", ("polynomial", O3)),
    ("polynomial", SSE, "chain", ("polynomial", O3)),
    ("polynomial", O3, "fp", None),
    ("gather_avx2", O2, "loads issue fp", None),
    ("matmul_l1", O2, "chain issue", ("matmul_l1_x", O3)),
    ("matmul_l1_x", O3, "loads stores l1 issue", None),
    ("matmul_l1", O0, "chain forwarding issue", ("matmul_l1", O2)),
    ("matmul_large", O2, "latency tlb l2 l3", ("matmul_large_x", O2)),
    ("jacobi", O2, "latency tlb l2 l3 dram", ("jacobi_x", O2)),
    ("transpose", O2, "latency tlb l2 l3 dram", ("transpose_x", O2)),
    ("daxpy_l1", O3, "loads stores l1 issue", None),
    ("daxpy_l1", O2, "issue loads stores l1", ("daxpy_l1", O3)),
    ("daxpy_l3", O3, "l3", None),
    ("daxpy_dram", O3, "dram", None),
    ("daxpy_dram", O0, "chain forwarding issue dram", None),
    ("triad_dram", O3, "dram", None),
    ("triad_dram", O2, "dram", None),
    ("set_memory", O2, "dram", None),
    ("copy_memory", O2, "dram", None),
    ("update_field", O2, "dram", ("update_field_x", O2)),
    ("list_sum_l2", O2, "latency", None),
    ("list_sum_dram", O2, "latency", None),
    ("spmv_dram", O2, "latency tlb", None),
    ("page_walk", O2, "tlb latency", None),
    ("histogram", O2, "issue chain l1 loads stores forwarding", None),
    ("random_update_dram", O2, "latency tlb", None),
    ("search_l1", O2, "branches", None),
    ("search_dram", O2, "latency branches", None),
    ("threshold", O2, "branches", ("threshold_x", O2)),
    ("dispatch", O2, "branches", None),
    ("temporaries", O2, "kernel", ("temporaries_x", O2)),
    ("small_writes", O2, "kernel", None),
    ("yields", O2, "kernel waiting", None),
    ("sleeps", O2, "waiting kernel", None),
    ("false_sharing", O2, "latency waiting forwarding", ("false_sharing_x", O2)),
    ("lock_contention", O2, "waiting kernel", None),
    ("spin_wait", O2, "waiting", None, "spin_work loop"),
    ("triad_two", O3, "dram", None),
    ("sum_two", O2, "chain", None),
    ("imbalance", O2 + " -fopenmp", "waiting", None, "libgomp"),
    ("stencil_two", O3 + " -fopenmp", "dram", None),
    ("expression_l1", O2, "issue loads stores l1", ("expression_l1", O3)),
    ("expression_l1", O0, "chain forwarding issue", ("expression_l1", O2)),
    ("expression_dram", O3, "dram", None),
    ("product_l1", O2, "chain", ("product_l1", FAST)),
    ("product_l2", O3, "chain", ("product_l2", FAST)),
    ("sorts", O2, "branches", None),
    ("joins_dram", O2, "latency tlb divider", None, "joins("),
    ("walks_dram", O2, "latency tlb", None, "_Rb_tree_increment"),
    ("lookups_dram", O2, "latency tlb branches", None, "lookups("),
    ("areas", O2, "branches", None),
    ("f_sums", O2, "chain", ("f_sums", FAST)),
    ("f_daxpy_l1", O3, "loads stores l1 issue", None),
    ("f_daxpy_dram", O3, "dram", None),
    ("f_wrong_order", O2, "latency tlb l2 l3 dram", ("f_right_order", O2)),
    ("f_thomas", O2, "chain divider", None),
    ("f_roots", O2, "divider", None),
]
CXX = "expression product sorts joins walks lookups areas".split()


def build(folder, name, flags):
    """The program with that loop and those flags, compiled once."""
    kind = "f90" if name.startswith("f_") else "cc" if name.split("_")[0] in CXX else "c"
    path = os.path.join(folder, kind + "".join(ch if ch.isalnum() else "_" for ch in flags))
    if not os.path.exists(path):
        compiler = {"f90": "gfortran", "cc": "g++", "c": "gcc"}[kind]
        subprocess.run([compiler, *flags.split(), "-g", "-o", path, os.path.join(HERE, "strangers." + kind),
                        "-J", folder, "-lm"] if kind == "f90" else
                       [compiler, *flags.split(), "-g", "-pthread", "-o", path,
                        os.path.join(HERE, "strangers." + kind), "-lm"], check=True)
    return path


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--twins", action="store_true")
    options.add_argument("--verbose", action="store_true")
    options.add_argument("--under", default="")
    options.add_argument("--scale", type=float, default=1.0, help="of the iterations of half a second (1.5 s of large data)")
    options.add_argument("--programs", default=os.path.join(tempfile.gettempdir(), "carm-strangers"))
    options.add_argument("carm")
    options.add_argument("model")
    options.add_argument("names", nargs="*")
    opt = options.parse_args()
    under = shlex.split(opt.under)
    os.makedirs(opt.programs, exist_ok=True)
    chosen = [l for l in LOOPS if not opt.names or l[0] in opt.names]
    right = known = twins = inside = 0
    for name, flags, truth, twin, *where in chosen:
        program = build(opt.programs, name, flags)
        k = subprocess.run(under + [program, name], check=True, capture_output=True, text=True).stdout.strip()
        k = str(int(int(k) * opt.scale))
        out = os.path.join(opt.programs, f"run{os.getpid()}.json")
        if os.path.exists(out):
            os.remove(out)
        done = subprocess.run(under + [opt.carm, "run", "--counters", "translate", "-m", opt.model, "--hz", "1999",
                                       "--json", out, "--", program, name, k], capture_output=True, text=True)
        text = ""
        if os.path.exists(out):
            with open(out, encoding="utf-8") as file:
                text = file.read()
        rows = [p for p in json.loads(text)["parts"] if p.get("time_share", 0) > 0.05] if text else []
        if where:
            rows = [p for p in rows if where[0] in p["name"] or where[0] in p.get("module", "")]
        row = max(rows, key=lambda p: p["time_share"], default={})
        verdict = row.get("verdict", {})
        limit = verdict.get("limit", "none")
        # two bounds within a tenth of one another are both named
        good = limit in truth.split() or verdict.get("second") in truth.split() and limit != "unknown"
        right += good
        known += limit not in ("none", "unknown")
        gain = ""
        if twin and opt.twins and verdict:
            times = []
            for prog, nm in ((program, name), (build(opt.programs, *twin), twin[0])):
                times.append(min(float(subprocess.run(under + [prog, nm, k], check=True, capture_output=True,
                                                      text=True).stdout) for _ in range(2)))
            low, high = verdict["gain"]["loop"]["low"], verdict["gain"]["loop"]["high"]
            true = times[0] / times[1]
            known_gain = limit != "unknown"
            hit = known_gain and low is not None and 0.95 * low <= true <= 1.05 * (high if high is not None else 1e9)
            twins += 1
            inside += hit
            gain = f" twin {true:.2f}x {'in' if hit else 'NOT in'} {low:.2f}..{high if high is None else round(high, 2)}"
        print(f"{'ok ' if good else 'NOT'} {name + ' ' + flags:42} {limit:10} {verdict.get('explains', 0):4.0%}"
              f" ({truth}) {row.get('time_share', 0):.0%} {row.get('name', '')[:40]}{gain}")
        if opt.verbose or not good:
            t = verdict.get("iteration_seconds", 1)
            for b in verdict.get("bounds", [])[:6]:
                print(f"      {b['limit']:10} {b['seconds'] / t:5.0%} {b['origin']}")
            if not verdict:
                print("      " + "\n      ".join(done.stderr.splitlines()[:6]))
        sys.stdout.flush()
    print(f"{right} of {len(chosen)} right, {known - right} wrong, the others not known"
          + (f"; {inside} of {twins} twins inside" if opt.twins else ""))


main()
