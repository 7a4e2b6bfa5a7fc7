#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What `carm --completion` prints, in real shells. Prints TAP. CARM = the program, CARM_TOP = the root
# of the sources.
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
top=${CARM_TOP:-.}
: >"$tmp/out"

"$carm" --completion bash >"$tmp/carm.bash" 2>"$tmp/err" && bash -n "$tmp/carm.bash" 2>"$tmp/err"
ok "carm --completion bash is a script"
"$carm" --completion zsh >"$tmp/_carm" 2>"$tmp/err" && [ "$(head -n 1 "$tmp/_carm")" = "#compdef carm" ]
ok "carm --completion zsh is one"
good=0
for word in "" fish; do
    # shellcheck disable=SC2086
    "$carm" --completion $word >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -q "say for which shell: carm --completion bash, or zsh" \
        "$tmp/err" || good=1
done
[ $good -eq 0 ]
ok "another shell is refused"
if command -v shellcheck >/dev/null; then
    shellcheck "$tmp/carm.bash" >"$tmp/out" 2>"$tmp/err"
    ok "shellcheck has nothing to say about the bash script"
else
    skip "shellcheck has nothing to say about the bash script" "no shellcheck"
fi

# ---- bash --------------------------------------------------------------------------------------

# As readline does it: words cut at blanks and, each for itself, = and :, the cursor behind the line.
cat >"$tmp/complete.bash" <<'BASH'
compopt() { printf 'compopt %s\n' "$*" >>"$log"; }
complete_line() { # LINE: a candidate a line
    local rest=$1 piece
    COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMPREPLY=()
    while [[ $rest ]]; do
        if [[ $rest =~ ^[[:space:]]+ ]]; then
            rest=${rest#"${BASH_REMATCH[0]}"}
            [[ $rest ]] || COMP_WORDS+=("")
        else
            [[ $rest =~ ^([=:]+|[^=:[:space:]]+) ]]
            piece=${BASH_REMATCH[0]}
            COMP_WORDS+=("$piece")
            rest=${rest#"$piece"}
        fi
    done
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _carm
    printf '%s\n' "${COMPREPLY[@]}"
}
BASH

# completes NAME LINE CANDIDATES: just these, in this order
completes() {
    (cd "$tmp/files" && bash --norc -c 'log=$3; . "$1"; . "$2"; complete_line "$4"' - \
        "$tmp/carm.bash" "$tmp/complete.bash" "$tmp/log" "$2") >"$tmp/lines" 2>"$tmp/err"
    tr '\n' ' ' <"$tmp/lines" | sed 's/ *$//' >"$tmp/out"
    [ "$(cat "$tmp/out")" = "$3" ] && [ ! -s "$tmp/err" ]
    ok "bash: $1"
}
mkdir "$tmp/files"
echo '{}' >"$tmp/files/x4.json"
echo '{}' >"$tmp/files/xe.json"

commands=$("$carm" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | tr '\n' ' ')
completes "the commands" "carm " "$commands--help --version --man --completion"
completes "a command begun" "carm bu" "build"
completes "a command unknown" "carm bild" ""
completes "the commands of help" "carm help s" "show study sol"
completes "the shells" "carm --completion " "bash zsh"
completes "options" "carm build --p" "--precision"
completes "an option of another command" "carm info --p" ""
completes "words of an option" "carm build --isa " "scalar sse avx avx2 avx512 amx all"
completes "... begun" "carm build --isa avx" "avx avx2 avx512"
completes "... behind an equals sign" "carm build --isa=avx5" "avx512"
completes "... behind that alone" "carm build --isa=" "scalar sse avx avx2 avx512 amx all"
completes "a list goes on, without what it has" "carm build --isa avx2,avx" "avx2,avx avx2,avx512"
completes "... behind an equals sign" "carm validate --ops=fma,m" "fma,mad fma,mul"
completes "words with colons" "carm build --ldst " "2:1 1:1 1:0 0:1 update 2:1update nt"
completes "... begun" "carm build --ldst 1:" "1 0"
completes "... in a list" "carm build --ldst=2:1,1" "1,1:1 1,1:0"
completes "one word is no list" "carm plot --kind roofline,b" ""
completes "a letter's value" "carm run -c pa" "papi"
completes "a value that may lack" "carm build --ceil" "--ceilings --ceilings="
completes "... behind an equals sign" "carm build --ceilings=mix,b" "mix,busy"
completes "... but not behind a blank" "carm build --ceilings mi" ""
completes "a number" "carm build --reps " ""
completes "sub-commands" "carm study " "gemm classes dwarfs"
completes "... one of them alone" "carm study gemm " ""
completes "... behind options" "carm study --n 100 --json d" "dwarfs"
completes "... behind --" "carm study -- --j" ""
completes "... begun" "carm fleet s" "show"
completes "options of a sub-command" "carm study gemm --v" "--variants"
completes "... and none of another" "carm study gemm --la" ""
completes "... all of one" "carm study classes -" \
    "--model --output --plot --resume --on --wait --json --threads --isa --largest --budget --help"
completes "... of the command: help alone" "carm study -" "--help"
completes "words of a sub-command's option" "carm study dwarfs --kernels spmv,s" "spmv,stencil"
completes "... behind an equals sign" "carm fleet build --isa=avx5" "avx512"
completes "... of one that stands before the name" "carm study --isa avx5" "avx512"
completes "a switch here" "carm fleet show --ceil" "--ceilings"
completes "... with a value there" "carm fleet build --ceil" "--ceilings --ceilings="
completes "no operand where a sub-command has none" "carm fleet build " ""
completes "published machines and files" "carm show x" "xeon x4.json xe.json"
completes "... several" "carm plot cell o" "opteron-x2 opteron-x4"
for c in show place plot report compare "run -m"; do
    completes "measured machines after carm $c" "carm $c zen3" "zen3-kvm"
done
completes "... and this machine's model" "carm plot zen3-kvm mi" "mine"
completes "... not where only this machine's will do" "carm validate zen3" ""
completes "examples of carm sol, and no extension" "carm sol " \
    "linear-relu-linear transformer-block convolution-stack long-context-attention worked-example x4.json xe.json"
completes "pages of --man" "carm --man s" "show study sol"
completes "nothing where no operand belongs" "carm info " ""
# files are readline's: no candidate, and its own completion stays on
rm -f "$tmp/log"
completes "files of an option" "carm build -o x" ""
[ ! -e "$tmp/log" ]
ok "bash: ... are left to readline"
completes "files of operands" "carm place x" ""
completes "files behind an equals sign" "carm study gemm --output=x" ""
completes "files of a sub-command's operands" "carm fleet show --top 3 x" ""
completes "files behind a redirection" "carm show --json >x" ""
[ ! -e "$tmp/log" ]
ok "bash: ... are left to readline, too"
mkdir "$tmp/bin" && printf '#!/bin/sh\n' >"$tmp/bin/carm-probe" && chmod +x "$tmp/bin/carm-probe"
PATH=$tmp/bin:$PATH
completes "programs" "carm run -- carm-pro" "carm-probe"
completes "... behind options" "carm run --counters step carm-pro" "carm-probe"
completes "a program's arguments" "carm run -- ls --is" ""
# names of files and words with odd characters run nothing
# shellcheck disable=SC2016 # backticks and $ are the test
touch "$tmp/files/"'xe `touch pwned` $(touch pwned)' && completes "an odd word" \
    'carm show `touch${IFS}pwned`$(touch${IFS}pwned)' "" && [ ! -e "$tmp/files/pwned" ]
ok "bash: nothing is executed"
rm -f "$tmp/files/xe "*

# Whatever the tables hold as words, the help names; and what the parser refuses, it lists the same.
agree() { # NAME LINE REFUSAL...: the words offered at LINE all stand in the refusal's message
    name=$1 line=$2
    shift 2
    words=$(cd "$tmp/files" && bash --norc -c 'log=/dev/null; . "$1"; . "$2"; complete_line "$3"' - \
        "$tmp/carm.bash" "$tmp/complete.bash" "$line" 2>"$tmp/err")
    "$carm" "$@" >"$tmp/out" 2>"$tmp/err"
    good=$?
    line=${line#carm }
    # shellcheck disable=SC2086 # a command and its sub-command
    "$carm" help ${line%% -*} >"$tmp/help"
    [ $good -eq 2 ] && [ -n "$words" ] && for word in $words; do
        [ "$word" = all ] || grep -qw -- "$word" "$tmp/err" || break
        grep -qw -- "$word" "$tmp/help" || break
        word=
    done && [ -z "$word" ]
    ok "words, help and refusal agree: $name"
}
agree "ISAs" "carm build --isa " build --isa mmx
agree "precisions" "carm build --precision " build --precision hp
agree "operations" "carm build --ops " build --ops cbrt
agree "mixes" "carm build --ldst " build --ldst 2-1
agree "ceilings" "carm build --ceilings=" build --ceilings=x
agree "providers" "carm build --counters " build --counters x
agree "kinds" "carm plot --kind " plot --kind x -o "$tmp/x.svg"
agree "places of the balance" "carm plot --balance " plot --balance x --kind ceilings -o "$tmp/x.svg"
agree "places of place's" "carm place --balance " place --balance x "$top/tests/data/sample-model.json" /dev/null
agree "kernels" "carm study dwarfs --kernels " study dwarfs --kernels x
agree "studies" "carm study " study x

# ---- zsh ---------------------------------------------------------------------------------------

if ! command -v zsh >/dev/null; then
    skip "zsh completes" "no zsh"
elif ! zsh -fc 'zmodload zsh/zpty' 2>/dev/null; then
    skip "zsh completes" "zsh has no zsh/zpty"
else
    zsh -fn "$tmp/_carm" 2>"$tmp/err"
    ok "zsh: the script parses"
    # an interactive zsh on a pseudo-terminal; ^X prints what the Tab key made of the line
    cat >"$tmp/complete.zsh" <<'ZSH'
zmodload zsh/zpty
zpty z "TERM=dumb zsh -f -i"
zpty -w z "PROMPT=; fpath=($1 \$fpath); cd $2; autoload -Uz compinit && compinit -u -d $1/dump"
zpty -w z "setopt no_beep no_list_ambiguous; LISTMAX=-1"
zpty -w z "took() { print -rl -- '' '<<' \"\$BUFFER\" '>>' }; zle -N took; bindkey '^X' took; bindkey '^I' complete-word"
zpty -w z "print -r rea''dy"
zpty -r -m z text '*ready*' || exit 1
zpty -n -w z "$3"$'\t'$'\x18'
zpty -r -m z text '*<<*>>*' || exit 1
print -r -- ${${text##*<<}%%>>*}
zpty -d z
ZSH
    # inserts NAME LINE RESULT: what the line becomes by the Tab key
    inserts() {
        got=$(timeout 600 zsh -f "$tmp/complete.zsh" "$tmp" "$tmp/files" "$2" 2>"$tmp/err" |
            tr -d '\r\n')
        echo "$got" >"$tmp/out"
        [ "$got" = "$3" ]
        ok "zsh: $1"
    }
    inserts "a command" "carm bu" "carm build "
    inserts "an option" "carm build --pr" "carm build --precision="
    inserts "a switch" "carm build --qu" "carm build --quick "
    inserts "a word behind a blank" "carm plot --kind val" "carm plot --kind validation "
    inserts "... and behind an equals sign" "carm plot --kind=val" "carm plot --kind=validation "
    inserts "a list" "carm build --isa avx2,avx5" "carm build --isa avx2,avx512,"
    inserts "a word with a colon" "carm build --ldst=2:1,0" "carm build --ldst=2:1,0:1,"
    inserts "a letter's value" "carm run -c pa" "carm run -c papi "
    inserts "a value that may lack" "carm build --ceilings=bu" "carm build --ceilings=busy,"
    inserts "a study" "carm study dw" "carm study dwarfs "
    inserts "a sub-command's option" "carm study gemm --va" "carm study gemm --variants="
    inserts "... and none of another" "carm study gemm --lar" "carm study gemm --lar"
    inserts "a word of a sub-command's option" "carm study dwarfs --kernels sp" "carm study dwarfs --kernels spmv,"
    inserts "a file of a sub-command" "carm fleet show xe." "carm fleet show xe.json "
    inserts "a published machine" "carm show ce" "carm show cell "
    inserts "a measured one after place" "carm place zen3" "carm place zen3-kvm "
    inserts "... after an option" "carm run --model=zen3" "carm run --model=zen3-kvm "
    inserts "an example of carm sol" "carm sol wor" "carm sol worked-example "
    inserts "a man page" "carm --man va" "carm --man validate "
    inserts "a file" "carm show xe." "carm show xe.json "
    inserts "an option's file" "carm place --csv x4" "carm place --csv x4.json "
    inserts "a program" "carm run -- carm-pro" "carm run -- carm-probe "
    inserts "a command of help" "carm help va" "carm help validate "
    # shellcheck disable=SC2016 # backticks and $ are the test
    inserts "nothing out of an odd word" 'carm show `touch pwned`$(touch pwned)zz' \
        'carm show `touch pwned`$(touch pwned)zz'
    [ ! -e "$tmp/files/pwned" ]
    ok "zsh: ... and nothing is executed"
fi
# ---- the installed tree ------------------------------------------------------------------------

if command -v make >/dev/null && [ -f "$top/Makefile" ]; then
    share=$tmp/root/usr/share
    make -C "$top" install DESTDIR="$tmp/root" PREFIX=/usr >"$tmp/out" 2>"$tmp/err" &&
        cmp "$share/bash-completion/completions/carm" "$tmp/carm.bash" >>"$tmp/out" 2>>"$tmp/err" &&
        cmp "$share/zsh/site-functions/_carm" "$tmp/_carm" >>"$tmp/out" 2>>"$tmp/err" &&
        [ -s "$share/man/man1/carm.1" ] && for c in $commands; do
            grep -q "^\.Nm carm-$c" "$share/man/man1/carm-$c.1" || break
            c=
        done && [ -z "$c" ]
    ok "make install puts both scripts and the man pages in place"
    make -C "$top" uninstall DESTDIR="$tmp/root" PREFIX=/usr >"$tmp/out" 2>"$tmp/err" &&
        [ -z "$(find "$tmp/root" ! -type d)" ]
    ok "... and make uninstall leaves no file"
else
    skip "make install puts both scripts and the man pages in place" "no make, or no Makefile"
fi

finish
