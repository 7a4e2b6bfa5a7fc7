#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs ./setup on a bare system: builds a minimal Debian in a temporary folder, puts this checkout
# there and sets it up inside. Not part of make check: it needs root, debootstrap and the network.
#
#   tests/chroot_setup.sh [-w] [-c] [-u | -s] [WORD...]
#
# WORD... goes to ./setup (demo unless given). The last commit is copied; with -w, the working tree.
# -c  within the limits of a default container: Docker's seccomp profile (tests/forbid.c), capabilities and
#     devices, 64 MB of /dev/shm; moreover no pages of 2 MiB and no /sys/kernel
# -u  as an ordinary user without sudo, for whom root has installed the packages before
# -s  as an ordinary user with sudo
# SUITE  bookworm (unless given), trixie, noble or another release. Packages come from where this machine's own
#        apt gets that release, else from MIRROR, else from the distribution's own. Ubuntu's archive key is in
#        the package ubuntu-keyring of Debian 13 and of Ubuntu.
#
# All mounts are made in a mount namespace of their own, which this script never enters: they cannot
# outlive the processes in there, and removing the folder cannot reach through them.
# shellcheck disable=SC2016,SC2086,SC2317 # words of a filter; text for other programs; traps call functions
set -euo pipefail

die() {
    printf 'chroot_setup: %s\n' "$*" >&2
    exit 1
}

# Runs in namespaces of its own: mounts, then runs a command in the new root $1, in /source.
# $2  empty, or tests/forbid.c compiled: a container's limits, which are Docker's
inside() {
    local root=$1 forbid=$2 enter=()
    shift 2
    mount --bind "$root" "$root" # / is a mount point, as everywhere: unshare --mount needs it
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    if [ -z "$forbid" ]; then
        mount --rbind /dev "$root/dev"
    else
        mount -o remount,bind,ro "$root/sys"
        mount -t tmpfs -o size=4k,ro none "$root/sys/kernel"
        mount --bind "$root/proc/sys" "$root/proc/sys"
        mount -o remount,bind,ro "$root/proc/sys"
        mount -t tmpfs -o mode=755 none "$root/dev"
        cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty "$root/dev"
        mkdir "$root/dev/pts" "$root/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
        mount -t tmpfs -o size=64m,mode=1777 shm "$root/dev/shm"
        ln -s pts/ptmx "$root/dev/ptmx"
        ln -s /proc/self/fd "$root/dev/fd"
        for i in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${i%:*}" "$root/dev/${i#*:}"; done
        # the filter before the capability that sets it is gone: set-user-id programs work, sudo is one
        enter=("$forbid" container -- setpriv --bounding-set="-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap")
    fi
    # The first process of a PID namespace ignores signals that it has no handler for.
    trap 'exit 130' INT TERM
    env -i HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        "${enter[@]}" chroot "$root" /bin/sh -c 'cd /source && exec "$@"' sh "$@"
}

if [ "${1-}" = --inside ]; then
    shift
    inside "$@"
    exit
fi

worktree='' container='' user=''
while getopts wcus option; do
    case $option in
    w) worktree=1 ;;
    c) container=1 ;;
    u) user=plain ;;
    s) user=sudo ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- demo
suite=${SUITE:-bookworm}

[ "$(id -u)" = 0 ] || die 'needs root.'
for tool in debootstrap unshare apt-get tar; do
    command -v "$tool" >/dev/null || die "needs $tool; install it."
done
cd "$(dirname "$0")/.."

# Where this machine's apt gets the release and its updates: lines of "URI RELEASE COMPONENT"
format='$(REPO_URI) $(RELEASE) $(COMPONENT)'
sources=$(apt-get indextargets --no-release-info --format "$format" 'Created-By: Packages' |
    awk -v s="$suite" '$2 == s || index($2, s "-") == 1' | sort -u)
mirror=$(awk -v s="$suite" '$2 == s && $3 == "main" { print $1; exit }' <<<"$sources")
script=/usr/share/debootstrap/scripts/$suite
case $suite in
noble | jammy | oracular | plucky | questing | resolute)
    keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    package=ubuntu-keyring
    usual=http://archive.ubuntu.com/ubuntu
    components='main universe'
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/gutsy # all later ones of Ubuntu are links to it
    ;;
*)
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    package=debian-archive-keyring
    usual=http://deb.debian.org/debian
    components=main
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
    ;;
esac
[ -r "$keyring" ] || die "$keyring is missing: install the package $package (Debian 13 has it)."
if [ -z "$mirror" ]; then # this machine's apt does not know the release
    mirror=${MIRROR:-$usual}
    sources=$(for component in $components; do
        printf '%s %s %s\n%s %s-updates %s\n' "$mirror" "$suite" "$component" "$mirror" "$suite" "$component"
    done)
fi
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[ -z "${http_proxy-}" ] || export http_proxy
[ -z "${https_proxy-}" ] || export https_proxy

forbid=
root=$(mktemp -d /tmp/carm-chroot.XXXXXX)
chmod 755 "$root" # a root that only root may enter would break what runs as nobody
self=$PWD/tests/chroot_setup.sh
in_chroot() {
    unshare --mount --pid --fork --kill-child "$self" --inside "$root" "$forbid" "$@"
}
cleanup() {
    if grep -qF " $root/" /proc/self/mounts; then
        printf 'chroot_setup: %s still has mounts in it; not removed.\n' "$root" >&2
        return
    fi
    rm -rf --one-file-system "$root" ${forbid:+"$forbid"}
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

printf 'chroot_setup: making a bare %s ...\n' "$suite"
# debootstrap mounts /proc itself for a while.
if ! out=$(unshare --mount debootstrap --variant=minbase --keyring="$keyring" \
    "$suite" "$root" "$mirror" "$script" 2>&1); then
    tail -n 20 <<<"$out" >&2
    die 'debootstrap failed; its last lines are above.'
fi

# apt inside as apt outside: sources, proxies and the like, keys, certificates
awk '{ print "deb", $0 }' <<<"$sources" >"$root/etc/apt/sources.list"
(umask 077 && apt-config dump | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/99host")
for path in /etc/apt/trusted.gpg.d /etc/apt/keyrings /usr/share/keyrings; do
    [ ! -d $path ] || { mkdir -p "$root$path" && cp -rLn $path/. "$root$path/"; }
done
certificates=/etc/ssl/certs/ca-certificates.crt
[ ! -r $certificates ] || install -D -m 644 $certificates "$root$certificates"
for path in /etc/resolv.conf /etc/hosts; do
    rm -f "$root$path"
    cp -L $path "$root$path"
done

for tool in gcc cc make nasm pkg-config gnuplot python3; do
    [ ! -e "$root/usr/bin/$tool" ] || die "the new system is not bare: it has $tool already."
done
printf 'chroot_setup: bare %s made: %s packages, no compiler, no make.\n' "$suite" \
    "$(chroot "$root" dpkg-query -f '.\n' -W | wc -l)"

mkdir "$root/source"
if [ -n "$worktree" ]; then
    tar -c --exclude=./.git --exclude=./build --exclude='./build-*' . | tar -x -C "$root/source"
else
    git archive HEAD | tar -x -C "$root/source" ||
        die 'git archive failed; -w takes the working tree.'
fi

as=()
if [ -n "$user" ]; then
    [ "$user" = sudo ] || in_chroot ./setup deps "$1" || die 'root could not install the packages.'
    chroot "$root" useradd -m someone
    chroot "$root" chown -R someone /source
    if [ "$user" = sudo ]; then
        in_chroot sh -c 'apt-get update && apt-get install -y --no-install-recommends sudo' >/dev/null ||
            die 'sudo could not be installed.'
        echo 'someone ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/someone"
    fi
    as=(runuser -u someone --)
fi
if [ -n "$container" ]; then
    forbid=$(mktemp /tmp/carm-forbid.XXXXXX)
    cc -o "$forbid" tests/forbid.c || die '-c needs a C compiler here.'
fi
printf 'chroot_setup: %s./setup %s\n' "${as[*]+${as[*]} }" "$*"
start=$SECONDS
status=0
in_chroot "${as[@]}" ./setup "$@" || status=$?
printf 'chroot_setup: ./setup %s ended with %d after %d s.\n' "$*" $status $((SECONDS - start))

# What it was to bring: tools, and libraries that a program compiles, links and runs with
tools='make nasm gnuplot'
libraries='hwloc gsl jansson'
probe='#include <hwloc.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_version.h>
#include <jansson.h>
#include <Zydis/Zydis.h>
#include <stdio.h>
int main(void) {
    printf("hwloc %x, GSL %s, jansson %s, Zydis %llx\n", hwloc_get_api_version(),
           gsl_version, json_object() ? JANSSON_VERSION : "",
           (unsigned long long)ZydisGetVersion());
    return 0;
}'
case " $* " in
*' check '* | ' deps ')
    tools="$tools mandoc objdump python3"
    libraries="$libraries cmocka"
    probe="#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
$probe"
    in_chroot python3 -c 'import jsonschema' || die 'python3 has no jsonschema.'
    ;;
esac
for tool in $tools; do
    in_chroot which "$tool" >/dev/null || die "$tool is not there."
done
in_chroot sh -c '
    libraries=$(pkg-config --cflags --libs '"$libraries"') || exit 1
    gcc -x c -o /tmp/probe - $libraries -lZydis && /tmp/probe' <<<"$probe" ||
    die 'a program that uses the libraries does not compile, link or run.'
in_chroot gnuplot -e 'set term pngcairo font "DejaVu Sans"; set output "/tmp/x.png"; plot x' ||
    die 'gnuplot draws no PNG.'
printf 'chroot_setup: tools and libraries work; %s packages now.\n' \
    "$(chroot "$root" dpkg-query -f '.\n' -W | wc -l)"
exit $status
