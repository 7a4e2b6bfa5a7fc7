# SPDX-License-Identifier: GPL-3.0-or-later
# What tests of carm study have in common; to be sourced after $kind and $seconds are set, the study
# and how long it may take: a folder of their own for the model, study, refuses and here.
# shellcheck shell=sh disable=SC2154 # kind and seconds: set where this is sourced
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
cd "$tmp" || exit 1
XDG_DATA_HOME=$tmp/data
export XDG_DATA_HOME

# words: the output as one line
study() {
    timeout "$seconds" "$carm" study "$kind" "$@" >out 2>err </dev/null
    code=$?
    tr -s '\n ' ' ' <out >words
    return $code
}

# fits ANSWER NEXT: the last output begins with that answer, ends with that command and has no line
# beyond 80 columns
fits() {
    head -n 3 out | tr -s '\n ' ' ' | grep -qE "$1" && ! grep -qE '^.{81}' out &&
        [ "$(tail -n 1 out)" = "next: $2" ]
    ok 'the report begins with its answer, ends with the next command and fits 80 columns'
}

# refuses NAME STATUS PATTERN ARGUMENTS...: that exit status, no output, one line that matches
refuses() {
    name=$1 status=$2 pattern=$3
    shift 3
    study "$@"
    [ $? -eq "$status" ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
        grep -qE -- "^carm: $pattern" err
    ok "refuses $name"
}

# here: this machine's model, where studies look for it: $model. The machine is this one, as carm info
# reports it; the roofs are given, as those of a short build depend on what else runs meanwhile (a
# busy machine can hide the plateau of a level, and then it has no roof).
here() {
    "$carm" info --json >info.json 2>err || return 1
    model=$XDG_DATA_HOME/carm/$(uname -n).json
    mkdir -p "${model%/*}"
    awk -v host="$(uname -n)" '
    # what memory and compute roofs have in common; value in 10^9/s
    function roof(code, rate, value, cycle) {
        return sprintf("\"code\": \"%s\", \"%s\": %de9, \"ci95\": [%de9, %de9],\n     " \
            "\"spread\": {\"min\": %de9, \"p5\": %de9, \"p95\": %de9, \"max\": %de9}, " \
            "\"%s\": %g,\n     \"clock_hz\": 3e9, \"reps\": 16, \"counted_by\": \"constructed\", " \
            "\"disturbed\": false, \"note\": \"\"}", code, rate, value, value - 1, value + 1, \
            value - 1, value - 1, value + 1, value + 1, cycle, value / 3)
    }
    function memory(level, ldst, gb) {
        roofs = roofs (roofs == "" ? "" : ",\n") "    {\"level\": \"" level "\", \"ldst\": \"" ldst \
            "\", \"working_set_bytes\": 16384, \"window_bytes\": 16384, \"passes\": 1, " \
            roof("A.sse.dp." ldst ".u8", "bandwidth", gb, "bytes_per_cycle")
    }
    function compute(op, gflops) {
        ops = ops (ops == "" ? "" : ",\n") "    {\"op\": \"" op "\", " \
            roof("B.sse.dp." op ".f96.c12", "rate", gflops, "flops_per_cycle")
    }
    function level(name, bytes) {
        levels = levels sprintf("  {\"level\": \"%s\", \"os_size_bytes\": %s, " \
            "\"knee_bytes\": null, \"resolved\": true, \"note\": \"\"}%s\n", \
            name, bytes, name == "DRAM" ? "" : ",")
        memory(name, "2:1", gb)
        memory(name, "1:0", gb + 2)
        gb /= 2
    }
    BEGIN { gb = 96 }
    { value = $0; sub(/^[^:]*: */, "", value); sub(/,$/, "", value) }
    /^  "(cpu|hypervisor|cores|threads|memory_bytes|page_bytes|tsc_hz)":/ { machine = machine $0 "\n" }
    /^  "fma": true/ { fma = 1 }
    /^      "level":/ { number = value }
    /^      "os_size_bytes":/ { bytes = value }
    /^      "shared_by":/ {
        caches = caches sprintf("%s    {\"level\": %s, \"size_bytes\": %s, \"shared_by\": %s}", \
            caches == "" ? "" : ",\n", number, bytes, value)
        level("L" number, bytes)
    }
    END {
        level("DRAM", "null")
        compute("mad", 14)
        compute("add", 8)
        if (fma) compute("fma", 16)
        printf "{\"schema\": \"carm-model/1\", \"created\": \"2026-01-01T00:00:00Z\", " \
            "\"carm_version\": \"0\",\n\"machine\": {\n  \"hostname\": \"%s\",\n%s  \"caches\": [\n%s]\n" \
            "},\n\"config\": {\"reps\": 16, \"precision\": \"dp\", \"ldst\": \"2:1\", " \
            "\"memory_limit_bytes\": 268435456, \"quick\": true},\n\"levels\": [\n%s" \
            "],\n\"roofs\": [\n  {\"isa\": \"sse\", \"precision\": \"dp\", \"threads\": 1, " \
            "\"clock_hz\": 3e9,\n   \"memory\": [\n%s],\n", host, machine, caches, levels, roofs
        printf "   \"dram_peak\": {\"bandwidth\": %de9, \"code\": \"A.sse.dp.1:0.u8\"},\n", 2 * gb + 2
        printf "   \"compute\": [\n%s]\n  }\n],\n\"curves\": [],\n\"flop_curves\": [],\n\"validation\": []}\n", ops
    }' info.json >"$model" && "$carm" show --verbose "$model" >out 2>err
    ok 'a model of this machine'
    [ "$failed" -eq 0 ] || finish
    grep -v '"dram_peak"' "$model" >no-dram.json
    refuses 'a picture of a model without DRAM' 1 'the model has no DRAM bandwidth.*carm build' \
        -t 1 -m no-dram.json -o no-dram.csv --plot no-dram.svg
    [ ! -e no-dram.csv ] && [ ! -e no-dram.svg ]
    ok 'before anything is measured'
}

# refuses_words ARGUMENTS...: options that all studies read alike, and the model. ARGUMENTS: a small study
refuses_words() {
    refuses 'no model' 1 '.*carm build' "$@"
    refuses 'threads that are no number' 2 "--threads 'two' is no number" -t two
    refuses 'to go on without a file' 2 '--resume goes on ' --resume
    refuses 'a picture of another kind' 2 '.*svg, .png or .pdf' --plot a.gif
    refuses 'an unknown ISA' 2 'unknown ISA' --isa mmx
    refuses 'a budget of nothing' 2 '--budget needs seconds' --budget 0
}

# refuses_places ARGUMENTS...: with the model of here, threads, files and models that a study cannot use
refuses_places() {
    refuses 'more threads than there are' 2 '' "$@" -t 60000
    refuses 'a folder below a file' 1 'cannot write .*/p.csv: Not a directory' "$@" -o "$model/p.csv"
    printf 'a,b\n1,2\n' >other.csv
    refuses 'a file of another kind' 1 'other.csv is another kind of file' "$@" -o other.csv --resume
    [ "$(wc -l <other.csv)" -eq 2 ]
    ok 'and leaves it as it was'
    sed 's/"hostname": "[^"]*"/"hostname": "another-machine"/' "$model" >another.json
    refuses 'the model of another machine' 1 'the model is of host another-machine' "$@" -m another.json
}

# interrupt LINES ARGUMENTS...: SIGINT to a study that writes i.csv, once the file has so many lines; the study keeps them
interrupt() {
    lines=$1
    shift
    rm -f i.csv
    # a shell's background jobs ignore SIGINT: env resets it
    env --default-signal=INT "$carm" study "$kind" "$@" -o i.csv >out 2>err </dev/null &
    pid=$!
    tries=0
    while [ "$(wc -l 2>/dev/null <i.csv || echo 0)" -lt "$lines" ] && kill -0 $pid && [ $tries -lt 2000 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -INT $pid
    wait $pid
    [ $? -eq 1 ] && grep -q 'interrupted: the points so far are in i.csv, --resume' err && [ "$(wc -l <i.csv)" -ge "$lines" ]
}

# pictures ARGUMENTS...: p.svg, p.png and p.pdf of a study
pictures() {
    for format in svg png pdf; do
        study "$@" --plot "p.$format" && [ -s "p.$format" ]
        ok "a picture as $format"
    done
}
