#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# python/carm.py: against the command row by row, its tutorial, and its installation. Prints TAP. CARM = the
# program, CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
CARM=$carm
export CARM

# Debian's, which has Debian's packages
python=/usr/bin/python3
[ -x $python ] || python=python3
if ! command -v $python >/dev/null; then
    echo "1..0 # SKIP no python3"
    exit 0
fi
$python "$top/tests/python/carm_check.py" "$top" >"$tmp/all" 2>"$tmp/err"
while IFS= read -r line; do
    name=$(expr "$line" : '[a-z ]* [0-9]* - \(.*\)') # before the verdict: a command substitution sets $?
    case $line in
    "ok "*"# SKIP"*) skip "${name%% # SKIP *}" "${line##*# SKIP }" ;;
    "ok "*) true; ok "$name" ;;
    "not ok "*) false; ok "$name" ;;
    "#"*) echo "$line" ;;
    esac
done <"$tmp/all"
[ "$(grep -c '^\(not \)\{0,1\}ok ' "$tmp/all")" -eq 17 ]
ok "all of carm_check.py ran"
# ten times 1000 multiplications and additions, and no other work on floating-point numbers
if ldd "${carm%/*}/libcarm.so.0" 2>/dev/null | grep -q libasan; then
    skip "the example's region is counted exactly" "Python does not load a libcarm under sanitizers"
else
    (cd "$tmp" && PYTHONPATH=$top/python "$carm" run -q --regions --counters translate -o "$tmp/region.csv" -- \
        $python "$top/docs/examples/region.py") >"$tmp/out" 2>"$tmp/err" &&
        [ "$(grep -c . "$tmp/region.csv")" -eq 2 ] && grep -q '^axpy,20000,' "$tmp/region.csv"
    ok "the example's region is counted exactly"
fi
[ "$(PYTHONPATH=$top/python $python "$top/docs/examples/region.py")" = 17.0 ] &&
    ! env PYTHONPATH="$top/python" CARM_OUT="$tmp/none.csv" $python -c 'import carm
def fails(path):
    raise OSError(path)
carm.ctypes.CDLL = fails
with carm.region("x"): pass' 2>"$tmp/err" && grep -q 'libcarm.so.0 was not found: ' "$tmp/err"
ok "... nothing happens without CARM_OUT; a missing library is named"
# installed PYTHON: the module that it imports is the one of this version
version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
installed() {
    [ "$(cd "$tmp" && "$@" -c 'import carm; carm.Roofs; print(carm.__version__)' 2>"$tmp/err")" = "$version" ]
}
cp -r "$top/python" "$tmp/source"
if $python -c 'import setuptools, wheel, pip' 2>/dev/null; then
    $python -m pip install -q --no-index --no-build-isolation --no-deps --target "$tmp/site" "$tmp/source" \
        >"$tmp/out" 2>"$tmp/err" && installed env PYTHONPATH="$tmp/site" $python
    ok "pip install --no-build-isolation ./python"
else
    skip "pip install --no-build-isolation ./python" "no python3-pip, python3-setuptools and python3-wheel"
fi
# What pip fetches to build comes from Debian's folder of wheels instead: setuptools, and wheel where it is old.
wheels=/usr/share/python-wheels
if ! $python -m venv "$tmp/venv" >"$tmp/out" 2>"$tmp/err"; then
    skip "pip install ./python in a fresh venv" "no python3-venv"
elif [ -z "$(find $wheels -name 'setuptools-*' 2>/dev/null)" ] || [ -z "$(find $wheels -name 'wheel-*')" ]; then
    skip "pip install ./python in a fresh venv" "no python3-setuptools-whl and python3-wheel-whl"
else
    "$tmp/venv/bin/pip" install -q --no-index --find-links $wheels "$tmp/source" >"$tmp/out" 2>"$tmp/err" &&
        installed "$tmp/venv/bin/python" && "$tmp/venv/bin/pip" list 2>/dev/null | grep -q "^carm  *$version\$"
    ok "pip install ./python in a fresh venv"
fi

finish
