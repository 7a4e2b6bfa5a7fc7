#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the #include lines of the tree: an arrow between rooms never points up, and neither folders
nor units (a .c file with its header) form a cycle. Checks the symbols of the built objects (nm): no
circle of units by calls, which include lines do not show. Then plants faults and shows that each is
found. Each constant of models, harness, validation and run has its origin beside it: a comment. Prints TAP; exit status 1 if a test fails. The objects are in the folder of $CARM, or in build/."""
import os
import re
import shutil
import subprocess
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
# The border between translated code and the engine leads both ways: code of the cache comes back through it.
BORDERS = ("entry",)
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


def calls(objects):
    """Who refers to whose symbols. objects: unit -> object file. returns unit -> {unit: {symbols}}"""
    by_path = {path: unit for unit, path in objects.items()}
    text = subprocess.run(["nm", "-A", "--", *by_path], capture_output=True, text=True, check=False).stdout
    defined, wanted, out = {}, [], {}
    for path, rest in (line.rsplit(":", 1) for line in text.splitlines() if ":" in line):
        fields = rest.split()
        if fields[-2] in "Uw":
            wanted.append((by_path[path], fields[-1]))
        elif fields[-2].isupper():
            defined[fields[-1]] = by_path[path]
    for unit, symbol in wanted:
        other = defined.get(symbol, unit)
        if other != unit:
            out.setdefault(unit, {}).setdefault(other, set()).add(symbol)
    return out


def call_faults(objects):
    graph = calls(objects)
    out = []
    for part in cycles(graph):
        steps = [f"{a} -> {b} ({min(graph[a][b])})" for a in part for b in part if b in graph.get(a, {})]
        out.append(f"a circle of calls: {', '.join(steps)}")
    return out


def built(top, build):
    """The objects of the program, and those of the engine, which has functions of the same names."""
    program, engine = {}, {}
    for path in sources(top):
        unit, name = os.path.splitext(path)[0], os.path.splitext(os.path.basename(path))[0]
        if path.endswith(".c") and os.path.exists(os.path.join(build, unit + ".o")):
            program[unit] = os.path.join(build, unit + ".o")
        if path.startswith("harness/translate/engine/") or name in ("account", "instruction", "xstate"):
            here = os.path.join(build, "engine", name + ".o")
            if path.endswith(".c") and name not in BORDERS and os.path.exists(here):
                engine[unit] = here
    return program, engine


def constants(top):
    """Constants of floating point without a comment: on their lines, or above a row of constants."""
    for path in sources(top):
        if path.startswith(("models/", "harness/", "validation/", "run/")):
            with open(os.path.join(top, path), encoding="utf-8") as file:
                lines = file.read().split("\n")
            said = False  # the line before ends a comment, or is such a constant with one above its row
            for number, line in enumerate(lines, 1):
                found = re.match(r"\s*static const double (\w+)", line)
                end = number
                while found and not re.search(r";", lines[end - 1]):
                    end += 1
                if found and not said and not any("/*" in part for part in lines[number - 1:end]):
                    yield f"{path}:{number}: '{found.group(1)}' has no origin beside it"
                said = line.rstrip().endswith("*/") or (said and (bool(found) or line.lstrip().startswith("static const")))


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
    out += list(constants(top))
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
    ("models/rounds.c", "static const double planted = 1.0;", "has no origin beside it"),
]


# Two units that call each other, and two that only have local functions of the same name.
CIRCLE = {"a": "int b(void); int a(void); int a(void) { return b(); }", "b": "int a(void); int b(void); int b(void) { return a(); }"}
NO_CIRCLE = {"a": "int b(void); int a(void); int a(void) { return b(); }",
             "b": "static int a(void) { return 1; } int b(void); int b(void) { return a(); }"}


def compiled(folder, units):
    out = {}
    for unit, text in units.items():
        source, out[unit] = os.path.join(folder, unit + ".c"), os.path.join(folder, unit + ".o")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        subprocess.run([*os.environ.get("CC", "cc").split(), "-c", "-O0", "-o", out[unit], source], check=True)
    return out


def test_calls(top, build, number):
    program, engine = built(top, build)
    bad = False
    for what, objects, least in (("the program", program, 200), ("the engine", engine, 10)):
        if len(objects) < least:
            print(f"ok {number} - no circle of calls in {what} # SKIP it was not built in {build}")
        else:
            found = call_faults(objects)
            print("not ok" if found else "ok", f"{number} - no circle of calls in {what}")
            for line in found:
                print("# " + line)
            bad = bad or bool(found)
        number += 1
    with tempfile.TemporaryDirectory() as folder:
        caught = call_faults(compiled(folder, CIRCLE)) and not call_faults(compiled(folder, NO_CIRCLE))
    print("ok" if caught else "not ok", f"{number} - a planted fault is found: a circle of calls")
    return bad or not caught


def test(top, build):
    print(f"1..{len(PLANTED) + 4}")
    found = faults(top)
    print("not ok" if found else "ok", "1 - no arrow points up, no cycle, no crowded folder, no constant without its origin")
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
    return test_calls(top, build, len(PLANTED) + 2) or bad


def main():
    sys.setrecursionlimit(10000)
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    carm = os.environ.get("CARM")
    return test(top, os.path.dirname(carm) if carm else os.path.join(top, "build"))


if __name__ == "__main__":
    sys.exit(main())
