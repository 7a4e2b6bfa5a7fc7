#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs in C, C++, Fortran and with OpenMP that are linked with the libcarm that was built: static,
# shared and as it is installed. Prints TAP. CARM = the program, CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
build=${carm%/*}
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
cc=${CC:-cc}
programs=$top/tests/harness/region/programs
out=$tmp/points.csv
unset CARM_OUT CARM_COUNTERS CARM_STEP_BUDGET CARM_ROWS CARM_UARCH LD_LIBRARY_PATH
# A library under sanitizers wants them in its programs.
san=
if ldd "$build/libcarm.so" | grep -q libasan; then
    san='-fsanitize=address,undefined'
fi
libs='-ljansson -lZydis -ldl -lpthread -lm'

# quiet NAME=VALUE... PROGRAM...: a fresh file of rows, nothing said, exit 0
quiet() {
    rm -f "$out"
    env CARM_OUT="$out" "$@" >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ]
}

# says TEXT NAME=VALUE... PROGRAM...: exit 0 and that one line on standard error
says() {
    text=$1
    shift
    rm -f "$out"
    env CARM_OUT="$out" "$@" >"$tmp/out" 2>"$tmp/err" && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        grep -qF -- "$text" "$tmp/err"
}

rows() {
    [ "$(wc -l <"$out")" -eq $(($1 + 1)) ]
}

# ---- what the libraries hold -----------------------------------------------------------------

names='carm_region_begin carm_region_end carm_region_flush '
[ "$(nm -g --defined-only "$build/libcarm.a" | awk 'NF == 3 { print $3 }' | sort | tr '\n' ' ')" = "$names" ]
ok "libcarm.a shows carm.h and nothing else"
[ "$(nm -D --defined-only "$build/libcarm.so" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' |
    sort | tr '\n' ' ')" = "$names" ]
ok "libcarm.so shows carm.h and nothing else"

readelf -d "$build/libcarm.so" >"$tmp/out" && grep -q 'SONAME.*\[libcarm.so.0\]' "$tmp/out" &&
    ! grep -q TEXTREL "$tmp/out"
ok "libcarm.so is position-independent, its name libcarm.so.0"

readelf -d "$build/libcarm.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' |
    grep -vxE 'libc|libm|libjansson|libZydis|libdl|libpthread|libasan|libubsan|ld-linux-x86-64' >"$tmp/out"
[ ! -s "$tmp/out" ]
ok "libcarm.so needs libc, jansson and Zydis alone"

# Every source in it and all that these include, by the compiler's own lists.
(
    cd "$build/pic" && find . -name '*.d' | while read -r d; do
        grep -o '[^ :\]*' "$d" | grep -E '^(asm|base|cli|harness|include|kernels|models|plots|validation)/'
    done | sort -u >"$tmp/files"
    while read -r f; do
        [ -e "$top/$f" ] || continue # of an older build
        head -n 1 "$top/$f" | grep -q 'SPDX-License-Identifier: MIT' || echo "$f is not under MIT"
    done <"$tmp/files"
) >"$tmp/out" && [ ! -s "$tmp/out" ] && [ "$(grep -c '\.c$' "$tmp/files")" -ge 10 ]
ok "no file of libcarm is under the GPL"

# ---- C, static -------------------------------------------------------------------------------

# shellcheck disable=SC2086 # words
$cc -std=gnu17 -O1 -Wall -Wextra -Werror $san -I"$top/include" "$programs/kernels.c" \
    "$build/libcarm.a" $libs -o "$tmp/kernels" >"$tmp/out" 2>&1
ok "a C program links libcarm.a, with names that are in it"
printf '#include <carm.h>\nint x;\n' >"$tmp/c.c"
$cc -std=c89 -pedantic -Wall -Wextra -Werror -I"$top/include" -c "$tmp/c.c" -o "$tmp/c.o" >"$tmp/out" 2>&1
ok "carm.h is C89"

"$tmp/kernels" 3 >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ] && CARM_OUT='' "$tmp/kernels" 3
ok "nothing happens without CARM_OUT"

quiet CARM_COUNTERS=none "$tmp/kernels" 3 && rows 1 &&
    grep -q '^"axpy, ""2N""",,,[0-9][0-9.e-]*,,1,,,unavailable: CARM_COUNTERS=none,3,' "$out"
ok "none: time alone"

quiet "$tmp/kernels" 3 && rows 1 && grep -q '^"axpy, ""2N""",.*,3,' "$out"
ok "auto: a row, with or without counters"

mkdir "$tmp/sub"
(cd "$tmp" && rm -f "$out" && CARM_OUT=points.csv CARM_COUNTERS=none "$tmp/kernels" 1 chdir "$tmp/sub") &&
    rows 1
ok "CARM_OUT is where the program began"

quiet CARM_COUNTERS=none "$tmp/kernels" 2 flush && rows 1
ok "a flush before _exit"
quiet CARM_COUNTERS=none "$tmp/kernels" 2 fork && rows 3 && [ "$(grep -c '^parent,' "$out")" -eq 1 ] &&
    [ "$(grep -c '^"axpy' "$out")" -eq 2 ]
ok "a fork in a region: the child has its own rows"
says "region 'left open' never ended on 1 thread" CARM_COUNTERS=none "$tmp/kernels" 2 leave && rows 1
ok "a region that never ended is named"

says 'CARM_COUNTERS: "perf" is not a counter back end' CARM_COUNTERS=perf "$tmp/kernels" 1 && rows 1
ok "an unknown word in CARM_COUNTERS"
says 'CARM_STEP_BUDGET=1e6' CARM_STEP_BUDGET=1e6 CARM_COUNTERS=none "$tmp/kernels" 1 && rows 1
ok "a budget that is no number"
says 'choose region or thread' CARM_ROWS=rank CARM_COUNTERS=none "$tmp/kernels" 1 && rows 1
ok "an unknown word in CARM_ROWS"
quiet CARM_ROWS=thread CARM_COUNTERS=none "$tmp/kernels" 1 && rows 1 && grep -q 'thread 1' "$out"
ok "CARM_ROWS=thread"

# shellcheck disable=SC2086 # words
$cc -std=gnu17 -O1 -Wall -Wextra -Werror $san -I"$top/include" "$programs/interrupted.c" \
    "$build/libcarm.a" $libs -o "$tmp/interrupted" >"$tmp/out" 2>&1 &&
    quiet CARM_COUNTERS=none timeout 600 "$tmp/interrupted" && rows 1 && grep -q '^main,.*,1,,,' "$out"
ok "a region in a signal handler that interrupts the first one is ignored"

# one line when the first region begins, one when the rows are lost
rm -f "$out"
env CARM_OUT="$tmp/none/points.csv" CARM_COUNTERS=none "$tmp/kernels" 1 >"$tmp/out" 2>"$tmp/err" &&
    [ "$(wc -l <"$tmp/err")" -eq 2 ] && grep -q 'carm tries again when the program ends' "$tmp/err" &&
    grep -q 'rows are lost: .*none/points.csv cannot be written' "$tmp/err"
ok "a folder that is missing is said twice, the program runs on"
echo "my,own,table" >"$tmp/table.csv"
env CARM_OUT="$tmp/table.csv" CARM_COUNTERS=none "$tmp/kernels" 1 >"$tmp/out" 2>"$tmp/err" &&
    grep -q 'another kind of file' "$tmp/err" && [ "$(cat "$tmp/table.csv")" = my,own,table ]
ok "another kind of file is left as it is"

rm -f "$out"
for i in 1 2 3 4 5 6 7 8; do
    CARM_OUT=$out CARM_COUNTERS=none "$tmp/kernels" $i &
done
wait
rows 8 && [ "$(sort -u "$out" | grep -c '^name,')" -eq 1 ]
ok "processes append at once"

# ---- stepping --------------------------------------------------------------------------------

if quiet CARM_COUNTERS=step "$tmp/kernels" 100 && grep -q ',stepped,' "$out"; then
    # 2 flops and 24 bytes for each of 100 elements, 100 times; around the loop are some calls, their
    # return addresses and spilled registers
    tail -n 1 "$out" | sed 's/^"[^"]*""2N"""/x/' | awk -F, '
        $2 == 20000 && $3 >= 240000 && $3 <= 270000 && $4 > 0 && $7 == "scalar" && $8 == "dp" &&
        $9 == "stepped" && $10 == 100 && $11 == 0.07 && $12 == 20000 && $13 == 20000 { good = 1 }
        END { exit !good }'
    ok "step: exact flops of a sample of 7 of 100 calls"
    quiet CARM_COUNTERS=step CARM_STEP_BUDGET=50 "$tmp/kernels" 9 &&
        grep -q 'no call was stepped to the end within 50 instructions' "$out"
    ok "step: a budget that is too small is said"
    quiet CARM_COUNTERS=step "$tmp/kernels" 2 fork && rows 3
    ok "step: a fork in a region"
else
    grep -q '^carm: CARM_COUNTERS=step: ' "$tmp/err"
    ok "step: what is in the way is said"
    skip "step: exact flops" "$(sed -n 's/^carm: //p' "$tmp/err" | head -n 1)"
fi

# ---- translation -----------------------------------------------------------------------------

# counts: columns but those of times, processes and who counted
counts() {
    cut -d, -f 1-3,6-8,10-49 "$1" | sort
}

# shellcheck disable=SC2016 # no expansion
says 'must run under `carm run --regions --counters translate`' CARM_COUNTERS=translate "$tmp/kernels" 1 && rows 1
ok "translate: without carm run, that is said"
# shellcheck disable=SC2086 # words
if [ "$san" ]; then
    skip "translate: regions" "a library under sanitizers"
elif $cc -std=gnu17 -O3 -Wall -Wextra -Werror -I"$top/include" "$programs/nested.c" -L"$build" -lcarm \
    "-Wl,-rpath,$build" -lpthread -lm -o "$tmp/nested" >"$tmp/out" 2>&1 &&
    LD_BIND_NOW=1 quiet CARM_COUNTERS=step "$tmp/nested" && grep -q ',stepped,' "$out" && cp "$out" "$tmp/stepped.csv" &&
    "$build/carm" run -q --counters translate --no-time -- true 2>"$tmp/err"; then
    translated() {
        rm -f "$out"
        timeout 600 "$build/carm" run -q --regions --counters translate -o "$out" "$@" >"$tmp/out" 2>"$tmp/err"
    }
    translated -- "$tmp/nested" && rows 5 && [ "$(grep -c ',translated,' "$out")" -eq 5 ] &&
        counts "$tmp/stepped.csv" >"$tmp/a" && counts "$out" >"$tmp/b" && cmp "$tmp/a" "$tmp/b" >>"$tmp/out"
    ok "translate: regions within regions on 4 threads count what stepping counts"
    translated -- "$tmp/nested" 100 && rows 5 && grep -qE '^within,.*,translated,1200,1,' "$out" &&
        ! grep -qE '^[a-z]*,[^,]*,[^,]*,,' "$out"
    ok "... all calls, with the time of a free run"
    translated -- "$tmp/kernels" 100 && rows 1 && grep -q '^"axpy, ""2N""",20000,2[45][0-9]*,.*,translated,100,1,' "$out"
    ok "... in a static library"
    translated -- "$tmp/kernels" 2 fork && rows 3 && [ "$(grep -c 'several rows have this name' "$out")" -eq 2 ] &&
        grep -q '^parent,[0-9]*,[0-9]*,[0-9.e-]*,' "$out"
    ok "... in a child of fork; times that cannot be told apart are left out"
    translated --no-time -- "$tmp/kernels" 3 && rows 1 && grep -q '^"axpy, ""2N""",600,[0-9]*,,' "$out"
    ok "... without times in one run"
    rm -f "$out"
    printf 'x' | "$build/carm" run --regions --counters translate -o "$out" -- sh -c "cat; $tmp/kernels 3" >"$tmp/out" 2>"$tmp/err"
    rows 0 2>/dev/null || [ ! -s "$out" ] && grep -q 'regions: unavailable: not counted, because the program reads standard input' "$tmp/err"
    ok "... not where the second run had no input"
else
    skip "translate: regions" "stepping or translation does not work here"
fi

# ---- installed: C, C++, OpenMP, Fortran -------------------------------------------------------

# MAKEFLAGS of a make above would bring its job server along
if ! MAKEFLAGS='' make -s -C "$top" B="$build" PREFIX="$tmp/usr" ${san:+SANITIZE=1} install \
    >"$tmp/out" 2>&1; then
    false
    ok "make install"
    echo "1..$n"
    exit 1
fi
[ -f "$tmp/usr/include/carm.h" ] && [ -f "$tmp/usr/lib/libcarm.a" ] &&
    [ "$(readlink "$tmp/usr/lib/libcarm.so")" = libcarm.so.0 ] && [ -f "$tmp/usr/lib/pkgconfig/carm.pc" ]
ok "make install"
PKG_CONFIG_PATH=$tmp/usr/lib/pkgconfig
export PKG_CONFIG_PATH
flags="$(pkg-config --cflags --libs carm) -Wl,-rpath,$tmp/usr/lib"
[ "$(pkg-config --modversion carm)" ] && pkg-config --static --libs carm | grep -q -- '-lcarm -ljansson -lZydis'
ok "pkg-config knows carm"

# compile NAME COMPILER FLAGS...: $tmp/NAME by the installed library
compile() {
    what=$1
    compiler=$2
    shift 2
    # shellcheck disable=SC2086 # words
    $compiler "$@" $san $flags -o "$tmp/$what" >"$tmp/out" 2>&1
}

compile shared "$cc" -std=gnu17 -O1 "$programs/kernels.c" && ldd "$tmp/shared" | grep -q 'usr/lib/libcarm.so.0' &&
    quiet CARM_COUNTERS=none "$tmp/shared" 2 && rows 1
ok "a C program with the shared library"
if quiet CARM_COUNTERS=step "$tmp/shared" 2 && grep -q ',stepped,' "$out"; then
    tail -n 1 "$out" | grep -qE '^"axpy, ""2N""",400,(48|49|5[0-3])[0-9][0-9],'
    ok "... is stepped with the same counts"
else
    skip "... is stepped" "stepping does not work here"
fi

if command -v g++ >/dev/null; then
    compile guard g++ -std=c++98 -pedantic -Wall -Wextra -Werror "$programs/guard.cpp" &&
        quiet CARM_COUNTERS=none "$tmp/guard" && rows 3 && grep -q '^static destructor,' "$out"
    ok "a C++98 program with regions in destructors"
    compile guard20 g++ -std=c++20 -pedantic -Wall -Wextra -Werror "$programs/guard.cpp" &&
        quiet CARM_COUNTERS=none "$tmp/guard20" && rows 3
    ok "... as C++20"
else
    skip "a C++ program" "no g++"
fi

if printf 'int main(void) { return 0; }\n' >"$tmp/c.c" && $cc -fopenmp "$tmp/c.c" -o "$tmp/c" 2>/dev/null; then
    compile openmp "$cc" -O1 -fopenmp "$programs/openmp.c" && quiet CARM_COUNTERS=none "$tmp/openmp" &&
        rows 1 && grep -q '^parallel,,,[^,]*,,4,' "$out"
    ok "an OpenMP program: one row of 4 threads"
    quiet CARM_COUNTERS=none CARM_ROWS=thread "$tmp/openmp" && rows 4
    ok "... or a row for each"
else
    skip "an OpenMP program" "$cc has no OpenMP"
fi

if command -v gfortran >/dev/null; then
    (cd "$tmp" && compile fortran gfortran -std=f2008 -O1 -Wall -Wno-unused-dummy-argument \
        "$(pkg-config --variable=fortran carm)" "$top/docs/examples/region.f90") &&
        quiet CARM_COUNTERS=none "$tmp/fortran" && rows 1 && grep -q '^axpy,.*,10,' "$out"
    ok "a Fortran program: use carm"
else
    skip "a Fortran program" "no gfortran"
fi

MAKEFLAGS='' make -s -C "$top" B="$build" PREFIX="$tmp/usr" uninstall >"$tmp/out" 2>&1 &&
    [ -z "$(find "$tmp/usr" ! -type d)" ]
ok "make uninstall leaves nothing"

finish
