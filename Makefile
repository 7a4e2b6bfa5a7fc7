# SPDX-License-Identifier: GPL-3.0-or-later
# make            the program and the library: build/carm, build/libcarm.a and .so
# make check      every test; the last line counts them (make check SANITIZE=1: under ASan and UBSan)
# make check-short what needs neither much time nor a quiet machine of it
# make soak       what make check thins out: cross products of test codes, long runs, ten programs of some 20 million
#                 instructions, counted and stepped (hours; SOAK="gzip xz": these of the ten)
# make ci         everything compiled by gcc and by clang with warnings as errors, without optimization and with -O3 -flto;
#                 the readers' tests under clang's sanitizers
# make fuzz       searches for inputs that break a reader (FUZZ_SECONDS=60 each)
# make demo       build, measure this CPU, validate its model, show, plot and report it
# make bench      likwid-bench and C loops against the roofs of carm (BENCH_SECONDS=360 each), programs counted by
#                 translation against free, functions against perf record, simulated bytes against the roofs of DRAM:
#                 some 20 minutes; REPEAT=10: spread of ten builds
# make mutants    changes one operator, constant, comparison or call at a time, and says which changes no suite finds:
#                 nightly, minutes for a room and seconds for each change
# make lint       rooms and cycles, headers alone, format, cppcheck, clang-tidy, shellcheck, eslint, mypy, pylint
# make install    GNU's directory variables (prefix=/usr/local, libdir, ...), DESTDIR, PROGRAM_PREFIX
# make dist       carm-VERSION.tar.gz of the last commit; make distcheck: builds, tests and installs it elsewhere
# make deps       the names of what is needed

VERSION := 0.1.0
DESTDIR ?=
CC ?= cc
MPICC ?= mpicc
ESLINT ?= eslint
NASM ?= nasm
OBJCOPY ?= objcopy
PKG_CONFIG ?= pkg-config

# gcc defines the word by itself, clang does not
SANITIZERS := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow \
  -fno-omit-frame-pointer -D__SANITIZE_ADDRESS__=1
ifdef SANITIZE
B := build-sanitize
SANFLAGS := $(SANITIZERS)
else
B := build
endif
ifdef FUZZ
SANFLAGS += -fsanitize=fuzzer-no-link
endif

# make WERROR=1: a warning is an error. Not by default: next year's compiler may warn of more.
# Constants of enumerations are numbers here, also beside numbers with a fraction, of which clang 19 warns.
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-enum-float-conversion -Wno-enum-enum-conversion \
  $(if $(WERROR),-Werror)
CFLAGS ?= -O2 -g
CARM_CPPFLAGS := -I. -D_GNU_SOURCE
# no build folder in debugging information: the same bytes in every folder
# (gcc takes the folder from PWD, where a symbolic link may stand)
export PWD := $(CURDIR)
PREFIX_MAP := -ffile-prefix-map="$(CURDIR)=."
# make V=1 shows whole commands
ifndef V
Q := @
endif
PACKAGES := hwloc gsl jansson yaml-0.1 libdw libzstd
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lZydis -lpthread -ldl -lm
ALL_CFLAGS = -std=c17 $(WARNINGS) $(CARM_CPPFLAGS) $(CPPFLAGS) $(PKG_CFLAGS) $(PREFIX_MAP) $(CFLAGS) $(SANFLAGS)

ROOMS := base asm harness models kernels validation run plots cli
# programs of their own: the source of the built-in test codes, their compressor, and the ranks of mpirun
MAINS := validation/builtin/source.c base/pack.c cli/fleet/carm_mpi.c
# what counted programs get: it has flags of its own
ENGINE := harness/translate/engine
ENGINE_SOURCES := $(sort $(wildcard $(ENGINE)/*/*.c))
# what sampled programs get where perf_event_open is forbidden, likewise
PRELOAD_SOURCE := harness/profile/preload.c
SOURCES := $(filter-out $(MAINS) $(ENGINE_SOURCES) $(PRELOAD_SOURCE),$(sort $(shell find $(ROOMS) -name '*.c')))
OBJECTS := $(SOURCES:%.c=$(B)/%.o) $(B)/asm/macros.o $(B)/kernels/gemm/micro.o $(B)/plots/assets.o $(B)/data/counters.o \
  $(B)/harness/translate/engine.o $(B)/harness/profile/preload_object.o
# everything but the programs' main functions and the built-in codes: what tests link
LIBRARY := $(B)/libcarm-all.a

TEST_SOURCES := $(sort $(shell find tests -name 'test_*.c'))
TESTS := $(TEST_SOURCES:%.c=$(B)/%)
TEST_SCRIPTS := $(sort $(shell find tests -name '*_test.sh'))
TEST_ASM := $(B)/tests/asm/call_shim.o

# Debian's openmpi-bin has mpicc, but not the header: where mpicc compiles, there is MPI
ifneq ($(shell echo 'int main(void);' | $(MPICC) -include mpi.h -fsyntax-only -x c - 2>/dev/null && echo yes),)
MPI_PROGRAM := $(B)/carm-mpi
endif

# carm.1, and a page for each command: a folder of cli/ (build_ is that of carm build, as build/ is taken for output)
MAN_PAGES := $(B)/carm.1 $(patsubst %,$(B)/carm-%.1,$(patsubst %_,%,$(patsubst cli/%/command.c,%,$(sort $(wildcard cli/*/command.c)))))

.PHONY: all check soak fuzz demo bench lint format install uninstall deps clean distclean FORCE
.PHONY: docs-pictures mutants tests test-objects ci check-short check-abi abi install-strip dist distcheck
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/carm $(MAN_PAGES) $(B)/carm.bash $(B)/_carm $(B)/libcarm.a $(B)/libcarm.so $(MPI_PROGRAM)

$(B)/carm: $(B)/cli/main.o $(LIBRARY) $(B)/asm/builtin_codes.o
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIBRARY): $(filter-out $(B)/cli/main.o,$(OBJECTS))
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcsD $@ $^

# "VERSION COMMIT", rewritten when one of them has changed. The commit is git's, or that of the file .commit, which git
# archive fills in. Where git does not answer (sudo make install), what was known stays. Tests call make side by side:
# each has a temporary file of its own.
$(B)/version: FORCE
	@mkdir -p $(@D)
	@git="git --no-optional-locks -c safe.directory=*"; commit=; \
	if read -r commit date <.commit && [ "$${commit#?Format}" = "$$commit" ]; then \
	  commit=$$(echo "$$commit" | cut -c1-12); \
	elif [ -e .git ] && commit=$$($$git rev-parse --short=12 HEAD 2>/dev/null); then \
	  [ -z "$$($$git status --porcelain -uno 2>/dev/null | head -n 1)" ] || commit=$$commit-modified; \
	elif [ -e .git ] && [ -e $@ ]; then commit=$$(cut -d ' ' -f 2 $@); \
	else commit=; fi; \
	echo "$(VERSION) $$commit" >$@.$$$$; if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi
VERSION_FLAGS = -DCARM_VERSION='"$(VERSION)"' -DCARM_COMMIT="\"$$(cut -d ' ' -f 2 $(B)/version)\""
%/base/version.o: CARM_CPPFLAGS += $(VERSION_FLAGS)
$(B)/base/version.o: $(B)/version

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# nasm -MD leaves out what incbin takes in: the prerequisites stand here
$(B)/asm/macros.o: asm/macros.asm asm/carm.inc asm/chain/chain.inc
	@mkdir -p $(@D)
	@echo "  NASM  $<"
	$(Q)$(NASM) -f elf64 -o $@ $<

# The test codes of the default plans, assembled here and built into the program. Their source comes
# from a tool that links everything but them; nasm runs again only when that source has changed. It expands
# the macros first (-E): else it would expand them in each of its five passes, twice the time.
$(B)/builtin-source: $(B)/validation/builtin/source.o $(LIBRARY) $(B)/asm/builtin_none.o
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/asm/builtin_codes.asm: $(B)/builtin-source
	$(Q)$(B)/builtin-source >$@.tmp
	$(Q)if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(B)/asm/builtin_chains.asm: $(B)/builtin-source
	$(Q)$(B)/builtin-source chains >$@.tmp
	$(Q)if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(B)/asm/builtin_%.bin: $(B)/asm/builtin_%.asm
	@echo "  NASM  $< (built-in codes)"
	$(Q)$(NASM) -E -o $@.tmp $< && $(NASM) -f bin -o $@ $@.tmp && rm $@.tmp
$(B)/asm/builtin_codes.o: asm/builtin.asm $(B)/asm/builtin_codes.zst $(B)/asm/builtin_chains.zst
	@echo "  NASM  $<"
	$(Q)$(NASM) -f elf64 -DBUILTIN='"$(B)/asm/builtin_codes.zst"' -DCHAINS='"$(B)/asm/builtin_chains.zst"' -o $@ $<
$(B)/asm/builtin_none.o: asm/builtin.asm
	@mkdir -p $(@D)
	@echo "  NASM  $< (none)"
	$(Q)$(NASM) -f elf64 -o $@ $<

# What is large is compressed: the built-in codes (9.9 MB) and the measured machines (1.1 MB).
$(B)/pack: $(B)/base/pack.o
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs libzstd)
$(B)/asm/builtin_%.zst: $(B)/asm/builtin_%.bin $(B)/pack
	$(Q)$(B)/pack <$< >$@
$(B)/data/machines/%.zst: data/machines/%.json $(B)/pack
	@mkdir -p $(@D)
	$(Q)$(B)/pack <$< >$@

# Sources that the build writes are assembled from within its folder: nasm keeps the name of its source.
NASM_WRITTEN = cd "$(B)" && $(NASM) -I "$(CURDIR)/" -f elf64 -o $(@:$(B)/%=%) $(@:$(B)/%.o=%.asm)

$(B)/kernels/%.o: kernels/%.asm
	@mkdir -p $(@D)
	@echo "  NASM  $<"
	$(Q)$(NASM) -f elf64 -o $@ $<

PLOTS := $(wildcard plots/scripts/*.gp)
SOL := $(wildcard data/sol-*.yaml)
DATA := data/codes.json data/microarchitectures.json data/roofline-2009.json $(SOL)
MACHINES := $(sort $(wildcard data/machines/*.json))
PAGES := report fleet history
PAGE := $(B)/plots/d3.js $(foreach p,$(PAGES),plots/page/$(p)/page.html $(B)/plots/$(p).css $(B)/plots/$(p)-script.js \
  $(B)/plots/$(p)-policy.txt)
$(B)/plots/assets.asm: $(PLOTS) $(DATA) $(MACHINES:%.json=$(B)/%.zst) plots/page/frame.html plots/page/report/licence.html $(PAGE) Makefile
	@mkdir -p $(@D)
	@{ echo 'section .rodata'; \
	put() { echo "global $$1:data"; echo "$$1: incbin \"$$2\""; echo "db 0"; }; \
	for f in $(PLOTS) $(DATA); do \
	  put carm_asset_$$(echo $${f%.*} | sed 's,plots/scripts/,plot_,; s,[-/],_,g') $$f; \
	done; \
	for p in $(PAGES); do \
	  put carm_asset_plot_$${p}_page plots/page/$$p/page.html; put carm_asset_plot_$${p}_style plots/$$p.css; \
	  put carm_asset_plot_$${p}_script plots/$$p-script.js; put carm_asset_$${p}_policy plots/$$p-policy.txt; \
	done; \
	put carm_asset_d3 plots/d3.js; put carm_asset_plot_frame plots/page/frame.html; put carm_asset_plot_report_licence plots/page/report/licence.html; \
	n=0; for f in $(MACHINES:%.json=%); do \
	  echo "carm_asset_machine_$$n: incbin \"$$f.zst\""; echo "carm_asset_machine_end_$$n:"; \
	  echo "carm_asset_machine_name_$$n: db '$${f##*/}', 0"; n=$$((n + 1)); done; \
	echo 'section .data.rel.ro noexec write align=8'; echo 'global carm_asset_machines:data'; \
	echo 'carm_asset_machines:'; i=0; while [ $$i -lt $$n ]; do \
	  echo "dq carm_asset_machine_name_$$i, carm_asset_machine_$$i, carm_asset_machine_end_$$i"; \
	  i=$$((i + 1)); done; echo 'dq 0, 0, 0'; \
	echo 'section .note.GNU-stack noalloc noexec nowrite progbits'; } >$@

# The pages of carm report and carm fleet report: the scripts of each are one, and d3 of Debian's
# libjs-d3 goes into them. The fleet's page has the parts of the report's that are named here, and its style
# before its own. Without d3 all else is built. That is looked at in each run, as the package may have come
# since.
D3 ?= /usr/share/javascript/d3/d3.min.js
REPORT_JS := $(sort $(wildcard plots/page/common/*.js plots/page/report/*.js))
FLEET_JS := $(sort $(wildcard plots/page/common/*.js plots/page/fleet/*.js))
$(B)/plots/history-script.js: plots/page/common/base.js plots/page/history/main.js
$(B)/plots/history.css: plots/page/report/style.css plots/page/history/style.css
$(B)/plots/report-script.js: $(REPORT_JS)
$(B)/plots/fleet-script.js: $(FLEET_JS)
$(B)/plots/report.css: plots/page/report/style.css
$(B)/plots/fleet.css: plots/page/report/style.css plots/page/fleet/style.css
# one function around all, so that a page has no globals but carmView and carmFleetView; main.js starts the page: last
$(B)/plots/%-script.js: Makefile
	@mkdir -p $(@D)
	@{ echo '(() => {'; echo '"use strict";'; cat $(filter-out Makefile %/main.js,$^) $(filter %/main.js,$^); echo '})();'; } >$@
$(B)/plots/%.css: Makefile
	@mkdir -p $(@D)
	@cat $(filter-out Makefile,$^) >$@
$(B)/plots/d3.js: FORCE
	@mkdir -p $(@D)
	@if grep -qsE 'version: ?"3\.' "$(D3)"; then cat "$(D3)" >$@.$$$$; else : >$@.$$$$; \
	  echo "  NOTE  no d3 version 3 in $(D3): carm report will not work; install libjs-d3 and make again"; fi; \
	if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv $@.$$$$ $@; fi
# a page runs nothing but these: a browser compares their hashes
$(B)/plots/%-policy.txt: $(B)/plots/d3.js $(B)/plots/%-script.js $(B)/plots/%.css Makefile
	@hash() { printf "'sha256-%s'" \
	  "$$(sha256sum <"$$1" | cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64)"; }; \
	printf 'script-src %s %s; style-src %s' "$$(hash $(B)/plots/d3.js)" \
	  "$$(hash $(B)/plots/$*-script.js)" "$$(hash $(B)/plots/$*.css)" >$@
	@grep -qE "^script-src( 'sha256-.{43}='){2}; style-src 'sha256-.{43}='$$" $@ || \
	  { echo "no sha256sum, basenc or base64 (coreutils 8.31 or newer)" >&2; rm -f $@; exit 1; }
$(B)/plots/assets.o: $(B)/plots/assets.asm
	@echo "  NASM  $<"
	$(Q)$(NASM_WRITTEN)

# apart from the other assets: it is built into libcarm, too
$(B)/data/counters.o: data/counters.json Makefile
	@mkdir -p $(@D)
	@{ echo 'section .rodata'; echo 'global carm_data_counters:data'; \
	echo 'carm_data_counters: incbin "data/counters.json"'; echo 'db 0'; \
	echo 'section .note.GNU-stack noalloc noexec nowrite progbits'; } >$(@:.o=.asm)
	@echo "  NASM  $<"
	$(Q)$(NASM_WRITTEN)

$(B)/carm.1: $(B)/carm
	$(Q)$(B)/carm --man >$@.tmp && mv $@.tmp $@
$(B)/carm-%.1: $(B)/carm
	$(Q)$(B)/carm --man $* >$@.tmp && mv $@.tmp $@

$(B)/carm.bash: $(B)/carm
	$(Q)$(B)/carm --completion bash >$@.tmp && mv $@.tmp $@
$(B)/_carm: $(B)/carm
	$(Q)$(B)/carm --completion zsh >$@.tmp && mv $@.tmp $@

# ---- carm-mpi: the ranks of mpirun carm fleet build -------------------------------------------
# Made where there is MPI; carm itself knows nothing of it.

$(B)/carm-mpi: cli/fleet/carm_mpi.c $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  MPICC $<"
	$(Q)$(MPICC) $(ALL_CFLAGS) -MMD -MP $(LDFLAGS) -Wl,--as-needed -o $@ $< $(LIBRARY) $(LIBS)

# ---- the engine of --counters translate ---------------------------------------------------------
# A shared object without a C library and without vector registers, which carm links to libZydis at run time
# and puts into programs (harness/translate/image.c). It takes the accounts of instructions from the sources
# that stepping uses.

ENGINE_ACCOUNTS := account instruction xstate
ENGINE_OBJECTS := $(patsubst %.c,$(B)/engine/%.o,$(notdir $(ENGINE_SOURCES))) \
  $(ENGINE_ACCOUNTS:%=$(B)/engine/%.o) $(B)/engine/entry.o
# Of CFLAGS what concerns debugging information and warnings, of CPPFLAGS all but the C library's checks: a
# counted program's state allows neither vector registers nor a stack protector, whatever optimises.
ENGINE_CFLAGS = -std=c17 -O2 $(WARNINGS) $(CARM_CPPFLAGS) $(filter-out -D_FORTIFY_SOURCE%,$(CPPFLAGS)) $(PREFIX_MAP) \
  $(filter -g% -W% -w -fdebug% -ffile% -fmacro% -pipe,$(CFLAGS)) -ffreestanding -fno-builtin -fno-stack-protector \
  -U_FORTIFY_SOURCE -mgeneral-regs-only -fPIC -fvisibility=hidden -fcf-protection=none -fno-asynchronous-unwind-tables -fno-lto \
  -ffunction-sections -fdata-sections
vpath %.c $(sort $(dir $(ENGINE_SOURCES))) harness/count/step
$(ENGINE_OBJECTS:%.o=%.o): | $(B)/engine
$(B)/engine:
	@mkdir -p $@
$(filter-out %/entry.o,$(ENGINE_OBJECTS)): $(B)/engine/%.o: %.c
	@echo "  CC    $< (engine)"
	$(Q)$(CC) $(ENGINE_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/engine/entry.o: $(ENGINE)/kernel/entry.asm
	@echo "  NASM  $<"
	$(Q)$(NASM) -f elf64 -o $@ $<
$(B)/engine/engine.so: $(ENGINE_OBJECTS) $(ENGINE)/engine.map
	@echo "  LINK  $@"
	$(Q)$(CC) -shared -nostdlib -Wl,--gc-sections -Wl,-z,now -Wl,-Bsymbolic \
	  -Wl,--version-script,$(ENGINE)/engine.map -o $@ $(ENGINE_OBJECTS) -lZydis

# ---- the preloaded timer ------------------------------------------------------------------------
# A shared object of its own, too, which sampled programs load (harness/profile/timer.c). It finds the C
# library's functions when it has been loaded.

$(B)/engine/preload.o: $(PRELOAD_SOURCE) | $(B)/engine
	@echo "  CC    $< (preload)"
	$(Q)$(CC) $(ENGINE_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/engine/preload.so: $(B)/engine/preload.o
	@echo "  LINK  $@"
	$(Q)$(CC) -shared -nostdlib -Wl,-z,now -Wl,-soname,carm-timer.so -o $@ $<

# both are built into carm, without debugging information: NAME_object to NAME_object_end
$(B)/engine/stripped/%.so: $(B)/engine/%.so
	@mkdir -p $(@D)
	$(Q)$(OBJCOPY) --strip-all $< $@
$(B)/harness/translate/engine.o: $(B)/engine/stripped/engine.so
$(B)/harness/profile/preload_object.o: $(B)/engine/stripped/preload.so
$(B)/harness/translate/engine.o $(B)/harness/profile/preload_object.o: OBJECT = $(patsubst $(B)/%,%,$(filter %.so,$^))
$(B)/harness/translate/engine.o $(B)/harness/profile/preload_object.o: Makefile
	@mkdir -p $(@D)
	@{ n=carm_$(basename $(notdir $(OBJECT)))_object; echo 'section .rodata'; echo "global $$n:data, $${n}_end:data"; \
	echo 'align 64'; echo "$$n: incbin \"$(OBJECT)\""; echo "$${n}_end:"; \
	echo 'section .note.GNU-stack noalloc noexec nowrite progbits'; } >$(@:.o=.asm)
	@echo "  NASM  $(OBJECT)"
	$(Q)$(NASM_WRITTEN)

# ---- libcarm: the region API, for any program -------------------------------------------------
# Its sources are those of the folders under MIT; the shared
# and the static library both show the functions of include/carm.h and nothing else. -fno-lto: ld -r makes one object
# of the static one, and would keep nothing of code that is yet to be compiled.

PIC_SOURCES := $(filter-out base/pack.c base/unpack.c base/version.c,\
  $(wildcard base/*.c harness/count/*.c harness/count/step/*.c harness/region/*.c))
PIC_OBJECTS := $(PIC_SOURCES:%.c=$(B)/pic/%.o) $(B)/data/counters.o
PIC_NAMES := carm_region_begin carm_region_end carm_region_flush
PIC_LIBS := -ljansson -lZydis -ldl -lpthread -lm

$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $< (libcarm)"
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fno-lto -ffunction-sections -fdata-sections -MMD -MP -c -o $@ $<

# nodelete: threads of a program that has unloaded it could still end in it. gc-sections: only what is
# called from the region functions stays
$(B)/libcarm.so.0: $(PIC_OBJECTS) harness/region/carm.map
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared -Wl,--gc-sections -Wl,-z,now -Wl,-soname,libcarm.so.0 \
	  -Wl,-z,nodelete $(if $(SANITIZE),,-Wl,-z,defs) \
	  -Wl,--version-script,harness/region/carm.map -o $@ $(PIC_OBJECTS) $(PIC_LIBS)
$(B)/libcarm.so: $(B)/libcarm.so.0
	$(Q)ln -sf libcarm.so.0 $@

# one object, so that its inner names can be made local and meet none of a program's
$(B)/libcarm.a: $(PIC_OBJECTS)
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(LD) -r --gc-sections $(PIC_NAMES:%=-u %) -o $(B)/pic/carm.o $(PIC_OBJECTS)
	$(Q)$(OBJCOPY) $(PIC_NAMES:%=--keep-global-symbol=%) $(B)/pic/carm.o
	$(Q)$(AR) rcsD $@ $(B)/pic/carm.o

# ---- tests -----------------------------------------------------------------------------------

$(B)/tests/%.o: tests/%.asm
	@mkdir -p $(@D)
	@echo "  NASM  $<"
	$(Q)$(NASM) -f elf64 -o $@ $<

# tests assemble what they run; that of the built-in codes has them
BUILTIN = $(B)/asm/builtin_none.o
REPLAYED := $(B)/asm/builtin_codes.o $(B)/tests/fuzz/seed.o
$(B)/tests/asm/test_builtin: BUILTIN = $(B)/asm/builtin_codes.o
$(B)/tests/asm/test_builtin: $(B)/asm/builtin_codes.o
$(B)/tests/fuzz/test_replay: BUILTIN = $(REPLAYED)
$(B)/tests/fuzz/test_replay: $(REPLAYED)
# the small file that readers of ELF and DWARF begin with
$(B)/tests/fuzz/seed.so: tests/fuzz/seed.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) -O1 -g -fPIC -shared -nostdlib -Wl,--build-id=none -Wl,-z,noseparate-code -o $@ $<
$(B)/tests/fuzz/seed.asm: Makefile
	@mkdir -p $(@D)
	@{ echo 'section .rodata'; echo 'global fuzz_elf:data, fuzz_elf_end:data'; \
	echo 'fuzz_elf: incbin "$(B)/tests/fuzz/seed.so"'; echo 'fuzz_elf_end:'; \
	echo 'section .note.GNU-stack noalloc noexec nowrite progbits'; } >$@
$(B)/tests/fuzz/seed.o: $(B)/tests/fuzz/seed.asm $(B)/tests/fuzz/seed.so
	@echo "  NASM  $<"
	$(Q)$(NASM) -f elf64 -o $@ $<
$(TESTS): $(B)/%: %.c $(LIBRARY) $(TEST_ASM) $(B)/asm/builtin_none.o
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(TEST_ASM) $(BUILTIN) $(LIBRARY) -lcmocka $(LIBS)

# libraries that stand in for PAPI and likwid
$(B)/tests/lib%.so: tests/harness/count/fake_%.c tests/harness/count/fake_counters.h
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -shared -o $@ $<
$(addprefix $(B)/tests/,harness/count/test_papi harness/count/test_likwid validation/test_count harness/machine/test_dram run/test_count): \
  $(B)/tests/libpapi.so $(B)/tests/liblikwid.so

# The suites of readers under ASan and UBSan, which make check runs beside the others: they take what those of
# the rooms below link, built once more.
READER_ROOMS := base asm models models/file models/fleet models/import models/place models/verdict models/sol \
  models/file/fleet models/file/sol
READER_SOURCES := $(filter-out $(MAINS),$(wildcard $(READER_ROOMS:%=%/*.c))) $(addprefix harness/,$(addprefix machine/,buffer.c clock.c cpu.c limits.c probe.c share.c stats.c topo.c) $(addprefix place/,names.c threads.c units.c) \
  $(addprefix count/,evaluate.c provider.c quantities.c recipe.c)) $(addprefix kernels/spmv/,csr.c generate.c market.c) \
  kernels/context.c plots/panel.c validation/options.c validation/roofs/config.c \
  $(filter-out $(PRELOAD_SOURCE),$(wildcard harness/profile/*.c)) $(wildcard harness/count/step/*.c) \
  run/regions.c $(addprefix harness/,count/pmu.c count/row.c $(addprefix translate/,blocks.c image.c inject.c memory_file.c modules.c sum.c))
READER_TESTS := fuzz/test_replay harness/count/test_recipe_read kernels/test_matrix_market models/test_theory_read \
  models/file/test_model models/file/fleet/test_read models/import/test_import models/file/test_points \
  models/file/sol/test_graph_bad models/file/sol/test_yaml
ifndef SANITIZE
R := $(B)/tests/sanitized
SANITIZED_TESTS := $(READER_TESTS:%=$(R)/%)
# -w: what gcc warns of at -O1 alone is no finding
SANITIZED_CFLAGS = $(ALL_CFLAGS) -w -O1 -g1 $(SANITIZERS) -MMD -MP

$(R)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $< (sanitized)"
	$(Q)$(CC) $(SANITIZED_CFLAGS) -c -o $@ $<
$(R)/readers.a: $(READER_SOURCES:%.c=$(R)/%.o) $(B)/asm/macros.o $(B)/plots/assets.o $(B)/data/counters.o \
  $(B)/harness/profile/preload_object.o $(B)/harness/translate/engine.o
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcsD $@ $^
$(R)/base/version.o: $(B)/version
$(SANITIZED_TESTS): $(R)/%: tests/%.c $(R)/readers.a $(REPLAYED)
	@mkdir -p $(@D)
	@echo "  CC    $< (sanitized)"
	$(Q)$(CC) $(SANITIZED_CFLAGS) -o $@ $< $(REPLAYED) $(R)/readers.a -lcmocka $(LIBS)
endif

# what check runs, not run
tests: all $(TESTS) $(SANITIZED_TESTS)

check: tests
	@CARM="$(abspath $(B))/carm" CARM_TOP="$(CURDIR)" tests/run.sh $(TESTS) $(SANITIZED_TESTS) $(TEST_SCRIPTS) \
	  tests/rooms.py

# What needs neither counters nor a quiet machine nor much time: for packages and make distcheck.
SHORT_TESTS := $(filter $(B)/tests/base/% $(B)/tests/models/% $(B)/tests/asm/test_builtin $(B)/tests/asm/test_code,$(TESTS))
SHORT_SCRIPTS := tests/cli/show_test.sh tests/cli/place_test.sh tests/cli/output_test.sh
check-short: all $(SHORT_TESTS)
	@CARM="$(abspath $(B))/carm" CARM_TOP="$(CURDIR)" tests/run.sh $(SHORT_TESTS) $(SHORT_SCRIPTS)

# every combination of the test codes' axes, and every built-in code assembled afresh; programs of some 20 million
# instructions, counted and stepped: 5 to 20 minutes each, in the order of SOAK
SOAK := gzip xz python3 sqlite3 bzip2 sort sed mawk perl openssl
soak: $(B)/carm $(B)/tests/asm/test_matrix $(B)/tests/asm/test_builtin $(B)/tests/harness/translate/test_translate
	CARM_SOAK=1 $(B)/tests/asm/test_matrix
	CARM_SOAK=1 $(B)/tests/asm/test_builtin
	for p in $(SOAK); do CARM_TOP=. CARM_SOAK=$$p timeout 3600 $(B)/tests/harness/translate/test_translate test_programs || exit 1; done
	CARM_SOAK=1 CARM="$(abspath $(B))/carm" CARM_TOP="$(CURDIR)" tests/harness/translate/programs_test.sh
	CARM_SOAK=1 CARM="$(abspath $(B))/carm" CARM_TOP="$(CURDIR)" tests/harness/profile/profile_test.sh

# ---- fuzzing: libFuzzer, which is clang's ------------------------------------------------------
# What it finds goes to tests/fuzz/inputs/; make check replays that.

FUZZ_CC ?= clang
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=

build-fuzz/tests/fuzz/search: tests/fuzz/search.c $(LIBRARY) $(REPLAYED)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< $(REPLAYED) $(LIBRARY) $(LIBS)

FUZZ_PROBE := int LLVMFuzzerTestOneInput(const char *, unsigned long); \
  int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n ? 0 : 0; }
fuzz:
	@mkdir -p build-fuzz
	@echo '$(FUZZ_PROBE)' | $(FUZZ_CC) -fsanitize=fuzzer,address,undefined -x c -o build-fuzz/probe - >build-fuzz/probe.txt 2>&1 || \
	  { cat build-fuzz/probe.txt; echo "make fuzz needs clang with its libFuzzer: ./setup fuzz installs both"; \
	  echo "(Debian, Ubuntu: clang libclang-rt-dev; Fedora: clang compiler-rt; FUZZ_CC=clang-19 names another clang)"; exit 1; } >&2
	$(MAKE) B=build-fuzz CC="$(FUZZ_CC)" SANITIZE=1 FUZZ=1 build-fuzz/tests/fuzz/search
	tests/fuzz/search.sh build-fuzz/tests/fuzz/search $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# ---- what CI compiles besides -----------------------------------------------------------------
# Its first line fills build/, where make check goes on. Tests are not linked with -flto: each would take seconds.

CI_CLANG := B=build-clang CC="$(FUZZ_CC)" MPICC="env OMPI_CC=$(FUZZ_CC) MPICH_CC=$(FUZZ_CC) $(MPICC)"
test-objects: all $(TEST_SOURCES:%.c=$(B)/%.o)
ci:
	$(MAKE) WERROR=1 tests
	$(MAKE) WERROR=1 $(CI_CLANG) tests build-clang/tests/fuzz/search.o
	for t in $(READER_TESTS); do \
	  UBSAN_OPTIONS=print_stacktrace=1 build-clang/tests/sanitized/$$t >build-clang/sanitized.txt 2>&1 || \
	  { cat build-clang/sanitized.txt; exit 1; }; done
	$(MAKE) WERROR=1 B=build-O0 CFLAGS=-O0 SANITIZED_TESTS= tests
	$(MAKE) WERROR=1 B=build-O3 CFLAGS="-O3 -g -flto=auto -march=x86-64-v3" test-objects

# ---- the rest --------------------------------------------------------------------------------

demo: all
	$(B)/carm info
	$(B)/carm build
	$(B)/carm validate
	$(B)/carm show
	for format in svg png; do \
	  $(B)/carm plot --kind all -o $(B)/roofline.$$format && \
	  $(B)/carm plot --kind validation -o $(B)/validation.$$format || exit 1; done
	@if [ -s $(B)/plots/d3.js ]; then $(B)/carm report -o $(B)/report.html; \
	  else echo "no report: it needs d3 version 3 (make deps)"; fi
	@echo
	@echo "The page is $(B)/report.html; the pictures are $(B)/roofline.svg and $(B)/validation.svg (and .png)."
	@echo "Next: $(B)/carm --help"

$(B)/tests/bench/%: tests/bench/%.c $(LIBRARY) $(B)/asm/builtin_none.o
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $(filter %.c,$^) $(BUILTIN) $(LIBRARY) $(LIBS)

$(B)/tests/bench/likwid $(B)/tests/bench/loops: tests/bench/pairs.c tests/bench/pairs.h
$(B)/tests/bench/loops: ALL_CFLAGS += -O3 -march=native -ffast-math

# its loops are as scalar as they are written
$(B)/tests/bench/verdict/loops: tests/bench/verdict/loops.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -fno-tree-vectorize -fno-math-errno -mavx512f -mfma -o $@ $< -lm

bench: $(B)/tests/bench/verdict/loops $(B)/carm $(B)/tests/bench/likwid $(B)/tests/bench/loops $(B)/tests/bench/own $(B)/tests/bench/chase
ifdef REPEAT
	tests/bench/repeat.sh $(B)/carm $(REPEAT)
else
	$(B)/carm build --ops fma,fma+add --ldst 2:1,1:1,1:0,0:1,update,2:1update,nt,3:1 -o $(B)/bench/model.json
	$(B)/tests/bench/likwid $(B)/bench/model.json $(BENCH_SECONDS)
	$(B)/tests/bench/loops $(B)/bench/model.json $(BENCH_SECONDS)
	$(B)/tests/bench/chase
	tests/bench/translate.sh $(B)/carm
	python3 tests/bench/profile.py $(B)/carm $(B)/tests/bench/own
	python3 tests/bench/verdict/score.py $(B)/carm $(B)/tests/bench/verdict/loops $(B)/bench/model.json
	python3 tests/bench/verdict/strangers.py --twins $(B)/carm $(B)/bench/model.json
	python3 tests/bench/levels.py $(B)/carm $(B)/bench/model.json
endif

C_FILES := $(SOURCES) $(ENGINE_SOURCES) $(PRELOAD_SOURCE) $(MAINS) $(shell find tests -name '*.c')
H_FILES := $(shell find $(ROOMS) include tests -name '*.h')
# libcarm's functions and their types as the last release has them: a program that was linked with it still runs.
# make abi, when a release is made, writes the file anew; until 1.0 there is none, so it is that of today.
ABI := harness/region/libcarm.abi
abi: $(B)/libcarm.so.0
	abidw --headers-dir include --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
	  --exported-interfaces-only --drop-private-types --out-file $(ABI) $<
check-abi: $(B)/libcarm.so.0
	@if command -v abidiff >/dev/null; then \
	  abidiff --no-added-syms --headers-dir2 include $(ABI) $< && echo "abidiff: libcarm is compatible with $(ABI)"; \
	else echo "no abidiff (Debian: abigail-tools): libcarm is not compared with $(ABI)"; fi

lint: check-abi $(B)/carm
	@python3 tests/rooms.py
	@python3 tests/frames.py $(B)/carm
	@for h in $(H_FILES); do \
	  echo "#include \"$$h\"" | $(CC) $(ALL_CFLAGS) -fsyntax-only -x c - || exit 1; done
	@echo '#include "include/carm.h"' | $(CC) -std=c89 -pedantic -Wall -Wextra -Werror -I. \
	  -fsyntax-only -x c -
	@echo "headers: each compiles alone, include/carm.h as C89, too"
	clang-format --dry-run -Werror $(C_FILES) $(H_FILES)
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
	  --error-exitcode=1 --suppress=missingIncludeSystem -I. $(SOURCES)
	clang-tidy --quiet $(SOURCES) -- -std=c17 $(CARM_CPPFLAGS) $(CPPFLAGS) -DCARM_VERSION='""' -DCARM_COMMIT='""' $(PKG_CFLAGS)
ifdef MPI_PROGRAM
	clang-tidy --quiet cli/fleet/carm_mpi.c -- -std=c17 $(CARM_CPPFLAGS) $(CPPFLAGS) \
	  $(addprefix -isystem ,$(shell $(MPICC) --showme:incdirs 2>/dev/null))
endif
	@version=$$($(ESLINT) --version 2>/dev/null | sed -n 's/^v\([0-9]*\)[.].*/\1/p'); \
	if [ "$${version:-0}" -ge 9 ]; then \
	  $(ESLINT) -c plots/page/eslint.config.mjs $(B)/plots/report-script.js $(B)/plots/fleet-script.js \
	    $(B)/plots/history-script.js; \
	else echo "no eslint that starts and is of version 9 or newer (npm install -g eslint; Debian's is 6.4):" \
	  "the scripts of the pages are not checked"; fi
	@if command -v mypy >/dev/null; then mypy --strict --ignore-missing-imports python/carm.py; \
	else echo "no mypy: the types of python/carm.py are not checked"; fi
	@if command -v pylint >/dev/null; then pylint --score=n --disable=all \
	  --enable=E,unused-import,unused-variable,dangerous-default-value,unreachable --disable=import-error,too-many-format-args,unsubscriptable-object \
	  python/carm.py $(sort $(wildcard tests/*.py) $(shell find tests -mindepth 2 -name '*.py')); \
	else echo "no pylint: the tests' Python is not checked"; fi
	shellcheck -x setup .ci/run harness/region/reach.sh $(addprefix debian/tests/,quick-model region python) $(shell find tests -name '*.sh')

# faults planted by a tool, and the suites that find them: nightly, an hour or more (MUTANTS="--room asm --each 20": some)
MUTANTS := --each 60
mutants:
	python3 tests/mutants.py $(MUTANTS)

format:
	clang-format -i $(C_FILES) $(H_FILES)

# ---- installing ------------------------------------------------------------------------------
# GNU's directory variables, given to make: make install prefix=/opt/carm libdir=/opt/carm/lib64. PREFIX and
# LIBDIR are the older names. PROGRAM_PREFIX=x- installs the command as x-carm, with its manual page, its
# completions and carm.py, for machines that have another carm.

PREFIX ?= /usr/local
prefix = $(PREFIX)
exec_prefix = $(prefix)
bindir = $(exec_prefix)/bin
libexecdir = $(exec_prefix)/libexec
LIBDIR = $(exec_prefix)/lib
libdir = $(LIBDIR)
pkgconfigdir = $(libdir)/pkgconfig
cmakedir = $(libdir)/cmake/carm
includedir = $(prefix)/include
datarootdir = $(prefix)/share
datadir = $(datarootdir)
mandir = $(datarootdir)/man
docdir = $(datarootdir)/doc/carm
bashcompletiondir = $(datarootdir)/bash-completion/completions
zshcompletiondir = $(datarootdir)/zsh/site-functions
# where Debian's python3 looks below /usr/local; another folder needs PYTHONPATH
PYTHON_SITE ?= $(prefix)/lib/python$(shell python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3)/dist-packages
PROGRAM_PREFIX =
INSTALL = install
PROGRAM := $(PROGRAM_PREFIX)carm

INSTALLED_DATA := $(addprefix data/,model.schema.json fleet.schema.json run.schema.json place.schema.json compare.schema.json codes.json microarchitectures.json roofline-2009.json) $(SOL)
INSTALLED_DOCS := LICENSE LICENSE.MIT README.md CHANGELOG.md SECURITY.md $(wildcard docs/*.md docs/*.ipynb)
INSTALLED_PICTURES := $(wildcard docs/pictures/*)
EXAMPLES := $(wildcard docs/examples/*)
# a manual page's or a completion's own name, renamed with the command
RENAME_MAN := s/^\.Dt CARM/.Dt $(shell printf %s '$(PROGRAM_PREFIX)' | tr a-z A-Z)CARM/; s/^\(\.Nm\|\.Xr\|\.It Xr\) carm/\1 $(PROGRAM)/
RENAME_COMPLETION := s/^\(complete .* -F _carm\) carm$$/\1 $(PROGRAM)/; s/^\#compdef carm$$/\#compdef $(PROGRAM)/
FILL_IN = sed 's,@prefix@,$(prefix),; s,@libdir@,$(1),; s,@includedir@,$(2),; s,@VERSION@,$(VERSION),; s,@LIBS@,$(3),'
BELOW_PREFIX = $(patsubst $(prefix)/%,$${prefix}/%,$(1))
comma := ,
space := $(subst ,, )

# Every published picture of one model and of the points in docs/data; MEASURE=measure measures them here first.
docs-pictures: $(B)/carm
	python3 docs/pictures.py $(B)/carm $(MEASURE)

install: all
	$(INSTALL) -d $(foreach d,bindir mandir bashcompletiondir zshcompletiondir datadir libdir pkgconfigdir cmakedir \
	  includedir docdir PYTHON_SITE,"$(DESTDIR)$($(d))") "$(DESTDIR)$(mandir)/man1" "$(DESTDIR)$(datadir)/carm/machines" \
	  "$(DESTDIR)$(docdir)/pictures" "$(DESTDIR)$(docdir)/examples"
	$(INSTALL) -m 755 $(B)/carm "$(DESTDIR)$(bindir)/$(PROGRAM)"
ifdef MPI_PROGRAM
	$(INSTALL) -d "$(DESTDIR)$(libexecdir)/carm"
	$(INSTALL) -m 755 $(MPI_PROGRAM) "$(DESTDIR)$(libexecdir)/carm/carm-mpi"
endif
	umask 022; for f in $(MAN_PAGES); do sed '$(RENAME_MAN)' $$f >"$(DESTDIR)$(mandir)/man1/$(PROGRAM_PREFIX)$${f##*/}" || exit 1; done
	umask 022; sed '$(RENAME_COMPLETION)' $(B)/carm.bash >"$(DESTDIR)$(bashcompletiondir)/$(PROGRAM)"
	umask 022; sed '$(RENAME_COMPLETION)' $(B)/_carm >"$(DESTDIR)$(zshcompletiondir)/_$(PROGRAM)"
	$(INSTALL) -m 644 $(INSTALLED_DATA) "$(DESTDIR)$(datadir)/carm"
	$(INSTALL) -m 644 $(MACHINES) "$(DESTDIR)$(datadir)/carm/machines"
	$(INSTALL) -m 644 $(INSTALLED_DOCS) "$(DESTDIR)$(docdir)"
	$(INSTALL) -m 644 $(INSTALLED_PICTURES) "$(DESTDIR)$(docdir)/pictures"
	$(INSTALL) -m 644 $(EXAMPLES) "$(DESTDIR)$(docdir)/examples"
	umask 022; sed 's/get("CARM", "carm")/get("CARM", "$(PROGRAM)")/' python/carm.py >"$(DESTDIR)$(PYTHON_SITE)/carm.py"
	$(INSTALL) -m 644 include/carm.h include/carm_count.h harness/region/carm.f90 "$(DESTDIR)$(includedir)"
	$(INSTALL) -m 644 $(B)/libcarm.a "$(DESTDIR)$(libdir)/libcarm.a"
	$(INSTALL) -m 755 $(B)/libcarm.so.0 "$(DESTDIR)$(libdir)/libcarm.so.0"
	ln -sf libcarm.so.0 "$(DESTDIR)$(libdir)/libcarm.so"
	umask 022; $(call FILL_IN,$(call BELOW_PREFIX,$(libdir)),$(call BELOW_PREFIX,$(includedir)),$(PIC_LIBS)) \
	  harness/region/carm.pc.in >"$(DESTDIR)$(pkgconfigdir)/carm.pc"
	umask 022; for f in carm-config.cmake carm-config-version.cmake; do \
	  $(call FILL_IN,$(libdir),$(includedir),$(subst $(space),;,$(strip $(PIC_LIBS:-l%=%)))) harness/region/$$f.in \
	  >"$(DESTDIR)$(cmakedir)/$$f" || exit 1; done
ifeq ($(DESTDIR),)
	@harness/region/reach.sh "$(libdir)"
endif

install-strip: install
	strip --strip-all "$(DESTDIR)$(bindir)/$(PROGRAM)" $(if $(MPI_PROGRAM),"$(DESTDIR)$(libexecdir)/carm/carm-mpi")
	strip --strip-unneeded "$(DESTDIR)$(libdir)/libcarm.so.0"
	strip --strip-debug -D "$(DESTDIR)$(libdir)/libcarm.a"

uninstall:
	rm -f "$(DESTDIR)$(bindir)/$(PROGRAM)" "$(DESTDIR)$(bashcompletiondir)/$(PROGRAM)" \
	  "$(DESTDIR)$(zshcompletiondir)/_$(PROGRAM)" \
	  $(foreach f,$(notdir $(MAN_PAGES)),"$(DESTDIR)$(mandir)/man1/$(PROGRAM_PREFIX)$(f)") \
	  "$(DESTDIR)$(includedir)/carm.h" "$(DESTDIR)$(includedir)/carm_count.h" "$(DESTDIR)$(includedir)/carm.f90" "$(DESTDIR)$(libdir)/libcarm.a" \
	  "$(DESTDIR)$(libdir)/libcarm.so.0" "$(DESTDIR)$(libdir)/libcarm.so" "$(DESTDIR)$(pkgconfigdir)/carm.pc" \
	  "$(DESTDIR)$(PYTHON_SITE)/carm.py"
	rm -rf "$(DESTDIR)$(datadir)/carm" "$(DESTDIR)$(libexecdir)/carm" "$(DESTDIR)$(cmakedir)" "$(DESTDIR)$(docdir)"

# ---- releasing -------------------------------------------------------------------------------
# The last commit as carm-VERSION.tar.gz: the same bytes whoever makes it.

DIST := carm-$(VERSION)

dist:
	git archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n >$(DIST).tar.gz

distcheck: dist
	tests/dist.sh $(DIST)

deps:
	@echo "build and run: a C17 compiler, make, nasm, pkg-config, hwloc, GSL, Zydis 4, jansson, libyaml, zstd, gnuplot"
	@echo "carm report:   d3 version 3 (make D3=d3.min.js names its file)"
	@echo "counters:      PAPI with its header, likwid; where there is neither, counts are constructed"
	@echo "clusters:      mpicc (Open MPI, MPICH), for mpirun carm fleet build"
	@echo "make check:    cmocka; python3-jsonschema, mandoc, binutils, likwid, libpfm4, OpenBLAS, FFTW, oneDNN, a C++ and"
	@echo "               a Fortran compiler, Open MPI, Slurm with munge, pandas, matplotlib, nbclient, ipykernel where there are any"
	@echo "make bench:    likwid          make lint: clang-tidy, clang-format, cppcheck, shellcheck, abigail-tools"
	@echo "make fuzz, make ci: clang with libFuzzer and its sanitizers (Debian: clang libclang-rt-dev)"

clean distclean:
	rm -rf build build-*

# dependencies of an earlier build may name a source that has moved since: its object is made again
%.c: ;
%.d: ;
-include $(ENGINE_OBJECTS:%.o=%.d) $(B)/engine/preload.d $(B)/tests/fuzz/search.d $(SOURCES:%.c=$(B)/%.d) $(B)/base/pack.d $(B)/validation/builtin/source.d $(B)/carm-mpi.d $(PIC_OBJECTS:%.o=%.d) $(TESTS:%=%.d) \
  $(SANITIZED_TESTS:%=%.d) $(READER_SOURCES:%.c=$(R)/%.d)
