#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutation tests: changes one operator, constant, comparison or call at a time, builds the unit, and
runs the suites of its room. A mutant that every suite passes has survived: a fault of its kind would go
unnoticed. Prints each survivor as a diff of one line, and the score of each room.

  tests/mutants.py [--rooms asm,models] [--each N] [--seed N] [--timeout SECONDS]

The tree is built and stays as it is: each changed unit is compiled and linked beside it. N mutants (default
60) are taken of each room, the same for the same seed. Suites run in the order of their names' likeness
to the unit's; the first one that fails ends a mutant. Not a part of make check: some seconds for each
mutant, minutes where scripts run. make mutants runs it. Exit status 1 if a room is below the goal."""
import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

GOAL = 0.92
# Room: its folders, the suites that guard it (programs below tests/, or scripts), best first by likeness.
ROOMS = {
    "asm": (["asm"], ["asm"]),
    "harness/machine": (["harness/machine"], ["harness/machine"]),
    "models": (["models"], ["models"]),
    "validation": (["validation"], ["validation"]),
    "run": (["run"], ["run", "cli/run_test.sh", "cli/run_levels_test.sh"]),
}
SUITES_MAX = 14  # of a mutant: those most like it

# What a change turns into what. Each pattern matches one place of a line of code without comments.
OPERATORS = [
    (r"(?<=[\w\)\]] )\+(?= [\w\(])", "-"), (r"(?<=[\w\)\]] )-(?= [\w\(])", "+"),
    (r"(?<=[\w\)\]] )\*(?= [\w\(])", "/"), (r"(?<=[\w\)\]] )/(?= [\w\(])", "*"),
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r"\bfmin\(", "fmax("), (r"\bfmax\(", "fmin("), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"(?<=[(!= ])!(?=[\w(])", ""), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
]
CONSTANT = re.compile(r"(?<![\w.\"'%\[])(\d+\.\d+|\d+)(?![\w.\"'\]])")
# a call whose result is not used, on a line of its own
CALL = re.compile(r"^\s+(?!return|if|for|while|switch|else|assert|free|close|fclose|va_|memset|qsort|carm_\w+_(?:close|free))[a-z]\w+\([^;{}]*\);$")


def code_lines(text):
    """The lines with a body of code: (index, line) of those without comments, strings or preprocessor."""
    depth, comment = 0, False
    for i, line in enumerate(text.split("\n")):
        bare = re.sub(r"/\*.*?\*/", "", line)
        if comment:
            comment = "*/" not in bare
            continue
        if "/*" in bare:
            comment, bare = "*/" not in bare.split("/*", 1)[1], bare.split("/*", 1)[0]
        inside = depth > 0
        if not bare.lstrip().startswith("#"):
            depth += bare.count("{") - bare.count("}")
            if inside and '"' not in bare and "_Static_assert" not in bare and "carm_fail" not in bare:
                yield i, line


def places(text):
    """Every mutant of a file: (line index, new line)."""
    for i, line in code_lines(text):
        for pattern, to in OPERATORS:
            for found in re.finditer(pattern, line):
                yield i, line[:found.start()] + to + line[found.end():]
        for found in CONSTANT.finditer(line):
            word = found.group(1)
            value = float(word) if "." in word else int(word)
            changed = repr(value * 1.02 if value else 1.0) if "." in word else str(value + 1)
            yield i, line[:found.start(1)] + changed + line[found.end(1):]
        if CALL.match(line):
            yield i, re.match(r"\s+", line).group(0) + ";"


def draw(top, folders, n, rng):
    found = []
    for folder in folders:
        for here, _, names in os.walk(os.path.join(top, folder)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(here, name), top)
                if name.endswith(".c") and path not in ("validation/builtin/source.c",):
                    with open(os.path.join(top, path), encoding="utf-8") as file:
                        found += [(path, i, line) for i, line in places(file.read())]
    found.sort()
    return rng.sample(found, min(n, len(found)))


def suites_of(top, unit, folders):
    """The suites below folders of tests/, those whose names are most like the unit's first."""
    words = set(re.split(r"[/_.]", unit[:-2]))
    out = []
    for folder in folders:
        whole = os.path.join("tests", folder)
        if folder.endswith(".sh"):
            out.append(whole)
            continue
        for here, _, names in os.walk(os.path.join(top, whole)):
            for name in names:
                if (name.startswith("test_") and name.endswith(".c")) or name.endswith("_test.sh"):
                    out.append(os.path.relpath(os.path.join(here, name), top))

    def unlikeness(suite):
        return -len(words & set(re.split(r"[/_.]", suite))), suite.endswith(".sh"), suite
    return sorted(out, key=unlikeness)[:SUITES_MAX]


class Mutants:
    """Builds and runs mutants beside the tree, which stays as it is: the changed unit is compiled into a folder of its
    own, and put before the library where a suite is linked."""

    def __init__(self, top, folder, timeout):
        self.top, self.folder, self.timeout = top, folder, timeout
        self.unit, self.object = os.path.join(folder, "unit.c"), os.path.join(folder, "unit.o")
        self.links, self.names, self.sound = {}, {}, {}

    def sh(self, command):
        return subprocess.run(["sh", "-c", command], cwd=self.top, check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def command(self, target, source):
        """The line by which make builds a target when a source of it has changed."""
        done = subprocess.run(["make", "-n", "-W", source, target], cwd=self.top, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
        return next(line for line in done.stdout.splitlines() if f" -o {target} " in line)

    def defined(self, file):
        """The functions and data that an object or program defines."""
        if file not in self.names:
            done = subprocess.run(["nm", "--defined-only", file], cwd=self.top, check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
            self.names[file] = {line.split()[-1] for line in done.stdout.splitlines() if re.search(" [TRDB] ", line)}
        return self.names[file]

    def linked(self, suite):
        """The command that links a suite with the changed unit, and the program that it makes."""
        if suite not in self.links:
            target = "build/carm" if suite.endswith(".sh") else os.path.join("build", suite[:-2])
            line = self.command(target, "cli/main.c" if suite.endswith(".sh") else suite)
            program = os.path.join(self.folder, "carm" if suite.endswith(".sh") else suite[:-2].replace("/", "-"))
            before, after = line.split(f" -o {target} ")
            if not suite.endswith(".sh"):
                after = after.replace(suite, program + ".o", 1)
                self.sh(f"{before} -c -o {program}.o {suite}")
            self.links[suite] = f"{before} -o {program} {self.object} {after}", program
        return self.links[suite]

    def runs(self, suite, program):
        """Whether a suite passes."""
        seconds = int(self.timeout)
        script = suite.endswith(".sh")
        env = dict(os.environ, CARM=program if script else os.path.join(self.top, "build/carm"), CARM_TOP=self.top)

        def limit():  # a loop without end stops by its own CPU time, on a busy machine too
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        try:
            done = subprocess.run([os.path.join(self.top, suite) if script else program], cwd=self.top, env=env, check=False,
                                  timeout=4 * self.timeout, preexec_fn=limit, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0 and not re.search(r"^not ok (?!.*# *skip)", done.stdout, re.M | re.I)

    def fails(self, suite, path):
        """Whether a suite that has the unit in it fails, twice: a suite that fails once is disturbed."""
        whole = os.path.join(self.top, "build", "carm" if suite.endswith(".sh") else suite[:-2])
        if not suite.endswith(".sh") and not self.defined(os.path.join("build", path[:-2] + ".o")) & self.defined(whole):
            return False
        if suite not in self.sound:
            self.sound[suite] = self.runs(suite, whole)
            if not self.sound[suite]:
                print(f"{suite} fails without a change: it is left out", flush=True)
        if not self.sound[suite]:
            return False
        link, program = self.linked(suite)
        # a suite with functions of its own in place of the unit's cannot be linked with both
        return self.sh(link) and not self.runs(suite, program) and not self.runs(suite, program)

    def killed_by(self, path, index, line, suites):
        """The suite that fails, "" = none; None = the mutant does not compile, or has the same code."""
        target = os.path.join("build", path[:-2] + ".o")
        build = self.command(target, path).replace(f" -o {target} {path}", f" -o {self.object} {self.unit}")
        with open(os.path.join(self.top, path), encoding="utf-8") as file:
            lines = file.read().split("\n")
        codes = []
        for text in (lines[index], line):
            lines[index] = text
            with open(self.unit, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            if not self.sh(build):
                return None
            with open(self.object, "rb") as file:
                codes.append(file.read())
        if codes[0] == codes[1]:
            return None
        return next((suite for suite in suites if self.fails(suite, path)), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", default=",".join(ROOMS))
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120.0, help="CPU seconds of a suite; a mutant that takes more, or four times as long by the wall clock, is killed")
    parser.add_argument("--verbose", action="store_true", help="print the killed mutants too, with the suite that fails")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    args = parser.parse_args()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = tempfile.mkdtemp(prefix="carm-mutants-")
    low = False
    try:
        work = Mutants(top, folder, args.timeout)
        for room in args.rooms.split(","):
            folders, suites = ROOMS[room]
            killed = lived = 0
            for path, index, line in draw(top, folders, args.each, random.Random(f"{args.seed} {room}")):
                if args.list:
                    print(f"{path}:{index + 1}: {line.strip()}")
                    continue
                own = suites_of(top, path, suites)
                by = work.killed_by(path, index, line, own)
                if by is None:
                    continue
                killed += by != ""
                if args.verbose and by:
                    print(f"killed by {by}: {path}:{index + 1}: {line.strip()}", flush=True)
                lived += by == ""
                if by == "":
                    with open(os.path.join(top, path), encoding="utf-8") as file:
                        old = file.read().split("\n")[index]
                    print(f"survived: {path}:{index + 1}\n- {old.strip()}\n+ {line.strip()}", flush=True)
            if killed + lived:
                score = killed / (killed + lived)
                low = low or score < GOAL
                print(f"{room}: {killed} of {killed + lived} mutants killed, {100 * score:.0f}% (goal {100 * GOAL:.0f}%)",
                      flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
