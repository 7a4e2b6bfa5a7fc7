; SPDX-License-Identifier: GPL-3.0-or-later
; asm/carm.inc as a string: the macros are built into the program.
section .rodata
global carm_inc_text:data
carm_inc_text:
    incbin "asm/carm.inc"
    db 0
section .note.GNU-stack noalloc noexec nowrite progbits
