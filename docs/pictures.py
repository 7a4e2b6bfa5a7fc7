#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes every published picture again: of one model, data/machines/zen4-kvm.json, and of the points in docs/data.

usage: pictures.py CARM [measure]
CARM is the program. With "measure", this machine is measured first: the model, the points and the captures of
carm run. That takes some five minutes and needs a quiet machine."""
import base64
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "plots", "page"))
from webdriver import Browser, programs  # pylint: disable=wrong-import-position

CARM = os.path.abspath(sys.argv[1])
NAME = "zen4-kvm"
MODEL = os.path.join(TOP, "data", "machines", NAME + ".json")
DATA = os.path.join(TOP, "docs", "data")
PICTURES = os.path.join(TOP, "docs", "pictures")
HEAT = os.path.join(TOP, "docs", "examples", "heat.c")
# docs/first-hour.md changes these two lines
SLOW = """    for (int x = 1; x < N - 1; x++) {
        for (int y = 1; y < N - 1; y++) {
"""
FAST = """    for (int y = 1; y < N - 1; y++) {
        for (int x = 1; x < N - 1; x++) {
"""


def carm(*words, **more):
    subprocess.run([CARM, *words], check=True, **more)


def captured(columns, *words, cwd=None):
    """What a terminal of so many columns shows of a command, without colours."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        if cwd:
            os.chdir(cwd)
        os.environ.update(NO_COLOR="1", TERM="xterm", LC_ALL="C.UTF-8")
        os.execv(words[0], words)
    text = b""
    try:
        while True:
            text += os.read(terminal, 4096)
    except OSError:  # the terminal's other end is closed
        pass
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("failed: " + " ".join(words))
    lines = text.decode().replace("\r\n", "\n").split("\n")
    # a line of progress is written over
    return "\n".join(line.split("\r")[-1].replace("\x1b[K", "").rstrip() for line in lines)


def keep(name, text):
    with open(os.path.join(DATA, name), "w", encoding="utf-8") as file:
        file.write(text)


def measure():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.json")
        carm("build", "--fresh", "-o", model)
        carm("validate", model)
        carm("show", "--share", MODEL, model)
        carm("study", "gemm", "--model", model, "-o", os.path.join(folder, "gemm.csv"))
        with open(HEAT, encoding="utf-8") as file:
            slow = file.read()
        fast = slow.replace(SLOW, FAST)
        assert slow != fast, "docs/examples/heat.c has other loops"
        for name, text in (("before", slow), ("after", fast)):
            place = os.path.join(folder, name)
            os.mkdir(place)
            with open(os.path.join(place, "heat.c"), "w", encoding="utf-8") as file:
                file.write(text)
            subprocess.run(["cc", "-O2", "-g", "-o", "heat", "heat.c"], cwd=place, check=True)
            keep(f"heat-{name}.txt", captured(80, CARM, "run", "-m", model, "--", "./heat", cwd=place))
            carm("run", "-q", "-m", model, "--name", name, "-o", os.path.join(folder, "heat.csv"), "--", "./heat",
                 cwd=place)
        for name in ("gemm", "heat"):
            with open(os.path.join(folder, name + ".csv"), encoding="utf-8") as file:
                keep(name + ".csv", file.read().replace(os.uname().nodename, NAME))


def made_up(count, path):
    """Points under the slope of DRAM and the peak, evenly in the logarithms, the same ones each time."""
    state = 1
    with open(path, "w", encoding="utf-8") as file:
        file.write("name,flops,bytes,seconds,threads\n")
        for i in range(count):
            draws = []
            for _ in range(3):
                state = state * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
                draws.append((state >> 11) / 2**53)
            intensity, seconds = 2 ** (10 * draws[0] - 6), 10 ** (3 * draws[1] - 3)
            flops = min(intensity * 35e9, 88e9) * (0.05 + 0.9 * draws[2]) * seconds
            file.write(f"kernel_{i} loop solver_{i % 37}.c:{i % 900},{flops:.6g},{flops / intensity:.6g},{seconds:.6g},1\n")


def screenshots(folder):
    """The page of a program, and of many points, as browsers show it."""
    browser, driver, why = programs()
    if why:
        sys.exit(why)
    page = os.path.join(folder, "heat.html")
    carm("report", NAME, os.path.join(DATA, "heat.csv"), "-o", page)
    shots = [(page, "report", 1400, 900, {}), (page, "report-dark", 1400, 900, {"prefers_color_scheme": "dark"}),
             (page, "report-phone", 390, 844, {}), (page, "report-print", 794, 1123, {"media": "print"})]
    for count in (1, 10, 1000, 100000):
        points, page = (os.path.join(folder, f"{count}.{end}") for end in ("csv", "html"))
        made_up(count, points)
        carm("report", NAME, points, "-o", page, stderr=subprocess.DEVNULL)
        shots.append((page, f"points-{count}", 1400, 900, {}))
    b = Browser(browser, driver)
    try:
        for page, name, width, height, features in shots:
            b.fresh("file://" + page, width, height, **features)
            shot = b.cdp("Page.captureScreenshot", format="webp", quality=40)["data"]
            with open(os.path.join(PICTURES, name + ".webp"), "wb") as file:
                file.write(base64.b64decode(shot))
    finally:
        b.close()


def notebook():
    """The tutorial with what its cells print and draw."""
    path = os.path.join(TOP, "docs", "tutorial.ipynb")
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    os.environ.update(CARM=CARM, MPLBACKEND="agg")
    os.chdir(os.path.dirname(path))
    shell = InteractiveShell.instance()
    shell.run_cell("import matplotlib.pyplot, pandas; pandas.set_option('display.width', 120)")
    number = 0
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        with capture_output() as out:
            result = shell.run_cell("".join(cell["source"]))
        result.raise_error()
        outputs = []
        printed = out.stdout.split("Out[")[0]
        if printed:
            outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
        if result.result is not None and "measured" not in cell["metadata"].get("tags", []):
            text = repr(result.result).splitlines(keepends=True)
            outputs.append({"data": {"text/plain": text}, "execution_count": number, "metadata": {},
                            "output_type": "execute_result"})
        pyplot = shell.user_ns["matplotlib"].pyplot
        if pyplot.get_fignums():
            picture = io.BytesIO()
            pyplot.savefig(picture, dpi=56)
            pyplot.close("all")
            outputs.append({"data": {"image/png": base64.b64encode(picture.getvalue()).decode()}, "metadata": {},
                            "output_type": "display_data"})
        cell.update(execution_count=number, outputs=outputs)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(book, indent=1, ensure_ascii=False) + "\n")


def main():
    os.makedirs(DATA, exist_ok=True)
    if sys.argv[2:] == ["measure"]:
        measure()
    gemm = os.path.join(DATA, "gemm.csv")
    for name, words in (("roofline", [NAME, "--kind", "gemm", "--model", "cache-aware", gemm]), ("curves", [NAME, "--kind", "all"]), ("gemm", [NAME, "--kind", "gemm", gemm]),
                        ("validation", [NAME, "--kind", "validation"]), ("kernels", ["xeon", "opteron-x4"])):
        carm("plot", *words, "-o", os.path.join(PICTURES, name + ".svg"))
    for columns in (80, 120):
        keep(f"show-{columns}.txt", captured(columns, CARM, "show", NAME))
    with tempfile.TemporaryDirectory() as folder:
        screenshots(folder)
    notebook()


main()
