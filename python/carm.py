# SPDX-License-Identifier: GPL-3.0-or-later
"""carm in Python: models, roofs, points and pictures.

    import carm
    model = carm.load("model.json")          # or carm.load(): this machine's
    roofs = model.roofs(threads=1)
    roofs.at(0.25)                            # flop/s that is possible at 0.25 flop/byte
    run = carm.run(["./app"], name="app")     # counted by carm run: rows, and
    run.totals["flops"], run["seconds"]       # the program's totals, a column as a numpy array
    carm.place(run, model)                    # the answers of carm place
    carm.verdict(run, model)                  # what limits it, and what that is worth
    carm.plot(model, run)                     # matplotlib axes
    with carm.region("solve"): ...            # counted by itself under carm run --regions
    carm.measure(parse, text)                 # one iteration of a benchmark, under carm run --regions

Needs the program carm in PATH, or its path in the environment variable CARM, for run(), place() and
load() without a file. frame() needs pandas, plot() matplotlib; columns are lists without numpy.
Units are those of model.json: byte/s, flop/s, second."""

from __future__ import annotations

import contextlib
import csv
import ctypes
import dataclasses
import json
import math
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit
from typing import Any, Iterable, Mapping, Sequence, Union

__version__ = "0.1.0"
__all__ = ["CarmError", "Model", "Roofs", "frame", "load", "measure", "place", "plot", "read", "region",
           "Run", "run", "Timer", "Verdict", "verdict"]

Path = Union[str, "os.PathLike[str]"]


class CarmError(RuntimeError):
    """What carm says is wrong, in one sentence."""


def _start(arguments: Iterable[object], **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs carm: a CompletedProcess with its output as text, in which bytes that are no UTF-8 are replaced."""
    command = [os.environ.get("CARM", "carm"), *map(str, arguments)]
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              errors="replace", check=False, **options)
    except OSError as why:
        raise CarmError(f"cannot run {command[0]}: {why.strerror}; name the program in CARM") from why


def _last_line(done: subprocess.CompletedProcess[str], else_line: str) -> str:
    return next((line for line in reversed(done.stderr.splitlines()) if line.strip()), else_line)


def _carm(arguments: Iterable[object]) -> str:
    """Runs carm; returns what it printed."""
    done = _start(arguments)
    if done.returncode:
        raise CarmError(_last_line(done, f"{done.args[0]} exits with {done.returncode}"))
    return done.stdout


def _operand(path: Path) -> str:
    """A path that carm does not take for an option."""
    path = os.fspath(path)
    return os.path.join(os.curdir, path) if path.startswith("-") and path != "-" else path


def _array(numbers: Any) -> Any:
    """A list or tuple as a numpy array; anything else as it is."""
    if not isinstance(numbers, (list, tuple)):
        return numbers
    import numpy  # optional

    return numpy.array(numbers, dtype=float)


def _least(rates: Any, most: float) -> Any:
    """min(rates, most) of a number, or of each element of an array (numpy, pandas)."""
    if hasattr(rates, "clip"):
        return rates.clip(None, most)
    return min(rates, most)


# ---- models ----------------------------------------------------------------------------------------


ISAS = ("scalar", "sse", "avx", "avx2", "avx512", "amx")  # narrowest first


def _width(roofs: Mapping[str, Any]) -> int:
    return ISAS.index(roofs["isa"]) if roofs["isa"] in ISAS else -1


def _alike(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    same = a["threads"] == b["threads"] and a["precision"] == b["precision"]
    return bool(same and min(_width(a), _width(b)) >= 0) or a is b


class Roofs:
    """The roofs of one ISA, precision and number of threads, at one mix of loads and stores. Narrower ISAs'
    (others) that are clearly faster take their places, as in carm plot."""

    def __init__(self, data: Mapping[str, Any], mix: str, others: Iterable[Mapping[str, Any]] = ()) -> None:
        self.isa: str = data["isa"]
        self.precision: str = data["precision"]
        self.threads: int = data["threads"]
        self.mix = mix
        self.levels: dict[str, float] = {r["level"]: r["bandwidth"] for r in data["memory"] if r["ldst"] == mix}
        self.ops: dict[str, float] = {r["op"]: r["rate"] for r in data["compute"]}
        for o in others:
            for r in o["memory"]:
                if r["ldst"] == mix and r["ci95"][0] > 1.01 * self.levels.get(r["level"], float("inf")):
                    self.levels[r["level"]] = r["bandwidth"]
            for r in o["compute"]:
                if r["ci95"][0] > 1.01 * self.ops.get(r["op"], float("inf")):
                    self.ops[r["op"]] = r["rate"]
        self.dram_peak: float | None = (data.get("dram_peak") or {}).get("bandwidth")

    def __repr__(self) -> str:
        return f"<roofs of {self.isa} {self.precision}, {self.threads} threads, {self.mix}>"

    @property
    def peak(self) -> float:
        """The highest flop/s of any operation."""
        return max(self.ops.values())

    def at(self, intensity: Any, level: str | None = None) -> Any:
        """flop/s attainable at so many flop/byte on the cache-aware model; of one level, or of the
        fastest. An array or list of intensities gives an array. source: Ilic et al. 2014, equation 3"""
        bandwidth = self.levels[level] if level else max(self.levels.values())
        return _least(bandwidth * _array(intensity), self.peak)

    def original(self, intensity: Any) -> Any:
        """The same on the original model: flops over bytes between the last cache and DRAM."""
        if not self.dram_peak:
            raise CarmError("the model has no peak bandwidth of DRAM")
        return _least(self.dram_peak * _array(intensity), self.peak)

    def ridge(self, level: str | None = None) -> float:
        """flop/byte at which a level's slope reaches the peak."""
        return self.peak / (self.levels[level] if level else max(self.levels.values()))


class Model:
    """A model.json. data has all of it."""

    def __init__(self, data: Any, path: Path | None = None) -> None:
        if not isinstance(data, dict) or data.get("schema") != "carm-model/1":
            raise CarmError(f"{path or 'the text'} is no model of carm build (schema carm-model/1)")
        self.data: dict[str, Any] = data
        self.path = path
        try:
            self.host: str = data["machine"]["hostname"]
            self.cpu: str = data["machine"]["cpu"]
            self.mix: str = data["config"]["ldst"]
            _ = data["roofs"]
        except (KeyError, TypeError) as why:
            raise CarmError(f"{path or 'the model'} is incomplete: {why} is missing; "
                            "carm show names what else is wrong") from why

    def __repr__(self) -> str:
        return f"<model of {self.host}: {self.cpu}>"

    def roofs(self, isa: str | None = None, precision: str | None = None, threads: int | None = None,
              mix: str | None = None) -> Roofs:
        """The set of roofs with the highest peak among those that are asked for."""
        sets = [r for r in self.data["roofs"]
                if isa in (None, r["isa"]) and precision in (None, r["precision"])
                and threads in (None, r["threads"]) and r["memory"] and r["compute"]]
        if not sets:
            have = ", ".join(f"{r['isa']} {r['precision']} with {r['threads']} threads"
                             for r in self.data["roofs"])
            raise CarmError(f"the model has no such roofs; it has {have}")
        first = max(sets, key=lambda r: max(float(c["rate"]) for c in r["compute"]))
        first = max((r for r in sets if _alike(r, first)), key=_width)
        narrower = [r for r in sets if _alike(r, first) and _width(r) < _width(first)]
        found = Roofs(first, mix or self.mix, narrower)
        if not found.levels:
            raise CarmError(f"these roofs have no mix {mix or self.mix}")
        return found

    def table(self) -> list[dict[str, Any]]:
        """A row for each memory and compute roof."""
        rows: list[dict[str, Any]] = []
        for r in self.data["roofs"]:
            common = {"isa": r["isa"], "precision": r["precision"], "threads": r["threads"]}
            for kind, items, name, rate in (("memory", r["memory"], "level", "bandwidth"),
                                            ("compute", r["compute"], "op", "rate")):
                rows += [{**common, "kind": kind, "name": x[name], "mix": x.get("ldst"), "rate": x[rate],
                          "low": x["ci95"][0], "high": x["ci95"][1]} for x in items]
        return rows


def load(path: Path | None = None) -> Model:
    """Reads a model; without a path that of this machine, which carm build wrote. A name of carm show --list,
    such as zen3-kvm, gives the model of that machine."""
    if path is None or not (os.path.exists(path) or set("/.") & set(str(path))):
        return Model(json.loads(_carm(["show", "--json"] + ([] if path is None else [_operand(path)]))))
    try:
        with open(path, encoding="utf-8") as file:
            return Model(json.load(file), path)
    except (OSError, ValueError) as why:
        raise CarmError(f"cannot read {path}: {why}") from why


# ---- points ----------------------------------------------------------------------------------------


def _value(text: str) -> str | int | float:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 and "." not in text else number


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a points.csv as dictionaries; what is unknown is None."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [{k: (v if k in ("name", "note", "job", "rank", "host") else _value(v)) if v else None
                 for k, v in row.items()} for row in rows]


def _rows(points: Any) -> list[dict[str, Any]]:
    """A list of dictionaries of whatever holds points: a file, a DataFrame, a dictionary or several."""
    if isinstance(points, (str, os.PathLike)):
        return read(points)
    if hasattr(points, "to_dict"):  # a DataFrame
        points = points.to_dict("records")
    return [dict(p) for p in ([points] if isinstance(points, dict) else points)]


def _known(v: object) -> bool:
    return v is not None and v == v  # NaN is what pandas has for None


def _write(points: Any, path: Path) -> None:
    rows = _rows(points)
    columns = list(dict.fromkeys(k for row in rows for k in row))
    for need in ("name", "flops", "bytes", "seconds"):
        if need not in columns:
            columns.append(need)
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        for row in rows:
            out.writerow([row[k] if _known(row.get(k)) else "" for k in columns])


def place(points: Any, model: Model | Path | None = None, *, isa: str | None = None, precision: str | None = None,
          threads: int | None = None) -> list[dict[str, Any]]:
    """Places points as carm place does: a list of its JSON objects, one for each.

    points  a path (points.csv or another tool's file), dictionaries, or a DataFrame
    model   a Model, a path, or None for this machine's"""
    with tempfile.TemporaryDirectory() as folder:
        path = points
        if not isinstance(points, (str, os.PathLike)):
            path = os.path.join(folder, "points.csv")
            _write(points, path)
        operands: list[Path] = []
        if isinstance(model, Model):
            of = model.path or os.path.join(folder, "model.json")
            operands.append(of)
            if not model.path:
                with open(of, "w", encoding="utf-8") as file:
                    json.dump(model.data, file)
        elif model is not None:
            operands.append(model)
        options = [f"--{k}={v}" for k, v in
                   (("isa", isa), ("precision", precision), ("threads", threads)) if v is not None]
        placed: list[dict[str, Any]] = json.loads(_carm(["place", "--json", *options, *map(_operand, [*operands, path])]))
        return placed


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What limits a point.

    name        of the point
    limit       code of the limit, such as "latency"; None: carm run has none for it, and the text is that of its place
    explains    share of its time, 0 .. 1
    gain        how many times as fast it may be without the limit: the least and the most (inf: not known)
    advice      code of what to try; None: nothing is known to help
    text        the sentence"""

    name: str
    limit: str | None
    explains: float | None
    gain: tuple[float, float] | None
    advice: str | None
    text: str


def _verdict(place_of: Mapping[str, Any]) -> Verdict:
    kept = place_of.get("verdict")
    if not kept:
        under = place_of.get("cache_aware") or place_of.get("original") or {}
        text = under.get("advice") or "; ".join(map(str, place_of.get("not_placed") or [])) or "it has no place"
        return Verdict(place_of["name"], None, None, None, None, text)
    low, high = kept.get("gain_low"), kept.get("gain_high")
    gain = (float(low or 1), math.inf if high is None else float(high))
    return Verdict(place_of["name"], kept["limit"], kept.get("explains"), gain, kept.get("advice") or None, kept["text"])


def verdict(points: Any, model: Model | Path | None = None, *, isa: str | None = None, precision: str | None = None,
            threads: int | None = None) -> list[Verdict]:
    """What limits each point: the verdict that carm run kept in its row, else what its place under the roofs says.
    Arguments as of place()."""
    return [_verdict(p) for p in place(points, model, isa=isa, precision=precision, threads=threads)]


class Run(list[dict[str, Any]]):
    """What carm run counted: a list of rows, dictionaries with the columns of points.csv. A row is a run of the program,
    or one of its loops or functions. run["seconds"] is a column: a numpy array with nan for what is unknown, a list
    where numpy is missing or the column is text."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, which the object has itself, too."""
        return list(self)

    def __getitem__(self, key: Any) -> Any:
        return self.column(key) if isinstance(key, str) else super().__getitem__(key)

    def column(self, name: str) -> Any:
        """The column of a name, a value for each row; KeyError: no row has it."""
        if not any(name in row for row in self):
            raise KeyError(name)
        values = [row.get(name) for row in self]
        if any(isinstance(v, str) for v in values):
            return values
        numbers = [float(v) if _known(v) else math.nan for v in values]  # type: ignore[arg-type]
        try:
            import numpy  # optional
        except ImportError:
            return numbers
        return numpy.array(numbers)

    @property
    def totals(self) -> dict[str, float]:
        """The program's own figures, of one run: counts of the first run (exact counts are the same in each), and the
        median time. flops, bytes, dram_bytes, instructions: where they are known; loops and functions are added up.
        seconds: wall clock, or of loops and functions the time on processors. performance: flop/s. intensity: flop/byte."""
        whole = [row for row in self if not row.get("kind")]
        first = whole[:1] or [row for row in self if row.get("pid") == self[0].get("pid")]
        found: dict[str, float] = {}
        for name in ("flops", "bytes", "dram_bytes", "instructions"):
            counted = [row.get(name) for row in first if row.get("kind") != "kernel"]
            if counted and all(_known(v) for v in counted):
                found[name] = float(sum(v for v in counted if v is not None))
        each: dict[Any, float] = {}
        for k, row in enumerate(whole or self):
            if _known(row.get("seconds")):
                run_of = k if whole else row.get("pid")
                each[run_of] = each.get(run_of, 0.0) + float(row["seconds"])
        if each:
            found["seconds"] = statistics.median(each.values())
        if found.get("flops") and found.get("seconds"):
            found["performance"] = found["flops"] / found["seconds"]
        if found.get("flops") and found.get("bytes"):
            found["intensity"] = found["flops"] / found["bytes"]
        return found


def run(command: Sequence[str], *, name: str | None = None, counters: str | None = None, repeat: int = 1,
        by: str | None = None, cpu: str | None = None, cwd: Path | None = None, env: Mapping[str, str] | None = None,
        show: bool = False) -> Run:
    """Counts a program with carm run; returns its rows and totals.

    command   a list of words
    counters  of carm run --counters: "papi", "likwid", "translate", "step" or "none"; None = its choice
    by        rows of the "whole" program, of its "functions" or "loops"; None = carm's choice
    cpu       of carm run --cpu, such as "x86-64-v3": the same counts on any machine, without times; None = this one
    show      print the program's output, which is dropped otherwise"""
    if by not in (None, "whole", "functions", "loops"):
        raise CarmError(f"by is whole, functions or loops, not {by}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "points.csv")
        options = ["run", "-q", f"--output={path}"]
        options += [f"--name={name}"] if name else []
        options += [f"--counters={counters}"] if counters else []
        options += [f"--{by}"] if by else []
        options += [f"--cpu={cpu}"] if cpu else []
        for _ in range(repeat):
            done = _start([*options, "--", *command], cwd=cwd, env=env)
            if show:
                print(done.stdout, end="")
                print(done.stderr, end="", file=sys.stderr)
            if done.returncode and os.path.exists(path):
                raise CarmError(f"{command[0]} ended with exit status {done.returncode}: "
                                + _last_line(done, "it wrote no error"))
            if done.returncode:
                raise CarmError(_last_line(done, f"{done.args[0]} exits with {done.returncode}"))
        return Run(read(path))


_library: list[ctypes.CDLL] = []


def _regions() -> ctypes.CDLL:
    """libcarm: where the loader finds it, else beside the program carm or in the lib folder next to its own."""
    if not _library:
        program = shutil.which(os.environ.get("CARM", "carm"))
        folder = os.path.dirname(os.path.realpath(program)) if program else ""
        places = ["", *(os.path.join(folder, of) for of in ("", "../lib", "../lib64", "../lib/x86_64-linux-gnu") if folder)]
        for place_of in places:
            with contextlib.suppress(OSError):
                _library.append(ctypes.CDLL(os.path.join(place_of, "libcarm.so.0")))
                break
        else:
            raise CarmError("libcarm.so.0 was not found: install libcarm, or add its folder to LD_LIBRARY_PATH")
    return _library[0]


class region(contextlib.ContextDecorator):  # pylint: disable=invalid-name # as contextlib's own
    """Marks what this thread does inside a with, or in a decorated function, as a region of carm run --regions
    (include/carm.h). The interpreter's own work is part of it. Without CARM_OUT nothing happens.

    name    1 to 127 bytes of UTF-8
    raises  CarmError where CARM_OUT is set and libcarm is missing, or where the name is no region's"""

    def __init__(self, name: str) -> None:
        self.name = name.encode()
        if not 0 < len(self.name) < 128 or b"\0" in self.name:
            raise CarmError("a region's name has 1 to 127 bytes")

    def __enter__(self) -> region:
        if os.environ.get("CARM_OUT"):
            _regions().carm_region_begin(self.name)
        return self

    def __exit__(self, *why: object) -> None:
        if os.environ.get("CARM_OUT"):
            _regions().carm_region_end(self.name)


_marks: list[Any] = []


def _mark_functions() -> list[Any]:
    """Begin (name, iterations), end, and whether carm counts: the instructions of include/carm_count.h, a return behind
    each. Empty where the system allows no code in memory: then nothing is counted."""
    if not _marks:
        with contextlib.suppress(OSError):
            memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            at = ctypes.addressof(ctypes.c_char.from_buffer(memory))  # keeps the memory
            for kind, argtypes in ((1, (ctypes.c_char_p, ctypes.c_ulong)), (2, ()), (3, ())):
                memory[32 * kind:32 * kind + 11] = b"\x31\xc0\x0f\x1f\x84\x37" + bytes([0x10 + kind]) + b"\xf0\xa2\x0c\xc3"
                _marks.append(ctypes.CFUNCTYPE(ctypes.c_int, *argtypes)(at + 32 * kind))
            _marks.append(memory)
    return _marks


class Timer(timeit.Timer):
    """timeit.Timer whose loops carm run --regions --counters translate counts: without the setup, by difference of the
    numbers of iterations.

    name    of the row in points.csv"""

    def __init__(self, stmt: Any = "pass", setup: Any = "pass", *arguments: Any, name: str, **options: Any) -> None:
        super().__init__(stmt, setup, *arguments, **options)
        self.name = name.encode()

    def timeit(self, number: int = 1000000) -> float:  # as often as timeit does
        marks, clock = _mark_functions(), self.timer
        if not marks:
            return super().timeit(number)
        inside = False

        def marked() -> float:
            nonlocal inside
            if inside:
                marks[1]()
                return clock()
            inside, now = True, clock()
            marks[0](self.name, number)
            return now

        self.timer = marked
        try:
            return super().timeit(number)
        finally:
            self.timer = clock


def measure(function: Any, *args: Any, name: str = "", **options: Any) -> Any:
    """Calls a function; under carm run --regions --counters translate, calls it 100 times more and counts one call
    (PYTHONHASHSEED=0 keeps dicts and sets the same). The interpreter's own work is part of it.

    name     of the row, else the function's
    returns  what the function returned"""
    result, marks = function(*args, **options), _mark_functions()
    if marks and marks[2]():
        timer = Timer(lambda: function(*args, **options), name=name or function.__qualname__)
        timeit.Timer.timeit(timer, 40)  # the interpreter specializes what is executed again
        for number in (10, 20, 30):
            timer.timeit(number)
    return result


def frame(rows: Any) -> Any:
    """Rows or places as a pandas DataFrame; members of members get names such as cache_aware.share."""
    import pandas  # optional

    return pandas.json_normalize(_rows(rows))


# ---- pictures --------------------------------------------------------------------------------------


def _label(ax: Any, dots: Sequence[tuple[float, float, str]]) -> None:
    """Names beside their dots, each at the first of 14 places that lies on no other name or dot and inside the axes;
    without one, at the first place."""
    ax.autoscale_view()
    height, points = 10.0, 72.0 / ax.figure.dpi  # of a name, in points; of a pixel
    at = [tuple(points * v for v in ax.transData.transform((x, y))) for x, y, _ in dots]
    frame_of = [points * v for v in (*ax.bbox.min, *ax.bbox.max)]
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in at]
    for (x, y), (x_data, y_data, name) in zip(at, dots):
        width = 0.65 * height * len(name)
        places = [(dx, dy) for dy in (6.0, -height - 6.0, -height / 2, height + 10.0, -2 * height - 10.0)
                  for dx in (6.0, -width - 6.0, -width / 2)]
        places = [p for p in places if p != (-width / 2, -height / 2)]  # on the dot
        for dx, dy in places:
            box = (x + dx, y + dy, x + dx + width, y + dy + height)
            inside = box[0] >= frame_of[0] and box[1] >= frame_of[1] and box[2] <= frame_of[2] and box[3] <= frame_of[3]
            if inside and not any(a[0] < box[2] and box[0] < a[2] and a[1] < box[3] and box[1] < a[3] for a in taken):
                break
        else:
            dx, dy = places[0]
            box = (x + dx, y + dy, x + dx + width, y + dy + height)
        taken.append(box)
        ax.annotate(name, (x_data, y_data), textcoords="offset points", xytext=(dx, dy), fontsize=height)


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def plot(model: Model | Roofs, points: Any = None, *, ax: Any = None, isa: str | None = None,
         precision: str | None = None, threads: int | None = None) -> Any:
    """Draws the cache-aware roofline in the look of carm plot, with points: Gflop/s over flop/byte.

    points   rows or their file; those with flops, bytes and seconds are drawn
    ax       matplotlib axes to draw into; None = new ones of 9 by 5.5 inches
    returns  the axes"""
    import matplotlib.pyplot  # optional

    roofs = model if isinstance(model, Roofs) else model.roofs(isa, precision, threads)
    if ax is None:
        ax = matplotlib.pyplot.subplots(figsize=(9, 5.5))[1]
    dots = []
    for p in _rows(points) if points is not None else []:
        if all(_known(p.get(k)) and p[k] > 0 for k in ("flops", "bytes", "seconds")):
            dots.append((p["flops"] / p["bytes"], p["flops"] / p["seconds"] / 1e9, p.get("name", "")))
    ridges = [roofs.ridge(level) for level in roofs.levels]
    left = min([min(ridges) / 16, *(d[0] / 2 for d in dots)])
    right = max([max(ridges) * 8, *(d[0] * 2 for d in dots)])
    for colour, (level, bandwidth) in zip(COLOURS, roofs.levels.items()):
        ax.plot([left, roofs.peak / bandwidth], [left * bandwidth / 1e9, roofs.peak / 1e9], color=colour,
                lw=2, label=f"{level} {bandwidth / 1e9:.4g} GB/s")
    best = max(roofs.ops, key=roofs.ops.__getitem__)
    for op, rate in roofs.ops.items():
        ax.plot([rate / max(roofs.levels.values()), right], [rate / 1e9] * 2,
                color="black" if op == best else "#555555", lw=2.5 if op == best else 1,
                ls="-" if op == best else "--", label=f"{op} {rate / 1e9:.4g} Gflop/s")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlim(left, right)
    for x, y, _ in dots:
        ax.plot([x], [y], "o", color="black", ms=5)
    _label(ax, dots)
    ax.set_xlabel("operational intensity, flop/byte")
    ax.set_ylabel("performance, Gflop/s")
    ax.set_title(f"Cache-aware roofline, {roofs.isa} {roofs.precision}, {roofs.threads} "
                 f"thread{'' if roofs.threads == 1 else 's'}, {roofs.mix} loads:stores")
    ax.grid(True, color="#e6e6e6")
    ax.legend(fontsize="small")
    return ax


# ---- notebooks -------------------------------------------------------------------------------------


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext carm: the cell magic %%carm [NAME] runs its cell as a program of its own under carm run,
    prints what it prints, and gives the rows. The interpreter's own work is counted, too, so give the cell enough to do."""

    def magic(line: str, cell: str) -> Run:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cell.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(cell)
            return run([sys.executable, path], name=line.strip() or "cell", show=True)

    ipython.register_magic_function(magic, magic_kind="cell", magic_name="carm")
