; SPDX-License-Identifier: GPL-3.0-or-later
; The built-in test codes as nasm wrote them, or none: -DBUILTIN='"FILE"' names the file.
section .rodata
global carm_builtin_bytes:data
global carm_builtin_end:data
    align 64
carm_builtin_bytes:
%ifdef BUILTIN
    incbin BUILTIN
%endif
carm_builtin_end:
    db 0
section .note.GNU-stack noalloc noexec nowrite progbits
