# SPDX-License-Identifier: GPL-3.0-or-later
# What shell tests have in common; to be sourced: . "${0%/*}/tap.sh". $carm is the program (CARM), $tmp
# an empty folder that goes away at the end.
# shellcheck shell=sh disable=SC2034 # used where this is sourced
carm=${CARM:-build/carm}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/carm-test-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
case $carm in */*) carm=$(cd "$(dirname "$carm")" && pwd)/${carm##*/} ;; esac
LC_ALL=C.UTF-8
export LC_ALL
n=0
failed=0

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

finish() {
    echo "1..$n"
    exit $failed
}
