#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# include/carm_count.h: marked code in C, and in the benchmark frameworks that are installed. Prints TAP. CARM = the
# program, CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
cc=${CC:-cc}
marks=$top/tests/data/marks
cd "$tmp" || exit 1

if ! $cc -O2 -pthread -I"$top/include" -o marks "$marks/marks.c" 2>"$tmp/err"; then
    echo "1..0 # SKIP no compiler"
    exit 0
fi
# counted FILE PROGRAM...: its marks into FILE
counted() {
    file=$1
    shift
    rm -f "$file"
    run run --regions --counters translate --no-time -o "$file" -- "$@"
}
if ! counted one.csv ./marks || ! grep -q ',translated,' one.csv; then
    echo "1..0 # SKIP programs cannot be counted by translation here"
    exit 0
fi
says() {
    grep -qxF -- "carm: $1" err
}

[ "$(./marks)" = 'not counted' ] && [ "$(cat out)" = counted ]
ok 'marks do nothing natively; a program sees whether it is counted'
says 'empty: 0 instructions, 0 flops, 0 bytes an iteration; exact: 3 calls are equal'
ok 'a mark counts nothing of its own'
grep -q '^carm: body: 5 instructions, 1 flops, 8 bytes an iteration; exact: by difference of 10, 100 and 1000 iterations; setup: ' err &&
    grep -q '^body,1,8,,,1,scalar,dp,translated,1110,1,' one.csv
ok 'one iteration by difference, without its setup'
says 'inner: 4 instructions, 0 flops, 0 bytes an iteration; exact: 3 calls are equal' &&
    grep -q '^carm: outer: \(9\|1[0-9]\) instructions, .*; exact: 3 calls are equal' err
ok 'nested marks'
grep -q '^carm: threads: [56][0-9.]* instructions, 1 flops, 8 bytes an iteration; exact: 2 calls are equal' err
ok 'threads'
grep -q '^carm: parent: .*; one call of 1 iteration' err && grep -q '^carm: child: [56][0-9.]* instructions, .*; one call' err
ok 'a forked child has marks of its own'
says 'note: 1 calls of marked code are in no row: nested more than 16 deep, or more than 800 pairs of name and number of iterations'
ok 'marks that are nested too deep are told'

# a gate on one iteration: the setup may change, one more instruction is found
counted two.csv ./marks && run compare one.csv two.csv --exact --only body && run compare one.csv two.csv --exact --only 'threads'
ok 'a second run counts the same'
$cc -O2 -pthread -I"$top/include" '-DMORE="nop;"' -o more "$marks/marks.c" && counted more.csv ./more
run compare one.csv more.csv --exact --only body
[ $? -eq 1 ] && grep -q 'body: instructions 5, now 6 (+20.0%)' err
ok 'one more instruction in the body is found'
printf '#include <carm_count.h>\nint main(void) { carm_count_begin("x", 1); carm_count_end(); return 0; }\n' |
    $cc -std=c89 -pedantic -Wall -Wextra -Werror -I"$top/include" -x c -fsyntax-only - 2>err &&
    { ! command -v c++ >/dev/null || printf '#include <carm_count.h>\nint main() { carm::count one("x"); return 0; }\n' |
        c++ -std=c++98 -pedantic -Wall -Wextra -Werror -I"$top/include" -x c++ -fsyntax-only - 2>err; }
ok 'the header compiles as C89 and C++98'
counted none.csv true
grep -q 'carm_count.h' err && [ "$(wc -l <none.csv)" -eq 1 ]
ok 'a program without marks is told of both headers'

name='Google Benchmark'
if ! printf '#include <benchmark/benchmark.h>\n' | c++ -fsyntax-only -x c++ - 2>/dev/null; then
    skip "$name" 'no libbenchmark-dev'
else
    # a reading of a clock has some 100 instructions, and 5 more where a second begins: none is between the marks
    c++ -O1 -Wall -Wextra -Werror -I"$top/include" -o google "$marks/google.cpp" -lbenchmark -pthread 2>err &&
        counted google.csv ./google && ! grep -q skipped google.csv &&
        grep -q "^carm: dot: [0-9]* instructions, 128 flops, .* an iteration; exact: by difference of 10, 100 and 1000 \
iterations; setup: [0-9]\{1,2\} instructions$" err
    ok "$name"
fi
name='Catch2'
if [ -z "${CARM_SOAK:-}" ]; then
    skip "$name" 'compiling it takes 20 s: make soak'
elif ! printf '#include <catch2/catch.hpp>\n' | c++ -fsyntax-only -x c++ - 2>/dev/null; then
    skip "$name" 'no catch2 of version 2'
else
    c++ -O1 -I"$top/include" -o catch "$marks/catch.cpp" 2>err &&
        counted catch.csv ./catch --benchmark-samples 2 --benchmark-warmup-time 1 &&
        grep -q '^carm: dot: [0-9]* instructions, 128 flops, .* an iteration; exact: [0-9]* calls are equal' err
    ok "$name"
fi
PYTHONPATH=$top/python PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONHASHSEED PYTHONDONTWRITEBYTECODE
name='timeit of Python'
python=/usr/bin/python3 # Debian's, which has Debian's packages
[ -x $python ] || python=python3
if ! command -v $python >/dev/null; then
    skip "$name" 'no python3'
else
    cat >timed.py <<'END'
import carm
timer = carm.Timer("x.split(',')", "x = 'a,b,c'", name="split")
for number in (1000, 2000, 3000, 4000):
    timer.timeit(number)
END
    $python timed.py >out 2>err && [ ! -s out ] && counted timed.csv $python timed.py &&
        grep -q '^carm: split: [0-9.]* instructions, 0 flops, .* an iteration; ' err && cp timed.csv before.csv &&
        counted timed.csv $python timed.py && run compare before.csv timed.csv --exact=flops,instructions:1%
    ok "$name"
fi
name='pytest-benchmark'
if ! $python -c 'import pytest, pytest_benchmark' 2>/dev/null; then
    skip "$name" 'no python3-pytest-benchmark'
else
    cp "$marks/test_marks.py" test_total.py
    counted pytest.csv $python -m pytest -q -p no:cacheprovider --benchmark-max-time=0.01 --benchmark-min-rounds=1 test_total.py &&
        grep -q '^carm: total: [0-9.]* instructions, 0 flops, ' err && cp pytest.csv before.csv &&
        counted pytest.csv $python -m pytest -q -p no:cacheprovider --benchmark-max-time=0.01 --benchmark-min-rounds=1 test_total.py &&
        run compare before.csv pytest.csv --exact=instructions:5%
    ok "$name"
fi

finish
