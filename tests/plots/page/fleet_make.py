# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of fleets made up from tests/data/sample-model.json, with noise of known size and planted truth: one
JSON line for each node, as carm fleet build gathers them."""
import json
import os
import random


class Maker:
    """Rows of nodes; each model is one text with holes for its numbers."""

    def __init__(self, top, noise=0.01, **machine):
        with open(os.path.join(top, "tests", "data", "sample-model.json"), encoding="utf-8") as f:
            model = json.load(f)
        model.update(curves=[], flop_curves=[], created="@created", validation=[])
        model["machine"].update(machine, hostname="@hostname")
        self.noise, self.rates = noise, []
        for s in model["roofs"]:
            s.pop("ceilings", None)
            for roof in s["memory"] + s["compute"]:
                key = "bandwidth" if "bandwidth" in roof else "rate"
                self.rates.append((roof.get("level", "compute"), s["threads"], roof.get("ldst", roof.get("op")),
                                   roof[key]))
                roof.update({key: "@rate", "ci95": ["@low", "@high"], "disturbed": False, "note": "",
                             "counted_by": "constructed"})
        text = json.dumps(model, separators=(",", ":")).replace("%", "%%")
        for hole in ("rate", "low", "high"):
            text = text.replace('"@%s"' % hole, "%.7g")
        self.text = text

    def row(self, host, seed=0, created="2026-10-01T00:00:00Z", slow=None, job="1"):
        """A row; slow: {(level or "compute", threads or 0, mix or op or ""): factor}"""
        draw = random.Random(seed)
        numbers = []
        for level, threads, mix, rate in self.rates:
            for (of, t, m), factor in (slow or {}).items():
                if of == level and t in (0, threads) and m in ("", mix):
                    rate *= factor
            rate *= 1 + draw.gauss(0, self.noise)
            numbers += [rate, 0.996 * rate, 1.004 * rate]
        model = (self.text % tuple(numbers)).replace('"@created"', json.dumps(created), 1)
        model = model.replace('"@hostname"', json.dumps(host), 1)
        return '{"schema":"carm-fleet/1","host":%s,"job":%s,"status":"ok","model":%s}\n' % (
            json.dumps(host), json.dumps(job), model)


def failed(host, status="timeout", reason="no answer within 600 s"):
    return json.dumps({"schema": "carm-fleet/1", "host": host, "job": "1", "time": "2026-10-01T00:00:00Z",
                       "status": status, "reason": reason}) + "\n"


def write(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(rows)
