#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make distcheck: dist.sh carm-VERSION. Unpacks the tarball twice, builds it without git in a folder of the sources and in
# one outside them, compares what was built byte for byte, runs a short part of the tests, installs and uninstalls.
set -eu
name=$1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/carm-dist-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
say() {
    echo "distcheck: $*"
}
die() {
    say "$@" >&2
    exit 1
}
# an outer make's variables (B=...) and job server
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
jobs=$(nproc)

two=$tmp/another-folder
mkdir "$tmp/one" "$two"
tar -xzf "$name.tar.gz" -C "$tmp/one"
tar -xzf "$name.tar.gz" -C "$two"
for forbidden in .git build; do
    [ ! -e "$tmp/one/$name/$forbidden" ] || die "the tarball has $forbidden"
done

say 'building in the sources, and outside of them'
make -s -j"$jobs" -C "$tmp/one/$name" >"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log"; die 'make failed'; }
# not from a compiler's cache: what it keeps is equal to itself
CCACHE_DISABLE=1 TZ=Pacific/Auckland LC_ALL=C make -s -j"$jobs" -C "$two/$name" B="$tmp/outside" >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log"; die 'make B=/another/folder failed'; }
[ ! -e "$two/$name/build" ] || die 'make B=/another/folder wrote to build/'
for f in carm libcarm.a libcarm.so.0 carm.bash _carm engine/engine.so engine/preload.so; do
    cmp "$tmp/one/$name/build/$f" "$tmp/outside/$f" || die "two builds differ in $f"
done
for page in "$tmp/outside"/*.1; do
    cmp "$page" "$tmp/one/$name/build/${page##*/}" || die "two builds differ in ${page##*/}"
done
commit=$(cut -c1-12 "$tmp/one/$name/.commit")
[ "$("$tmp/outside/carm" --version)" = "carm ${name#carm-} ($commit)" ] || die "carm --version does not name $commit"
say 'both builds are equal byte for byte'

say 'installing into DESTDIR'
make -s -C "$two/$name" B="$tmp/outside" DESTDIR="$tmp/root" prefix=/usr install >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log"; die 'make install failed'; }
# the installed program needs nothing of the sources
(
    cd "$tmp/root"
    ./usr/bin/carm --version
    ./usr/bin/carm show --list >/dev/null
    ./usr/bin/carm asm --account A.avx2.dp.2:1.u4 >/dev/null
)
make -s -C "$two/$name" B="$tmp/outside" DESTDIR="$tmp/root" prefix=/usr uninstall
left=$(find "$tmp/root" ! -type d)
[ -z "$left" ] || die "make uninstall leaves: $left"

say 'a short part of the tests'
make -s -j"$jobs" -C "$tmp/one/$name" check-short >"$tmp/log" 2>&1 || { tail -n 40 "$tmp/log"; die 'make check-short failed'; }
tail -n 1 "$tmp/log"
# a package's build begins with it
make -s -C "$tmp/one/$name" distclean || die 'make distclean failed'
[ ! -e "$tmp/one/$name/build" ] || die 'make distclean leaves build/'
say "$name.tar.gz is ready: $(wc -c <"$name.tar.gz") bytes, sha256 $(sha256sum <"$name.tar.gz" | cut -c1-64)"
