# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs tests of a page in a headless Chromium without network, and prints TAP."""
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback

from webdriver import Browser, WebDriverError, programs


def caught(b, check):
    """The words of a check that must fail."""
    usual, b.patience = b.patience, 0.1
    try:
        check()
    except AssertionError as error:
        return "caught: " + str(error)
    finally:
        b.patience = usual
    raise AssertionError("the planted fault was not caught")


def on(page, check):
    """A test of one of the pages, such as "sample"."""
    return lambda b, pages: check(b, getattr(pages, page)(), pages)


def plain(text):
    """A text of any origin in one line of ASCII."""
    return " ".join(text.replace("#", "").split()).encode("ascii", "backslashreplace").decode()[:200]


def skipped(what, reason):
    """Without a browser: says so, and fails where it must be there. Returns the exit status."""
    reason = plain(reason)
    if os.environ.get("CI") == "true":
        print("not ok 1 - %s in a browser: %s, and CI must not skip it\n1..1" % (what, reason))
        return 1
    print("ok 1 - %s in a browser # SKIP %s\n1..1" % (what, reason))
    return 0


def on_signals(action):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, action)


def stop(number, _frame):
    on_signals(signal.SIG_IGN)  # a second one must not end the end
    sys.exit(128 + number)


def run(b, pages, tests, word):
    """tests() gives (name, function of a browser and pages). Runs those whose names have the word.
    Returns how many failed."""
    failed = n = 0
    for name, test in tests():
        if word not in name:
            continue
        n += 1
        start = time.monotonic()
        wrong = note = None
        try:
            note = test(b, pages)
        except (AssertionError, WebDriverError) as error:
            wrong = str(error)
        except Exception:  # pylint: disable=broad-except # a test's own mistake is its failure
            wrong = traceback.format_exc()
        failed += wrong is not None
        # notes stand in the line itself: tests/run.sh shows the other lines of a suite that failed
        notes = ["%.1f s" % (time.monotonic() - start)] + [note] * bool(note)
        print("%s %d - %s (%s)" % ("ok" if wrong is None else "not ok", n, name, plain("; ".join(notes))))
        for line in (wrong or "").splitlines():
            print("#", plain(line))
        sys.stdout.flush()
    print("1..%d" % n)
    return failed


def main(what, make_pages, tests):
    """what: of whose page these are; make_pages(carm, top, folder). Returns the exit status."""
    carm, top = os.path.abspath(sys.argv[1]), sys.argv[2]
    browser, driver, reason = programs()
    if reason:
        return skipped(what, reason)
    on_signals(stop)
    folder = tempfile.mkdtemp(prefix="carm-test-")
    b = None
    try:
        pages = make_pages(carm, top, folder)
        if pages.without_d3():
            return skipped(what, "this carm was built without d3: install libjs-d3 and make again")
        try:
            b = Browser(browser, driver)
        except WebDriverError as error:
            return skipped(what, "%s does not start: %s" % (browser, error))
        print("# Chromium", b.version)
        return 1 if run(b, pages, tests, sys.argv[3] if len(sys.argv) > 3 else "") else 0
    finally:
        on_signals(signal.SIG_IGN)
        if b:
            b.close()
        shutil.rmtree(folder, ignore_errors=True)
