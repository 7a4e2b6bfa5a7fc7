/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fft/fftw.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Copies a function's address from dlsym's data pointer: POSIX lets them have one representation, ISO C does not.
 * returns whether there is such a function */
static bool find(void *library, const char *name, void *function)
{
    void *address = library ? dlsym(library, name) : NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void *first_of(const char *const files[2])
{
    void *handle = dlopen(files[0], RTLD_NOW | RTLD_LOCAL);
    return handle ? handle : dlopen(files[1], RTLD_NOW | RTLD_LOCAL);
}

static bool find_all(struct carm_fftw *f)
{
    bool all = find(f->handle, "fftw_plan_many_dft", &f->plan_many);
    all = find(f->handle, "fftw_execute_dft", &f->execute) && all;
    all = find(f->handle, "fftw_destroy_plan", &f->destroy) && all;
    all = find(f->handle, "fftw_set_timelimit", &f->set_timelimit) && all;
    return find(f->handle, "fftw_alignment_of", &f->alignment_of) && all;
}

static void find_threads(struct carm_fftw *f)
{
    static const char *const files[2] = {"libfftw3_threads.so.3", "libfftw3_threads.so"};
    f->threads = first_of(files);
    const bool init = find(f->threads, "fftw_init_threads", &f->init_threads);
    const bool plan = find(f->threads, "fftw_plan_with_nthreads", &f->plan_with_nthreads);
    if (!init || !plan || !f->init_threads()) {
        f->threads = NULL;
        f->init_threads = NULL;
        f->plan_with_nthreads = NULL;
    }
}

int carm_fftw_open(struct carm_fftw *f, struct carm_err *err)
{
    static const char *const files[2] = {"libfftw3.so.3", "libfftw3.so"};
    memset(f, 0, sizeof *f);
    f->handle = first_of(files);
    if (!find_all(f)) {
        carm_fftw_close(f);
        return carm_fail(err, CARM_ENOTSUP,
                         "FFTW 3 is not installed (Debian and Ubuntu: apt-get install "
                         "libfftw3-double3)");
    }
    const char *version = dlsym(f->handle, "fftw_version"); /* an array of characters */
    snprintf(f->version, sizeof f->version, "%s", version ? version : "FFTW 3");
    find_threads(f);
    return 0;
}

void carm_fftw_close(struct carm_fftw *f)
{
    /* The library is never unloaded: its threads may still run its code. */
    memset(f, 0, sizeof *f);
}
