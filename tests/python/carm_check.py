#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""python/carm.py against the command, row by row. Prints TAP. usage: carm_check.py TOP; CARM = the program"""
import contextlib
import io
import json
import math
import os
import sys
import tempfile

top = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(top, "python"))
sys.dont_write_bytecode = True
import carm  # noqa: E402

data = os.path.join(top, "tests", "data")
tests = []


def test(f):
    tests.append(f)
    return f


class Skip(Exception):
    pass


def near(a, b, error=1e-5):
    return math.isclose(a, b, rel_tol=error)


def refused(call, *words):
    try:
        call()
    except carm.CarmError as why:
        assert all(w in str(why) for w in words), why
        return
    raise AssertionError("not refused")


model = carm.load(os.path.join(data, "sample-model.json"))


@test
def roofs_are_those_of_the_command():
    """each roof and share that carm place --json prints"""
    places = 0
    for row in carm.place(os.path.join(data, "points.csv"), model):
        if row["roofs"] is None:
            continue
        roofs = model.roofs(**row["roofs"])
        for name, at in (("cache_aware", roofs.at), ("original", roofs.original)):
            if row[name]:
                p = row[name]
                assert near(at(p["intensity"]), p["roof"]), (row["name"], name)
                assert near(row["performance"] / at(p["intensity"]), p["share"]), (row["name"], name)
                places += 1
    assert places >= 10, places


@test
def narrower_vectors_can_be_faster():
    """the best of two ISAs, under the name of the wider one, as carm place has it"""
    text = json.loads(json.dumps(model.data))
    wide = next(r for r in text["roofs"] if r["isa"] == "avx512" and r["threads"] == 1)
    narrow = json.loads(json.dumps(wide))
    narrow["isa"] = "avx2"
    narrow["memory"] = [r for r in narrow["memory"] if r["level"] == "L1"]
    for rows, name, factor in ((narrow["memory"], "bandwidth", 1.2), (narrow["compute"], "rate", 1.1)):
        for r in rows:
            r[name] *= factor
            r["ci95"] = [v * factor for v in r["ci95"]]
    text["roofs"].insert(0, narrow)
    two = carm.Model(text)
    before, after = model.roofs(threads=1), two.roofs(threads=1)
    assert after.isa == "avx512" and near(after.levels["L1"], 1.2 * before.levels["L1"])
    assert near(after.peak, 1.1 * before.peak) and near(after.levels["L2"], before.levels["L2"])
    assert two.roofs(isa="avx512", threads=1).levels == before.levels
    point = {"name": "a", "flops": 1e9, "bytes": 1e9, "seconds": 1, "threads": 1}
    for intensity in (2**-6, 2**8):
        row = carm.place({**point, "bytes": 1e9 / intensity}, two)[0]
        assert row["roofs"]["isa"] == "avx512" and near(row["cache_aware"]["roof"], after.at(intensity))


@test
def points_go_both_ways():
    """a file, dictionaries and rows that were read give the same places"""
    path = os.path.join(data, "points.csv")
    of_file = carm.place(path, model)
    of_rows = carm.place(carm.read(path), model)
    assert of_file == of_rows
    one = carm.place({"name": "a, \"b\"", "flops": 2e9, "bytes": 16e9, "seconds": 1, "threads": 1}, model)
    assert one[0]["name"] == 'a, "b"' and near(one[0]["cache_aware"]["roof"], of_file[0]["cache_aware"]["roof"])


@test
def a_model_in_memory():
    text = json.loads(json.dumps(model.data))
    assert carm.place({"name": "a", "flops": 1e9, "bytes": 1e9, "seconds": 1}, carm.Model(text))[0]["roofs"]


@test
def every_roof_has_its_row():
    rows = model.table()
    assert len(rows) == sum(len(r["memory"]) + len(r["compute"]) for r in model.data["roofs"])
    assert all(r["low"] <= r["rate"] <= r["high"] for r in rows)


@test
def refusals_have_sentences():
    refused(lambda: carm.load("/nonexistent/m.json"), "cannot read")
    refused(lambda: carm.load("zen9"), "measured machines are zen3-kvm")
    assert carm.load("zen3-kvm").host == "zen3-kvm"
    refused(lambda: carm.load(os.path.join(data, "import", "ert.json")), "no model of carm build")
    refused(lambda: model.roofs(isa="neon"), "no such roofs", "avx512")
    refused(lambda: model.roofs(mix="7:1"), "no mix 7:1")
    refused(lambda: carm.place({"name": "a", "flops": -1, "bytes": 1, "seconds": 1}, model), "less than zero")
    old = os.environ.get("CARM", "")
    os.environ["CARM"] = "/nonexistent/carm"
    refused(lambda: carm.place({}, model), "cannot run")
    os.environ["CARM"] = old


@test
def a_program_is_counted():
    with tempfile.TemporaryDirectory() as home:
        rows = carm.run(["awk", "BEGIN { for (i = 0; i < 2000; i++) s += i * 0.5 }"], name="loop",
                        counters="translate", repeat=2, env={**os.environ, "HOME": home})
    if rows[0]["counted_by"] != "translated":
        raise Skip("programs cannot be counted by translation here")
    assert [r["name"] for r in rows] == ["loop", "loop"] and rows[0]["flops"] >= 4000
    assert rows[0]["flops"] == rows[1]["flops"]


@test
def a_run_has_totals_and_columns():
    """of whole runs, and of functions"""
    rows = [{"name": "a", "flops": 100, "bytes": 50, "seconds": t, "pid": p, "kind": None}
            for p, t in ((1, 3.0), (2, 1.0), (3, 2.0))]
    run = carm.Run(rows)
    assert run.rows == rows and run[0] is rows[0] and len(run) == 3
    assert run.totals == {"flops": 100, "bytes": 50, "seconds": 2.0, "performance": 50.0, "intensity": 2.0}
    assert list(run["seconds"]) == [3.0, 1.0, 2.0] and run["name"] == ["a"] * 3
    parts = carm.Run({"name": f"a: {k}", "flops": f, "bytes": b, "seconds": 1, "pid": 7, "kind": k}
                     for k, f, b in (("function", 8, 16), ("others", 2, 4), ("kernel", None, None)))
    assert parts.totals == {"flops": 10, "bytes": 20, "seconds": 3.0, "performance": 10 / 3, "intensity": 0.5}
    assert math.isnan(parts["flops"][2]) and not carm.Run().totals
    try:
        run["nothing"]
    except KeyError:
        pass
    else:
        raise AssertionError("a column that is none")
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HOME": home, "XDG_DATA_HOME": home}
        try:
            same = [carm.run(["true"], by="whole", cpu="x86-64-v2", env=env).totals for _ in range(2)]
        except carm.CarmError as why:
            raise Skip(str(why)) from None
    refused(lambda: carm.run(["true"], by="lines"), "by is whole")
    if "instructions" not in same[0]:
        raise Skip("programs cannot be counted by translation here")
    assert same[0] == same[1] and same[0]["instructions"] > 1000


@test
def verdicts():
    """what carm run kept, and what a place says"""
    point = {"name": "a", "flops": 1e9, "bytes": 8e9, "seconds": 1, "threads": 1}
    kept = {**point, "name": "k", "kind": "loop", "limit": "latency", "limit_by": "bound", "explains": 0.9,
            "gain_low": 1.5, "gain_high": 3, "advice": "prefetch"}
    plain, of = carm.verdict([point, kept], model)
    assert plain.limit is None and "roof" in plain.text, plain
    assert of.limit == "latency" and near(of.explains, 0.9) and of.gain == (1.5, 3.0) and of.text, of


@test
def a_run_whatever_it_prints():
    """bytes that are no text, a name like an option, a program that fails"""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HOME": home, "XDG_DATA_HOME": home}
        rows = carm.run(["printf", "\\377\\n"], name="-x", counters="none", env=env)
        assert rows[0]["name"] == "-x"
        refused(lambda: carm.run(["sh", "-c", "echo 1; echo too bad >&2; exit 3"], counters="none", env=env),
                "sh ended with exit status 3: too bad")
        refused(lambda: carm.run(["true"], counters="pmu", env=env), "not a counter back end")
    for word in ("papi", "likwid", "translate", "step", "none"):
        assert f'"{word}"' in carm.run.__doc__
    assert "pmu" not in carm.run.__doc__


@test
def paths_like_options():
    with tempfile.TemporaryDirectory() as folder:
        old = os.getcwd()
        os.chdir(folder)
        try:
            for source, name in (("sample-model.json", "-m.json"), ("points.csv", "-p.csv")):
                with open(os.path.join(data, source), encoding="utf-8") as a, open(name, "w", encoding="utf-8") as b:
                    b.write(a.read())
            want = carm.place(os.path.join(data, "points.csv"), model)
            assert carm.place("-p.csv", "-m.json") == want
            assert carm.place("-p.csv", carm.load("-m.json")) == want
            refused(lambda: carm.load("-z"), "-z")
        finally:
            os.chdir(old)


@test
def incomplete_models():
    for member in ("machine", "config", "roofs"):
        text = {k: v for k, v in model.data.items() if k != member}
        refused(lambda: carm.Model(text, "m.json"), f"m.json is incomplete: '{member}' is missing")  # noqa: B023


@test
def roofs_of_arrays():
    intensities = [2**-8, 0.25, 1.0, 2**10]
    roofs = model.roofs(threads=1)
    try:
        import numpy
    except ImportError:
        raise Skip("no python3-numpy") from None
    array = numpy.array(intensities)
    assert list(roofs.at(array)) == list(roofs.at(list(intensities))) == [roofs.at(i) for i in intensities]
    assert list(roofs.at(array, "L2")) == [roofs.at(i, "L2") for i in intensities]
    assert list(roofs.original(array)) == [roofs.original(i) for i in intensities]


@test
def frames():
    try:
        import pandas  # pylint: disable=unused-import
    except ImportError:
        raise Skip("no python3-pandas") from None
    path = os.path.join(data, "points.csv")
    table = carm.frame(carm.place(path, model))
    assert near(table["cache_aware.share"][0], 0.02558, 1e-3)
    assert carm.place(carm.frame(carm.read(path)), model)[0] == carm.place(path, model)[0]


@test
def pictures():
    try:
        import matplotlib
    except ImportError:
        raise Skip("no python3-matplotlib") from None
    matplotlib.use("Agg")
    ax = carm.plot(model, carm.read(os.path.join(data, "points.csv")), threads=1)
    assert len(ax.lines) > len(model.roofs(threads=1).levels)
    crowd = [{"name": f"point {k}", "flops": 1e9, "bytes": 8e9 + 2e8 * k, "seconds": 1} for k in range(6)]
    given = matplotlib.pyplot.subplots()[1]
    assert carm.plot(model, crowd, threads=1, ax=given) is given
    given.figure.canvas.draw()
    boxes = [t.get_window_extent() for t in given.texts]
    assert len(boxes) == 6 and len(given.texts) == 6
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


@test
def the_cell_magic():
    """by a stand-in for IPython, which a test of the notebook has"""
    kept = {}

    class Shell:
        @staticmethod
        def register_magic_function(function, magic_kind, magic_name):
            assert magic_kind == "cell"
            kept[magic_name] = function

    carm.load_ipython_extension(Shell)
    with tempfile.TemporaryDirectory() as home:
        old, os.environ["HOME"] = os.environ.get("HOME", ""), home
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            rows = kept["carm"]("sum", "print(sum(i * 0.5 for i in range(1000)))\n")
        os.environ["HOME"] = old
    assert printed.getvalue() == "249750.0\n", printed.getvalue()
    assert rows[0]["name"] == "sum" and rows[0]["seconds"] > 0


@test
def the_tutorial():
    """the cells of docs/tutorial.ipynb: by nbclient, else as plain code"""
    path = os.path.join(top, "docs", "tutorial.ipynb")
    os.chdir(os.path.join(top, "docs"))
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    outputs = [o for c in book["cells"] for o in c.get("outputs", [])]
    kinds = {o["output_type"] for o in outputs}
    assert kinds == {"stream", "execute_result", "display_data"}, f"its outputs are not stored: {kinds}"
    try:
        import nbclient
        import nbformat
        import ipykernel  # pylint: disable=unused-import
    except ImportError:
        needs = {"matplotlib", "pandas"}
        for name in sorted(needs):
            try:
                __import__(name)
                needs.discard(name)
            except ImportError:
                pass
        scope = {}
        for cell in book["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code" and not text.startswith("%") and \
                    not set(cell["metadata"].get("tags", [])) & needs:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(text, path, "exec"), scope)  # our own cells
                stored = "".join(line for o in cell["outputs"] if o["output_type"] == "stream" for line in o["text"])
                assert printed.getvalue() == stored, f"it prints {printed.getvalue()!r}, stored is {stored!r}"
        raise Skip("no python3-nbclient and python3-ipykernel: its cells ran as plain code") from None
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        nbclient.NotebookClient(nbformat.read(path, as_version=4), timeout=120).execute()


print(f"1..{len(tests)}")
failed = 0
for number, one in enumerate(tests, 1):
    name = one.__name__.replace("_", " ")
    try:
        one()
        print(f"ok {number} - {name}")
    except Skip as why:
        print(f"ok {number} - {name} # SKIP {why}")
    except Exception as why:  # each test by itself
        failed = 1
        print(f"not ok {number} - {name}\n# {type(why).__name__}: {why}")
sys.exit(failed)
