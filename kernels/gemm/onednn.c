/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/onednn.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The used parts of dnnl.h, equal in versions 2 and 3. Both export dnnl_gemm_bf16bf16f32, and neither declares
 * it. source: oneDNN, include/oneapi/dnnl/dnnl.h, src/common/gemm.cpp */
typedef int64_t dim;
typedef int u8s8s32_fn(char transa, char transb, char offsetc, dim m, dim n, dim k, float alpha,
                       const uint8_t *a, dim lda, uint8_t ao, const int8_t *b, dim ldb, int8_t bo,
                       float beta, int32_t *c, dim ldc, const int32_t *co);
typedef int bf16bf16f32_fn(char transa, char transb, dim m, dim n, dim k, float alpha,
                           const uint16_t *a, dim lda, const uint16_t *b, dim ldb, float beta,
                           float *c, dim ldc);
struct version {
    int major, minor, patch; /* more members follow */
};
enum { SUCCESS = 0, UNIMPLEMENTED = 3 };

/* Copies a function's address from dlsym's data pointer: POSIX lets them have one representation, ISO C does not. */
static void find(const struct carm_onednn *lib, const char *name, void *function)
{
    void *address = dlsym(lib->handle, name);
    memcpy(function, &address, sizeof address);
}

static void describe(struct carm_onednn *lib)
{
    static const char prefix[] = "cpu_isa_";
    const struct version *(*version)(void) = NULL;
    int (*isa)(void) = NULL;
    const char *(*text)(int) = NULL;
    find(lib, "dnnl_version", &version);
    find(lib, "dnnl_get_effective_cpu_isa", &isa);
    find(lib, "dnnl_cpu_isa2str", &text);
    const struct version *v = version ? version() : NULL;
    const char *s = isa && text ? text(isa()) : "unknown";
    snprintf(lib->name, sizeof lib->name, "oneDNN");
    if (v) {
        snprintf(lib->name, sizeof lib->name, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    }
    s += strncmp(s, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    snprintf(lib->isa, sizeof lib->isa, "%s", s);
}

int carm_onednn_open(struct carm_onednn *lib, struct carm_err *err)
{
    static const char *const files[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};
    memset(lib, 0, sizeof *lib);
    for (size_t i = 0; i < sizeof files / sizeof *files && !lib->handle; i++) {
        lib->handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (!lib->handle) {
        return carm_fail(
            err, CARM_ENOTSUP,
            "oneDNN is not installed (Debian and Ubuntu: apt-get install libdnnl-dev)");
    }
    find(lib, "dnnl_gemm_u8s8s32", &lib->u8s8s32);
    find(lib, "dnnl_gemm_bf16bf16f32", &lib->bf16bf16f32);
    find(lib, "omp_set_num_threads", &lib->set_threads);
    describe(lib);
    return 0; /* the library is never unloaded: its threads may still run its code */
}

int carm_onednn_multiply(const struct carm_onednn *lib, enum carm_precision precision, size_t m,
                         size_t n, size_t k, const void *a, const void *b, void *c,
                         struct carm_err *err)
{
    const dim rows = (dim)m;
    const dim columns = (dim)n;
    const dim depth = (dim)k;
    int status = UNIMPLEMENTED;
    assert(precision == CARM_INT8 || precision == CARM_BF16);
    if (precision == CARM_INT8 && lib->u8s8s32) {
        const int32_t none = 0;
        u8s8s32_fn *multiply = NULL;
        memcpy(&multiply, &lib->u8s8s32, sizeof lib->u8s8s32);
        status = multiply('N', 'N', 'F', rows, columns, depth, 1.0f, a, depth, 0, b, columns, 0,
                          0.0f, c, columns, &none);
    } else if (precision == CARM_BF16 && lib->bf16bf16f32) {
        bf16bf16f32_fn *multiply = NULL;
        memcpy(&multiply, &lib->bf16bf16f32, sizeof lib->bf16bf16f32);
        status =
            multiply('N', 'N', rows, columns, depth, 1.0f, a, depth, b, columns, 0.0f, c, columns);
    }
    if (status != SUCCESS) {
        return carm_fail(
            err, CARM_ENOTSUP,
            status == UNIMPLEMENTED
                ? "%s has no %s matrix product for %s, the ISA that it chose on this CPU"
                : "%s cannot make a %s matrix product with %s, the ISA that it chose",
            lib->name, carm_precision_name(precision), lib->isa);
    }
    return 0;
}
