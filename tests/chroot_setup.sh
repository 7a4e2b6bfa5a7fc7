#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs ./setup on a bare system: builds a minimal Debian in a temporary folder, puts this checkout
# there and sets it up inside. Not part of make check: it needs root, debootstrap and the network.
#
#   tests/chroot_setup.sh [-w] [WORD...]
#
# WORD... goes to ./setup (demo unless given). The last commit is copied; with -w, the working tree.
# Packages come from where this machine's own apt gets them. SUITE chooses another release than
# bookworm, which this machine's apt must know.
#
# All mounts are made in a mount namespace of their own, which this script never enters: they cannot
# outlive the processes in there, and removing the folder cannot reach through them.
# shellcheck disable=SC2016,SC2317 # text for other programs; traps call functions
set -euo pipefail

die() {
    printf 'chroot_setup: %s\n' "$*" >&2
    exit 1
}

# Runs in namespaces of its own: mounts, then runs a command in the new root $1, in /carm.
inside() {
    local root=$1
    shift
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    # The first process of a PID namespace ignores signals that it has no handler for.
    trap 'exit 130' INT TERM
    env -i HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$root" /bin/sh -c 'cd /carm && exec "$@"' sh "$@"
}

if [ "${1-}" = --inside ]; then
    shift
    inside "$@"
    exit
fi

worktree=
if [ "${1-}" = -w ]; then
    worktree=1
    shift
fi
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
[ -n "$mirror" ] || die "this machine's apt has no source for $suite; name another with SUITE=."
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[ -z "${http_proxy-}" ] || export http_proxy
[ -z "${https_proxy-}" ] || export https_proxy

root=$(mktemp -d /tmp/carm-chroot.XXXXXX)
chmod 755 "$root" # a root that only root may enter would break what runs as nobody
self=$PWD/tests/chroot_setup.sh
in_chroot() {
    unshare --mount --pid --fork --kill-child "$self" --inside "$root" "$@"
}
cleanup() {
    if grep -qF " $root/" /proc/self/mounts; then
        printf 'chroot_setup: %s still has mounts in it; not removed.\n' "$root" >&2
        return
    fi
    rm -rf --one-file-system "$root"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

printf 'chroot_setup: making a bare %s ...\n' "$suite"
# debootstrap mounts /proc itself for a while.
if ! out=$(unshare --mount debootstrap --variant=minbase "$suite" "$root" "$mirror" 2>&1); then
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

mkdir "$root/carm"
if [ -n "$worktree" ]; then
    tar -c --exclude=./.git --exclude=./build --exclude='./build-*' . | tar -x -C "$root/carm"
else
    git archive HEAD | tar -x -C "$root/carm" ||
        die 'git archive failed; -w takes the working tree.'
fi

printf 'chroot_setup: ./setup %s\n' "$*"
start=$SECONDS
status=0
in_chroot ./setup "$@" || status=$?
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
