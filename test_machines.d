test_machines.o: tests/validation/test_machines.c models/scaling.h \
 models/model.h base/err.h base/number.h models/rounds.h \
 models/validation.h tests/validation/planted.h harness/place/host.h \
 harness/machine/clock.h harness/machine/cpu.h asm/code.h asm/isa.h \
 harness/machine/node_lock.h base/job.h base/observer.h \
 harness/machine/topo.h harness/machine/measure.h asm/image.h \
 asm/recount.h harness/machine/stats.h harness/machine/team.h \
 harness/machine/buffer.h harness/machine/probe.h \
 harness/machine/paired.h harness/machine/window.h models/roofline.h \
 tests/fingerprint.h tests/unit.h validation/count.h \
 harness/count/counters.h harness/count/provider.h \
 harness/count/evaluate.h harness/count/quantities.h \
 harness/count/recipe.h harness/count/pmu.h validation/latency/latency.h \
 asm/chain/image.h asm/chain/code.h models/latency.h \
 validation/roofs/ceilings.h validation/roofs/build.h models/levels.h \
 validation/roofs/plan.h harness/machine/search.h \
 validation/roofs/config.h models/ceilings.h models/winners.h \
 models/theory.h validation/options.h validation/roofs/run.h \
 validation/roofs/scaling.h validation/validate/run.h \
 validation/validate/config.h validation/validate/plan.h
models/scaling.h:
models/model.h:
base/err.h:
base/number.h:
models/rounds.h:
models/validation.h:
tests/validation/planted.h:
harness/place/host.h:
harness/machine/clock.h:
harness/machine/cpu.h:
asm/code.h:
asm/isa.h:
harness/machine/node_lock.h:
base/job.h:
base/observer.h:
harness/machine/topo.h:
harness/machine/measure.h:
asm/image.h:
asm/recount.h:
harness/machine/stats.h:
harness/machine/team.h:
harness/machine/buffer.h:
harness/machine/probe.h:
harness/machine/paired.h:
harness/machine/window.h:
models/roofline.h:
tests/fingerprint.h:
tests/unit.h:
validation/count.h:
harness/count/counters.h:
harness/count/provider.h:
harness/count/evaluate.h:
harness/count/quantities.h:
harness/count/recipe.h:
harness/count/pmu.h:
validation/latency/latency.h:
asm/chain/image.h:
asm/chain/code.h:
models/latency.h:
validation/roofs/ceilings.h:
validation/roofs/build.h:
models/levels.h:
validation/roofs/plan.h:
harness/machine/search.h:
validation/roofs/config.h:
models/ceilings.h:
models/winners.h:
models/theory.h:
validation/options.h:
validation/roofs/run.h:
validation/roofs/scaling.h:
validation/validate/run.h:
validation/validate/config.h:
validation/validate/plan.h:
