#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutation tests: changes one operator, constant, comparison or call at a time, and runs the suites of the
unit's room. A mutant that every suite passes has survived: a fault of its kind would go unnoticed.

  tests/mutants.py [--room models]... [--each N] [--seed N] [--timeout SECONDS] [--verbose] [--list]

The suites of the room are built and stay as they are: the changed units are compiled and linked beside them. First, each
suite runs once with units that record the lines they run (gcov; kept in build/mutants until the suite or its units
change). All mutants inside functions are then compiled into one library, in which CARM_MUTANT chooses one at run time,
so that each program is linked once. A mutant is tried with the suites that run its line alone: the suite that failed
last time, the suite of the unit's name, then the fastest first, until one fails twice. A suite ends at its first
failure. If no fast program fails, the unit is compiled with this change alone, and fast scripts run, fast programs once
more under ASan and UBSan, then slow suites. What a suite said about a mutant is kept in build/mutants too. A seed draws
the same mutants as long as their lines stay.
tests/mutants.txt names those that change nothing that matters; they do not count. Not a part of make check: seconds for
a mutant. Exit status 1 if a room is below the goal."""
import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

GOAL = 0.92
# Room: the suites that guard it, programs below folders of tests/, one program or scripts.
ROOMS = {
    "asm": ["asm"],
    "harness/machine": ["harness/machine", "harness/place", "validation/roofs/test_numa.c"],
    "models": ["models", "run/test_levels.c", "run/test_verdict.c",
               *(f"cli/{name}_test.sh" for name in ("compare", "fleet_show", "history", "import", "place", "place_by", "show", "sol"))],
    "validation": ["validation", "harness/machine/test_search.c", "asm/test_builtin.c", "cli/build_test.sh", "cli/scaling_test.sh",
                   "cli/validate_test.sh"],
    "run": ["run", "cli/run_test.sh", "cli/run_levels_test.sh", "cli/run_what_if_test.sh", "cli/marks_test.sh",
            "cli/compare_test.sh"],
}

# What a change turns into what. Each pattern matches one place of a line of code without comments.
OPERATORS = [
    (r"(?<=[\w\)\]] )\+(?= [\w\(])", "-"), (r"(?<=[\w\)\]] )-(?= [\w\(])", "+"),
    (r"(?<=[\w\)\]] )\*(?= [\w\(])", "/"), (r"(?<=[\w\)\]] )/(?= [\w\(])", "*"),
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r"\bfmin\(", "fmax("), (r"\bfmax\(", "fmin("), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"(?<=[(!= ])!(?=[\w(])", ""), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
]
COMMENT = re.compile(r"/\*.*?(\*/|$)")
CONSTANT = re.compile(r"(?<![\w.\"'%\[])(\d+\.\d+|\d+)(?![\w.\"'\]])")
# The lesser or greater of two numbers: of equal ones both are right, so that < and <= are one.
EXTREME = re.compile(r"(?<![\w.>])([\w.>()\[\]-]+) [<>]=? ([\w.>()\[\]-]+) \? (?:\1 : \2|\2 : \1)(?=[;,)]|$)")
# a call whose result is not used, on a line of its own; leaks are found by make check SANITIZE=1
CALL = re.compile(r"^\s+(?!return|if|for|while|switch|else|assert|free|close|fclose|va_|memset|qsort|\w+_(?:close|free)\()[a-z]\w+\([^;{}]*\);$")
# larger constants that change nothing: of room for more, of the signs of a comparison for a sort, of the base of digits
LARGER = re.compile(r"\bstrtou?(?:l|ll|max)\(|\b(?:c|m|re)alloc\((?:(?!/ \d).)*$|return .* \? (?:1 : -1|-1 : 1);")
# a wrong process or file must not be hit; a message is words; an assert that holds more says less
SPARED = re.compile(r"\b(kill|unlink|rmdir|carm_fail|assert|_Static_assert)\b|\"")

# As make check SANITIZE=1 compiles: a read or write beyond an array changes nothing else.
SANITIZED = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
FAST_SECONDS = 5.0  # CPU time of suites that are tried so, before slower suites are tried at all

# Memory that is used up: no suite can make it so.
NO_MEMORY = re.compile(r"if \((?:!?[\w.>-]+)(?: \|\| !?[\w.>-]+)*\) \{$")

# What a process counted is written where it leaves by _exit, too.
EXIT = """void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def end_without_memory(lines, i):
    """The last line in a block for memory that is used up, whose condition begins on line i; -1 = none begins there."""
    condition, at = lines[i], i
    while re.match(r"\s*if \(", condition) and not condition.endswith("{") and at + 1 < min(i + 4, len(lines)):
        at += 1
        condition += " " + lines[at].lstrip()
    end = next((k for k in range(at + 1, min(at + 6, len(lines))) if lines[k].lstrip().startswith("}")), -1)
    return end - 1 if NO_MEMORY.search(condition) and re.search(r"(?:CARM|GSL)_ENOMEM|no_memory\(|out_of_memory\(",
                                                            "".join(lines[at + 1:end + 1])) else -1


def code_lines(text):
    """The lines inside bodies and tables that a change may fall on: (index, line). Not those of messages, nor whether
    memory is used up."""
    depth, comment, message, lines, no_memory = 0, False, False, text.split("\n"), -1
    for i, line in enumerate(lines):
        bare = re.sub(r"/\*.*?\*/", "", line)
        if comment:
            comment = "*/" not in bare
            continue
        if "/*" in bare:
            comment, bare = "*/" not in bare.split("/*", 1)[1], bare.split("/*", 1)[0]
        inside = depth > 0
        if not bare.lstrip().startswith("#"):
            depth += bare.count("{") - bare.count("}")
            no_memory = max(no_memory, end_without_memory(lines, i))
            if inside and not message and i > no_memory and not SPARED.search(bare):
                yield i, line
            message = (message or "carm_fail(" in bare) and not bare.rstrip().endswith(";")


def places(text):
    """Every mutant of a file: (line index, new line)."""
    for i, line in code_lines(text):
        code = COMMENT.sub(lambda found: "\0" * len(found.group()), line)
        extremes = [found.span() for found in EXTREME.finditer(code)]
        for pattern, to in OPERATORS:
            for found in re.finditer(pattern, code):
                if to.rstrip(" =") in (" <", " >") and any(begin <= found.start() < end for begin, end in extremes):
                    continue
                yield i, line[:found.start()] + to + line[found.end():]
        for found in () if LARGER.search(code) else CONSTANT.finditer(code):
            word = found.group(1)
            value = float(word) if "." in word else int(word)
            if re.search(r"[(=:,?{]\s*-$|return -$", code[:found.start(1)]) and value == 1:
                changed = word.replace("1", "0", 1)  # -1 is what is not known, or an error: so is -2
            else:
                changed = repr(value * 1.02 if value else 1.0) if "." in word else str(value + 1)
            yield i, line[:found.start(1)] + changed + line[found.end(1):]
        if CALL.match(line):
            yield i, re.match(r"\s+", line).group(0) + ";"


def draw(top, units, n, seed):
    """n mutants of units, (path, line index, new line): those whose hash with the seed is least."""
    found = []
    for path in units:
        text = read(os.path.join(top, path))
        lines, times = text.split("\n"), {}
        for i, new in places(text):
            word = f"{seed}|{path}|{lines[i].strip()}|{new.strip()}"
            times[word] = times.get(word, 0) + 1
            found.append((hashlib.sha256(f"{word}|{times[word]}".encode()).digest(), path, i, new))
    return [mutant[1:] for mutant in sorted(found)[:n]]


def harmless(path):
    """Mutants that change nothing that matters: (unit, old line, new line) to the reason. A paragraph for each reason:
    its words, then units, under each the old lines behind "- ", under each of these the new ones behind "+ "."""
    found = {}
    for paragraph in read(path).split("\n\n"):
        reason, unit, old = [], "", ""
        for line in paragraph.strip().split("\n"):
            if re.fullmatch(r"[\w/-]+\.c", line):
                unit = line
            elif line.startswith("- "):
                old = line[2:]
            elif line.startswith("+ "):
                found[(unit, old, line[2:])] = " ".join(reason)
            elif not line.startswith("#"):
                assert not unit, f"{path}: {unit}: {line}"
                reason.append(line)
    return found


def functions(lines):
    """The functions of a unit in the house's layout: the lines of the declaration's begin, of { and of }."""
    at = 0
    while at < len(lines):
        if lines[at] == "{":
            begin, end = at, lines.index("}", at)
            while begin > 0 and re.match(r"[\w ]", lines[begin - 1]) and not lines[begin - 1].endswith((";", "*/")):
                begin -= 1
            yield begin, at, end
            at = end
        at += 1


def parameter_names(parameters):
    """The names in a list of parameters."""
    words, depth = [""], 0
    for letter in parameters:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    named = [re.search(r"\(\*(?:const )?(\w+)", word) or re.search(r"(\w+)\s*(\[.*)?$", word) for word in words]
    return [] if parameters == "void" else [found.group(1) for found in named]


CHOICE = """#include <stdlib.h>
static int carm_mutant;
__attribute__((constructor)) static void carm_mutant_read(void)
{
    const char *word = getenv("CARM_MUTANT");
    carm_mutant = word ? atoi(word) : 0;
}"""


def with_all(text, mutants):
    """A unit with mutants, {number: (line index, new line)}: each function that is changed becomes a choice between its
    copies. Returns the text, and the numbers of its lines that belong to a mutant: {line number: mutant}."""
    lines, out, owner, at = text.split("\n"), CHOICE.split("\n"), {}, 0
    for begin, opened, closed in functions(lines):
        signature = " ".join(line.strip() for line in lines[begin:opened])
        weak = re.match(r"(__attribute__\(\(weak\)\) )?", signature).group()
        signature = signature[len(weak):]
        parts = re.match(r"(.*?)\b(\w+)\((.*)\)$", signature)
        mine = {k: mutant for k, mutant in mutants.items() if opened < mutant[0] < closed}
        if not parts or not mine or "..." in signature:
            continue
        head, name, parameters = parts.groups()
        head = re.sub(r"\b(static|inline|_Noreturn) ", "", head)
        out += lines[at:begin] + [signature.replace("inline ", "") + ";"]
        void, cases, arguments = head.strip() == "void", [], ", ".join(parameter_names(parameters))
        for k, (index, new) in {0: (opened, "{"), **mine}.items():
            out.append(f"static {head}carm_mutant_{name}_{k}({parameters})")
            for i in range(opened, closed + 1):
                out.append(new if i == index else lines[i])
                owner[len(out)] = k
            word = f"case {k}:" if k else "default:"
            cases.append(f"{word} {'' if void else 'return '}carm_mutant_{name}_{k}({arguments});{' return;' if void else ''}")
        out += [weak + signature.replace("inline ", ""), "{ switch (carm_mutant) {", *cases, "} }"]
        at = closed + 1
    return "\n".join(out + lines[at:]), owner


class Room:
    """Builds and runs the suites of a room with changed units."""

    def __init__(self, top, room, folder, timeout):
        self.top, self.room, self.folder, self.timeout = top, room, folder, timeout
        self.object = os.path.join(folder, "unit.o")
        self.kept = os.path.join("build", "mutants")
        library = self.command("build/libcarm-all.a", "base/hash.c").split()
        self.objects = library[library.index("build/libcarm-all.a") + 1:]
        self.units = [name[6:-2] + ".c" for name in self.objects if name.startswith(f"build/{room}/")]
        self.units = [unit for unit in self.units if os.path.exists(os.path.join(top, unit))]
        self.compile = self.command("build/base/hash.o", "base/hash.c")
        self.links, self.plain, self.suites, self.known = {}, {}, [], {}
        for name in ROOMS[room]:
            whole = os.path.join("tests", name)
            self.suites += [whole] if name.endswith((".sh", ".c")) else sorted(
                os.path.relpath(os.path.join(here, suite), top) for here, _, suites in os.walk(os.path.join(top, whole))
                for suite in suites if re.fullmatch(r"test_.*\.c|.*_test\.sh", suite))
        self.outcomes, self.failure = self.load("outcomes.json"), ""
        self.together, self.chosen, self.choosing = os.path.join(self.folder, "mutants.a"), set(), {}

    def load(self, name):
        path = os.path.join(self.top, self.kept, name)
        return json.loads(read(path)) if os.path.exists(path) else {}

    def keep(self, name, facts):
        os.makedirs(os.path.join(self.top, self.kept), exist_ok=True)
        with open(os.path.join(self.top, self.kept, name), "w", encoding="utf-8") as file:
            json.dump(facts, file)

    def build(self):
        """Builds the suites of the room."""
        programs = sorted({self.program(suite) for suite in self.suites})
        if subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "all", *programs], cwd=self.top, check=False,
                          stdout=subprocess.DEVNULL).returncode:
            sys.exit("the suites cannot be built")

    def sh(self, command):
        return subprocess.run(["sh", "-c", command], cwd=self.top, check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def output(self, *command):
        return subprocess.run(command, cwd=self.top, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, errors="replace").stdout

    def command(self, target, source):
        """The line by which make builds a target when a source of it has changed."""
        return next(line for line in self.output("make", "-n", "-W", source, target).splitlines()
                    if f" {target} " in line and not line.startswith(("rm", "echo")))

    def compiling(self, source, target, flags=""):
        """The command that compiles a unit's source as make does; with flags, without optimization that merges lines."""
        line = self.compile.replace("-o build/base/hash.o base/hash.c", f"-o {target} {source}").replace("-MMD -MP", "")
        return f"{line} -ffile-prefix-map={self.folder}=. -g0 -w {flags}"

    def compiles(self, source, target, flags=""):
        return self.sh(self.compiling(source, target, flags))

    def program(self, suite):
        return "build/carm" if suite.endswith(".sh") else os.path.join("build", suite[:-2])

    def beside(self, suite):
        """The changed program of a suite: suites look for their libraries in the folder of their program."""
        return f"{self.program(suite)}-mutant-{os.getpid()}"

    def links_as(self, suite, out, before="", library="build/libcarm-all.a"):
        """Links a suite, or the carm of a script, with objects in front of the library."""
        if suite not in self.links:
            script = suite.endswith(".sh")
            line = self.command(self.program(suite), "cli/main.c" if script else suite)
            object_ = os.path.join(self.folder, suite.replace("/", "-") + ".o")
            if not script:
                self.sh(f"{line.split(' -o ')[0]} -c -o {object_} {suite}".replace("-MMD -MP", ""))
                line = line.replace(f" {suite} ", f" {object_} ")
            self.links[suite] = line.replace(f" -o {self.program(suite)} ", " -o {out} {before} ")
        line = self.links[suite].format(out=out, before=before)
        return self.sh("cc -Wl,--strip-debug" + line[line.index(" "):].replace("build/libcarm-all.a", library))

    def runs(self, suite, program, mutant=0):
        """Whether a suite passes (None: it ran out of CPU time), and its CPU seconds."""
        known = self.known.get(suite, {"cpu": 60.0, "seconds": 300.0})
        cpu = int(5 + 5 * known["cpu"])
        env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", CARM=os.path.join(self.top, "build/carm"), CARM_TOP=self.top, TMPDIR=self.folder,
                   CMOCKA_MESSAGE_OUTPUT="tap", CARM_MUTANT=str(mutant))
        if suite.endswith(".sh"):
            env["CARM"] = os.path.join(self.top, program)

        def limit():  # a loop without end stops by its own CPU time, on a busy machine too
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with subprocess.Popen([os.path.join(self.top, suite if suite.endswith(".sh") else program)], cwd=self.top, env=env,
                              preexec_fn=limit, start_new_session=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            def stop(number=signal.SIGTERM):
                try:
                    os.killpg(child.pid, number)
                except ProcessLookupError:
                    pass
            limits = [threading.Timer(self.timeout + 5 * known["seconds"], stop)]
            limits[0].start()
            failed = ""
            for line in child.stdout:
                if re.match(r"not ok (?!.*# *skip)", line, re.I):
                    failed = line.strip()
                    stop()
                    limits.append(threading.Timer(5.0, stop, [signal.SIGKILL]))
                    limits[-1].start()
                    break  # what outlives the suite may hold its output open
            failed = failed or (f"status {child.returncode}" if child.wait() else "")
            for timer in limits:
                timer.cancel()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.failure = failed
        return None if used > cpu - 1 else not failed, used

    def record(self):
        """Runs each suite whose program has changed since it was last recorded: which lines of the room it runs."""
        name = f"lines-{self.room.replace('/', '-')}.json"  # rooms share suites, and record their own units
        kept = self.load(name)
        flags, built = "-O1 --coverage", False
        for suite in self.suites:
            key = self.identity(suite)
            if kept.get(suite, {}).get("key") != key:
                if not built:
                    self.build_recorder(flags)
                    built = True
                kept[suite] = {"key": key, **self.record_suite(suite)}
                self.keep(name, kept)
        self.known = {suite: kept[suite] for suite in self.suites}
        for suite, facts in self.known.items():
            if not facts["sound"]:
                print(f"{suite} fails without a change ({facts['failure']}): it is left out", flush=True)

    def identity(self, suite):
        """A suite and its program; without the commit, and what else changes with a commit of other code."""
        plain = os.path.join(self.folder, "plain")
        self.sh(f"objcopy --strip-debug --remove-section .note.gnu.build-id {self.program(suite)} {plain}")
        commit = read(os.path.join(self.top, "build", "version")).split()[-1].encode()
        key = hashlib.sha256()
        for name in (plain, os.path.join(self.top, suite)):
            with open(name, "rb") as file:
                key.update(file.read().replace(commit, b""))
        return key.hexdigest()

    def build_recorder(self, flags):
        """A library whose units of the room record their lines; compiled again where a unit has changed."""
        names = list(self.objects)
        for unit in self.units:
            target = os.path.join(self.kept, unit[:-2] + ".o")
            old = os.path.join("build", unit[:-2] + ".o")
            whole = os.path.join(self.top, target)
            names[names.index(old)] = target
            if not os.path.exists(whole) or os.path.getmtime(whole) < os.path.getmtime(os.path.join(self.top, old)):
                os.makedirs(os.path.dirname(whole), exist_ok=True)
                if not self.compiles(unit, target, flags):
                    sys.exit(f"{unit} cannot be compiled with {flags}")
        with open(os.path.join(self.folder, "exit.c"), "w", encoding="utf-8") as file:
            file.write(EXIT)
        self.sh(f"cc -O1 -c -o {self.folder}/exit.o {self.folder}/exit.c")
        self.sh(f"ar rcsD {self.folder}/recording.a {' '.join(names)}")

    def record_suite(self, suite):
        program, data = self.beside(suite), {}
        facts = {"sound": False, "cpu": 60.0, "seconds": 300.0, "lines": {}, "code": {}}
        for unit in self.units:  # where a process adds its counts: scripts clear the environment, which could say another place
            data[unit] = os.path.join(self.top, self.kept, unit[:-2] + ".gcda")
            if os.path.exists(data[unit]):
                os.unlink(data[unit])
        if not self.links_as(suite, program, f"--coverage -Wl,--wrap=_exit {self.folder}/exit.o", f"{self.folder}/recording.a"):
            print(f"{suite} cannot be linked with units that record", flush=True)
            return facts
        begin = time.monotonic()
        for _ in range(2):  # a second time where the machine disturbed it
            passed, facts["cpu"] = self.runs(suite, program)
            if passed:
                break
        facts["failure"] = self.failure
        if not passed and self.links_as(suite, program):  # what it plants may be what the recorder calls
            passed, facts["cpu"] = self.runs(suite, program)
            facts["lines"] = {unit: list(range(1, 9999)) for unit in self.units if passed and
                              f"test_{os.path.basename(unit)}" == os.path.basename(suite)}
        facts["sound"], facts["seconds"] = bool(passed), time.monotonic() - begin
        for unit in self.units:
            if unit in facts["lines"] or not os.path.exists(data[unit]):
                continue
            for file in json.loads(self.output("gcov", "--json-format", "--stdout", data[unit]) or '{"files": []}')["files"]:
                if file["file"] == unit:
                    facts["code"][unit] = [line["line_number"] for line in file["lines"]]
                    facts["lines"][unit] = [line["line_number"] for line in file["lines"] if line["count"]]
        os.unlink(os.path.join(self.top, program))
        return facts

    def watching(self, path, index):
        """The sound suites that run a line: those of the unit's name, then the others, the fastest first. A line without
        code of its own belongs to the code above it in its function; a table, to all code of the unit."""
        code = next((set(facts["code"][path]) for facts in self.known.values() if path in facts["code"]), set())
        lines, at = read(os.path.join(self.top, path)).split("\n"), index
        while at >= 0 and at + 1 not in code and not lines[at].startswith("}"):
            at -= 1
        first = index  # of the statement: a part that ran ran on its lines, not on each
        while first > 0 and not re.search(r"[;{}:]\s*(/\*.*)?$|^\s*$|\*/$", lines[first - 1]):
            first -= 1
        anchors = {n for n in range(min(first, at) + 1, index + 2) if n in code} if at + 1 in code else set()
        suites = [suite for suite, facts in self.known.items() if facts["sound"] and (
            anchors & set(facts["lines"].get(path, [])) if anchors else facts["lines"].get(path))]
        named = f"test_{os.path.basename(path)}"
        return sorted(suites, key=lambda suite: (os.path.basename(suite) != named, self.known[suite]["seconds"]))

    def code(self, lines):
        """The object code of a unit with these lines; None where it does not compile."""
        source = os.path.join(self.folder, "unit.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        if not self.compiles(source, self.object):
            return None
        with open(self.object, "rb") as file:
            return file.read()

    def put_together(self, mutants):
        """Compiles all mutants that are inside functions into one library, which chooses at run time."""
        names = list(self.objects)
        for path in {mutant[0] for mutant in mutants}:
            of = {k: mutant[1:] for k, mutant in enumerate(mutants, 1) if mutant[0] == path}
            source, target = os.path.join(self.folder, "all.c"), os.path.join(self.folder, path.replace("/", "-") + ".o")
            while of:
                text, owner = with_all(read(os.path.join(self.top, path)), of)
                with open(source, "w", encoding="utf-8") as file:
                    file.write(text)
                tried = subprocess.run(["sh", "-c", self.compiling(source, target, "-fmax-errors=0")], cwd=self.top, check=False,
                                       stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace")
                if tried.returncode == 0:
                    names[names.index(f"build/{path[:-2]}.o")] = target
                    self.chosen |= set(owner.values()) - {0}
                    break
                wrong = {owner.get(int(at), 0) for at in re.findall(r"all\.c:(\d+):\d+: error", tried.stderr)} - {0}
                of = {k: mutant for k, mutant in of.items() if wrong and k not in wrong}
        self.sh(f"ar rcsD {self.together} {' '.join(names)}")

    def choosing_program(self, suite):
        """A suite linked with all mutants, which passes where none is chosen; "" = it is not to be had."""
        if suite not in self.choosing:
            program = f"{self.program(suite)}-mutants-{os.getpid()}"
            made = suite.endswith(".c") and self.links_as(suite, program, library=self.together)
            self.choosing[suite] = program if made and self.runs(suite, program)[0] else ""
            if made and not self.choosing[suite]:
                print(f"{suite} fails with no mutant chosen ({self.failure}): were sources changed meanwhile?", flush=True)
                os.unlink(os.path.join(self.top, program))
        return self.choosing[suite]

    def close(self):
        for program in filter(None, self.choosing.values()):
            os.unlink(os.path.join(self.top, program))
        shutil.rmtree(self.folder, ignore_errors=True)

    def passes_chosen(self, suite, number):
        program = self.choosing_program(suite)
        passed = self.runs(suite, program, number)[0] if program else True
        return bool(self.runs(suite, program, number)[0] if passed is False else passed)

    def killed_by(self, number, path, index, line):
        """The suite that fails, "" = none; None = the mutant does not compile, or has the same code."""
        lines = read(os.path.join(self.top, path)).split("\n")
        suites = self.watching(path, index)
        word = f"{path}|{lines[index]}|{line}"
        last = self.outcomes.get(word)
        suites.sort(key=lambda suite: suite != last)
        fast = [suite for suite in suites if self.known[suite]["cpu"] < FAST_SECONDS]
        slow = [suite for suite in suites if suite not in fast]
        found, text = "", "\n".join(lines)
        if number in self.chosen:
            programs = [suite for suite in fast if suite.endswith(".c")]
            found = self.first_to_fail(programs, f"{text}|{index}|{line}".encode(), lambda suite: self.passes_chosen(suite, number))
            fast = [suite for suite in fast if suite not in programs or not self.choosing.get(suite, "-")]
        if not found:
            if path not in self.plain:
                self.plain[path] = self.code(lines)
            lines[index] = line
            changed = self.code(lines)
            if changed in (None, self.plain[path]):
                return None
            found = (self.first_to_fail(fast, changed, self.passes) or
                     self.found_by_sanitizers(path, [suite for suite in suites if suite not in slow]) or
                     self.first_to_fail(slow, changed, self.passes))
        self.outcomes[word] = found.split(" ")[0]
        return found

    def first_to_fail(self, suites, what, passes):
        return next((suite for suite in suites if not self.knows(suite, what, lambda suite=suite: passes(suite))), "")

    def knows(self, suite, what, find):
        """What is kept of a suite about some object code, or is found and kept."""
        key = hashlib.sha256(what + self.known[suite]["key"].encode()).hexdigest()
        if key not in self.outcomes:
            self.outcomes[key] = find()
        return self.outcomes[key]

    def found_by_sanitizers(self, path, suites):
        """The first of the programs that fails with the unit in unit.c under ASan and UBSan, and passes with the
        unchanged one; "" = none."""
        objects = [os.path.join(self.folder, "sanitized.o"), os.path.join(self.folder, path.replace("/", "-") + "-sanitized.o")]
        programs = [suite for suite in suites if suite.endswith(".c")]
        if not programs or not self.compiles(f"{self.folder}/unit.c", objects[0], SANITIZED):
            return ""
        if not os.path.exists(objects[1]) and not self.compiles(path, objects[1], SANITIZED):
            return ""
        codes = []
        for name in objects:
            with open(name, "rb") as file:
                codes.append(file.read())
        for suite in programs:
            passes = [self.knows(suite, code, lambda suite=suite, name=name: self.passes(suite, f"{name} {SANITIZED}"))
                      for code, name in zip(codes, objects)]
            if passes == [False, True]:
                return f"{suite} (sanitized)"
        return ""

    def passes(self, suite, object_=None):
        """Whether a suite passes with the changed unit."""
        program = self.beside(suite)
        # a suite with functions of its own in place of the unit's cannot be linked with both
        if not self.links_as(suite, program, object_ or self.object):
            return True
        passed = self.runs(suite, program)[0]
        passed = self.runs(suite, program)[0] if passed is False else passed
        os.unlink(os.path.join(self.top, program))
        return bool(passed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", choices=ROOMS)
    parser.add_argument("--each", type=int, default=60, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unit", default="", help="only units whose path holds these words")
    parser.add_argument("--timeout", type=float, default=60.0,
                        help="seconds beyond five times a suite's own, after which a mutant is killed; its CPU time is limited likewise")
    parser.add_argument("--verbose", action="store_true", help="print the killed mutants too, with the suite that fails")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--as-root", action="store_true", help="in a container that may be thrown away: as root, changed code can "
                        "overwrite any file (one run replaced /dev/null)")
    args = parser.parse_args()
    if os.geteuid() == 0 and not (args.list or args.as_root):
        sys.exit("changed code can overwrite any file as root: run this as another user, or in a container with --as-root")
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    known = harmless(os.path.join(top, "tests", "mutants.txt"))
    low = False
    for room in args.room or ROOMS:
        work = Room(top, room, tempfile.mkdtemp(prefix="carm-mutants-"), args.timeout)
        try:
            mutants = draw(top, [unit for unit in work.units if args.unit in unit], args.each, args.seed)
            if not args.list:
                work.build()
                work.record()
                work.put_together(mutants)
            count = {"killed": 0, "survived": 0, "harmless": 0, "same code": 0}
            for number, (path, index, line) in enumerate(mutants, 1):
                old = read(os.path.join(top, path)).split("\n")[index]
                words = f"{path}:{index + 1}\n- {old.strip()}\n+ {line.strip()}"
                if args.list:
                    print(words)
                    continue
                listed = (path, old.strip(), line.strip()) in known
                by = "" if listed else work.killed_by(number, path, index, line)
                kind = "harmless" if listed else "same code" if by is None else "killed" if by else "survived"
                count[kind] += 1
                work.keep("outcomes.json", work.outcomes)
                if kind == "survived":
                    print(f"survived{'' if work.watching(path, index) else ' (no suite runs it)'}: {words}", flush=True)
                elif args.verbose:
                    print(f"{kind}{' by ' + by if by else ''}: {words}", flush=True)
            of = count["killed"] + count["survived"]
            if of:
                low = low or count["killed"] < GOAL * of
                print(f"{room}, seed {args.seed}: {count['killed']} of {of} killed, {100 * count['killed'] / of:.0f}% "
                      f"(goal {100 * GOAL:.0f}%); besides {count['harmless']} listed as harmless, {count['same code']} with the same code",
                      flush=True)
        finally:
            work.close()
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
