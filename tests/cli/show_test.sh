#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Golden tests of carm show and carm plot on tests/data/sample-model.json. Prints TAP.
# CARM = the program, CARM_TOP = the sources' root. With UPDATE=1 the golden files are rewritten.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
data=$(cd "$top/tests/data" && pwd)
model=$data/sample-model.json
unset NO_COLOR XDG_DATA_HOME

# block N NAME: the Nth data block of that name in the script that the last run printed
block() {
    awk -v want="$1" -v name="\$$2 << CARM_END" \
        '$0 == name { n++; on = n == want; next } /^CARM_END/ { on = 0 } on' "$tmp/out"
}

golden show.txt show --verbose "$model"
golden show-ascii.txt show --verbose --ascii "$model"
here=$PWD
cd "$data" || exit 1 # the last line names the file
golden show-summary.txt show sample-model.json
cd "$here" || exit 1

run show --no-plot --curves "$model" && grep -q '^avx512 dp 2:1, 2 threads: bandwidth over working set' "$tmp/out" &&
    [ "$(grep -c ' GB/s  ±\| TB/s  ±' "$tmp/out")" -gt 20 ] && ! grep -q 'Memory levels' "$tmp/out"
ok "show --curves prints curves alone"
run show --roofs "$model" && grep -q 'Memory levels' "$tmp/out" && ! grep -q 'operational intensity' "$tmp/out"
ok "show --roofs prints roofs alone"
run show --ceilings "$model" && grep -q 'No ceilings: carm build --ceilings measures them' "$tmp/out"
ok "show --ceilings names the remedy"
golden show-threads1.txt show --verbose --threads 1 --isa avx512 --no-plot "$model"

sed 's/"code": "d-avx512-nt"/"code": "a-avx512-dp-0to1-u16-pf1024"/' "$model" >"$tmp/peak.json"
run show --verbose "$tmp/peak.json" && [ "$(grep -o 'DRAM peak of the original model: [^,]*' "$tmp/out" | tr '\n' ' ')" = \
    "DRAM peak of the original model: 14.10 GB/s DRAM peak of the original model: 18.86 GB/s! " ]
ok "a DRAM peak is as disturbed as its code"

sed 's/"precision": "dp"/"precision": "int8"/' "$model" >"$tmp/int8.json"
run show --verbose --ascii "$tmp/int8.json" && grep -q 'op/cycle' "$tmp/out" && grep -q 'intensity, op/byte' "$tmp/out" &&
    ! grep -q 'flop' "$tmp/out"
ok "integers have operations, not flops"

# narrower vectors that are clearly faster: a third set, of avx2, in L1 and in the peaks alone
awk '/"roofs": \[/ { print; print "{\"isa\": \"avx2\", \"precision\": \"dp\", \"threads\": 2, \"clock_hz\": 3.5e9, \
    \"memory\": [{\"level\": \"L1\", \"ldst\": \"2:1\", \"code\": \"A.avx2.dp.2:1.u12\", \"bandwidth\": 1.45e12, \
    \"ci95\": [1.44e12, 1.46e12], \"spread\": {\"min\": 1.3e12, \"p5\": 1.4e12, \"p95\": 1.5e12, \"max\": 1.6e12}, \
    \"bytes_per_cycle\": 207, \"clock_hz\": 3.5e9, \"working_set_bytes\": 24576, \"window_bytes\": 12288, \"passes\": 1, \"reps\": 8192, \
    \"counted_by\": \"constructed\", \"disturbed\": false, \"note\": \"\"}], \
    \"compute\": [{\"op\": \"fma+add\", \"code\": \"B.avx2.dp.fma+add.f224.c14\", \"rate\": 3.3e11, \
    \"ci95\": [3.29e11, 3.31e11], \"spread\": {\"min\": 3e11, \"p5\": 3.2e11, \"p95\": 3.4e11, \"max\": 3.5e11}, \
    \"flops_per_cycle\": 47, \"clock_hz\": 3.5e9, \"reps\": 8192, \
    \"counted_by\": \"constructed\", \"disturbed\": false, \"note\": \"\"}]},"; next } 1' "$model" >"$tmp/beside.json"
run show --verbose --ascii --threads 2 "$tmp/beside.json" &&
    grep -q '^  L1: avx2 is faster: 1.450 TB/s is the roof that carm plot and carm place take$' "$tmp/out" &&
    grep -q '^  peak: avx2 fma+add is faster: 330.0 Gflop/s is the roof' "$tmp/out" &&
    grep -q 'avx512 dp, 2 threads, 2:1 loads to stores' "$tmp/out" && grep -q 'avx2 L1' "$tmp/out" &&
    grep -q 'avx2 fma+add' "$tmp/out"
ok "show draws the best of two ISAs and says whose it is"
# fma of avx512 meets L1 where plot draws it, on avx2's roof
awk '/^avx512 dp, 2 threads/ { s = 1 } s && $1 == "fma" && !rate { rate = $2 } s && /ridge points/ { r = 1 }
    r && $1 == "L1" { exit ($2 * 1450 / rate - 1) ^ 2 > 1e-6 }' "$tmp/out"
ok "... also in the ridge points"

run show --verbose --ascii --isa avx512 "$tmp/beside.json" && ! grep -q 'avx2' "$tmp/out"
ok "one ISA that is asked for stays alone"

run plot --script "$tmp/beside.json" && grep -q 'avx2 L1' "$tmp/out" && grep -q 'avx2 fma+add' "$tmp/out" &&
    grep -q 'avx512 dp, 2 threads' "$tmp/out"
ok "plot draws the best of two ISAs"

# ---- ceilings: those of tests/data/ceilings.json, put into the set of 2 threads

ceilings() { # FILE: the model with that list of ceilings
    awk -v list="$1" '/"dram_peak": {/ && ++n == 2 {
            printf "   \"ceilings\": "
            while ((getline line <list) > 0) { print line }
            print "   ,"
        } 1' "$model"
}
ceilings "$data/ceilings.json" >"$tmp/c.json"
golden show-ceilings.txt show --verbose --ascii --no-plot --threads 2 "$tmp/c.json"

run show --json "$tmp/c.json" && grep -q '"name": "dot no-prefetch"' "$tmp/out"
ok "show --json has the ceilings"

sed 's/"mix"/"mixed"/' "$data/ceilings.json" >"$tmp/list.json" && ceilings "$tmp/list.json" >"$tmp/bad.json"
refuses "an unknown group of ceilings" 1 \
    "roofs[1].ceilings[10].group is wrong: unknown group of ceilings 'mixed': in-core, mix, memory" \
    show "$tmp/bad.json"

sed 's/"jump 2"/"jump\\u001b[2J"/' "$data/ceilings.json" >"$tmp/list.json" &&
    ceilings "$tmp/list.json" >"$tmp/evil.json" && run show --verbose "$tmp/evil.json" &&
    grep -qF 'jump?[2J' "$tmp/out" && ! grep -q "$(printf '\033')" "$tmp/out"
ok "show blanks what could steer a terminal in their names"

LC_ALL=C run show --verbose "$model" && cmp -s "$data/show-ascii.txt" "$tmp/out"
ok "show is ASCII where the locale has no UTF-8"

run show --json "$model" && cmp -s "$model" "$tmp/out"
ok "show --json prints the file"

run show --verbose "$model" && ! grep -q "$(printf '\033')" "$tmp/out"
ok "show has no colour outside a terminal"

run show --verbose --no-plot "$model" && ! grep -q 'operational intensity' "$tmp/out"
ok "show --no-plot draws nothing"

run show --verbose --ascii "$model" && [ "$(tail -n 23 "$tmp/out" | awk 'length > 80' | wc -l)" -eq 0 ] &&
    [ "$(tail -n 23 "$tmp/out" | head -n 1)" = 'avx512 dp, 2 threads, 2:1 loads to stores' ]
ok "the roofline fits 80 columns and 24 rows"

# ---- on terminals: a pseudo-terminal of a given size

cat >"$tmp/terminal.py" <<'PY'
import fcntl, os, pty, re, struct, subprocess, sys, termios
program, model, evil = sys.argv[1:4]
roofs = ["L1    1.233 TB/s", "L2    461.6 GB/s", "L3    48.94 GB/s", "DRAM  20.18 GB/s"]
count = 0

def show(columns, rows, *words, **env):
    return output(columns, rows, "--verbose", *words, **env)

def output(columns, rows, *words, **env):
    """What carm show prints on such a terminal. This side holds the terminal open and the end is a
    character: at a hangup, Linux may report the end of the terminal before its last text."""
    here, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    all = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", **env}
    run = '"$@"; status=$?; printf "\\004"; exit $status'
    child = subprocess.Popen(["sh", "-c", run, "sh", program, "show", *words],
                             stdin=terminal, stdout=terminal, stderr=terminal,
                             env={k: v for k, v in all.items() if v is not None})
    out = b""
    while not out.endswith(b"\4"):
        out += os.read(here, 65536)
    os.close(here)
    os.close(terminal)
    assert child.wait() == 0
    return out[:-1].decode().replace("\r", "")

def picture(text):
    lines = text.rstrip("\n").split("\n")
    return lines[max(i for i, line in enumerate(lines) if line == "") + 1:]

def ok(name, good, lines=()):
    global count
    count += 1
    print("ok" if good else "not ok", "-", name)
    if not good:
        print("\n".join("# " + line for line in lines))

def fits(name, lines, columns, rows, texts=roofs):
    text = "\n".join(lines)
    ok(name, len(lines) <= rows - 1 and all(len(line) <= columns for line in lines) and
       all(t in text for t in texts) and "operational intensity, flop/byte" in text, lines)

for columns, rows in (40, 12), (60, 24), (80, 24), (132, 24), (80, 50), (200, 60), (500, 200):
    lines = picture(show(columns, rows, model, NO_COLOR="1"))
    fits("the roofline fits %d x %d" % (columns, rows), lines, columns, rows,
         roofs + ["fma 220.9 Gflop/s"])
    ok("... and fills it", len(lines) == min(rows - 1, 60) and
       max(map(len, lines)) == min(columns, 200) and
       not any("flop/s" in line and re.search("[\u2801-\u28ff]", line) for line in lines
               if "fma" in line), lines)
lines = picture(show(60, 24, "--ascii", model, NO_COLOR="1"))
fits("... in ASCII, too", lines, 60, 24)
ok("... without any other character", "\n".join(lines).isascii(), lines)
for columns, rows in (39, 24), (80, 11):
    lines = picture(show(columns, rows, model))
    ok("no picture on %d x %d" % (columns, rows), lines == ["No picture: the smallest takes 40 columns and 12 rows."],
       lines)
fits("a terminal that tells no size is 80 x 24", picture(show(0, 0, model, NO_COLOR="1")), 80, 24)
for machine in "opteron-x2", "xeon", "opteron-x4", "t2plus", "cell":
    for columns, rows in (60, 24), (80, 24):
        fits("%s fits %d x %d" % (machine, columns, rows),
             picture(show(columns, rows, machine, NO_COLOR="1")), columns, rows, ["B/s", "flop/s"])
fits("wide and long names fit", picture(show(60, 24, evil, NO_COLOR="1")), 60, 24, ["?????"])

for columns in 60, 80, 132:
    text = show(columns, 24, "--no-plot", model, NO_COLOR="1")
    lines = [line for line in text.split("\n") if re.match("  (L[1-3]|DRAM|fma|mad|level|op) ", line)
             and "peak of" not in line]
    ok("tables fit %d columns" % columns, len(lines) > 20 and max(map(len, lines)) <= columns, lines)
    codes = len(re.findall("  [ab]-avx512-", text))
    ok("... %s test codes" % ("with" if columns > 100 else "without"), (codes > 10) == (columns > 100) and
       ("test codes are shown on a wider terminal" in text) == (columns < 100), text.split("\n"))

for columns, rows in (80, 40), (100, 50), (132, 50):
    for path in model, evil:
        lines = output(columns, rows, path, NO_COLOR="1").rstrip("\n").split("\n")
        ok("one screen of %d x %d: machine, roofline, levels, trust" % (columns, rows),
           len(lines) < rows and all(len(line) <= columns or "every figure: " in line for line in lines) and
           lines[0] == "sample: 220.9 Gflop/s (dp) and 20.18 GB/s from DRAM with 2 threads" and
           any(line.startswith("sure: 1 of 52 roofs was disturbed") for line in lines), lines)

plain = show(80, 24, model, NO_COLOR="1")
colour = show(80, 24, model, NO_COLOR="")
ok("NO_COLOR: no escape sequence", "\033" not in plain, plain.split("\n"))
ok("colour without it", "\033[34m" in colour and "\033[36m" in colour)
ok("... and nothing else differs", re.sub("\033\\[[0-9;]*m", "", colour) == plain)
lines = colour.split("\n")
ok("... and no line leaves it on", all(not re.findall("\033\\[[0-9]+m", line) or
   re.findall("\033\\[[0-9;]*m", line)[-1] == "\033[0m" for line in lines), lines)
for term in "dumb", "", None:
    text = show(80, 24, model, TERM=term)
    ok("TERM %s: no escape sequence, ASCII" % term, "\033" not in text and text.isascii())
    fits("... and no line reaches the last column", picture(text), 79, 24)
text = show(80, 24, model, TERM="linux")
ok("the console, which lacks braille: ASCII in colour", text.isascii() and "\033[34m" in text)
text = show(80, 24, model, LC_ALL="C", NO_COLOR="1")
ok("a locale without UTF-8: ASCII", text.isascii())
print("done", count)
PY
if python3 -c 'import pty' 2>/dev/null; then
    sed 's/"level": "L3"/"level": "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e7 7x very long"/' \
        "$model" >"$tmp/wide.json"
    timeout 600 python3 "$tmp/terminal.py" "$carm" "$model" "$tmp/wide.json" >"$tmp/terminal" 2>"$tmp/err"
    while read -r line; do
        case $line in
        "ok - "* | "not ok - "*) # the numbers are this script's
            n=$((n + 1))
            case $line in not*) failed=1 ;; esac
            echo "${line%% -*} $n -${line#*ok -}"
            ;;
        done*) ;;
        *) echo "$line" ;;
        esac
    done <"$tmp/terminal"
    : >"$tmp/out"
    grep -q '^done' "$tmp/terminal"
    ok "all terminals were tried"
else
    skip "the roofline fits terminals" "no python3 with pty"
fi

mkdir -p "$tmp/data/carm" && cp "$model" "$tmp/data/carm/$(uname -n).json"
XDG_DATA_HOME=$tmp/data run show --verbose && cmp -s "$data/show.txt" "$tmp/out"
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
run show --verbose "$tmp/evil.json" && grep -qF 'CPU      ?[2J?31m?evil' "$tmp/out" &&
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
python3 - "$model" "$top/tests/data/latency-model.json" "$tmp/together.json" <<'PY'
import json, sys
m, latencies = (json.load(open(f)) for f in sys.argv[1:3])
m["core"] = latencies["core"]
both = lambda times: {"threads": 4, "latency": 3.0, "latency_ci95": [3.0, 3.0], "throughput": 0.5 * times,
    "throughput_ci95": [0.5 * times] * 2, "disturbed": False}
m["core"][0]["all_threads"] = both(2.0)
m["core"].append(dict(m["core"][0], kind="mul", all_threads=both(1.02)))
json.dump(m, open(sys.argv[3], "w"))
PY
"$carm" show --latency "$tmp/together.json" >"$tmp/out" 2>"$tmp/err" &&
    grep -q 'All 4 hardware threads at once: 1 of 2 figures is more than 15% slower' "$tmp/out" &&
    grep -qE '^  add avx2 +2\.00$' "$tmp/out" && ! grep -qE 'mul avx2' "$tmp/out"
ok "--latency: what hardware threads share"
refuses "an unknown kind" 2 "bandwidth, flops, latency, loaded, scaling, core-to-core, numa, all or validation" plot "$model" --kind x -o "$tmp/p.svg"
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

refuses "an output folder that is a file" 1 "choose another place" \
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

# ---- models for others, and those that the program carries

sed "s/\"hostname\": \"sample\"/\"hostname\": \"node7.example\"/
    0,/\"note\": \"\"/s//\"note\": \"from \/home\/ada\/x on node7, user $(id -un)me\"/" "$model" >"$tmp/private.json"
run show --verbose --share "$tmp/shared.json" --no-plot "$tmp/private.json" && grep -q '^Cache-aware roofline model of node7' "$tmp/out" &&
    grep -q node7 "$tmp/private.json" && ! grep -qE 'node7|/home' "$tmp/shared.json" &&
    grep -qF '"note": "from (removed) on (removed), user' "$tmp/shared.json" &&
    grep -q '"created": "2025-06-01T10:20:30Z"' "$tmp/shared.json" && grep -q '"carm_version": "0.1.0"' "$tmp/shared.json" &&
    "$carm" show --share - "$tmp/private.json" | cmp -s - "$tmp/shared.json"
ok "show --share leaves out host, user and paths, and keeps date and version"
sed 's/"hostname": ""/"hostname": "sample"/; s/from (removed) on (removed), user .*"/"/' "$tmp/shared.json" >"$tmp/again.json"
run show --verbose --no-plot "$tmp/again.json" && cp "$tmp/out" "$tmp/first" && run show --verbose --no-plot "$model" && cmp -s "$tmp/first" "$tmp/out"
ok "... and every figure"
refuses "to share another tool's roofs" 1 "share the file of ERT" \
    show --share - "$data/import/ert.json"
refuses "to share a published machine" 2 "--share is for models" show --share - xeon
refuses "two tables on standard output" 2 "only one of --csv, --carm-tool and --share" show --share - --csv - "$model"
refuses "--share of a part" 2 "--share writes the whole model" show --share - --isa avx2 "$model"

run show --list && grep -qE '^  zen3-kvm +AMD EPYC +2 +KVM +avx2 +20[0-9-]{8}  [0-9.]+$' "$tmp/out" && grep -q '^  xeon' "$tmp/out" &&
    [ "$(sed -n '3,/^$/p' "$tmp/out" | grep -c .)" -eq "$(find "$top/data/machines" -name '*.json' | wc -l)" ]
ok "show --list names every machine of data/machines"
refuses "--list with a name" 2 "takes neither one nor other options" show --list xeon
for machine in "$top"/data/machines/*.json; do
    name=${machine##*/}
    grep -q '"hostname": ""' "$machine" && ! grep -qE '"/(home|root|tmp)/' "$machine" &&
        grep -q '"quick": false' "$machine" && grep -qF "(../data/machines/$name)" "$top/docs/machines.md" &&
        "$carm" show --share - "$machine" | cmp -s - "$machine"
    ok "$name is shared, and docs/machines.md lists it"
done
mkdir -p "$tmp/xdg/carm" && cp "$model" "$tmp/xdg/carm/$(hostname).json"
XDG_DATA_HOME=$tmp/xdg
export XDG_DATA_HOME
(cd "$tmp" && "$carm" show --verbose --no-plot zen3-kvm) >"$tmp/out" && grep -q '^Cache-aware roofline model of zen3-kvm' "$tmp/out"
ok "show knows a measured machine by its name"
run compare zen3-kvm && grep -q '^  host  *zen3-kvm  *sample' "$tmp/out"
ok "compare NAME: with this machine's model"
run plot zen3-kvm mine --script && grep -q 'Rooflines of zen3-kvm and sample' "$tmp/out"
ok "plot NAME mine draws both"
refuses "an unknown machine: compare" 1 'neither a file nor a measured machine "zen9"; the machines are zen3-kvm, zen4-kvm' compare zen9
refuses "an unknown machine: show" 1 'neither a file nor a machine "zen9"; measured machines are zen3-kvm, zen4-kvm, published ones' show zen9
run show --json zen3-kvm && grep -q '"hostname": "zen3-kvm"' "$tmp/out"
ok "show --json NAME"
unset XDG_DATA_HOME

finish
