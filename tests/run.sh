#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test programs and scripts that print TAP side by side, one for each processor and one that waits
# (CARM_TEST_JOBS=N: N at a time), shows what failed or was skipped and ends with one line over all suites:
# "N passed, N failed, N skipped".
set -u

# One suite: its report goes to $out/NAME.report, its counts to $out/NAME.counts.
if [ "${1:-}" = --suite ]; then
  out=$2
  suite=$3
  # two folders may hold suites of one name
  name=$(echo "$suite" | sed -E 's#^(.*/)?tests/##; s#/test_#/#; s#_test\.sh$#.sh#')
  own=$out/$(echo "$name" | tr / -)
  mkdir "$own" || exit 1
  # models of tests never land where a user's are, nor where those of another suite are
  export XDG_DATA_HOME="$own/data"
  export CARM_KEEP_CODE=0 # no code of an earlier run, and none in the user's folder
  # suites do not wait for each other's builds: no test depends on how fast something was
  mkdir -m 1777 "$own/lock"
  export CARM_LOCK_DIR="$own/lock"
  begin=$(date +%s)
  # ends a suite that hangs: the longest takes 2 minutes on two idle CPUs, 5 on busy ones
  timeout "${CARM_TEST_TIMEOUT:-1200}" "$suite" >"$own/tap" 2>"$own/err" </dev/null
  status=$?
  seconds=$(($(date +%s) - begin))
  # cmocka writes a skipped test as "not ok N # SKIP name"
  s=$(grep -aciE '^(not )?ok [0-9]+ .*# *skip' "$own/tap")
  p=$(grep -aE '^ok ' "$own/tap" | grep -aciv '# *skip')
  f=$(grep -aE '^not ok ' "$own/tap" | grep -aciv '# *skip')
  # a suite that crashed, timed out or ran nothing has failed, whatever it printed; so has one whose
  # plan announced more tests than came
  planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$own/tap" | tail -n 1)
  {
    if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ -z "$planned" ] || [ "$planned" -eq 0 ]; }; then
      f=1
      echo "not ok - $name ended with status $status after $p tests (plan: ${planned:-none})"
    elif [ -n "$planned" ] && [ "$planned" -gt $((p + s + f)) ]; then
      f=$((f + 1))
      echo "not ok - $name: $((p + s + f - 1)) of $planned planned tests were run"
    fi
    printf '%-32s %3d passed, %d failed, %d skipped  (%d s)\n' "$name" "$p" "$f" "$s" "$seconds"
    grep -aiE '^((not )?ok [0-9]+ .*# *skip|skipped: )' "$own/tap" | sed 's/^/  /'
    if [ "$f" -gt 0 ]; then
      grep -av '^ok' "$own/tap" | head -n 60 | sed 's/^/  /'
      head -n 60 "$own/err" | sed 's/^/  /'
    fi
  } >"$own/report"
  echo "$p $f $s" >"$own/counts"
  cat "$own/report"
  exit 0
fi

out=$(mktemp -d "${TMPDIR:-/tmp}/carm-check-XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
export CMOCKA_MESSAGE_OUTPUT=tap
cores=$(nproc 2>/dev/null || echo 1)
jobs=${CARM_TEST_JOBS:-$cores}
# Daemons of other programs start in these, and they wait for them most of their time: one after the other
# beside the rest
waiting='cli/fleet_slurm cli/fleet_mpi'
# The longest first, so that none of them is alone at the end. Scripts that are not named come next.
longest='plots/page/report_browser plots/page/fleet_browser cli/misuse validation/validate/plan asm/matrix
  cli/place cli/run kernels/study_dwarfs cli/validate kernels/study_classes kernels/spmv run/trace
  models/fit/ridge_noise asm/recount cli/nodes cli/place_by setup'

ranked=$(for suite in "$@"; do echo "$suite"; done | awk -v waiting="$waiting" -v longest="$longest" '
  BEGIN { waits = split(waiting, names); n = split(waiting " " longest, names); for (i in names) rank[names[i]] = i + 0 }
  {
    name = $0
    gsub(/^(.*\/)?tests\/|_test\.sh$/, "", name)
    sub(/test_/, "", name)
    # what waits is 0 to 99, scripts that are not named come behind the longest, programs last
    print (!(name in rank) ? (/\.(sh|py)$/ ? 1000 : 2000) : rank[name] > waits ? 99 + rank[name] : rank[name]) " " $0
  }' | sort -sn)
# lane N PATTERN: the suites with ranks that match, N at a time
lane() {
  echo "$ranked" | sed -nE "s/^$2 //p" | tr '\n' '\0' | xargs -0 -r -n 1 -P "$1" "$0" --suite "$out"
}
if [ "${CARM_TEST_JOBS:-}" ]; then
  lane "$jobs" '[0-9]+'
else
  lane 1 '[0-9]{1,2}' &
  lane "$jobs" '[0-9]{3,}'
  wait
fi
# shellcheck disable=SC2046 # one word for each count
set -- "$#" $(cat "$out"/*/counts | awk '{ p += $1; f += $2; s += $3; n++ } END { print p + 0, f + 0, s + 0, n + 0 }')
if [ "$5" -ne "$1" ]; then
  echo "not ok - $5 of $1 suites ended"
  set -- "$1" "$2" $(($3 + 1)) "$4"
fi
echo "$2 passed, $3 failed, $4 skipped"
[ "$3" -eq 0 ]
