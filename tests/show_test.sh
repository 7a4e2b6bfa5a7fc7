#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Golden tests of carm show and carm plot on tests/data/sample-model.json. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the golden files are rewritten.
carm=${CARM:-build/carm}
top=${CARM_TOP:-.}
data=$top/tests/data
model=$data/sample-model.json
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
case $carm in */*) carm=$(cd "$(dirname "$carm")" && pwd)/${carm##*/} ;; esac
unset NO_COLOR XDG_DATA_HOME
LC_ALL=C.UTF-8
export LC_ALL
n=0
failed=0

# ok NAME: the last command's result is the test's
ok() {
    if [ $? -eq 0 ]; then verdict=ok; else verdict='not ok'; failed=1; fi
    n=$((n + 1))
    echo "$verdict $n - $1"
    [ "$verdict" = ok ] || sed 's/^/# /' "$tmp/out" "$tmp/err" 2>/dev/null | head -n 40
}

skip() {
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

run() {
    "$carm" "$@" >"$tmp/out" 2>"$tmp/err"
}

# golden FILE ARGUMENTS...: standard output is the file's, exit 0, nothing said
golden() {
    want=$data/$1
    shift
    if ! run "$@"; then false; ok "carm $*: exits 0"; return; fi
    if [ "${UPDATE:-}" ]; then cp "$tmp/out" "$want"; fi
    cmp "$want" "$tmp/out" >"$tmp/err" 2>&1
    same=$?
    [ $same -eq 0 ] || diff "$want" "$tmp/out" >>"$tmp/err"
    : >"$tmp/out"
    [ $same -eq 0 ]
    ok "carm $* = ${want##*/}"
}

# refuses NAME CODE TEXT ARGUMENTS...: that exit code, one line that holds the text, no output
refuses() {
    name=$1 code=$2 text=$3
    shift 3
    run "$@"
    got=$?
    [ $got -eq "$code" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        grep -qF -- "$text" "$tmp/err"
    ok "refuses $name"
}

golden show.txt show "$model"
golden show-ascii.txt show --ascii "$model"
golden show-threads1.txt show --threads 1 --isa avx512 --no-plot "$model"

LC_ALL=C run show "$model" && cmp -s "$data/show-ascii.txt" "$tmp/out"
ok "show is ASCII where the locale has no UTF-8"

run show --json "$model" && cmp -s "$model" "$tmp/out"
ok "show --json prints the file"

run show "$model" && ! grep -q "$(printf '\033')" "$tmp/out"
ok "show has no colour outside a terminal"

run show --no-plot "$model" && ! grep -q 'operational intensity' "$tmp/out"
ok "show --no-plot draws nothing"

run show --ascii "$model" && [ "$(tail -n 23 "$tmp/out" | awk 'length > 80' | wc -l)" -eq 0 ] &&
    [ "$(tail -n 23 "$tmp/out" | head -n 1)" = 'avx512 dp, 2 threads, 2:1 loads to stores' ]
ok "the roofline fits 80 columns and 24 rows"

mkdir -p "$tmp/data/carm" && cp "$model" "$tmp/data/carm/$(uname -n).json"
XDG_DATA_HOME=$tmp/data run show && cmp -s "$data/show.txt" "$tmp/out"
ok "show takes this host's model from XDG_DATA_HOME"

refuses "a model that is not there" 1 "carm build" show "$tmp/none.json"
refuses "a cut model" 1 "the file ends too early" show /dev/null
refuses "threads the model lacks" 1 "the model has avx512 with 1 thread, avx512 with 2 threads" \
    show --threads 3 "$model"
refuses "threads that are no number" 2 "--threads" show --threads 1,x "$model"
refuses "an ISA the model lacks" 1 "avx512 with 1 thread" show --isa sse "$model"
refuses "an empty ISA" 2 "--isa" show --isa avx2, "$model"
refuses "--json with other options" 2 "--json" show --json --ascii "$model"

# Terminal escapes, C1 controls and right-to-left overrides in a model's strings.
sed 's/"Sample CPU[^"]*"/"\\u001b[2J\xc2\x9b31m\xe2\x80\xaeevil"/' "$model" >"$tmp/evil.json"
run show "$tmp/evil.json" && grep -qF 'CPU      ?[2J?31m?evil' "$tmp/out" &&
    ! grep -q "$(printf '\033\\|\302\233\\|\342\200\256')" "$tmp/out"
ok "show blanks what could steer a terminal"

if [ -c /dev/full ]; then
    "$carm" show "$model" >/dev/full 2>"$tmp/err"
    [ $? -eq 1 ] && grep -q 'No space left' "$tmp/err"
    ok "show says that its output could not be written"
else
    skip "show says that its output could not be written" "no /dev/full"
fi

refuses "a picture without a name" 2 "-o roofline.svg" plot "$model"
refuses "a picture of an unknown format" 2 ".svg, .png or .pdf" plot "$model" -o "$tmp/p.jpg"
refuses "an unknown kind" 2 "roofline, bandwidth, flops or all" plot "$model" --kind x -o "$tmp/p.svg"
refuses "a script named as a picture" 2 "FILE.gp" plot "$model" --script -o "$tmp/p.svg"

run plot "$model" --script --kind all && grep -q '^set terminal\|set terminal svg' "$tmp/out" &&
    grep -q '"L3 48.9 GB/s"' "$tmp/out" && grep -q '"L3 OS 480 MiB"' "$tmp/out" &&
    grep -q '^|fma, 2 threads$' "$tmp/out" && ! grep -qi 'nan\b.*nan\|[^a-z]inf[^a-z]' "$tmp/out"
ok "plot --script prints the script with its data"

LC_ALL=C PATH=/nonexistent run plot "$model" -o "$tmp/p.svg"
[ $? -eq 1 ] && grep -q 'apt-get install gnuplot-nox' "$tmp/err" && [ ! -e "$tmp/p.svg" ]
ok "plot names the package when gnuplot lacks"

mkdir "$tmp/bin" && printf '#!/bin/sh\necho "line 7: broken" >&2\nexit 3\n' >"$tmp/bin/gnuplot" &&
    chmod +x "$tmp/bin/gnuplot" && echo old >"$tmp/old.svg"
PATH=$tmp/bin:$PATH run plot "$model" -o "$tmp/old.svg"
[ $? -eq 1 ] && grep -q 'gnuplot failed: line 7: broken' "$tmp/err" && [ "$(cat "$tmp/old.svg")" = old ]
ok "plot keeps the old picture when gnuplot fails"

if ! command -v gnuplot >/dev/null; then
    skip "plot draws" "no gnuplot"
    echo "1..$n"
    exit $failed
fi

for kind in roofline bandwidth flops all; do
    run plot "$model" --kind $kind -o "$tmp/$kind.svg" && [ ! -s "$tmp/err" ] &&
        grep -q '</svg>' "$tmp/$kind.svg" && ! grep -q 'NaN\|nan,\|inf,' "$tmp/$kind.svg"
    ok "plot --kind $kind"
done
grep -q 'L1 1.23 TB/s' "$tmp/roofline.svg" && grep -q 'DRAM 20.2 GB/s' "$tmp/roofline.svg" &&
    grep -q 'fma 221 Gflop/s' "$tmp/roofline.svg" && grep -q 'div 6.91 Gflop/s' "$tmp/roofline.svg"
ok "the roofline has its values"
grep -q 'L3 knee 104 MiB' "$tmp/bandwidth.svg" && grep -q 'L3 OS 480 MiB' "$tmp/bandwidth.svg"
ok "the bandwidth plot has knees and OS sizes"

run plot "$model" --script -o "$tmp/all.gp" --kind all &&
    gnuplot -d "$tmp/all.gp" >"$tmp/script.svg" 2>"$tmp/err" && cmp "$tmp/script.svg" "$tmp/all.svg"
ok "a script draws the same picture"

run plot "$model" -o "$tmp/p.png" && [ "$(head -c 4 "$tmp/p.png" | tail -c 3)" = PNG ]
ok "plot writes PNG"
run plot "$model" -o "$tmp/p.pdf" && [ "$(head -c 5 "$tmp/p.pdf")" = %PDF- ]
ok "plot writes PDF"

refuses "an output folder that is a file" 1 "choose another place with -o" \
    plot "$model" -o "$tmp/p.png/x.svg"

# No string of a model or of the command line may become gnuplot code or a shell command.
# shellcheck disable=SC2016 # backticks and $ are the test
evil='`touch '$tmp/pwned'` @format $title " '\'' \\n {/=40 x} <b> # %s'
json=$(printf '%s' "$evil" | sed 's/[\\"]/\\&/g; s/\\/\\\\/g; s/[&|]/\\&/g')
sed "s|\"Sample CPU[^\"]*\"|\"$json\"|; s|\"fma\"|\"f\`touch $tmp/pwned\`'\"|" "$model" >"$tmp/evil.json"
# shellcheck disable=SC2016
run plot "$tmp/evil.json" --kind all -o "$tmp/evil.svg" && [ ! -e "$tmp/pwned" ] &&
    grep -qF '@format $title' "$tmp/evil.svg" && grep -qF '&lt;b' "$tmp/evil.svg"
ok "plot takes a model's strings as text"
# shellcheck disable=SC2016
run plot "$model" --title "$evil
set output '$tmp/pwned'
CARM_END
system('touch $tmp/pwned')" -o "$tmp/evil.svg" && [ ! -e "$tmp/pwned" ] &&
    grep -qF '@format $title' "$tmp/evil.svg"
ok "plot takes the title as text"

echo "1..$n"
exit $failed
