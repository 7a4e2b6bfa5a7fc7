#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# rsh for tests: fleet_rsh.sh HOST COMMAND... runs the command on this machine as on a node of that name:
# in namespaces with a host name of their own, and with memory file systems of their own where a node has
# them, so that what processes of one node agree upon there is not that of another. Hosts twin1, twin2,
# ... all call themselves twin.
host=$1
shift
case $host in twin*) host=twin ;; esac
if [ "$(id -u)" = 0 ]; then user=; else user=--map-root-user; fi
# shellcheck disable=SC2086,SC2016 # one word or none; the inner shell's
exec unshare $user --uts --mount sh -c '
    hostname "$1" && shift || exit 1
    for folder in /run/lock /dev/shm; do
        [ ! -d "$folder" ] || mount -t tmpfs -o mode=1777 none "$folder" || exit 1
    done
    [ ! -d /dev/shm ] || export TMPDIR=/dev/shm # of the daemon itself
    case $* in
    *\;*) eval "$*" ;; # Open MPI 5: variables, then the daemon
    *) eval "exec $*" ;;
    esac' sh "$host" "$@"
