; SPDX-License-Identifier: GPL-3.0-or-later
; The built-in test codes, as nasm wrote them, compressed (base/pack.c); empty without -DBUILTIN='"FILE"'.
section .rodata
global carm_builtin_packed:data
global carm_builtin_end:data
carm_builtin_packed:
%ifdef BUILTIN
    incbin BUILTIN
%endif
carm_builtin_end:
    db 0
; The codes of latencies (asm/chain), compressed; empty without -DCHAINS='"FILE"'.
global carm_builtin_chains_packed:data
global carm_builtin_chains_end:data
carm_builtin_chains_packed:
%ifdef CHAINS
    incbin CHAINS
%endif
carm_builtin_chains_end:
    db 0
section .note.GNU-stack noalloc noexec nowrite progbits
