; SPDX-License-Identifier: GPL-3.0-or-later
; The carried test codes as nasm wrote them, or none: -DCARRIED='"FILE"' names the file.
section .rodata
global carm_store_bytes:data
global carm_store_end:data
    align 64
carm_store_bytes:
%ifdef CARRIED
    incbin CARRIED
%endif
carm_store_end:
    db 0
section .note.GNU-stack noalloc noexec nowrite progbits
