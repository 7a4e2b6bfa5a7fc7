#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shell of docs/ci.md and docs/ci-jobs.md: the scripts, and the commands of the jobs, as files.

usage: ci.py FOLDER PAGE...
Writes FOLDER/script-N for each block of sh, and FOLDER/job-N with all commands of each block of yaml."""
import re
import sys

import yaml

folder, *pages = sys.argv[1:]
blocks = []
for page in pages:
    with open(page, encoding="utf-8") as file:
        blocks += re.findall(r"^```(\w+)\n(.*?)^```", file.read(), flags=re.M | re.S)

scripts = jobs = 0
for kind, text in blocks:
    if kind == "sh":
        scripts += 1
        name = f"script-{scripts}"
    elif kind == "yaml":
        jobs += 1
        name = f"job-{jobs}"
        job = yaml.safe_load(text)
        if "jobs" in job:
            commands = [step["run"] for one in job["jobs"].values() for step in one["steps"] if "run" in step]
        else:
            commands = [line for one in job.values() for part in ("script", "after_script") for line in one[part]]
        # each is a shell of its own; ${{ ... }} is what the forge puts in
        text = "".join(f"(\n{re.sub(r'[$]{{.*?}}', '7', command)}\n) || exit\n" for command in commands)
    else:
        continue
    with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
        out.write(text)
print(f"{scripts} scripts, {jobs} jobs")
