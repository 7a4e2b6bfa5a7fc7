#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm compare --history: files of points over commits. Prints TAP. CARM = the program, CARM_TOP = the sources' root.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
unset GIT_DIR GIT_WORK_TREE
cd "$tmp" || exit 1

# history FOLDER SEED STEP: 30 files; from v20 on times are STEP times as long, and parse executes more if STEP is not 1
history() {
    mkdir -p "$1" && awk -v folder="$1" -v seed="$2" -v step="$3" 'BEGIN {
        srand(seed)
        for (i = 0; i < 30; i++) {
            file = folder "/v" i ".csv"
            print "name,flops,bytes,seconds,counted_by,instructions,kind,source,pid" >file
            for (run = 0; run < 3; run++) {
                t = 0.01 * (1 + 0.1 * rand()) * (rand() < 0.1 ? 1.5 : 1) * (i >= 20 ? step : 1)
                printf "b,0,900,%.9g,translated,%d,,,1\n", t, i >= 20 && step != 1 ? 1120 : 1000 >file
            }
            printf "b: parse,0,400,,translated,%d,function,n.c:6,2\n", i >= 20 && step != 1 ? 720 : 600 >file
            print "b: sum,0,500,,translated,400,function,n.c:9,2" >file
            close(file)
        }
    }'
}

history steps 1 1.2
run compare --history steps --plot page.html && [ "$(sed -n 1p out)" = '2 steps in 30 files, v0 to v29.' ] &&
    grep -q '^  b  *instructions  *1000  *1120  *+12.0%  v20$' out && grep -q '^  *100% in parse$' out &&
    grep -Eq '^  b  *time .* ms  *\+[12][0-9]\.[0-9]%  v(19|20|21)$' out
ok 'a planted step is found in counts and times, and the function that it comes from'
grep -q 'id="carm-data">{"schema":"carm-compare-history/1"' page.html && grep -q '100% in parse' page.html
ok 'the page has them'
run compare --history steps --json && python3 - out 2>err <<'END'
import json, sys
x = json.load(open(sys.argv[1]))
of = {s["quantity"]: s for s in x["series"]}
assert len(x["files"]) == 30 and x["files"][9:11] == ["v9", "v10"], x["files"]
assert of["instructions"]["exact"] and not of["time"]["exact"]
assert of["instructions"]["steps"] == [{"at": 20, "before": 1000, "after": 1120, "causes": "100% in parse"}]
assert not of["bytes"]["steps"] and of["bytes"]["values"] == [900] * 30
END
ok 'JSON has values and steps'
quiet=0
for seed in 1 2 3 4 5 6 7 8 9 10; do
    history quiet "$seed" 1
    run compare --history quiet && [ "$(sed -n 1p out)" = '0 steps in 30 files, v0 to v29.' ] && quiet=$((quiet + 1))
done
[ "$quiet" -eq 10 ]
ok 'ten quiet histories have no step'

# a program that asks for the time varies by some instructions
mkdir asks
for i in 1 2 3 4; do
    printf 'name,flops,bytes,seconds,counted_by,instructions,asks_for\nx,0,800,,translated,%s,the time\n' $((100000 + i * 20)) >asks/$i.csv
done
run compare --history asks && grep -q '^0 steps' out && grep -q 'ask the system for what differs from run to run' out &&
    sed -i 's/100080/100300/' asks/4.csv && run compare --history asks && grep -q '^1 step in 4 files' out
ok 'a change below 0.1% is no step where a program asks for what varies'

if git init -q repository 2>err; then
    cd repository || exit 1
    mkdir counts
    for i in 1 2 3; do
        git -c user.name=x -c user.email=x@x commit -q --allow-empty -m "$i" 2>../err
        printf 'name,flops,bytes,seconds,counted_by,instructions\nx,0,800,,translated,%s\n' $((100 + i / 3)) >"counts/$(git rev-parse HEAD).csv"
    done
    printf 'name,flops,bytes,seconds,counted_by,instructions\nx,0,800,,translated,101\n' >counts/0now.csv
    "$carm" compare --history counts >../out 2>../err
    grep -q "^1 step in 4 files, $(git rev-parse HEAD~2 | cut -c1-12) to 0now, in git's order.$" ../out &&
        grep -q "^  x  *instructions  *100  *101  *+1.0%  $(git rev-parse HEAD | cut -c1-12)$" ../out &&
        grep -q '^  1 of the files are no commits' ../out
    ok "files named by commits are in git's order"
    cd ..
else
    skip "files named by commits are in git's order" 'no git'
fi
printf 'name,flops,bytes,seconds\ny,1,8,1\n' >other.csv
run compare --history steps/v0.csv other.csv steps/v1.csv
[ $? -eq 1 ]
ok 'a history without a name in common fails'
run compare --history steps/v1.csv steps/v2.csv other.csv && grep -q 'have no name in common' out
ok '... and neighbours without one are told'
refuses 'an empty folder' 1 'fewer than two files' compare --history repository/.git
refuses 'no operand' 2 '--history needs a folder' compare --history
refuses 'a picture' 2 'draws a page' compare --history steps --plot x.svg
refuses 'gates' 2 '--history takes' compare --history steps --exact
finish
