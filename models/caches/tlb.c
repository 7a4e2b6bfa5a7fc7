/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/tlb.h"

#include <string.h>

bool carm_tlb_open(struct carm_tlb *tlb, uint64_t pages)
{
    memset(tlb, 0, sizeof *tlb);
    return carm_lru_open(&tlb->second, pages);
}

void carm_tlb_close(struct carm_tlb *tlb)
{
    carm_lru_close(&tlb->second);
}

bool carm_tlb_walks(struct carm_tlb *tlb, uint64_t page)
{
    uint64_t *kept = &tlb->first[page % CARM_TLB_FIRST];
    if (*kept == page + 1) {
        return false;
    }
    *kept = page + 1;
    return !carm_lru_touch(&tlb->second, page);
}
