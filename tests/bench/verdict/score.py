#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts of carm run on loops whose limit is known (loops.c), against the truth.
usage: score.py CARM PROGRAM MODEL [NAME...]
Prints a line for each loop, and the score."""
import json
import subprocess
import sys
import tempfile

# What limits each loop; several where two are alike or where the words for it are.
TRUTH = {
    "div": "divider", "sqrt": "divider", "div_sqrt": "divider", "div_sp": "divider", "idiv": "divider",
    "sum_l1": "chain", "sum_l2": "chain", "sum_l3": "chain", "sum_float": "chain", "product": "chain",
    "dot_l1": "chain", "horner": "chain", "recurrence": "chain forwarding", "hash_chain": "chain", "lcg": "chain",
    "div_chain": "chain", "xorshift": "chain", "chase_l1": "chain latency", "chase_l2": "latency",
    "chase_l3": "latency", "chase_dram": "latency", "gather_l3": "latency", "gather_dram": "latency tlb",
    "histogram_dram": "latency tlb", "branchy": "branches", "branch_sorted": "chain issue integer",
    "daxpy_l1": "loads stores l1 issue", "daxpy_l2": "l2 issue loads stores", "daxpy_l3": "issue loads stores l3", "daxpy_dram": "dram",
    "copy_dram": "dram", "triad_l1": "loads stores l1 issue", "triad_l3": "issue loads stores l3", "triad_dram": "dram",
    "fill_dram": "dram", "sum_dram": "dram chain", "stride_l2": "l2 latency", "stride_dram": "latency tlb dram",
    "column_smooth": "tlb", "column_scale": "tlb", "column_aliased": "latency", "column_aliased_l2": "latency",
    "loads_avx2": "loads", "stores_avx2": "stores", "issue": "issue", "int_units": "integer issue",
    "imul_units": "integer", "fma_avx2": "fp chain", "fma_avx512": "fp", "mul_sse": "fp", "add_scalar": "fp",
    "add_avx2_sp": "fp", "straddle": "forwarding", "memory_sum": "forwarding", "faults": "kernel", "spin": "waiting",
}


def main():
    carm, program, model, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    good = known = 0
    for name in names or TRUTH:
        k = subprocess.run([program, name], check=True, capture_output=True, text=True).stdout.strip()
        with tempfile.TemporaryDirectory() as folder:
            out = folder + "/run.json"
            subprocess.run([carm, "run", "-q", "--levels", "--sample", "1", "-m", model, "--hz", "999", "--json", out, "--",
                            program, name, k], check=True, capture_output=True)
            with open(out, encoding="utf-8") as file:
                text = file.read()
        rows = [p for p in json.loads(text)["parts"] if p.get("time_share", 0) > 0.05] if text else []
        row = max(rows, key=lambda p: p["time_share"], default={})
        verdict = row.get("verdict", {})
        limit = verdict.get("limit", "none")
        # two bounds within a tenth of one another are both named
        right = limit in TRUTH[name].split() or verdict.get("second") in TRUTH[name].split() and limit != "unknown"
        good += right
        known += limit not in ("none", "unknown")
        print(f"{'ok ' if right else 'NOT'} {name:15} {limit:10} {verdict.get('explains', 0):4.0%}"
              f" ({TRUTH[name]}) {row.get('name', '')[:50]}")
        if not right:
            t = verdict.get("iteration_seconds", 1)
            for b in verdict.get("bounds", [])[:6]:
                print(f"      {b['limit']:10} {b['seconds'] / t:5.0%} {b['origin']}")
        sys.stdout.flush()
    print(f"{good} of {len(names or TRUTH)} right, {known - good} wrong, the others not known")


main()
