# SPDX-License-Identifier: GPL-3.0-or-later
# What shell tests have in common; to be sourced: . "${0%/*}/tap.sh". $carm is the program (CARM), $tmp
# an empty folder that goes away at the end.
# shellcheck shell=sh disable=SC2034,SC2154 # used, or set, where this is sourced
carm=${CARM:-build/carm}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/carm-test-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
case $carm in */*) carm=$(cd "$(dirname "$carm")" && pwd)/${carm##*/} ;; esac
LC_ALL=C.UTF-8
export LC_ALL
export CARM_KEEP_CODE=0 # no code of an earlier run
n=0
failed=0
reports=0 # of carm run

# ok NAME: the last command's result is the test's; what it printed into $tmp/out and err is shown
ok() {
    if [ $? -eq 0 ]; then verdict=ok; else verdict='not ok'; failed=1; fi
    n=$((n + 1))
    echo "$verdict $n - $1"
    [ "$verdict" = ok ] || sed 's/^/# /' "$tmp/err" "$tmp/out" 2>/dev/null | cut -c1-200 | head -n 40
}

# skip NAME REASON
skip() {
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# run ARGUMENTS...: carm, its output in $tmp/out and $tmp/err; a script may have its own
run() {
    "$carm" "$@" >"$tmp/out" 2>"$tmp/err"
    keep $? "$@"
}

# is_late FILE: in this report of carm run, the answer is behind the first five lines
is_late() {
    grep -qE '^carm: (time |.* explains +gain)' "$1" && ! grep '^carm: ' "$1" | head -n 5 |
        grep -qE '^carm: .*: ([0-9][0-9.e+-]* s|counted, not timed)[,.:]'
}

# keep STATUS COMMAND ARGUMENTS...: keeps a copy of what a command with a schema printed as JSON, and of a report of
# carm run with a late answer, for finish. returns STATUS
keep() {
    ended=$1 command=$2 printed='' last=''
    if [ "$command" = run ]; then
        reports=$((reports + 1))
        is_late "$tmp/err" && cp "$tmp/err" "$tmp/late"
    fi
    case "$command $*" in
    run\ *' --json'* | place\ *' --json'* | compare\ *' --json'*) ;;
    *) return "$ended" ;;
    esac
    for word; do
        case $last$word in
        --json=-) printed=$tmp/out ;;
        --json-) printed=$tmp/out ;;
        --json=*) printed=${word#--json=} ;;
        --json) [ "$command" = run ] || printed=$tmp/out ;;
        --json*) [ "$command" != run ] || printed=$word ;;
        esac
        last=
        [ "$word" = --json ] && last=--json
    done
    if [ "$ended" -ne 2 ] && [ -s "$printed" ]; then
        mkdir -p "$tmp/printed"
        cp "$printed" "$(mktemp "$tmp/printed/$command.XXXXXX")"
    fi
    return "$ended"
}

# said FILE: the lines of this standard error of carm, without its warning that the tests themselves run with nice
said() {
    grep -vxF "carm: warning: carm runs with nice $(nice), so other processes go first: run it without nice, or when \
nothing else runs" "$1"
}

# refuses NAME CODE TEXT ARGUMENTS...: run exits with that code, one line that holds the text, no output
refuses() {
    name=$1 code=$2 text=$3
    shift 3
    run "$@"
    got=$?
    [ $got -eq "$code" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        grep -qF -- "$text" "$tmp/err"
    ok "refuses $name"
}

# golden FILE ARGUMENTS...: standard output of run is that of $data/FILE (UPDATE=1 rewrites it), exit 0, nothing said
golden() {
    want=$data/$1
    shift
    if ! run "$@" || [ -s "$tmp/err" ]; then false; ok "carm $*: exits 0 and is quiet"; return; fi
    if [ "${UPDATE:-}" ]; then cp "$tmp/out" "$want"; fi
    cmp "$want" "$tmp/out" >"$tmp/err" 2>&1
    same=$?
    [ $same -eq 0 ] || diff "$want" "$tmp/out" >>"$tmp/err"
    : >"$tmp/out"
    [ $same -eq 0 ]
    ok "carm $* = ${want##*/}"
}

finish() {
    if [ $reports -gt 0 ]; then
        printf 'carm: no counters work here\ncarm: time   1 s\n' >"$tmp/planted"
        cp "$tmp/late" "$tmp/err" 2>/dev/null || : >"$tmp/err"
        [ ! -e "$tmp/late" ] && is_late "$tmp/planted"
        ok "the answer of each carm run is in its first five lines"
    fi
    if [ -d "$tmp/printed" ] && python3 -c 'import jsonschema' 2>/dev/null; then
        python3 "${CARM_TOP:-.}/tests/schemas.py" "${CARM_TOP:-.}/data" "$tmp"/printed/* >"$tmp/out" 2>"$tmp/err"
        ok "what was printed as JSON follows its schemas"
    elif [ -d "$tmp/printed" ]; then
        skip "what was printed as JSON follows its schemas" "no python3-jsonschema"
    fi
    echo "1..$n"
    exit $failed
}
