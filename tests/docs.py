#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the pages for readers: links, paths in backquotes, command lines, printed output. Prints a line for
each fault; exit status 1 if there is any.

usage: docs.py PAGES SOURCES CARM
PAGES has README.md and docs/, SOURCES the files that they name, CARM is the program."""
import os
import re
import subprocess
import sys

pages, sources, carm = sys.argv[1:]
faults = []
helps = {}

# What a reader replaces, or what comes into being: no file of the tree.
PLACEHOLDER = re.compile(r"NAME|[*%$<]|^build/|^tests/data/sample")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def fault(page, text):
    faults.append(f"{os.path.relpath(page, pages)}: {text}")


def anchors(text):
    """Headings as a forge makes anchors of them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def check_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        name, _, heading = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if not os.path.exists(path):
            # the pages may be a copy beside the sources
            path = os.path.join(sources, os.path.relpath(path, pages))
        if not os.path.exists(path):
            fault(page, f"link to no file: {target}")
        elif heading and heading not in anchors(read(path)):
            fault(page, f"link to no heading: {target}")


def check_paths(page, text):
    rooms = "asm|base|cli|data|docs|harness|include|kernels|models|plots|tests|validation"
    for path in re.findall(rf"`((?:{rooms})/[\w./-]*)`", text):
        if not PLACEHOLDER.search(path) and not os.path.exists(os.path.join(sources, path)):
            fault(page, f"no such file: {path}")


def options(words):
    """The options of a command or sub-command, None where there is none of that name."""
    key = tuple(words)
    if key not in helps:
        done = subprocess.run([carm, *words, "--help"], capture_output=True, text=True, check=False)
        helps[key] = set(re.findall(r"--[a-z-]+|(?<=  )-[a-zA-Z](?=,)", done.stdout)) \
            if done.returncode == 0 else None
    return helps[key]


def check_commands(page, text):
    lines = re.findall(r"`(carm [^`\n]+)`", text)
    for block in re.findall(r"^```\w*\n(.*?)^```", text, flags=re.M | re.S):
        block = re.sub(r"#.*", "", block)
        lines += re.findall(r"(?:^|[^\w/-])(carm [^\n]*)", block, flags=re.M)
    for line in lines:
        line = re.split(r" -- |[#|;&>()]", line)[0]
        words = line.split()[1:]
        words = words[1:] if words[:1] == ["help"] else words
        if not words or not re.fullmatch(r"[a-z]+", words[0]):
            continue  # `carm COMMAND --help`, `carm - ...`, output
        if options(words[:1]) is None:
            fault(page, f"no such command: {line.strip()}")
            continue
        sub = words[:2] if words[0] in ("fleet", "study") and len(words) > 1 and \
            re.fullmatch(r"[a-z]+", words[1]) else words[:1]
        known = options(sub) or set()
        for word in words[1:]:
            name = re.match(r"--[a-z-]+|-[a-zA-Z]$", word)
            if name and name.group() not in known:
                fault(page, f"carm {' '.join(sub)} has no {name.group()}: {line.strip()}")


def check_output(page, text):
    """The block behind one whose command line says "# the output below" is the command's output, or its first
    lines where it ends with "..."."""
    pattern = r"^(carm [^\n#]*?) +# the output below\n.*?^```\n+```\n(.*?)^```"
    for found in re.finditer(pattern, text, flags=re.M | re.S):
        shown = found[2].splitlines()
        whole = shown[-1:] != ["..."]
        done = subprocess.run([carm, *found[1].split()[1:]], capture_output=True, text=True, check=False,
                              cwd=sources)
        printed = done.stdout.strip("\n").splitlines()
        printed = printed if whole else printed[:len(shown) - 1] + ["..."]
        if printed != shown and os.environ.get("UPDATE"):
            new = text[:found.start(2)] + "\n".join(printed) + "\n" + text[found.end(2):]
            with open(page, "w", encoding="utf-8") as file:
                file.write(new)
        elif printed != shown:
            fault(page, f"prints something else (UPDATE=1 takes it): {found[1]}")


def check_copies(page, text):
    """A block behind a comment with the name of a file in docs/data is the text of that file."""
    def copied(found):
        return found[1] + read(os.path.join(sources, found[2])).strip("\n") + "\n```"

    new = re.sub(r"^(<!-- (docs/data/\S+) -->\n+```\n).*?^```", copied, text, flags=re.M | re.S)
    if new != text and os.environ.get("UPDATE"):
        with open(page, "w", encoding="utf-8") as file:
            file.write(new)
    elif new != text:
        fault(page, "a block is not the file of docs/data that is named before it (UPDATE=1 takes it)")


LONGEST = 150  # lines of a page


def check_length(page, text):
    if text.count("\n") > LONGEST:
        fault(page, f"has {text.count(chr(10))} lines, more than {LONGEST}")


found = [os.path.join(pages, n) for n in sorted(os.listdir(pages)) if n.endswith(".md")]
found += [os.path.join(pages, "docs", n) for n in sorted(os.listdir(os.path.join(pages, "docs")))
          if n.endswith(".md")]
for page in found:
    text = read(page)
    check_links(page, text)
    check_paths(page, text)
    check_commands(page, text)
    check_output(page, text)
    check_copies(page, read(page))
    if page != os.path.join(pages, "CHANGELOG.md"):
        check_length(page, text)
print("\n".join(faults), end="\n" if faults else "")
sys.exit(1 if faults else 0)
