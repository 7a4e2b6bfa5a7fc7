#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test programs and scripts that print TAP, shows what failed or was skipped and ends with one
# line over all suites: "N passed, N failed, N skipped".
set -u
out=$(mktemp -d "${TMPDIR:-/tmp}/carm-check-XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
# models of tests never land where a user's are
XDG_DATA_HOME=$out/data
export XDG_DATA_HOME
export CMOCKA_MESSAGE_OUTPUT=tap
passed=0
failed=0
skipped=0
for suite in "$@"; do
  name=$(basename "$suite")
  begin=$(date +%s)
  timeout "${CARM_TEST_TIMEOUT:-240}" "$suite" >"$out/tap" 2>"$out/err" </dev/null
  status=$?
  seconds=$(($(date +%s) - begin))
  # cmocka writes a skipped test as "not ok N # SKIP name"
  s=$(grep -ciE '^(not )?ok [0-9]+ .*# *skip' "$out/tap")
  p=$(grep -E '^ok ' "$out/tap" | grep -civ '# *skip')
  f=$(grep -E '^not ok ' "$out/tap" | grep -civ '# *skip')
  # a suite that crashed, timed out or ran nothing has failed, whatever it printed; so has one whose
  # plan announced more tests than came
  planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$out/tap" | tail -n 1)
  if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ -z "$planned" ] || [ "$planned" -eq 0 ]; }; then
    f=1
    echo "not ok - $name ended with status $status after $p tests (plan: ${planned:-none})"
  elif [ -n "$planned" ] && [ "$planned" -gt $((p + s + f)) ]; then
    f=$((f + 1))
    echo "not ok - $name: $((p + s + f - 1)) of $planned planned tests were run"
  fi
  printf '%-20s %3d passed, %d failed, %d skipped  (%d s)\n' "$name" "$p" "$f" "$s" "$seconds"
  grep -iE '^((not )?ok [0-9]+ .*# *skip|skipped: )' "$out/tap" | sed 's/^/  /'
  if [ "$f" -gt 0 ]; then
    grep -v '^ok' "$out/tap" | head -n 60 | sed 's/^/  /'
    head -n 60 "$out/err" | sed 's/^/  /'
  fi
  passed=$((passed + p))
  failed=$((failed + f))
  skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
