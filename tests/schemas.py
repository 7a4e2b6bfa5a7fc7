#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks what suites printed as JSON against the schemas of data/.

usage: schemas.py DATA FILE...     FILE: COMMAND.ANYTHING, with that command's output (tests/tap.sh keeps them)
Says what follows no schema, and ends with 1; prints the number of files else."""
import json
import os
import sys

import jsonschema

data, *paths = sys.argv[1:]
VALIDATORS = {}
wrong = 0


def validator(command):
    """The schema of a command."""
    if command not in VALIDATORS:
        with open(os.path.join(data, command + ".schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        VALIDATORS[command] = jsonschema.Draft202012Validator(schema)
    return VALIDATORS[command]


for path in paths:
    with open(path, encoding="utf-8") as file:
        output = json.load(file)
    error = jsonschema.exceptions.best_match(validator(os.path.basename(path).split(".")[0]).iter_errors(output))
    if error:
        print(f"{os.path.basename(path)}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
        wrong = 1
if not wrong:
    print(len(paths), "outputs")
sys.exit(wrong)
