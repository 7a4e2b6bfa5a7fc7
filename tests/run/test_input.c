/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard input of a program that runs twice: a file, a pipe, none. */
#include <unistd.h>

#include "run/input.h"
#include "tests/unit.h"

static int kept = -1; /* this suite's own standard input */

static int keep(void **state)
{
    kept = dup(STDIN_FILENO);
    return kept >= 0 ? 0 : -1;
}

static int give_back(void **state)
{
    const int rc = dup2(kept, STDIN_FILENO);
    return close(kept) == 0 && rc == STDIN_FILENO ? 0 : -1;
}

static void reads(size_t n)
{
    char bytes[16];
    assert_true(read(STDIN_FILENO, bytes, n) >= 0);
}

static long offset(void)
{
    return (long)lseek(STDIN_FILENO, 0, SEEK_CUR);
}

/* Both runs begin at the offset of the first, and the shell goes on where the first one stopped. */
TEST_BETWEEN(a_file_is_read_from_the_same_place, keep, give_back)
{
    struct carm_input in;
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_true(fputs("0123456789", f) >= 0 && fflush(f) == 0);
    assert_int_equal(dup2(fileno(f), STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(lseek(STDIN_FILENO, 3, SEEK_SET), 3);
    carm_input_first(&in);
    reads(4);
    carm_input_again(&in);
    assert_int_equal(offset(), 3);
    reads(6);
    assert_true(carm_input_rewind(&in));
    assert_int_equal(offset(), 3);
    reads(1);
    assert_true(carm_input_end(&in));
    assert_int_equal(offset(), 7);
    assert_int_equal(fclose(f), 0);
}

/* A pipe is the first run's. Another run that reads has other input than the first, if the kernel can tell. */
TEST_BETWEEN(a_pipe_is_read_once, keep, give_back)
{
    for (int again = 0; again < 2; again++) {
        struct carm_input in;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        assert_int_equal(write(ends[1], "abcdef", 6), 6);
        carm_input_first(&in);
        assert_int_equal(in.begin, -1);
        reads(2);
        carm_input_again(&in);
        assert_true(in.empty > STDIN_FILENO);
        assert_true(in.blind || carm_input_rewind(&in));
        char byte;
        if (again) {
            assert_int_equal(read(STDIN_FILENO, &byte, 1), 0); /* not the rest of the pipe */
        }
        assert_int_equal(carm_input_rewind(&in), !again && !in.blind);
        assert_int_equal(carm_input_end(&in), !again && !in.blind);
        assert_int_equal(in.empty, -1);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

TEST_BETWEEN(no_input_is_the_same_for_all, keep, give_back)
{
    struct carm_input in;
    assert_int_equal(close(STDIN_FILENO), 0);
    carm_input_first(&in);
    carm_input_again(&in);
    assert_int_equal(in.empty, -1);
    assert_true(carm_input_rewind(&in));
    assert_true(carm_input_end(&in));
}
