#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plants faults in the translator and shows that test_translate.c finds each. Prints TAP.
set -u
# shellcheck source=tests/tap.sh
. "${0%/*}/../../tap.sh"
top=$(cd "${CARM_TOP:-.}" && pwd)
build=${carm%/*}
cc=${CC:-cc}
cd "$top" || exit 1

if ! [ -e "$build/engine/block.o" ] || ! "$carm" run -q --counters translate -- true 2>"$tmp/err"; then
    skip 'planted faults' 'no engine was built here, or it does not work'
    finish
fi
mkdir "$tmp/objects" "$tmp/programs"
export CARM_TEST_PROGRAMS="$tmp/programs" # compiled once
san=
if grep -q __asan_init "$carm"; then san=-fsanitize=address,undefined; fi # carm's library wants them
# shellcheck disable=SC2086 # a compiler may be two words, here and below
$cc -I. -D_GNU_SOURCE -O1 -c -o "$tmp/test.o" tests/harness/translate/test_translate.c 2>"$tmp/err"
ok 'the tests are compiled'

# engine SOURCE: the tests with this source in place of the one of its name
engine() {
    name=$(basename "$1" .c)
    cp "$build"/engine/*.o "$tmp/objects" && rm -f "$tmp/objects/preload.o" && # that one is of carm run
        $cc -I. -D_GNU_SOURCE -O2 -std=c17 -ffreestanding -fno-builtin -fno-stack-protector -mgeneral-regs-only \
            -fPIC -fvisibility=hidden -fcf-protection=none -fno-asynchronous-unwind-tables -ffunction-sections \
            -w -c -o "$tmp/objects/$name.o" "$1" &&
        $cc -shared -nostdlib -Wl,--gc-sections -Wl,-z,now -Wl,-Bsymbolic \
            -Wl,--version-script,harness/translate/engine/engine.map -o "$tmp/engine.so" "$tmp"/objects/*.o -lZydis &&
        sed "s,incbin \".*\",incbin \"$tmp/engine.so\"," "$build/harness/translate/engine.asm" >"$tmp/engine.asm" &&
        nasm -f elf64 -o "$tmp/engine.o" "$tmp/engine.asm" &&
        $cc $san -o "$tmp/test" "$tmp/test.o" "$tmp/engine.o" "$build/libcarm-all.a" "$build/asm/builtin_none.o" -lcmocka \
            -lhwloc -lgsl -lgslcblas -ljansson -lyaml -lzstd -lZydis -lpthread -ldl -lm
}

# finds NAME TEST FILE FROM TO: with FROM replaced in FILE, that test fails
finds() {
    if { case $2 in equal | stock | ready | kept* | faults*) ;; *) false ;; esac; } && ! setarch -R true 2>/dev/null; then
        skip "finds $1" 'addresses cannot be fixed here, so that test is skipped'
        return
    fi
    source=$(echo harness/translate/engine/*/"$3")
    rm -rf "$tmp"/programs/*/ # what tests that failed have left
    sed "s/$4/$5/" "$source" >"$tmp/$3"
    ! cmp -s "$source" "$tmp/$3" && engine "$tmp/$3" 2>"$tmp/err" &&
        ! CARM_TOP=$top timeout 20 "$tmp/test" "$2" >"$tmp/out" 2>&1 # some never end
    ok "finds $1"
}

engine harness/translate/engine/emit/live.c 2>"$tmp/err"
ok 'an engine is built'
for test in random equal rewrites stock ready kept_of_rewritten faults_of_programs kept_of_branches kept_grows; do
    CARM_TOP=$top timeout 600 "$tmp/test" $test >"$tmp/out" 2>"$tmp/err"
    ok "$test: the engine as it is passes"
done
finds 'a counter that changes flags' random live.c '\(flags->tested & CHANGED\)' '(0 \& \1)'
finds 'a register that is still read' random live.c 'return (int)(whole - ZYDIS_REGISTER_RAX)' \
    'return (int)(whole - ZYDIS_REGISTER_RAX) ^ 1'
finds 'a wrong displacement' random write.c '(int64_t)(to - (uint64_t)end)' '(int64_t)(to - (uint64_t)end) + 1'
finds 'links to code that has changed' random cache.c 'set_jump(link->patch, link->stub)' '(void)link'
finds 'entries of code that has changed' random cache.c 'leave_chain(block)' '(void)block'
finds 'an account that is not corrected after a fault' equal tallies.c 'counted ? -1 : 1' '0'
finds 'copies of a loop that are not corrected after a fault' equal tallies.c 'i = copy_at(block, at)' 'i = 0'
finds 'a wrong number of rounds where a loop ends' equal write.c 'c + 1, RAX' 'c, RAX'
finds 'a wrong account' equal tallies.c 'carm_tally_put(row, c)' 'carm_tally_put(row, c); row->load_bytes++'
finds 'code that is written and not looked at again' rewrites block.c 'checked = flags & CARM_RANGE_CHANGES' \
    'checked = false'
finds 'code that the instruction before it writes' rewrites block.c '(checked && writes_memory' '(false \&\& writes_memory'
finds 'code that was taken for another version' rewrites cache.c \
    'memcmp(block->source, bytes, block->bytes) == 0' 'true'
finds 'counters of another version' rewrites tallies.c 'memcmp(&row, old, sizeof row) != 0' 'false'
finds 'shared memory that was made executable' rewrites ranges.c 'line.shared ? CARM_RANGE_SHARED' 'false ? 0U'
finds 'code that was emptied' rewrites syscall.c 'emptied(r\[RDI\], r\[RSI\])' '(void)r'
finds 'a wrong displacement in shared code' stock stock.c 'add(at, moved)' 'add(at, moved + 1)'
finds 'a wrong counter in shared code' stock stock.c 'INT64_C(8) \* block->counter' 'INT64_C(8) * block->counter + 8'
finds 'shared code of other bytes' stock stock.c '!same(carm_stock_data(b, p->bytes), ' \
    'false \&\& !same(carm_stock_data(b, p->bytes), '
finds 'ready code of other bytes' ready cache.c '!same(at, lines, bytes)' 'false'
finds 'kept code of earlier bytes' kept_of_rewritten ready.c 'carm_cache_is_awake(number)) {' 'true) {'
finds 'a table of branches that is copied' faults_of_programs cache.c \
    'here = carm_ready->table.bytes == sizeof carm_table' 'here = false'
finds 'entries of a library that is another one now' kept_of_rewritten cache.c 'leave_early(i);' ''
finds 'a longer mapping that is taken for that of a library' kept_of_rewritten cache.c \
    'all \&\& begin == f->begin \&\& end == f->end' 'all'
finds 'entries of a library that is not compared when it is mapped' kept_of_rewritten cache.c \
    '!overlaps(f, begin, end)) {' 'true) {'
finds 'ready code that is executed before it is compared' ready cache.c 'number < nready \&\&' 'false \&\&'
finds 'a branch that is turned round and keeps its condition' kept_of_branches cache.c '\*condition ^= 1' '(void)condition'
finds 'another jump that is turned round' kept_of_branches cache.c '!is_conditional(patch)' 'false'
finds 'jumps to the code behind them' kept_of_branches cache.c 'off != 0 \&\& !is_nothing(patch)' 'true'
finds 'a nop that is no jump once more' kept_grows cache.c ' \&\& !is_nothing(patch)' ''
finds 'flags that are dead only until code changes' rewrites cache.c 'at \&\& at < end' 'false'
finish
