/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard input of a program that runs twice: a file, a pipe, none; on kernels that keep times of access, or do not. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/input.h"
#include "tests/unit.h"

static int kept = -1; /* this suite's own standard input */

/* ---- a kernel: of the file in place of an input that is the first run's ---- */

static int empty_file = -1, futimens_fails; /* futimens_fails: times until it does; 0 = never */
static time_t accessed;
static bool sets_times, keeps_times, without_files;

int memfd_create(const char *name, unsigned flags)
{
    empty_file = without_files ? -1 : (int)syscall(SYS_memfd_create, name, flags);
    return empty_file;
}

static bool is_empty_file(int fd)
{
    return empty_file >= 0 && (fd == empty_file || fd == STDIN_FILENO);
}

int fstat(int fd, struct stat *s)
{
    *s = (struct stat){.st_atime = is_empty_file(fd) ? accessed : 0};
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

int futimens(int fd, const struct timespec times[2])
{
    assert_int_equal(fd, empty_file);
    assert_int_equal(times[0].tv_sec, times[1].tv_sec);
    accessed = sets_times ? times[0].tv_sec : accessed;
    return futimens_fails && --futimens_fails == 0 ? -1 : 0;
}

ssize_t read(int fd, void *to, size_t n)
{
    accessed = is_empty_file(fd) && keeps_times ? 1000000 : accessed;
    return syscall(SYS_read, fd, to, n);
}

static int keep(void **state)
{
    empty_file = -1;
    futimens_fails = 0;
    accessed = 5;
    sets_times = keeps_times = true;
    without_files = false;
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

/* The same from the begin on. */
TEST_BETWEEN(a_file_from_its_begin, keep, give_back)
{
    struct carm_input in;
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_true(fputs("0123456789", f) >= 0 && fflush(f) == 0);
    rewind(f);
    assert_int_equal(dup2(fileno(f), STDIN_FILENO), STDIN_FILENO);
    carm_input_first(&in);
    reads(4);
    carm_input_again(&in);
    assert_int_equal(offset(), 0);
    reads(6);
    assert_true(carm_input_rewind(&in));
    assert_int_equal(offset(), 0);
    assert_true(carm_input_end(&in));
    assert_int_equal(offset(), 4);
    assert_int_equal(empty_file, -1);
    assert_int_equal(fclose(f), 0);
}

/* A pipe is the first run's. Another run that reads has other input than the first, or may have where the kernel cannot
 * tell: without memory for a file, or times of access that are set and kept. */
TEST_BETWEEN(a_pipe_is_read_once, keep, give_back)
{
    static const struct {
        bool sets, keeps, without;
        int fails;
        bool blind;
    } of[] = {{true, true, false, 0, false}, {true, false, false, 0, true},
              {false, true, false, 0, true}, {true, true, true, 0, true},
              {true, true, false, 1, true},  {true, true, false, 2, true}};
    for (size_t i = 0; i < 2 * (sizeof of / sizeof *of); i++) {
        const bool again = i % 2, blind = of[i / 2].blind;
        struct carm_input in;
        int ends[2];
        char byte;
        sets_times = of[i / 2].sets;
        keeps_times = of[i / 2].keeps;
        without_files = of[i / 2].without;
        futimens_fails = of[i / 2].fails;
        accessed = 5;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        assert_int_equal(write(ends[1], "abcdef", 6), 6);
        carm_input_first(&in);
        assert_int_equal(in.begin, -1);
        assert_int_equal(in.empty, -1);
        reads(2);
        carm_input_again(&in);
        assert_int_equal(in.empty, empty_file);
        assert_int_equal(in.blind, blind);
        assert_int_equal(carm_input_rewind(&in), !blind);
        if (again && !without_files) {
            assert_int_equal(read(STDIN_FILENO, &byte, 1), 0); /* not the rest of the pipe */
        }
        assert_int_equal(carm_input_rewind(&in), !again && !blind);
        const int file = in.empty;
        assert_int_equal(carm_input_end(&in), !again && !blind);
        assert_int_equal(in.empty, -1);
        assert_true(file < 0 || fcntl(file, F_GETFD) < 0); /* closed */
        empty_file = -1;
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
