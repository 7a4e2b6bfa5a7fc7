#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What surrounds the program: the citation, the issue templates, the recipes for Spack. A fault is planted, too. Prints TAP. CARM_TOP = the sources' root.
# shellcheck source=tests/tap.sh
. "${0%/*}/tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
: >"$tmp/out"
: >"$tmp/err"
if ! command -v python3 >/dev/null; then
    echo "1..0 # SKIP no python3"
    exit 0
fi

# ---- citation and templates ----------------------------------------------------------------------

# The rules of the Citation File Format 1.2.0 that concern this file.
cat >"$tmp/cff.py" <<'PY'
import re, sys, yaml
c = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
assert c["cff-version"] == "1.2.0" and c["type"] == "software" and c["message"] and c["title"] == "carm"
assert isinstance(c["version"], str) and c["license"] == "GPL-3.0-or-later"
assert set(c) <= {"cff-version", "message", "type", "title", "abstract", "version", "license", "keywords", "authors", "references"}
for one in [c, *c["references"]]:
    assert one["title"] and one["authors"]
    for a in one["authors"]:
        assert set(a) <= {"name"} or set(a) <= {"family-names", "given-names"}, a
assert len(c["references"]) == 2
for r in c["references"]:
    assert r["type"] == "article" and isinstance(r["year"], int) and isinstance(r["journal"], str), r
    assert re.fullmatch(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+", r["doi"]), r["doi"]
    assert set(r) <= {"type", "title", "authors", "journal", "volume", "issue", "start", "end", "year", "doi"}, set(r)
PY
if python3 -c 'import yaml' 2>/dev/null; then
    python3 "$tmp/cff.py" "$top/CITATION.cff" >"$tmp/out" 2>"$tmp/err"
    ok "CITATION.cff has both papers and follows its format"
    sed 's/doi: 10/doi: doi.org\/10/' "$top/CITATION.cff" >"$tmp/bad.cff"
    ! python3 "$tmp/cff.py" "$tmp/bad.cff" >"$tmp/out" 2>"$tmp/err"
    ok "... planted: a link in the place of a DOI"
else
    skip "CITATION.cff has both papers and follows its format" "no python3-yaml"
fi
good=0
for t in wrong-number wrong-sentence cannot-build; do
    f=$top/.github/ISSUE_TEMPLATE/$t.md
    for text in 'name: ' 'about: ' 'carm --version' 'carm info' 'carm show --share model.json'; do
        grep -q -- "$text" "$f" || { echo "$t: no $text" >>"$tmp/out"; good=1; }
    done
done
[ $good -eq 0 ]
ok "each issue template asks for version, machine and model"

# ---- Spack ---------------------------------------------------------------------------------------

# A stand-in for Spack: executes a recipe and prints what it would give to make or cmake.
mkdir -p "$tmp/spack/spack"
: >"$tmp/spack/spack/__init__.py"
cat >"$tmp/spack/spack/package.py" <<'PY'
import os
def _note(*args, **kwargs):
    pass
license = variant = requires = version = _note
dependencies = []
def depends_on(spec, **kwargs):
    dependencies.append(spec)
def join_path(*parts):
    return os.path.join(*parts)
class CMakePackage:
    def define(self, name, value):
        return f"-D{name}={value}"
class MakefilePackage:
    prefix = "/opt/carm"
    class spec:
        variants = {"d3": type("Variant", (), {"value": "/d3.min.js"})}
        def satisfies(text):
            return False
PY
cat >"$tmp/recipe.py" <<'PY'
import runpy, sys
import spack.package
recipe = runpy.run_path(sys.argv[1])
made = recipe[sys.argv[2]]()
assert made.git.startswith(("file:///", "https://")), made.git
words = made.cmake_args() if hasattr(made, "cmake_args") else made.install_targets
print(*words)
print(*spack.package.dependencies, file=sys.stderr)
PY
recipe() {
    env -u CARM_REPOSITORY PYTHONPATH="$tmp/spack" PYTHONDONTWRITEBYTECODE=1 python3 "$tmp/recipe.py" \
        "$top/packaging/spack/packages/$1/package.py" "$2" >"$tmp/words" 2>"$tmp/err"
}
recipe zydis Zydis && grep -q -- -DZYDIS_BUILD_SHARED_LIB=True "$tmp/words"
ok "Spack's recipe of Zydis runs"
recipe carm Carm && grep -q '^install ' "$tmp/words"
ok "Spack's recipe of carm runs"
cp "$tmp/err" "$tmp/dependencies"
# what pkg-config is asked for, under Spack's names
good=0
sed -n 's/^PACKAGES := //p' "$top/Makefile" | tr ' ' '\n' >"$tmp/packages"
while read -r p; do
    case $p in yaml-0.1) p=libyaml ;; libdw) p=elfutils ;; libzstd) p=zstd ;; esac
    grep -qE "(^| )$p([@ ]|\$)" "$tmp/dependencies" || { echo "no $p" >>"$tmp/out"; good=1; }
done <"$tmp/packages"
[ $good -eq 0 ] && [ -s "$tmp/packages" ]
ok "... and depends on every library that make asks pkg-config for"
if command -v make >/dev/null; then
    # shellcheck disable=SC2046 # words
    make -n -C "$top" $(cat "$tmp/words") >"$tmp/out" 2>"$tmp/err" &&
        grep -q '/opt/carm/bin' "$tmp/out" && grep -q '/opt/carm/share/carm/python/carm.py' "$tmp/out"
    ok "... and make install takes its arguments"
else
    skip "... and make install takes its arguments" "no make"
fi
finish
