/* SPDX-License-Identifier: MIT */
/* The version and commit that `carm --version` prints and that models keep. */
#pragma once

extern const char carm_version[]; /* VERSION of the Makefile */

/* The first 12 digits of the sources' git commit, followed by "-modified" if files differed from the commit;
 * "" = built from sources without git's folder and without the file .commit of an archive. */
extern const char carm_commit[];
