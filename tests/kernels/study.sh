# SPDX-License-Identifier: GPL-3.0-or-later
# What tests of carm study have in common; to be sourced after $kind and $seconds are set, the study
# and how long it may take: a folder of their own for the model, study and refuses.
# shellcheck shell=sh disable=SC2154 # kind and seconds: set where this is sourced
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
cd "$tmp" || exit 1
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME

study() {
    timeout "$seconds" "$carm" study "$kind" "$@" >out 2>err </dev/null
}

# refuses NAME STATUS PATTERN ARGUMENTS...: that exit status, no output, one line that matches
refuses() {
    name=$1 status=$2 pattern=$3
    shift 3
    study "$@"
    [ $? -eq "$status" ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
        grep -qE -- "^carm: $pattern" err
    ok "refuses $name"
}
