#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# carm report in a real headless Chromium. Prints TAP. CARM = the program, CARM_TOP = the sources' root.
# Where there is no chromium it is skipped with the reason; with CI=true that is a failure.
# An argument is a word of the names of the tests to run.
top=${CARM_TOP:-.}
LC_ALL=C.UTF-8
export LC_ALL
# python3 in this shell's place: it gets the signals and ends the browser
exec python3 -B "$top/tests/plots/page/report_browser.py" "${CARM:-build/carm}" "$top" "$@"
