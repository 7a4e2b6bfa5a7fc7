#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The man pages of `carm --man`, against the help that comes from the same tables. A fault is planted, too. Prints
# TAP. CARM = the program, CARM_TOP = the root of the sources.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
: >"$tmp/out"
: >"$tmp/err"

# ---- all pages are there -------------------------------------------------------------------------

"$carm" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$tmp/commands"
mkdir "$tmp/man"
"$carm" --man >"$tmp/man/carm.1"
good=$?
while read -r c; do
    "$carm" --man "$c" >"$tmp/man/carm-$c.1" && grep -q "^\.Nm carm-$c\$" "$tmp/man/carm-$c.1" &&
        grep -q "^\.It Xr carm-$c 1\$" "$tmp/man/carm.1" || good=1
done <"$tmp/commands"
[ $good -eq 0 ] && [ "$(grep -c '^\.It Xr' "$tmp/man/carm.1")" -eq "$(wc -l <"$tmp/commands")" ]
ok "every command has a man page, and carm(1) lists them"
if command -v make >/dev/null && [ -f "$top/Makefile" ]; then
    (cd "$top" && make -s -f - pages <<'MAKE') | sort >"$tmp/out" 2>"$tmp/err"
include Makefile
pages:
	@printf '%s\n' $(notdir $(MAN_PAGES))
MAKE
    (cd "$tmp/man" && echo carm*.1) | tr ' ' '\n' | sort | cmp - "$tmp/out" >"$tmp/err" 2>&1
    ok "make knows the same pages"
else
    skip "make knows the same pages" "no make, or no Makefile"
fi

# ---- what a page holds ---------------------------------------------------------------------------

# whole PROGRAM COMMAND [SUB-COMMAND]: the page has each option of the help; of a sub-command, its part
whole() {
    program=$1
    shift
    "$program" --man "$1" >"$tmp/page" 2>"$tmp/err"
    if [ $# -eq 2 ]; then
        sed -n "/^\.Ss carm $1 $2\$/,/^\.S[sh] /p" "$tmp/page" >"$tmp/part"
        mv "$tmp/part" "$tmp/page"
    fi
    "$carm" "$@" --help | sed -nE 's/^  (-.,|   ) --([a-z-]*).*/\2/p' >"$tmp/names"
    while read -r o; do
        grep -qE "Fl .-$o( |\$)" "$tmp/page" || { echo "$*: no --$o" >"$tmp/out"; return 1; }
    done <"$tmp/names"
    [ -s "$tmp/names" ]
}
good=0
while read -r c; do
    "$carm" "$c" --help | sed -n '/^sub-commands:/,/^$/s/^  \([a-z][a-z]*\)  *[a-z].*/\1/p' >"$tmp/subs"
    if [ -s "$tmp/subs" ]; then
        while read -r s; do whole "$carm" "$c" "$s" || good=1; done <"$tmp/subs"
    else
        whole "$carm" "$c" || good=1
    fi
done <"$tmp/commands"
[ $good -eq 0 ]
ok "each page has all options of the command's help"
cat >"$tmp/fake" <<FAKE
#!/bin/sh
'$carm' "\$@" | sed '/Fl .-budget/d'
FAKE
chmod +x "$tmp/fake"
! whole "$tmp/fake" build && ! whole "$tmp/fake" study classes && whole "$tmp/fake" fleet show
ok "... planted: pages without --budget"
good=0
for page in "$tmp"/man/*.1; do
    for part in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" "SEE ALSO"; do
        grep -q "^\.Sh $part\$" "$page" || good=1
    done
done
for part in ENVIRONMENT FILES; do grep -q "^\.Sh $part\$" "$tmp/man/carm.1" || good=1; done
[ $good -eq 0 ]
ok "the usual sections are there"
grep -q '^that of the program: 128' "$tmp/man/carm-run.1" && grep -q 'with .-.-fail.-under a point' "$tmp/man/carm-place.1" &&
    "$carm" run --help | grep -q '^Exit status: that of the program' && ! "$carm" build --help | grep -q '^Exit status'
ok "exit statuses of a command's own are on its page and in its help"
grep -q '^\.Xr carm-show 1' "$tmp/man/carm-build.1" && ! grep -q '^\.Xr carm-build 1' "$tmp/man/carm-build.1"
ok "a page refers to the commands that it names, not to itself"

# Variables of the program's sources are in carm(1).
(cd "$top" && grep -rhoE 'getenv\("CARM_[A-Z_]*"\)|"CARM_[A-Z]*_LIBRARY"' --include='*.c' \
    base asm harness models kernels validation plots cli) | grep -oE 'CARM_[A-Z_]*' | sort -u >"$tmp/variables"
sed -n 's/^\.It Ev \(CARM_.*\)/\1/p' "$tmp/man/carm.1" | sort | cmp - "$tmp/variables" >"$tmp/out" 2>"$tmp/err"
ok "carm(1) has every variable that carm and libcarm read"

refuses "a page of no command" 2 "there is no man page 'bild': give a command" --man bild
refuses "a page of two words" 2 "there is no man page 'study gemm'" --man study gemm

if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$tmp"/man/*.1 >"$tmp/out" 2>"$tmp/err"
    ok "the man pages are clean mdoc"
    printf '.Xr carm 1\n\n' | cat "$tmp/man/carm.1" - >"$tmp/bad.1"
    ! mandoc -T lint -W warning "$tmp/bad.1" >"$tmp/out" 2>"$tmp/err"
    ok "... planted: a blank line"
else
    skip "the man pages are clean mdoc" "no mandoc"
fi
if command -v groff >/dev/null; then
    for page in "$tmp"/man/*.1; do groff -ww -mdoc -Tutf8 "$page"; done >"$tmp/out" 2>"$tmp/err"
    [ ! -s "$tmp/err" ]
    ok "... and groff has nothing to say"
else
    skip "... and groff has nothing to say" "no groff"
fi
# ---- one letter, one name ------------------------------------------------------------------------

# The lines "-l --long" of all help texts that give one letter two names.
ambiguous() {
    sed -n 's/^  -\([a-zA-Z]\), --\([a-z-]*\).*/\1 \2/p' | sort -u | cut -d ' ' -f 1 | uniq -d
}
while read -r c; do
    for sub in '' build show report gemm classes dwarfs; do
        # shellcheck disable=SC2086 # no sub-command is no word
        "$carm" "$c" $sub --help 2>/dev/null
    done
done <"$tmp/commands" >"$tmp/help"
[ -z "$(ambiguous <"$tmp/help")" ] && [ "$(printf '  -q, --quick  x\n  -q, --quiet  x\n' | ambiguous)" = q ]
ok "a letter is the same option in every command"
[ "$("$carm" --help | grep -c '%h becomes')" -eq 1 ] && ! grep -q '%h becomes' "$tmp/help"
ok "how names of output files are written is said once"

finish
