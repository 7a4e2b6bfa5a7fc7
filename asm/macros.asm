; SPDX-License-Identifier: GPL-3.0-or-later
; asm/carm.inc and asm/chain/chain.inc as strings: the macros are built into the program.
section .rodata
global carm_inc_text:data
carm_inc_text:
    incbin "asm/carm.inc"
    db 0
global carm_chain_inc_text:data
carm_chain_inc_text:
    incbin "asm/chain/chain.inc"
    db 0
section .note.GNU-stack noalloc noexec nowrite progbits
