#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Gates on points: carm compare of two files of points, carm place --fail-under, and the commands of docs/ci.md.
# Prints TAP. CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the golden files are rewritten.
# shellcheck disable=SC2016 # backquotes of Markdown
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
data=$top/tests/data
model=$data/sample-model.json
unset XDG_DATA_HOME
HOME=$tmp/home
export HOME

cp "$data/gates-before.csv" "$tmp/a.csv"
cp "$data/gates-after.csv" "$tmp/b.csv"
a=$tmp/a.csv b=$tmp/b.csv

# ---- compare -------------------------------------------------------------------------------------

{
    (cd "$tmp" && "$carm" compare a.csv b.csv "$model") 2>&1
    (cd "$tmp" && "$carm" compare a.csv b.csv "$model" --markdown --exact --threshold 5) 2>&1
} | sed "s,$top/,," >"$tmp/out"
if [ "${UPDATE:-}" ]; then cp "$tmp/out" "$data/gates.txt"; fi
diff "$data/gates.txt" "$tmp/out" >"$tmp/err" 2>&1
ok "the tables are those of gates.txt"

run compare "$a" "$b" "$model" && grep -q 'moved from DRAM-bound to L2-bound' "$tmp/out"
ok "a comparison alone exits 0 and says what moved"
run compare "$a" "$a" --exact --threshold 1 --only '[cs]*' && grep -q 'no model, so no roofs' "$tmp/out"
ok "a file is like itself, also without a model"
run compare "$b" "$a" --threshold 5
[ $? -eq 1 ] && grep -q '^carm: more than 5% slower: solve' "$tmp/err" && ! grep -q 'slower: copy' "$tmp/err"
ok "--threshold names what is slower"
run compare "$a" "$b" --threshold 5 --only 'c*'
ok "--threshold passes what is within noise"
run compare "$a" "$b" --threshold 5 --only once
[ $? -eq 1 ] && grep -q 'nothing to judge' "$tmp/err"
ok "--threshold fails where one run tells nothing"
head='name,flops,bytes,seconds,threads'
printf '%s\na,1e9,1e9,1,1\na,1e9,1e9,2,1\na,1e9,1e9,1.2,1\n' "$head" >"$tmp/wide1.csv"
printf '%s\na,1e9,1e9,1.5,1\na,1e9,1e9,1,1\na,1e9,1e9,1.9,1\n' "$head" >"$tmp/wide2.csv"
run compare "$tmp/wide1.csv" "$tmp/wide2.csv" && grep -q 'time .*+5.9% *not known: too few runs' "$tmp/out" &&
    ! grep -q '±' "$tmp/out"
ok "an interval of more than half its time says that runs are too few"
run compare "$a" "$b" --exact --only copy
[ $? -eq 1 ] && grep -q 'copy: instructions 1000000000, now 1000000001' "$tmp/err" && [ "$(wc -l <"$tmp/err")" -eq 1 ]
ok "--exact sees one instruction more"
for file in many1 many2; do
    echo name,flops,bytes,seconds
    awk -v more=$file 'BEGIN { for (i = 0; i < 250; i++) print "p" i "," 1000 + (more == "many2") ",2000,1" }'
done | awk -v a="$tmp/many1.csv" -v b="$tmp/many2.csv" '/^name/ { n++ } { print > (n == 1 ? a : b) }'
run compare "$tmp/many1.csv" "$tmp/many2.csv" --exact=flops
[ $? -eq 1 ] && [ "$(grep -c 'flops 1000, now 1001' "$tmp/err")" -eq 100 ] &&
    grep -q -- '--exact: and 150 more: --top 0 shows all' "$tmp/err" &&
    ! run compare "$tmp/many1.csv" "$tmp/many2.csv" --exact=flops --top 0 && [ "$(grep -c 'now 1001' "$tmp/err")" -eq 250 ]
ok "--exact lists as many points as --top"
for bytes in 800 801; do
    printf 'name,flops,bytes,seconds,dp_scalar,instructions\nsort,0,%s,0.1,0,500\n' $bytes >"$tmp/$bytes.csv"
done
run compare "$tmp/800.csv" "$tmp/800.csv" --exact
ok "--exact passes a program without flops"
run compare "$tmp/800.csv" "$tmp/801.csv" --exact
[ $? -eq 1 ] && grep -q 'sort: bytes 800, now 801' "$tmp/err" && [ "$(wc -l <"$tmp/err")" -eq 1 ]
ok "... whose bytes are others"
printf 'name,flops,bytes,seconds,dp_scalar,instructions\nsort,7,800,0.1,7,500\n' >"$tmp/flops.csv"
run compare "$tmp/800.csv" "$tmp/flops.csv" --exact
[ $? -eq 1 ] && grep -q 'sort: flops 0, now 7' "$tmp/err" && [ "$(wc -l <"$tmp/err")" -eq 1 ]
ok "... or that has flops now, which are counted in both files"
run compare "$a" "$b" --exact=flops,bytes,instructions:1% --only copy
ok "--exact has tolerances by column"
for flops in 100 101; do
    printf 'name,flops,bytes,seconds\na,%d,8,1\n' $flops >"$tmp/$flops.csv"
done
run compare "$tmp/100.csv" "$tmp/101.csv" --exact=flops:1%
ok "a tolerance of 1% accepts 101 in place of 100"
run compare "$tmp/100.csv" "$tmp/101.csv" --exact=flops:0.99%
[ $? -eq 1 ]
ok "... and one of 0.99% does not"
run compare "$a" "$b" --exact=flops --only 'gone*'
[ $? -eq 1 ] && grep -q 'no point of the same name' "$tmp/err"
ok "points that are in one file only"
run compare "$a" "$b" "$model" --json --only solve && cp "$tmp/out" "$tmp/x.json" &&
    python3 -c 'import json, sys
x = json.load(open(sys.argv[1]))
p = x["points"][0]
assert x["model"] == "sample" and p["name"] == "solve" and p["runs"] == [3, 3]
assert p["time"]["verdict"] == "different" and p["bytes"]["verdict"] == "equal"
assert p["moved"] == "moved from DRAM-bound to L2-bound"' "$tmp/x.json" 2>"$tmp/err"
ok "--json has the same"
if python3 -c 'import jsonschema' 2>/dev/null; then
    sed 's/"verdict": "different"/"verdict": "other"/' "$tmp/x.json" >"$tmp/compare.1" && cp "$tmp/x.json" "$tmp/compare.2" &&
        ! python3 "$top/tests/schemas.py" "$top/data" "$tmp/compare.1" >"$tmp/out" 2>"$tmp/err" && grep -q '^compare.1: ' "$tmp/out" &&
        python3 "$top/tests/schemas.py" "$top/data" "$tmp/compare.2" >"$tmp/out" 2>"$tmp/err"
    ok "a planted verdict does not follow the schema"
else
    skip "a planted verdict does not follow the schema" "no python3-jsonschema"
fi
# what 18 000 more names take: 2 KiB each at most; a sanitizer's memory says nothing
if grep -q __asan_init "$carm"; then
    skip "a comparison of many names is small" "memory of a sanitizer"
else
    python3 - "$carm" "$tmp" "$model" >"$tmp/out" 2>"$tmp/err" <<'EOF'
import json, os, subprocess, sys
carm, tmp, model = sys.argv[1:]
most = []
for n in (2000, 20000):
    for k in (1, 2):
        with open(f"{tmp}/many{k}.csv", "w") as f:
            f.write("name,flops,bytes,seconds\n" + "".join(f"p{i},{1e9 + i},8e9,{k}\n" for i in range(n)))
    with open(tmp + "/many.json", "wb") as out:
        child = subprocess.Popen([carm, "compare", "--json", tmp + "/many1.csv", tmp + "/many2.csv", model], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, status
    points = json.load(open(tmp + "/many.json"))["points"]
    assert [p["name"] for p in points] == [f"p{i}" for i in range(n)]
    assert all(p["time"]["change"] == 1 and p["bound_before"] for p in points)
    most.append(usage.ru_maxrss)
assert most[1] - most[0] < 2 * 18000, most
EOF
    ok "a comparison of many names is small"
fi
run compare "$data/import/google-benchmark.json" "$data/import/google-benchmark.json" --threshold 1 &&
    grep -q 'BM_copy (3 and 3 runs)' "$tmp/out"
ok "repetitions of Google Benchmark are runs"

refuses "three files of points" 2 "two files at a time" compare "$a" "$b" "$a"
refuses "a single file of points" 2 "nothing to compare with" compare "$a" "$model"
refuses "a column that is none" 2 "--exact takes" compare "$a" "$b" --exact=time:1%
refuses "options of models" 2 "are for models" compare "$a" "$b" --isa avx2
refuses "options of points" 2 "are for two files of points" compare "$model" "$model" --markdown
refuses "a threshold that is none" 2 "percentage" compare "$a" "$b" --threshold x

for at in 'before 100000 200000' 'after 100400 150000'; do
    # shellcheck disable=SC2086 # three words
    set -- $at
    printf 'name,flops,bytes,seconds,counted_by,l2_bytes,l3_bytes,levels_by\nsum,1e6,8e6,0.1,translated,%s,%s,simulated\n' \
        "$2" "$3" >"$tmp/$1.csv"
done
run compare "$tmp/before.csv" "$tmp/after.csv" && grep -q '^  L2 bytes .* +0.4%$' "$tmp/out" &&
    grep -q '^  L3 bytes .* -25.0% .* differs$' "$tmp/out" &&
    ! run compare "$tmp/before.csv" "$tmp/after.csv" --exact=l3_bytes:1% && grep -q 'sum: L3 bytes\|sum: l3_bytes' "$tmp/err"
ok "bytes of the levels; simulated ones differ from 1% on"

# 300 points that are equal but for the last
for which in 1 2; do
    awk -v which=$which 'BEGIN { print "name,flops,bytes,seconds,counted_by"
        for (i = 1; i <= 300; i++) print "p" i "," (i == 300 ? which : 5) "e6,8e6,1,translated" }' >"$tmp/long$which.csv"
done
run compare "$tmp/long1.csv" "$tmp/long2.csv" && [ "$(grep -c '^p[0-9]* (' "$tmp/out")" -eq 100 ] &&
    [ "$(grep '^p[0-9]* (' "$tmp/out" | sed -n 1p)" = 'p300 (1 and 1 run)' ] && grep -q '^and 200 more points: --top 0' "$tmp/out"
ok "a table of 100 points, those that differ first"
run compare --top 0 "$tmp/long1.csv" "$tmp/long2.csv" && [ "$(grep -c '^p[0-9]* (' "$tmp/out")" -eq 300 ] &&
    run compare --top 7 --markdown "$tmp/long1.csv" "$tmp/long2.csv" && [ "$(grep -c '^| `p' "$tmp/out")" -eq 7 ]
ok "--top"
refuses "a table of 1.5 points" 2 "--top needs" compare --top 1.5 "$a" "$b"

# names from a stranger's branch
printf 'name,flops,bytes,seconds\n<img src=x> @all [a](http://b) | c,1,8,1\nq```x,1,8,1\n' >"$tmp/hostile.csv"
{ cat "$tmp/hostile.csv"; echo '`@all`,1,8,1'; } >"$tmp/hostile2.csv"
run compare --markdown "$tmp/hostile.csv" "$tmp/hostile2.csv" &&
    grep -qF '| `<img src=x> @all [a](http://b) \| c` |' "$tmp/out" && grep -qF '| ```` q```x ```` |' "$tmp/out" &&
    grep -qF -- '- `` `@all` `` only in B' "$tmp/out"
ok "names in Markdown are code"

printf 'name,flops,bytes,dram_bytes,seconds\na,1e6,8e6,0,1\n' >"$tmp/zero.csv"
printf 'name,flops,bytes,dram_bytes,seconds\na,1e6,8e6,4e6,1' >"$tmp/some.csv"
run compare "$tmp/zero.csv" "$tmp/some.csv" && grep -q '^  DRAM bytes  *0 B  *4.000 MB  *from 0  *\* differs$' "$tmp/out" &&
    grep -q 'some.csv: the last line does not end' "$tmp/err" &&
    run compare --markdown "$tmp/zero.csv" "$tmp/some.csv" && grep -q '| DRAM bytes from 0 |' "$tmp/out" &&
    run compare --json "$tmp/zero.csv" "$tmp/some.csv" && grep -q '"dram_bytes": {"before": 0, "after": 4000000, "change": null' "$tmp/out"
ok "a change from 0 has no percentage; a line without an end is told"

# Loops: samples decide which have rows. 1 is a program; 2 the same with another choice of rows, 3 with a comment above
# its loops, 4 with 10% more work.
{
    head='name,flops,bytes,seconds,counted_by,instructions,kind,source,pid'
    row() { printf 'b: %s,%s,%s,%s,%s,%s,%s,%s,%s\n' "$@"; }
    for which in 1 2 3 4; do echo $head >"$tmp/loops$which.csv"; done
    row 'f loop x.c:5' 400 800 0.3 translated 100 loop x.c:5 1
    row 'f loop x.c:9' 200 800 0.2 translated 100 loop x.c:9 1
    row 'others' 50 80 '' translated 10 others '' 1
} >>"$tmp/loops1.csv"
{
    row 'f loop x.c:5' 400 800 0.4 translated 100 loop x.c:5 2
    row 'the kernel' '' '' 0.1 '' '' kernel '' 2
    row 'others' 250 880 '' translated 110 others '' 2
    row 'f loop x.c:5' 400 800 0.5 translated 100 loop x.c:5 2
    row 'the kernel' '' '' 0.1 '' '' kernel '' 5
} >>"$tmp/loops2.csv"
{
    row 'f loop x.c:9' 400 800 0.4 translated 100 loop x.c:9 3
    row 'f loop x.c:13' 200 800 0.1 translated 100 loop x.c:13 3
    row 'others' 50 80 '' translated 10 others '' 3
} >>"$tmp/loops3.csv"
{
    row 'f loop x.c:5' 465 968 0.4 translated 131 loop x.c:5 4
    row 'others' 250 880 '' translated 100 others '' 4
} >>"$tmp/loops4.csv"
run compare "$tmp/loops1.csv" "$tmp/loops2.csv" --exact=flops,bytes,instructions
ok "--exact adds up the loops of a program"
run compare "$tmp/loops1.csv" "$tmp/loops3.csv" && [ "$(grep -c '^  flops  *.*=$' "$tmp/out")" -lt 3 ] && grep -q '0 of their 3' "$tmp/out" &&
    run compare --top 0 "$tmp/loops1.csv" "$tmp/loops3.csv" --exact=flops,bytes,instructions && ! grep -q 'only in' "$tmp/out" &&
    [ "$(grep -c '^  flops  *.*=$' "$tmp/out")" -eq 3 ]
ok "loops whose lines changed are compared in their order"
run compare "$tmp/loops1.csv" "$tmp/loops4.csv" --exact=flops:9%,bytes:9%,instructions:9%
[ $? -eq 1 ] && grep -q 'b: flops 650, now 715 (+10.0%)' "$tmp/err" && [ "$(wc -l <"$tmp/err")" -eq 3 ]
ok "... and 10% more work fails"
run compare "$tmp/loops1.csv" "$tmp/loops4.csv" --exact=flops
grep -q 'b: flops 650, now 715 (+10.0%); all in f loop x.c:5$' "$tmp/err" &&
    grep -A1 '^  instructions .*+10.0%' "$tmp/out" | grep -q '^    148% in f loop x.c:5, -48% in f loop x.c:9$'
ok "... and the loop that does it is named, whichever loops have rows"
# the program's own row, a function that grows, one that is new, one that moved
{
    head='name,flops,bytes,seconds,counted_by,instructions,kind,source,pid'
    for which in 1 2; do echo $head >"$tmp/parts$which.csv"; done
    row '' '' '' '' '' '' '' '' 1 | sed 's/^b: .*/b,0,900,,translated,1000,,,1/'
    row parse 0 400 '' translated 600 function n.c:6 2
    row sum 0 500 '' translated 400 function n.c:9 2
} >>"$tmp/parts1.csv"
{
    row '' '' '' '' '' '' '' '' 3 | sed 's/^b: .*/b,0,900,,translated,1120,,,3/'
    row parse 0 400 '' translated 690 function n.c:16 4
    row 'new <b>' 0 0 '' translated 30 function n.c:1 4
    row sum 0 500 '' translated 400 function n.c:19 4
} >>"$tmp/parts2.csv"
run compare "$tmp/parts1.csv" "$tmp/parts2.csv" --exact
[ $? -eq 1 ] && [ "$(grep -c . "$tmp/err")" -eq 1 ] &&
    grep -q 'b: instructions 1000, now 1120 (+12.0%); 75% in parse, 25% in new <b>$' "$tmp/err"
ok "functions explain a difference and fail nothing"
run compare "$tmp/parts1.csv" "$tmp/parts2.csv" --markdown && grep -qF '| instructions +12.0% (75% in `parse`, 25% in `new <b>`) |' "$tmp/out" &&
    run compare "$tmp/parts1.csv" "$tmp/parts2.csv" --json && python3 -c 'import json, sys
x = json.load(open(sys.argv[1]))["points"][0]["causes"]
assert x == [{"quantity": "instructions", "part": "parse", "share": 0.75}, {"quantity": "instructions", "part": "new <b>", "share": 0.25}], x' "$tmp/out" 2>"$tmp/err"
ok "... in Markdown and JSON, too"
for which in 1 2; do
    printf 'name,flops,bytes,seconds,counted_by,asks_for\nx,%s,800,1,translated,"the time, other processes"\n' $which >"$tmp/asks$which.csv"
done
run compare "$tmp/asks1.csv" "$tmp/asks2.csv" --exact
[ $? -eq 1 ] && grep -q '(+100.0%); may vary: it asks for the time, other processes$' "$tmp/err" &&
    run compare --json "$tmp/asks1.csv" "$tmp/asks2.csv" && grep -q '"asks_for": "the time, other processes"' "$tmp/out"
ok "--exact says what a program asks for that differs from run to run"
run compare "$tmp/loops2.csv" "$tmp/loops2.csv" --threshold 5
[ $? -eq 1 ] && grep -q 'cannot judge b: .*--whole' "$tmp/err"
ok "--threshold asks for the time of the whole program"
run compare "$tmp/loops1.csv" "$tmp/loops2.csv" --exact --only 'b: f*'
[ $? -eq 1 ] && grep -q 'nothing to judge' "$tmp/err"
ok "--exact does not pass loops alone"

# ---- two commands in turn: times decide nothing here that a factor of ten does not ----------------

run compare --run --threshold 50 --budget 20 'sleep 0.005' 'sleep 0.1'
code=$?
case $code in
1) grep -q '^B is slower: +.*% in wall time\.$' "$tmp/out" && grep -q '^carm: more than 50% slower: B is slower: ' "$tmp/err" ;;
3) grep -q 'Not comparable' "$tmp/err" ;;
*) false ;;
esac
ok "a sleep is found"
run compare --run --json --budget 1 --warmup 0 'sleep 0.01' 'sleep 0.01'
code=$?
{ [ $code -eq 0 ] || [ $code -eq 3 ]; } && python3 -c 'import json, sys
x = json.load(open(sys.argv[1]))
assert x["schema"] == "carm-compare-run/1" and x["pairs"] >= 8 and x["before"] == "sleep 0.01"
assert 0.01 <= x["wall"]["before"] and x["wall"]["low"] <= x["wall"]["change"] <= x["wall"]["high"]
assert set(x["machine"]) == {"core_shared", "other_processors", "stolen_processors", "clock_variation"}' "$tmp/out" 2>"$tmp/err"
ok "times of two commands as JSON"
echo 'sleep 0.01; echo x >>runs; cat >>read' >"$tmp/command"
(cd "$tmp" && echo input | "$carm" compare --run --budget 0.2 --warmup 2 'sh command' 'sh command' >out 2>err)
code=$?
{ [ $code -eq 0 ] || [ $code -eq 3 ]; } && [ "$(wc -l <"$tmp/runs")" -ge 20 ] && [ ! -s "$tmp/read" ]
ok "... with warm-up, eight pairs or more, and empty input"
refuses "a command that fails" 1 "'exit 3' ends with status 3" compare --run true 'exit 3'
refuses "one command" 2 "--run needs two commands" compare --run true
refuses "options of points for commands" 2 "--run takes" compare --run --exact true true
refuses "a budget without commands" 2 "belong to --run" compare --budget 3 "$a" "$b"
refuses "a budget that is none" 2 "--budget needs seconds" compare --run --budget x true true

# ---- place ---------------------------------------------------------------------------------------

run place --fail-under 1% --only 'c*' "$model" "$b"
ok "--fail-under passes what reaches more"
run place --fail-under 60% --only 's*' "$model" "$b"
[ $? -eq 1 ] && grep -q '^carm: solve reaches .*% of its roof, less than 60%' "$tmp/err"
ok "--fail-under names what reaches less"
run place --fail-under 1 "$model" "$data/points.csv"
[ $? -eq 1 ] && grep -q 'no counters has no place under a roof' "$tmp/err"
ok "--fail-under names what has no place"
refuses "a percentage that is none" 2 "--fail-under needs" place --fail-under 60x "$model" "$b"
run place --only nothing "$model" "$b"
[ $? -eq 1 ] && grep -q "no point's name matches 'nothing'" "$tmp/err"
ok "a pattern that matches nothing is an error"

# ---- docs/ci.md ----------------------------------------------------------------------------------
# Its commands run: carm is this one, the forge's and the package manager's are stand-ins that say what they were
# called with.

ci=$tmp/ci
mkdir -p "$ci/bin" "$ci/main"
cat >"$ci/bin/stand-in" <<'EOF'
#!/bin/sh
echo "${0##*/} $*" >>"$LOG"
case "${0##*/} $*" in
"git clone"*) mkdir -p carm && printf '#!/bin/sh\n' >carm/setup && chmod +x carm/setup ;;
"git worktree add"*) mkdir -p base && cp bench base/ ;;
"git worktree remove"*) rm -rf base ;;
"git rev-list"*) echo "$CI_COMMIT_SHA" ;;
esac
exit 0
EOF
chmod +x "$ci/bin/stand-in"
for name in git gh make sudo apt-get; do ln -s stand-in "$ci/bin/$name"; done
ln -s "$carm" "$ci/bin/carm"
LOG=$ci/log BEFORE=$ci/before.csv
CI_MERGE_REQUEST_DIFF_BASE_SHA=7 CI_COMMIT_SHA=1234567 GITHUB_SHA=1234567
export LOG BEFORE CI_MERGE_REQUEST_DIFF_BASE_SHA CI_COMMIT_SHA GITHUB_SHA

# job FILE: runs it in $ci with the stand-ins before all else
job() {
    (cd "$ci" && PATH=$ci/bin:$PATH timeout 600 sh "$1") >"$tmp/out" 2>"$tmp/err"
}

translates() {
    "$carm" run --counters translate --cpu x86-64-v3 -o "$tmp/try.csv" -- true >/dev/null 2>&1 && grep -q ',translated,' "$tmp/try.csv"
}

if ! python3 -c 'import yaml' 2>/dev/null; then
    skip "the commands of docs/ci.md" "no python3-yaml"
elif ! ${CC:-cc} -g -O2 -o "$ci/bench" "$data/gate.c" 2>/dev/null; then
    skip "the commands of docs/ci.md" "no compiler"
elif ! translates; then
    skip "the commands of docs/ci.md" "programs cannot be counted by translation here, as x86-64-v3"
else
    python3 "$top/tests/ci.py" "$ci" "$top/docs/ci.md" "$top/docs/ci-jobs.md" >"$tmp/out" 2>"$tmp/err" &&
        [ "$(cat "$tmp/out")" = "3 scripts, 2 jobs" ]
    ok "docs/ci.md has its scripts and jobs"
    mkdir -p "$ci/ci" && cp "$ci/script-1" "$ci/ci/performance.sh" && cp "$ci/script-3" "$ci/ci/base.sh"
    job script-1 && grep -q 'No counts of the main branch yet' "$ci/comment.md" && grep -q '^bench: main,' "$ci/branch.csv"
    ok "the script, without counts of the main branch"
    cp "$ci/branch.csv" "$BEFORE"
    for which in 1 2; do
        rm -rf "$ci/main.csv" "$ci/counts" "$LOG"
        job "job-$which" && grep -q '^| `bench` |' "$ci/comment.md" && [ -e "$ci/counts/7.csv" ]
        ok "job $which passes a program that does what it did"
        grep -q '^0 steps in 2 files, 1234567 to 7' "$tmp/out" && [ -s "$ci/history.html" ]
        ok "job $which draws the history"
        grep -q '^git worktree add' "$LOG" && : >"$LOG" && job "job-$which" && ! grep -q '^git worktree' "$LOG"
        ok "job $which counts the base once"
        grep -q '^git clone' "$LOG"
        ok "job $which ran its commands"
    done
    CARM=$carm "$top/tests/cli/gate_trials.sh" 2 >"$tmp/out" 2>"$tmp/err" && grep -qx 'found ONE: 2 of 2' "$tmp/out" &&
        grep -q -- '--exact: bench: instructions [0-9]*, now [0-9]* (+[0-9e.-]*%); all in main$' "$tmp/out"
    ok 'trials of the script: no false alarm; one instruction and 1% of the bytes are found'
    mv "$ci/bench" "$ci/bench-20" && ${CC:-cc} -g -O2 -DTURNS=30 -o "$ci/bench" "$data/gate.c"
    job script-1
    [ $? -eq 1 ] && grep -q -- '--exact: bench: flops .*(+[0-9.]*%); all in add$' "$tmp/err" && grep -q 'flops +' "$ci/comment.md"
    ok "the script fails a program that computes more"
    mv "$ci/bench-20" "$ci/bench"
    job script-1 && job script-1
    ok "the script passes one program again and again"
    # each allocating function as often as the argument says; some call each other inside the C library, with other arguments
    cat >"$ci/allocate.c" <<'EOF'
#include <malloc.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < atoi(argv[argc - 1]); i++) {
        void *volatile of[7] = {malloc(9), calloc(2, 9), aligned_alloc(64, 64), memalign(64, 9), valloc(9), pvalloc(9)};
        if (posix_memalign((void **)&of[6], 64, 9)) return 1;
        of[0] = realloc(of[0], 9999);
        for (int k = 0; k < 7; k++) free(of[k]);
    }
    return 0;
}
EOF
    ${CC:-cc} -O1 -w -o "$ci/allocate" "$ci/allocate.c" && for n in 0 1 5; do
        for by in functions loops; do
            rm -f "$ci/$by$n.csv"
            env -i PATH="$PATH" "$carm" run -q --$by --min-share 2 --counters translate --no-time --name x -o "$ci/$by$n.csv" -- \
                "$ci/allocate" $n
        done
    done
    for by in functions loops; do
        run compare "$ci/${by}1.csv" "$ci/${by}5.csv" --exact=allocations
        [ $? -eq 1 ] && [ "$(awk '/--exact: x: allocations/ { print $7 - $5 }' "$tmp/err")" = 32 ] &&
            run compare "$ci/${by}5.csv" "$ci/${by}5.csv" --exact=allocations
        ok "allocations are counted, by $by"
    done
    rm -f "$ci/whole.csv" "$ci/static.csv"
    "$carm" run -q --whole --counters translate --no-time --name x -o "$ci/whole.csv" -- "$ci/allocate" 5
    run compare "$ci/whole.csv" "$ci/whole.csv" --exact=allocations
    [ $? -eq 1 ] && grep -q 'allocations' "$tmp/err"
    ok "... and not known without rows by code"
    cp "$model" "$ci/model.json"
    cp "$ci/bench" "$ci/main-bench"
    job script-2
    code=$?
    # a time decides nothing here: the commands are right where their gates say so, or pass
    [ $code -le 1 ] && grep -q '^  wall time ' "$tmp/out" && ! grep -q 'usage\|no option\|cannot read' "$tmp/err" && [ "$(grep -c '^bench,' "$ci/times.csv")" -eq 5 ]
    ok "the script for times and the roof"
fi

finish
