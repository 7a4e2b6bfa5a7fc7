#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the functions of a program whose stack frame is larger than LIMIT, by disassembling it, after a planted one was
found. usage: frames.py PROGRAM; exit status 1 if there is one. Part of make lint."""
import re
import subprocess
import sys
import tempfile

LIMIT = 24 << 10  # bytes; the largest of carm is measure_here (23.8 KiB). A thread may have a stack of 128 KiB

PLANTED = """
#include <string.h>
int use(char *at);
int planted(int byte) { char big[%d]; memset(big, byte, sizeof big); return use(big); }
int use(char *at) { return at[1]; }
int main(void) { return planted(0); }
""" % (LIMIT + 64)


def frames(program):
    """Yields function and bytes of each frame above the limit."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    function = "?"
    for line in text.splitlines():
        head = re.match(r"^[0-9a-f]+ <(.+)>:$", line)
        function = head.group(1) if head else function
        sub = re.search(r"\bsub\s+\$0x([0-9a-f]+),%rsp", line)
        size = int(sub.group(1), 16) if sub else 0
        if LIMIT < size < 1 << 31:  # above: -128, an addition
            yield function, size


with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/planted.c", "w", encoding="ascii") as out:
        out.write(PLANTED)
    subprocess.run(["cc", "-O1", "-fno-inline", "-o", folder + "/planted", folder + "/planted.c"], check=True)
    if [name for name, _ in frames(folder + "/planted")] != ["planted"]:
        sys.exit("frames.py does not find a planted frame")
found = list(frames(sys.argv[1]))
for name, size in found:
    print(f"{name}: a stack frame of {size} bytes, more than {LIMIT}: allocate its large parts")
sys.exit(1 if found else 0)
