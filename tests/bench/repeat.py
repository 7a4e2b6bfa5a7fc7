# SPDX-License-Identifier: GPL-3.0-or-later
"""Roofs of several models of one machine: usage: repeat.py MODEL..."""
import json
import statistics as st
import sys


def roofs(path):
    with open(path, encoding="utf-8") as f:
        model = json.load(f)
    for r in model["roofs"]:
        for x in r["memory"] + r["compute"]:
            name = x["level"] + " " + x["ldst"] if "level" in x else "peak " + x["op"]
            key = f"{r['isa']}.{r['precision']}.{r['threads']} {name}"
            private = x.get("level", "L1") in ("L1", "L2")
            yield key, (x.get("bandwidth", x.get("rate")),
                        x.get("bytes_per_cycle", x.get("flops_per_cycle")),
                        x["ci95"], x["disturbed"], private)


def spread(values):
    return 100 * st.stdev(values) / st.mean(values) if len(values) > 1 else 0.0


found = {}
for path in sys.argv[1:]:
    for key, value in roofs(path):
        found.setdefault(key, []).append(value)
held = asked = marked = total = low = 0
print(f"{'roof':30} {'n':>3} {'marked':>6} {'median':>10} {'CV':>7} {'/cycle CV':>9} {'lowest':>7}  interval holds others")
for key, values in found.items():
    kept = [v for v in values if not v[3]]
    total += len(values)
    marked += len(values) - len(kept)
    if not kept:
        print(f"{key:30} {len(values):3} {len(values):6}")
        continue
    rates = [v[0] for v in kept]
    middle = st.median(rates)
    lowest = 100 * (min(rates) / middle - 1)
    low += sum(r < (0.97 if kept[0][4] else 0.90) * max(rates) for r in rates)
    holds = [v[2][0] <= st.median(w[0] for k, w in enumerate(kept) if k != i) <= v[2][1]
             for i, v in enumerate(kept) if len(kept) > 1]
    held += sum(holds)
    asked += len(holds)
    print(f"{key:30} {len(values):3} {len(values) - len(kept):6} {middle / 1e9:10.2f} {spread(rates):6.2f}%"
          f" {spread([v[1] for v in kept]):8.2f}% {lowest:6.1f}%  {sum(holds)} of {len(holds)}")
print(f"{marked} of {total} marked; of the others {low} lie 3% (L1, L2, peaks) or 10% below the best of them; "
      f"{held} of {asked} intervals hold the median of the other builds")
