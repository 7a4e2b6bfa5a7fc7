#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Golden tests of carm show and carm plot on tests/data/sample-model.json. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the golden files are rewritten.
# shellcheck source=tests/tap.sh
. "${0%/*}/tap.sh"
top=${CARM_TOP:-.}
data=$top/tests/data
model=$data/sample-model.json
unset NO_COLOR XDG_DATA_HOME

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

# block N NAME: the Nth data block of that name in the script that the last run printed
block() {
    awk -v want="$1" -v name="\$$2 << CARM_END" \
        '$0 == name { n++; on = n == want; next } /^CARM_END/ { on = 0 } on' "$tmp/out"
}

golden show.txt show "$model"
golden show-ascii.txt show --ascii "$model"
golden show-threads1.txt show --threads 1 --isa avx512 --no-plot "$model"

# ---- ceilings: those of tests/data/ceilings.json, put into the set of 2 threads

ceilings() { # FILE: the model with that list of ceilings
    awk -v list="$1" '/"dram_peak": {/ && ++n == 2 {
            printf "   \"ceilings\": "
            while ((getline line <list) > 0) { print line }
            print "   ,"
        } 1' "$model"
}
ceilings "$data/ceilings.json" >"$tmp/c.json"
golden show-ceilings.txt show --ascii --no-plot --threads 2 "$tmp/c.json"

run show --json "$tmp/c.json" && grep -q '"name": "dot no-prefetch"' "$tmp/out"
ok "show --json has the ceilings"

sed 's/"mix"/"mixed"/' "$data/ceilings.json" >"$tmp/list.json" && ceilings "$tmp/list.json" >"$tmp/bad.json"
refuses "an unknown group of ceilings" 1 \
    "roofs[1].ceilings[10].group is wrong: unknown group of ceilings 'mixed': in-core, mix, memory" \
    show "$tmp/bad.json"

sed 's/"jump 2"/"jump\\u001b[2J"/' "$data/ceilings.json" >"$tmp/list.json" &&
    ceilings "$tmp/list.json" >"$tmp/evil.json" && run show "$tmp/evil.json" &&
    grep -qF 'jump?[2J' "$tmp/out" && ! grep -q "$(printf '\033')" "$tmp/out"
ok "show blanks what could steer a terminal in their names"

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
refuses "an unknown kind" 2 "bandwidth, flops, all or validation" plot "$model" --kind x -o "$tmp/p.svg"
refuses "a script named as a picture" 2 "FILE.gp" plot "$model" --script -o "$tmp/p.svg"

run plot "$model" --script --kind all && grep -q '^set terminal\|set terminal svg' "$tmp/out" &&
    grep -q '"L3 48.9 GB/s"' "$tmp/out" && grep -q '"L3 OS 480 MiB"' "$tmp/out" &&
    grep -q '^|fma, 2 threads$' "$tmp/out" && ! grep -qi 'nan\b.*nan\|[^a-z]inf[^a-z]' "$tmp/out"
ok "plot --script prints the script with its data"

# ---- validation: points in blocks of a level each, for both models, and their residuals

points=$data/validation-model.json
run plot "$points" --script --kind validation &&
    [ "$(for i in 1 2 3 4; do block $i points; echo; done | awk -v RS= '{ printf "%d ", split($0, l, "\n") }')" = \
    "29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 " ] &&
    grep -q '^|Cache-aware roofline, avx512 dp fma, 2 threads, 2:1: fitness 96.1%$' "$tmp/out" &&
    grep -q '^|Original roofline, DRAM 27.11 GB/s: fitness 5.6%$' "$tmp/out" &&
    [ "$(block 1 names | tr '\n' ' ')" = "|L1 95.4% |L2 95.6% |L3 96.4% |DRAM 97.6% |disturbed " ]
ok "plot --kind validation has each level's points and fitness"

# a slope is bandwidth x intensity, from the left end to the peak
{ block 1 slopes; echo; block 2 slopes; } | awk -v RS= '
    BEGIN { split("1232.92272 461.555857 48.9383464 20.1792828 27.1068", b); peak = 220.86617 }
    { bad += ($2 / $1 / b[NR] - 1) ^ 2 > 1e-9 || ($4 / $3 / b[NR] - 1) ^ 2 > 1e-9 ||
             ($4 / peak - 1) ^ 2 > 1e-12 }
    END { exit bad || NR != 5 }' &&
    [ "$(block 1 peak | awk '{ print $2 }' | uniq | tr '\n' ' ')" = "220.86617 " ]
ok "... under the model's roofs"

# rms NUMBER...: the root mean squares of the residuals, L1 first, that the file's scores have
rms() {
    block "$1" points | awk -v RS= -v want="$2" '{
            n = split($0, l, "\n"); sum = 0
            for (i = 1; i <= n; i++) { split(l[i], f, " "); sum += (f[2] / 100) ^ 2 }
            got = sqrt(sum / n); split(want, w, " ")
            bad += (got / w[NR] - 1) ^ 2 > 1e-9
        }
        END { exit bad || NR != 4 }'
}
scores() { # MODEL
    grep "\"threads\": 2, \"model\": \"$1\", \"level\": \"[LD]" "$points" |
        sed 's/.*"rrmse_model": \([^,]*\),.*/\1/' | tr '\n' ' '
}
rms 2 "$(scores cache-aware)" && rms 4 "$(scores original)"
ok "... and the residuals give the file's rRMSE"

run plot "$points" --script --kind validation --threads 1 &&
    [ "$(block 1 points | awk -v RS= '{ printf "%d ", split($0, l, "\n") }')" = "5 5 5 5 " ] &&
    grep -q '1 thread, 2:1: fitness' "$tmp/out" && [ "$(block 1 names | wc -l)" -eq 4 ]
ok "... of the threads that were named"

sed 's/"dram_peak"/"old"/; /"level": "L3"/,/"resolved"/s/"resolved": true/"resolved": false/' "$points" >"$tmp/v.json"
run plot "$tmp/v.json" --script --kind validation && [ "$(grep -c '^.points << ' "$tmp/out")" -eq 2 ] &&
    ! grep -q '^|Original' "$tmp/out" && grep -q '^canvas_width = 960' "$tmp/out" &&
    grep -q '^|L3 (unresolved) 96.4%$' "$tmp/out"
ok "... without the original model where DRAM's peak lacks"

sed 's/"bandwidth": 27106[0-9.]*/"bandwidth": 15e9/' "$points" >"$tmp/v.json"
run plot "$tmp/v.json" --script --kind validation && grep -q '^beyond = 1' "$tmp/out" &&
    [ "$(block 4 points | awk '$2 > top { top = $2 } END { print top }')" = 50 ]
ok "... with residuals beyond +50% at the panel's end"

refuses "a plot of a validation that lacks" 1 \
    "the model has no validation; \`carm validate\` makes one" \
    plot "$model" --script --kind validation
sed 's/"op": "fma", "threads": 1,/"op": "fma", "threads": 9,/' "$points" >"$tmp/v.json"
refuses "a validation of threads that lack one" 1 "no validation for this choice" \
    plot "$tmp/v.json" --script --kind validation --threads 1
sed 's/"op": "fma", "threads": 1,/"op": "div", "threads": 1,/' "$points" >"$tmp/v.json"
refuses "a validation of an operation without roof" 1 "no roofs of its own mix" \
    plot "$tmp/v.json" --script --kind validation --threads 1

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

run plot "$points" --kind validation -o "$tmp/v.svg" && [ ! -s "$tmp/err" ] &&
    grep -q '</svg>' "$tmp/v.svg" && ! grep -q 'NaN\|nan,\|inf,' "$tmp/v.svg" &&
    grep -q '>.*DRAM 97.6%' "$tmp/v.svg" && grep -q 'measured / model' "$tmp/v.svg"
ok "plot --kind validation"

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
sed "s|\"L3\"|\"L3\`touch $tmp/pwned\`'\"|" "$points" >"$tmp/evil.json"
run plot "$tmp/evil.json" --kind validation -o "$tmp/evil.svg" && [ ! -e "$tmp/pwned" ] &&
    grep -qF 'L3`touch' "$tmp/evil.svg"
ok "... a validation's, too"
# shellcheck disable=SC2016
run plot "$model" --title "$evil
set output '$tmp/pwned'
CARM_END
system('touch $tmp/pwned')" -o "$tmp/evil.svg" && [ ! -e "$tmp/pwned" ] &&
    grep -qF '@format $title' "$tmp/evil.svg"
ok "plot takes the title as text"

finish
