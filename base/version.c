/* SPDX-License-Identifier: MIT */
#include "base/version.h"

/* both are macros of the Makefile, given to this file alone: a new commit compiles one file */
const char carm_version[] = CARM_VERSION;
const char carm_commit[] = CARM_COMMIT;
