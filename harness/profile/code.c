/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/code.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

enum { PIECE_BYTES_MAX = 4096 }; /* 48 instructions and more of 15 bytes */

void carm_code_close(struct carm_flow_code *code)
{
    free(code->ops);
    free(code->pieces);
    memset(code, 0, sizeof *code);
}

static int add_piece(struct carm_flow_code *code, const struct carm_piece *from, int fd,
                     struct carm_err *err)
{
    uint8_t bytes[PIECE_BYTES_MAX];
    const size_t size = from->end - from->at < sizeof bytes ? from->end - from->at : sizeof bytes;
    const ssize_t n = pread(fd, bytes, size, (off_t)from->at);
    int rc = carm_array_grow(&code->pieces, &code->pieces_room, code->npieces, 1,
                             sizeof *code->pieces, "a loop's code", err);
    if (rc) {
        return rc;
    }
    struct carm_code_piece *p = &code->pieces[code->npieces++];
    *p = (struct carm_code_piece){.at = from->at,
                                  .end = from->end,
                                  .first = code->nops,
                                  .executions = (double)from->executions,
                                  .target = from->target,
                                  .taken = from->taken,
                                  .entered = from->entered,
                                  .indirect = from->ends == CARM_END_INDIRECT_JUMP};
    p->jumps = from->ends == CARM_END_JUMP || from->ends == CARM_END_BRANCH;
    p->falls = from->ends != CARM_END_JUMP && from->ends != CARM_END_INDIRECT_JUMP &&
               from->ends != CARM_END_RETURN;
    if (n > 0) {
        rc = carm_flow_ops_decode(bytes, (size_t)n, from->at, p->executions, &code->ops,
                                  &code->nops, &code->ops_room, err);
    }
    p->n = code->nops - p->first;
    return rc;
}

int carm_code_open(struct carm_flow_code *out, const struct carm_flow *flow, size_t loop,
                   uint32_t function, uint32_t module, int fd, struct carm_err *err)
{
    const bool body = loop == CARM_CODE_BODY;
    int rc = 0;
    *out = (struct carm_flow_code){.module = module, .inner = !body};
    for (size_t i = 0; i < flow->nloops && !body; i++) {
        out->inner = out->inner && flow->loops[i].parent != loop + 1;
    }
    if (!body) {
        out->at = flow->loops[loop].at;
        out->iterations = (double)flow->loops[loop].executions;
    }
    for (size_t i = 0; i < flow->npieces && !rc; i++) {
        const struct carm_piece *p = &flow->pieces[i];
        if (p->executions && p->end > p->at && p->function == function &&
            p->loop == (body ? 0 : (uint32_t)loop + 1)) {
            rc = add_piece(out, p, fd, err);
        }
    }
    if (rc) {
        carm_code_close(out);
    }
    return rc;
}
