#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the #include lines of the tree: an arrow between rooms never points up, and neither folders
nor units (a .c file with its header) form a cycle. Then plants faults and shows that each is found.
Prints TAP; exit status 1 if a test fails."""
import os
import re
import shutil
import sys
import tempfile

# A room may use itself and those named here, rooms or folders (docs/architecture.md). tests/ may use all.
MAY_USE = {
    "include": "",
    "base": "",
    "asm": "base",
    "harness": "base asm include",
    "models": "base harness/count",
    "kernels": "base asm harness models",
    "validation": "base asm harness models",
    "run": "base harness models",
    "plots": "base models",
    "cli": "base asm harness models kernels validation run plots",
}
# Folders that libcarm is built from use nothing under another licence.
MIT = ("base", "harness/count", "harness/count/step", "harness/region", "include")
FILES_MAX = 32
# Nothing includes a program's main function: it is above the folder that it is in.
MAINS = ("cli/main.c",)


def sources(top):
    for room in MAY_USE:
        for folder, _, names in os.walk(os.path.join(top, room)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), top)


def includes(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if found:
                yield number, found.group(1)


def cycles(graph):
    """The strongly connected parts of more than one node, sorted (Tarjan)."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for to in sorted(graph.get(node, ())):
            if to not in index:
                visit(to)
                low[node] = min(low[node], low[to])
            elif to in on:
                low[node] = min(low[node], index[to])
        if low[node] == index[node]:
            part = []
            while True:
                part.append(stack.pop())
                on.discard(part[-1])
                if part[-1] == node:
                    break
            if len(part) > 1:
                out.append(sorted(part))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return out


def faults(top):
    units, folders, out, held = {}, {}, [], {}
    for path in sources(top):
        room, folder = path.split("/")[0], os.path.dirname(path)
        held[folder] = held.get(folder, 0) + 1
        for number, to in includes(top, path):
            where = f"{path}:{number}: includes {to}"
            if not os.path.exists(os.path.join(top, to)):
                out.append(f"{where}, which does not exist (paths begin at the top of the tree)")
                continue
            other, other_folder = to.split("/")[0], os.path.dirname(to)
            if other != room and not {other, other_folder} & set(MAY_USE[room].split()):
                out.append(f"{where}: {room}/ may use {MAY_USE[room] or 'no other room'}")
            if folder in MIT and other_folder not in MIT:
                out.append(f"{where}: {folder}/ is under MIT, {other_folder}/ is not")
            unit, other_unit = os.path.splitext(path)[0], os.path.splitext(to)[0]
            if unit != other_unit:
                units.setdefault(unit, set()).add(other_unit)
            if folder != other_folder and path not in MAINS:
                folders.setdefault(folder, set()).add(other_folder)
    out += [f"a cycle of units: {', '.join(part)}" for part in cycles(units)]
    out += [f"a cycle of folders: {', '.join(part)}" for part in cycles(folders)]
    out += [f"{folder}/ has {n} files: at most {FILES_MAX}" for folder, n in sorted(held.items()) if n > FILES_MAX]
    return out


PLANTED = [  # (file, a line added to it, what the fault is called)
    ("base/number.h", '#include "asm/code.h"', "base/ may use no other room"),
    ("models/model.h", '#include "harness/machine/team.h"', "models/ may use base"),
    ("harness/region/table.h", '#include "harness/machine/team.h"', "is under MIT"),
    ("base/text.h", '#include "nowhere.h"', "does not exist"),
    ("base/err.h", '#include "base/text.h"\n#include "base/csv.h"', "a cycle of units"),
    ("models/model.h", '#include "models/place/place.h"', "a cycle of folders"),
]


def test(top):
    print(f"1..{len(PLANTED) + 1}")
    found = faults(top)
    print("not ok" if found else "ok", "1 - no arrow points up, no cycle, no crowded folder")
    for line in found:
        print("# " + line)
    bad = bool(found)
    for number, (path, line, name) in enumerate(PLANTED, 2):
        with tempfile.TemporaryDirectory() as copy:
            for room in MAY_USE:
                shutil.copytree(os.path.join(top, room), os.path.join(copy, room))
            with open(os.path.join(copy, path), "a", encoding="utf-8") as file:
                file.write(line + "\n")
            new = [fault for fault in faults(copy) if fault not in found]
        caught = any(name in fault for fault in new)
        print("ok" if caught else "not ok", f"{number} - a planted fault is found: {name}")
        bad = bad or not caught
    return bad


def main():
    sys.setrecursionlimit(10000)
    return test(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


if __name__ == "__main__":
    sys.exit(main())
