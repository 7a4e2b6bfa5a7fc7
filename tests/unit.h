/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka with the headers that it needs. Every test has cmocka's parameter `state`, which few tests use. */
#ifndef CARM_TESTS_UNIT_H
#define CARM_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
