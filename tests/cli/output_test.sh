#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Outputs that cannot be written: standard output closed, no folder for temporary files, a limit on the
# size of files. Prints TAP. CARM = the program.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
model=$top/tests/data/sample-model.json

# ---- standard output is closed

# loses NAME ARGUMENTS...: exits 1 and says so in one line
loses() {
    name=$1
    shift
    "$carm" "$@" 2>"$tmp/err" >&-
    [ $? -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'cannot write the output' "$tmp/err"
    ok "standard output closed: $name"
}
loses "show" show "$model"
loses "help" --help
loses "a script" plot --script "$model"
loses "a network as JSON" sol transformer-block --arch b200 --json
loses "points as JSON" compare --json "$top/tests/data/gates-before.csv" "$top/tests/data/gates-after.csv" "$model"
if run report -o "$tmp/page.html" "$model"; then
    awk 'BEGIN { print "name,flops,bytes,seconds"; for (i = 0; i < 25000; i++) printf "%0900d,1e9,8e9,1\n", i }' >"$tmp/many.csv"
    run report -o - "$model" && [ ! -s "$tmp/err" ] && run report -o - "$model" "$tmp/many.csv" &&
        grep -q 'note: the page has 2[0-9] MB' "$tmp/err"
    ok "a note of a page too large for a browser"
    loses "a page" report -o - "$model"
    loses "a fleet's page" fleet report -o - "$model"
else
    skip "standard output closed: pages" "built without d3"
fi
# files that are opened do not take the numbers of closed streams
"$carm" show --verbose "$model" >"$tmp/out" 2>&- <&- && cmp -s "$tmp/out" "$top/tests/data/show.txt"
"$carm" plot --script "$model" >"$tmp/out" 2>"$tmp/err" <&- && grep -q multiplot "$tmp/out"
ok "standard input and error closed: the output comes"

"$carm" run --counters none -m "$model" -o "$tmp/rows.csv" -- sleep 0.2 2>&1 | :
[ "$(grep -c '^sleep,' "$tmp/rows.csv")" -eq 1 ]
ok "standard error closed by a reader that left: the rows are there"

# ---- no folder for temporary files is needed, apart from test codes

if command -v nm >/dev/null; then
    nm -D "$carm" >"$tmp/out" 2>"$tmp/err" && grep -q ' U fopen' "$tmp/out" &&
        ! grep -wq 'U tmpfile\|U tmpfile64\|U tmpnam' "$tmp/out"
    ok "pictures and pages do not use /tmp"
else
    skip "pictures and pages do not use /tmp" "no nm"
fi
mkdir -p "$tmp/folder/a.svg"
if command -v gnuplot >/dev/null; then
    refuses "a picture where a folder is" 1 "cannot write $tmp/folder/a.svg: Is a directory; choose" \
        plot "$model" -o "$tmp/folder/a.svg"
fi

# ---- a limit on the size of files

cp "$model" "$tmp/target.csv"
(ulimit -f 1 && exec "$carm" compare "$model" "$model" --csv "$tmp/target.csv") >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'cannot write .*target.csv: File too large; choose another place' "$tmp/err" &&
    cmp -s "$model" "$tmp/target.csv" && ! ls "$tmp"/.carm-* >/dev/null 2>&1
ok "beyond ulimit -f: a message, no temporary file, the old file stays"
# shellcheck disable=SC2016 # for the inner shell
run run --counters none --quiet -o "$tmp/points.csv" -- \
    sh -c 'ulimit -f 1; head -c 100000 /dev/zero >"$0"' "$tmp/big"
grep -q 'SIGXFSZ\|signal 25\|File size' "$tmp/err"
ok "... which a program under carm run still dies of"
finish
