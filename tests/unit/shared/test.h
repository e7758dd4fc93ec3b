/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test.h: cmocka, with the headers that it wants before it and does not include itself.
 *
 * What a unit test needs beside the headers of what it tests.
 */
#ifndef SP_UNIT_TEST_H
#define SP_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#endif
