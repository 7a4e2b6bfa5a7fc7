#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The pages for readers: what they link to and name exists, every command line takes the options that it is
# shown with, printed output is the program's. Faults are planted, too. Prints TAP. CARM = the program, CARM_TOP
# = the sources' root. UPDATE=1 takes the program's output into the pages.
# shellcheck disable=SC2016 # the planted backquotes are a page's
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME

check() { # folder
    python3 "$top/tests/docs.py" "$1" "$top" "$carm" >"$tmp/out" 2>"$tmp/err"
}

copy() {
    rm -rf "$tmp/copy"
    mkdir "$tmp/copy"
    cp "$top"/*.md "$tmp/copy"
    cp -R "$top/docs" "$tmp/copy/docs"
}

finds() { # name: the copy has one fault
    ! check "$tmp/copy" && [ "$(wc -l <"$tmp/out")" -eq 1 ] && [ ! -s "$tmp/err" ]
    ok "finds $1"
}

# plant NAME FILE TEXT: at the end of a page
plant() {
    copy
    printf '\n%s\n' "$3" >>"$tmp/copy/$2"
    finds "$1"
}

check "$top"
ok 'what the pages link to, name and print is there'
unset UPDATE
[ "$(wc -l <"$top/README.md")" -le 150 ]
ok 'the README is short'
plant 'a link to no file' docs/guide.md '[x](nowhere.md)'
plant 'a link to no heading' docs/why.md '[x](guide.md#nowhere)'
plant 'a path that is not there' docs/adding.md 'See `base/nowhere.c`.'
plant 'an unknown command' docs/plots.md '`carm nowhere x.json`'
plant 'an unknown option' docs/placing.md '`carm place --nowhere points.csv`'
plant "another command's option" docs/fleet.md '`carm show --suspects`'
copy
sed -i 's/40.5 MiB/41.5 MiB/' "$tmp/copy/docs/sol.md"
finds 'output that the program does not print'
copy
sed -i 's/^carm:  *[0-9.]*%  memory latency/&x/' "$tmp/copy/docs/first-hour.md"
finds 'a copy that is not its file'
copy
yes 'A line.' | head -n 151 >>"$tmp/copy/docs/why.md"
finds 'a page that is too long'
# compiles NAME COMPILER ARGUMENTS...: an example, as written and changed, in its own language
compiles() {
    name=$1
    shift
    if command -v "$1" >/dev/null; then
        "$@" -fsyntax-only -Wall -Wextra -Werror >"$tmp/out" 2>"$tmp/err"
        ok "$name compiles"
    else
        skip "$name compiles" "no $1"
    fi
}
examples=$top/docs/examples
compiles heat.c "${CC:-cc}" "$examples/heat.c"
compiles join.c "${CC:-cc}" "$examples/join.c"
compiles '... partitioned' "${CC:-cc}" -DPARTITIONED "$examples/join.c"
compiles triangle.c "${CC:-cc}" -fopenmp "$examples/triangle.c"
compiles channel.F90 gfortran "$examples/channel.F90"
compiles '... swapped' gfortran -DSWAPPED "$examples/channel.F90"
if [ -d /usr/include/eigen3 ]; then
    compiles product.cpp g++ -isystem /usr/include/eigen3 "$examples/product.cpp"
else
    skip 'product.cpp compiles' 'no Eigen'
fi
python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$examples/fields.py" >"$tmp/out" 2>"$tmp/err"
ok 'fields.py is Python'
echo "1..$n"
exit $failed
