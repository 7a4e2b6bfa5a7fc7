/* SPDX-License-Identifier: MIT */
#include "base/version.h"

/* the Makefile gives both macros to this file alone, so that a new commit compiles one file */
const char carm_version[] = CARM_VERSION;
const char carm_commit[] = CARM_COMMIT;
