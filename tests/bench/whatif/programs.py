#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs with and without carm run --what-if: for each, whether the files that it writes are the same, how long it was held, and the
answers. programs.py [NAME...]; $CARM is the program. A program that is not installed is left out, and said."""
import array
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

CARM = os.environ.get("CARM", "build/carm")
LOCKS = r"""
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double a[4][1 << 15], total;
static void *work(void *p)
{
    double *x = p;
    for (int r = 0; r < 20000; r++) {
        double s = 0;
        for (int i = 0; i < 1 << 15; i++) s += x[i] = x[i] * 0.5 + 1;
        pthread_mutex_lock(&lock);
        total += s > 0;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(int n, char **v)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, a[i]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    FILE *f = fopen(v[n - 1], "w");
    fprintf(f, "%g %g\n", total, a[3][77]);
    fclose(f);
}
"""
MPI = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, n = 1 << 20;
    double *a = calloc(n + 2, 8), *b = calloc(n + 2, 8), s = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    a[n / 2] = 1e6 * (rank + 1);
    for (int r = 0; r < 1500; r++) {
        for (int i = 1; i <= n; i++) b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1];
        double *t = a; a = b; b = t;
        MPI_Allreduce(&a[n / 2], &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        s += all;
    }
    if (rank == 0) {
        FILE *f = fopen(argv[1], "w");
        fprintf(f, "%.17g\n", s);
        fclose(f);
    }
    MPI_Finalize();
}
"""
SQL = """create table t(a integer, b text, c real);
with recursive k(i) as (select 1 union all select i + 1 from k where i < 400000)
insert into t select i * 7919 % 1000003, 'row ' || i, i * 0.5 from k;
create index x on t(a);
select sum(u.c), count(*) from t u join t v on u.a = v.a + 1 where v.b like '%7%';
select max(b), avg(c), sum(a % 97) from t group by a % 1013 order by 2 desc limit 20;
"""
NBODY = """local out = io.open(arg[1], "w")
local x, v = {}, {}
for i = 1, 400 do x[i] = i * 0.37 % 1; v[i] = 0 end
for step = 1, 4000 do
  for i = 1, 400 do
    local f = 0
    for k = 1, 400 do local d = x[k] - x[i]; f = f + d / (d * d + 0.01) end
    v[i] = v[i] + 1e-4 * f
  end
  for i = 1, 400 do x[i] = x[i] + 1e-4 * v[i] end
end
for i = 1, 400 do out:write(string.format("%.17g\\n", x[i])) end
"""
PYTHON = """import sys
def primes(n):
    marks = bytearray(n)
    for i in range(2, n):
        if not marks[i]:
            for k in range(i * i, n, i):
                marks[k] = 1
    return [i for i in range(2, n) if not marks[i]]
words = {}
for p in primes(1500000):
    words[p % 9973] = words.get(p % 9973, 0) + p
open(sys.argv[1], "w").write(repr(sorted(words.items())))
"""
NUMPY = """import sys
import numpy
r = numpy.random.default_rng(1)
a = r.random(4_000_000)
b = r.random(4_000_000)
for i in range(40):
    a = numpy.sqrt(a * a + b) - 0.5 * b
    k = numpy.argsort(a[:100000])
open(sys.argv[1], "w").write(repr((a.sum(), k[:50].tolist())))
"""
DGEMM = """import sys
import numpy
r = numpy.random.default_rng(1)
a = r.random((900, 900))
b = r.random((900, 900))
for i in range(40):
    a = a @ b / 900
open(sys.argv[1], "w").write(repr(a.sum()))
"""


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def digest(path):
    try:
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()
    except OSError:
        return "none"


def bench(name, command, out):
    words = [w.replace("OUT", out) for w in command]
    if not shutil.which(words[0]):
        print(f"{name:10} is not installed", flush=True)
        return
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    want = digest(out)
    os.unlink(out)
    begin = time.monotonic()
    done = subprocess.run([CARM, "run", "--no-measure", "--what-if", "--json", "run.json", "--", *words],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    took = time.monotonic() - begin
    same = "the same" if digest(out) == want and done.returncode == 0 else f"DIFFERENT (status {done.returncode})"
    held = json.load(open("run.json")).get("what_if", {}).get("held_seconds", 0)
    print(f"{name:10} {same}, {took:.0f} s, held {held:.1f} s", flush=True)
    begun = False
    for line in done.stderr.splitlines():
        begun = begun or "if ..." in line or "what if:" in line
        if begun and line.startswith("carm: "):
            print(" " * 10, line[6:], flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write("locks.c", LOCKS)
        write("mpi.c", MPI)
        write("q.sql", SQL)
        write("nbody.lua", NBODY)
        write("primes.py", PYTHON)
        write("np.py", NUMPY)
        write("dgemm.py", DGEMM)
        subprocess.run(["cc", "-O2", "-g", "-pthread", "-o", "locks", "locks.c"], check=True)
        if shutil.which("mpicc"):
            subprocess.run(["mpicc", "-O2", "-g", "-o", "mpi", "mpi.c"], check=True)
        with open("data", "wb") as f:
            state = 1
            for i in range(250000):
                state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
                f.write(f"{i % 977} {state >> 44:x} line {'abc'[i % 3]}\n".encode())
        frames = os.path.join(folder, "frames.yuv")
        with open(frames, "wb") as f:
            for t in range(60):
                f.write(bytes((x * 3 + y * 5 + t * 7) * (1 + (x >> 4)) & 255 for y in range(144) for x in range(176)) + bytes([128] * 12672))
        with open("big", "wb") as f, open("data", "rb") as g:
            f.write(g.read() * 12)
        with open("sound", "wb") as f:
            wave = array.array("h", (int(9000 * math.sin(i * i * 1e-7) + 4000 * math.sin(i * 0.05)) for i in range(3000000)))
            f.write(wave.tobytes())
        if shutil.which("age"):
            subprocess.run("age-keygen -o key 2>/dev/null && cat big big big big big | age -r $(age-keygen -y key) -o secret", shell=True, check=True)
        out = os.path.join(folder, "result")
        sh = ["sh", "-c"]
        python = os.environ.get("NUMPY_PYTHON", "/usr/bin/python3")
        programs = {
            "gzip": [*sh, "exec gzip -9 -c data >OUT"],
            "bzip2": [*sh, "exec bzip2 -c data >OUT"],
            "xz": [*sh, "exec xz -T1 -6 -c data >OUT"],
            "zstd": [*sh, "exec zstd -q -16 -c data >OUT"],
            "sort": ["sort", "-k2", "-o", "OUT", "data"],
            "sqlite": [*sh, "exec sqlite3 :memory: <q.sql >OUT"],
            "x264": ["x264", "--quiet", "--threads", "1", "--preset", "slow", "--input-res", "176x144", "--fps", "25", "-o", "OUT", frames],
            "python": ["python3", "primes.py", "OUT"],
            "numpy": [python, "np.py", "OUT"],
            "openblas": [python, "dgemm.py", "OUT"],
            "luajit": ["luajit", "nbody.lua", "OUT"],
            "locks": [os.path.join(folder, "locks"), "OUT"],
            "mpi": [os.path.join(folder, "mpi"), "OUT"],
            "mpirun": ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", os.path.join(folder, "mpi"), "OUT"],
            "openssl": [*sh, "exec openssl dgst -sha3-256 -out OUT data data data data data data data data"],
            "gawk": ["gawk", "-v", "out=OUT", "{ n[$1] += length($2); m[$4 $1 % 7]++ } END { PROCINFO[\"sorted_in\"] = \"@ind_str_asc\"; "
                     "for (k in n) print k, n[k] >out; for (k in m) print k, m[k] >out }", "big"],
            "flac": [*sh, "exec flac -s -f -8 -e -p --force-raw-format --endian=little --sign=signed --channels=1 --bps=16 "
                     "--sample-rate=44100 -o OUT sound"],
            "age": ["age", "-d", "-i", "key", "-o", "OUT", "secret"],
            "ripgrep": [*sh, "exec rg -j1 -c '(\\w+\\s+){3}[ab]$' big big big >OUT"],
            "perl": ["perl", "-e", "open F,'data'; while(<F>){$n{$1}++ if /^(\\d+) .*[ab]$/} open O,\">$ARGV[0]\"; "
                     "print O map {\"$_ $n{$_}\\n\"} sort keys %n", "OUT"],
        }
        for name, command in programs.items():
            if len(sys.argv) == 1 or name in sys.argv[1:]:
                bench(name, command, out)


if __name__ == "__main__":
    main()
