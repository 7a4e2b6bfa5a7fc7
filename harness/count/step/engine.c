/* SPDX-License-Identifier: MIT */
#include "harness/count/step/engine.h"

#include "harness/count/step/trap.h"

/* The linker names the ends of the section (ld, "Input Section Example"). */
extern const char text_start[] __asm__("__start_carm_step_text")
    __attribute__((visibility("hidden")));
extern const char text_stop[] __asm__("__stop_carm_step_text")
    __attribute__((visibility("hidden")));

/* Makes the system call without libc, whose instructions would count. */
__attribute__((always_inline)) static inline long ask(enum carm_engine_request request, uint64_t a,
                                                      uint64_t b, uint64_t c)
{
    long result = CARM_ENGINE_CALL;
    register uint64_t r10 __asm__("r10") = c;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((uint64_t)request), "S"(a), "d"(b), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

int carm_engine_check(struct carm_err *err)
{
    const long rc = ask(CARM_ENGINE_OPEN, (uint64_t)(uintptr_t)text_start,
                        (uint64_t)(uintptr_t)text_stop, sizeof(struct carm_step_counts));
    return rc == 0 ? 0
                   : carm_fail(err, CARM_ENOTSUP,
                               "the program must run under `carm run --regions --counters "
                               "translate` of the version of its libcarm");
}

CARM_STEP_TEXT int carm_engine_begin(uint64_t budget, struct carm_err *err)
{
    (void)budget;
    return ask(CARM_ENGINE_BEGIN, 0, 0, 0) == 0
               ? 0
               : carm_fail(err, CARM_ENOTSUP, "the program is not counted any more");
}

CARM_STEP_TEXT int carm_engine_read(struct carm_step_counts *counts, bool *complete,
                                    struct carm_err *err)
{
    (void)err;
    *complete = ask(CARM_ENGINE_READ, (uint64_t)(uintptr_t)counts, 0, 0) == 0;
    return 0;
}

CARM_STEP_TEXT int carm_engine_end(struct carm_step_counts *counts, bool *complete,
                                   struct carm_err *err)
{
    const int rc = carm_engine_read(counts, complete, err);
    ask(CARM_ENGINE_END, 0, 0, 0);
    return rc;
}

CARM_STEP_TEXT void carm_engine_pause(void)
{
    ask(CARM_ENGINE_PAUSE, 0, 0, 0);
}

CARM_STEP_TEXT void carm_engine_resume(void)
{
    ask(CARM_ENGINE_RESUME, 0, 0, 0);
}
