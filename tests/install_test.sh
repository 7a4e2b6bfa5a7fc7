#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The installed tree: its folders, what make install says, programs in C and Fortran by pkg-config and CMake, another
# name of the command, make uninstall; the version in each file that names it; no path of the build in what was
# built. Prints TAP. CARM = the program, CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
build=${carm%/*}
cc=${CC:-cc}
unset CARM_OUT CARM_COUNTERS PKG_CONFIG_PATH LD_LIBRARY_PATH
san=
if grep -q __asan_init "$carm"; then san='-fsanitize=address,undefined'; fi # libcarm wants them in its programs

if ! command -v make >/dev/null || ! [ -f "$top/Makefile" ]; then
    skip 'the installed tree' 'no make, or no Makefile'
    finish
fi
# installs TARGET VARIABLE=VALUE...; MAKEFLAGS of a make above would bring its job server along
installs() {
    MAKEFLAGS='' make -s -C "$top" B="$build" ${san:+SANITIZE=1} "$@" >"$tmp/out" 2>"$tmp/err"
}

# ---- one version -------------------------------------------------------------------------------

version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
# versions_differ FOLDER: prints each file in it that names another version
versions_differ() {
    (
        cd "$1" || exit 1
        sed -n 's/^__version__ = "\(.*\)"/python\/carm.py \1/p' python/carm.py
        sed -n '1s/^carm (\([^)-]*\).*/debian\/changelog \1/p' debian/changelog
        sed -n 's/^version: "*\([^"]*\)"*/CITATION.cff \1/p' CITATION.cff
        sed -n '/^## \[[0-9]/{s/^## \[\([^]]*\).*/CHANGELOG.md \1/p;q}' CHANGELOG.md
    ) | grep -v " $version\$"
}
! versions_differ "$top" >"$tmp/out"
ok "every file names version $version"
mkdir -p "$tmp/other/python" "$tmp/other/debian" && cp "$top/CHANGELOG.md" "$tmp/other" &&
    sed 's/^version: .*/version: 9.9/' "$top/CITATION.cff" >"$tmp/other/CITATION.cff" &&
    sed 's/^__version__ = .*/__version__ = "9.8"/' "$top/python/carm.py" >"$tmp/other/python/carm.py" &&
    sed '1s/(.*)/(9.7-1)/' "$top/debian/changelog" >"$tmp/other/debian/changelog"
[ "$(versions_differ "$tmp/other" 2>/dev/null | wc -l)" -eq 3 ]
ok '... and one that does not is found'

run --version
[ "$(cut -d ' ' -f 1,2 "$tmp/out")" = "carm $version" ]
ok 'carm --version names it'
if head=$(git -C "$top" -c safe.directory='*' rev-parse --short=12 HEAD 2>/dev/null) && [ -e "$top/.git" ]; then
    # another commit may have come since the build
    grep -qE "^carm $version \([0-9a-f]{12}(-modified)?\)$" "$tmp/out" && echo "# built from $head"
    ok '... and the commit'
else
    skip '... and the commit' 'these sources are not those of git'
fi

# ---- what was built ------------------------------------------------------------------------------

# held FILE...: names the files that hold a path of the build, not of another folder's part that is named alike
held() {
    paths=$(printf '%s\n%s\n' "$top" "${build%/}" | sed 's/[][\.*^$+?(){}|]/\\&/g' | paste -sd '|')
    LC_ALL=C grep -laE "(^|[^[:alnum:]_./-])($paths)(/|[^[:alnum:]_.-]|$)" "$@"
}
cd "$build" || exit 1
set -- carm carm.bash _carm libcarm.a libcarm.so.0 engine/engine.so engine/preload.so *.1
! held "$@" >"$tmp/out"
ok 'nothing that was built holds a path of the build'
printf '\0%s/x.c' "$top" >"$tmp/a.o" && [ "$(held "$tmp/a.o" libcarm.a)" = "$tmp/a.o" ]
ok '... and one that does is found'
cd "$top" || exit 1
if [ "$san" ]; then
    skip 'carm has at most 6 MB without debugging information' 'built with sanitizers'
else
    strip -o "$tmp/stripped" "$carm" 2>"$tmp/err" && [ "$(wc -c <"$tmp/stripped")" -lt 6000000 ]
    ok 'carm has at most 6 MB without debugging information'
fi

# ---- libcarm outside the linker's path -------------------------------------------------------------

lib=$tmp/usr/lib/multi-arch
installs install prefix="$tmp/usr" libdir="$lib" PYTHON_SITE="$tmp/usr/python" &&
    grep -qF -- "-Wl,-rpath,$lib" "$tmp/out" && grep -qF "export PKG_CONFIG_PATH=$lib/pkgconfig" "$tmp/out"
ok 'make install prefix=... libdir=... says how programs find the library'
for f in bin/carm lib/multi-arch/libcarm.a lib/multi-arch/libcarm.so.0 include/carm.h include/carm_count.h include/carm.f90 python/carm.py \
    lib/multi-arch/cmake/carm/carm-config.cmake share/man/man1/carm.1 share/man/man1/carm-build.1 share/doc/carm/LICENSE.MIT \
    share/doc/carm/guide.md share/doc/carm/examples/region.c share/carm/model.schema.json; do
    [ -s "$tmp/usr/$f" ] || echo "$f is not there"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
ok '... and puts each file where it belongs'

PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
examples=$tmp/usr/share/doc/carm/examples
[ "$(pkg-config --modversion carm)" = "$version" ] && [ "$(pkg-config --variable=libdir carm)" = "$lib" ] &&
    [ "$(pkg-config --define-variable=prefix=/elsewhere --variable=libdir carm)" = /elsewhere/lib/multi-arch ]
ok 'pkg-config: version, library folder, another prefix'

# counts NAME PROGRAM: it runs and writes the row of its region
counts() {
    rm -f "$tmp/rows.csv"
    env CARM_OUT="$tmp/rows.csv" CARM_COUNTERS=none "$2" >"$tmp/out" 2>"$tmp/err" && grep -q '^axpy,.*,10,' "$tmp/rows.csv"
    ok "$1"
}
# shellcheck disable=SC2046,SC2086 # words
$cc $san -std=c89 -pedantic -O1 "$examples/region.c" $(pkg-config --cflags --libs carm) -Wl,-rpath,"$lib" -o "$tmp/c" 2>"$tmp/err"
counts 'the example in C, with the path that make install named' "$tmp/c"
# shellcheck disable=SC2046,SC2086
$cc $san "$examples/region.c" $(pkg-config --cflags --static --libs carm | sed 's/-lcarm/-l:libcarm.a/') -o "$tmp/static" 2>"$tmp/err" &&
    ! ldd "$tmp/static" | grep -q libcarm && ldd "$tmp/static" | grep -q libZydis
counts '... with libcarm.a: of its libraries, Zydis and jansson stay shared' "$tmp/static"
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2046,SC2086
    g++ $san -std=c++98 -pedantic -Wall -Wextra -Werror -O1 "$examples/region.cpp" $(pkg-config --cflags --libs carm) \
        -Wl,-rpath,"$lib" -o "$tmp/cpp" 2>"$tmp/err"
    counts 'the example in C++' "$tmp/cpp"
else
    skip 'the example in C++' 'no g++'
fi
if command -v gfortran >/dev/null; then
    # shellcheck disable=SC2046,SC2086
    (cd "$tmp" && gfortran $san -std=f2008 -Wall -O1 "$(pkg-config --variable=fortran carm)" "$examples/region.f90" \
        $(pkg-config --libs carm) -Wl,-rpath,"$lib" -o fortran 2>"$tmp/err")
    counts 'the example in Fortran' "$tmp/fortran"
else
    skip 'the example in Fortran' 'no gfortran'
fi
if command -v cmake >/dev/null; then
    cmake -S "$examples" -B "$tmp/cmake" -DCMAKE_PREFIX_PATH="$tmp/usr" -DCMAKE_LIBRARY_ARCHITECTURE=multi-arch \
        -DCMAKE_C_FLAGS="$san" -Dcarm_DIR="$lib/cmake/carm" >"$tmp/out" 2>"$tmp/err" &&
        cmake --build "$tmp/cmake" >"$tmp/out" 2>"$tmp/err"
    counts 'CMake: carm::carm' "$tmp/cmake/region"
    counts 'CMake: carm::carm_static' "$tmp/cmake/region_static"
    mkdir "$tmp/later" && sed 's/carm 0.1/carm 99/' "$examples/CMakeLists.txt" >"$tmp/later/CMakeLists.txt" &&
        ! cmake -S "$tmp/later" -B "$tmp/later/b" -Dcarm_DIR="$lib/cmake/carm" >"$tmp/out" 2>"$tmp/err" &&
        grep -q "version: $version" "$tmp/err"
    ok 'CMake: a later version is refused'
else
    skip 'CMake' 'no cmake'
fi
installs uninstall prefix="$tmp/usr" libdir="$lib" PYTHON_SITE="$tmp/usr/python" && [ -z "$(find "$tmp/usr" ! -type d)" ]
ok 'make uninstall leaves nothing'

# ---- ... and inside it -------------------------------------------------------------------------------

mkdir "$tmp/bin"
cat >"$tmp/bin/ldconfig" <<END
#!/bin/sh
case "\$*" in *-v*) printf '/a/lib: (from here)\n/a/lib64: (from there)\n' ;; *) touch "$tmp/called"; exit \${REFUSED:-0} ;; esac
END
chmod +x "$tmp/bin/ldconfig"
PATH=$tmp/bin:$PATH PKG_CONFIG_PATH=/a/lib/pkgconfig "$top/harness/region/reach.sh" /a/lib >"$tmp/out" 2>"$tmp/err" &&
    [ ! -s "$tmp/out" ] && [ -e "$tmp/called" ]
ok "a folder of the linker's: its cache is renewed, nothing is said"
PATH=$tmp/bin:$PATH REFUSED=1 PKG_CONFIG_PATH=/a/lib/pkgconfig "$top/harness/region/reach.sh" /a/lib >"$tmp/out" 2>"$tmp/err" &&
    grep -q 'run as root, once: ldconfig' "$tmp/out"
ok '... and by whom, where that is not allowed'
PATH=$tmp/bin:$PATH "$top/harness/region/reach.sh" /a/li >"$tmp/out" 2>"$tmp/err" && grep -q -- '-rpath,/a/li$' "$tmp/out"
ok '... another folder is not taken for it'

# ---- another name --------------------------------------------------------------------------------------

root=$tmp/root/usr
installs install DESTDIR="$tmp/root" prefix=/usr PROGRAM_PREFIX=my- PYTHON_SITE=/usr/python && [ ! -s "$tmp/out" ] &&
    [ -x "$root/bin/my-carm" ] && [ ! -e "$root/bin/carm" ] && "$root/bin/my-carm" --version >"$tmp/out"
ok 'PROGRAM_PREFIX=my-: the command is my-carm; nothing is said where DESTDIR is given'
grep -q '^\.Dt MY-CARM' "$root/share/man/man1/my-carm.1" && grep -q '^\.Nm my-carm' "$root/share/man/man1/my-carm.1" &&
    grep -q '^\.It Xr my-carm-run 1' "$root/share/man/man1/my-carm.1" && grep -q '^\.Nm my-carm-run$' "$root/share/man/man1/my-carm-run.1" &&
    ! find "$root/share/man" -name 'carm*' | grep .
ok '... its manual page'
tail -n 1 "$root/share/bash-completion/completions/my-carm" | grep -q -- '-F _carm my-carm$' &&
    [ "$(head -n 1 "$root/share/zsh/site-functions/_my-carm")" = '#compdef my-carm' ] &&
    [ "$(ls "$root/share/bash-completion/completions")" = my-carm ]
ok '... its completions'
grep -q 'get("CARM", "my-carm")' "$root/python/carm.py"
ok '... carm.py calls it'
installs uninstall DESTDIR="$tmp/root" prefix=/usr PROGRAM_PREFIX=my- PYTHON_SITE=/usr/python &&
    [ -z "$(find "$tmp/root" ! -type d)" ]
ok '... make uninstall leaves nothing'

finish
