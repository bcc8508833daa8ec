# mafat: neural networks inside a memory budget. `make help` lists the targets.

VERSION := 0.1.0
BUILD   ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
V       ?= 0

OPT      ?= -O2
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
# Hardening (SECURITY.md): stack canaries, checked copies, relocations read-only after loading. Not
# with sanitizers, which check more. `make HARDENED=` builds without.
HARDENED ?= $(if $(SANITIZE),,1)
ifneq ($(HARDENED),)
PROTECTED := -fstack-protector-strong
CHECKED   := $(if $(filter -O0,$(OPT)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
SEALED    := -Wl,-z,relro,-z,now
endif
# override: a CFLAGS on the command line is added to these, because they determine the results'
# bits.
override CPPFLAGS += $(CHECKED) -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DMAFAT_VERSION='"$(VERSION)"' -I.
override CFLAGS   += -std=c11 -pthread $(OPT) -g $(WARNINGS) -ffp-contract=off -fno-asynchronous-unwind-tables -fno-unwind-tables $(PROTECTED) $(SANITIZE)
override LDFLAGS  += $(SEALED) $(SANITIZE)
LDLIBS   += -lm

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2))

# --- what this machine has ---------------------------------------------------

hash := \#
comma := ,
has = $(shell printf '$(hash)include <stdio.h>\n$(hash)include <$(1)>\n' | $(CC) -E -x c - >/dev/null 2>&1 && echo yes)
has_archive = $(filter /%,$(shell $(CC) -print-file-name=$(1)))
JPEG ?= $(call has,jpeglib.h)
PNG  ?= $(call has,png.h)
URING ?= $(call has,liburing.h)
# ?= evaluates at each use; this evaluates once.
once = $(foreach v,$(1),$(eval $(v) := $($(v))))
$(call once,JPEG PNG URING)
IMAGE_LIBS := $(if $(JPEG),-ljpeg) $(if $(PNG),-lpng)
IMAGE_FLAGS := $(if $(JPEG),,-DMAFAT_WITHOUT_JPEG) $(if $(PNG),,-DMAFAT_WITHOUT_PNG)
# The static archive if it is installed, so that no program needs the shared library.
URING_LIBS := $(if $(URING),$(or $(call has_archive,liburing.a),-luring))
URING_FLAGS := $(if $(URING),,-DMAFAT_WITHOUT_URING)
MACHINE := $(shell $(CC) -dumpmachine)
# MPI, for mafat_ranks only (group ranks of packages.txt).
MPICC ?= $(shell command -v mpicc)
$(call once,MPICC)
pkg = $(shell pkg-config $(1) $(2) 2>/dev/null)
# GD's header: installed, or unpacked by the demo next to an installed library (packages.txt).
UNPACKED := $(BUILD)/unpacked
GD_LIBS := $(or $(call pkg,--libs,gdlib),$(if $(wildcard $(UNPACKED)/usr/include/gd.h),$(if $(call has_archive,libgd.so.3),-l:libgd.so.3)))
GD_FLAGS := $(if $(filter -l:%,$(GD_LIBS)),-isystem $(UNPACKED)/usr/include,$(call pkg,--cflags,gdlib))
ANNOTATE := $(if $(GD_LIBS),$(shell pkg-config --exists json-c libexif 2>/dev/null && echo yes))
MEMORY_LIMIT := $(and $(call has,libcgroup.h),$(call has,libproc2/vmstat.h),yes)
missing := $(if $(JPEG),,JPEG) $(if $(PNG),,PNG) $(if $(URING),,io_uring) $(if $(ANNOTATE),,annotate) $(if $(MEMORY_LIMIT),,memory_limit)
ifneq ($(strip $(missing)),)
ifeq ($(filter clean help packages check test test-gate test-full check-fresh demo run-demo paper figure uninstall deb,$(MAKECMDGOALS)),)
$(info building without: $(strip $(missing)) (scripts/packages.sh programs installs what they need))
endif
endif
# run_inference is linked statically if the static libraries are installed:
# a dynamic loader and shared libraries cost 2.7 MiB of resident memory.
STATIC ?= $(if $(and $(call has_archive,libc.a),$(if $(JPEG),$(call has_archive,libjpeg.a),yes),$(if $(PNG),$(call has_archive,libpng.a),yes),$(if $(URING),$(call has_archive,liburing.a),yes)),$(if $(SANITIZE),,1))
STRIPPED ?= $(if $(SANITIZE),,-s -Wl,--gc-sections)
STATIC_LIBS := $(IMAGE_LIBS) $(if $(PNG),-lz) $(URING_LIBS)
# With GNU ld, a linker script stores the code of runs contiguously.
ORDER := $(if $(filter 1,$(STATIC)),$(if $(findstring GNU ld,$(shell $(CC) $(LDFLAGS) -Wl,--version 2>/dev/null)),$(BUILD)/run_inference.ld))
# Static PIE with packed relocations, which glibc supports since 2.36. Unpacked, the relocations are
# 100 KB that every start reads.
pack = -static-pie -Wl,-z,pack-relative-relocs
STATIC_PIE ?= $(if $(HARDENED),$(if $(ORDER),$(shell said=$$(printf '$(hash)include <stdlib.h>\n$(hash)if !__GLIBC_PREREQ(2, 36)\n$(hash)error\n$(hash)endif\nint main(void) { return 0; }\n' | \
  $(CC) -fPIE $(pack) -x c - -o /dev/null 2>&1) && [ -z "$$said" ] && echo 1)))
$(call once,STATIC STATIC_PIE)
PLACELESS := $(if $(filter 1,$(STATIC_PIE)),-fPIE)
ALONE := $(if $(PLACELESS),$(pack),-static)
# Library functions that are linked statically and never called: 5 % of the program's file.
NEVER_CALLED := png_destroy_write_struct png_save_uint_32 png_free_buffer_list jinit_1pass_quantizer \
  jinit_2pass_quantizer jinit_merged_upsampler
LEFT_OUT := -Wl,--defsym=__isoc99_sscanf=mafat_scan_nothing \
  $(addsuffix =mafat_never_called,$(addprefix -Wl$(comma)--defsym=,$(NEVER_CALLED)))
TABLES_LEFT_OUT := -Wl,-T,programs/shared/left_out.ld
whole = $(if $(filter 1,$(STATIC)),$(ALONE) $(LEFT_OUT) $(if $(ORDER),$(if $(findstring left_out.ld,$(LDFLAGS)),,$(TABLES_LEFT_OUT))))
# A stamp file that changes only with the detected features. Objects that use a feature and all
# links depend on it.
FEATURES := $(BUILD)/features
features = $(strip $(IMAGE_FLAGS) $(URING_FLAGS) $(IMAGE_LIBS) $(URING_LIBS) static=$(STATIC),$(STATIC_PIE),$(MEMORY_LIMIT_STATIC) \
  annotate=$(ANNOTATE),$(GD_LIBS) mpi=$(MPICC) dnnl=$(DNNL) openblas=$(OPENBLAS))

# --- sources -----------------------------------------------------------------

BASE      := $(wildcard base/*.c)
NETWORK   := $(wildcard network/*.c network/kinds/*.c)
FORMATS   := $(wildcard formats/*.c formats/*/*.c)
TRANSFORM := $(wildcard transform/*.c)
PREDICTOR := $(wildcard predictor/*.c predictor/*/*.c)
SEARCHES  := $(wildcard search/*.c search/*/*.c)
# runner/ without the kernels, which depend on the machine.
RUNNER    := $(filter-out runner/kernels/%,$(wildcard runner/*/*.c runner/*/*/*.c runner/*/*/*/*.c))
API       := $(wildcard api/*.c api/*/*.c)
KERNELS   := $(wildcard runner/kernels/*.c) $(if $(filter x86_64-%,$(MACHINE)),$(wildcard runner/kernels/x86/*.c)) \
             $(if $(filter aarch64-% arm%hf,$(MACHINE)),$(wildcard runner/kernels/arm/*.c))
LIBRARY   := $(BASE) $(NETWORK) $(FORMATS) $(TRANSFORM) $(PREDICTOR) $(SEARCHES) $(RUNNER) $(KERNELS) $(API)
# Sources of all programs; of programs that write files.
SPEAKING  := $(addprefix programs/shared/,streams.c nearest.c refused_option.c option.c words.c)
WRITING   := $(SPEAKING) programs/shared/unfinished.c
# run_inference: uses only the public headers of the library.
PROGRAM   := $(wildcard programs/run_inference/*.c programs/shared/sandbox/*.c programs/shared/video/*.c) programs/shared/writer.c programs/shared/progress.c programs/shared/left_out.c $(WRITING)
MODULES   := $(filter-out %/main.c,$(PROGRAM))
ANNOTATOR := $(wildcard programs/annotate/*.c) $(WRITING)
TESTS     := $(wildcard tests/unit/*.c tests/unit/*/*.c tests/support/*.c tests/kernels/*.c) experiments/separable/copying.c

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB := $(BUILD)/libmafat.a
# The shared library. Its number increases with each incompatible change.
SONAME := libmafat.so.0
SHARED := $(BUILD)/$(SONAME)

.DEFAULT_GOAL := all
.PHONY: all help demo darknet check test test-gate test-full golden golden-write run-check run-test run-gate run-full check-fresh check-latency check-predictor check-search check-asan check-tsan check-msan check-coverage analyze check-valgrind check-avxvnni check-includes check-kinds check-tables check-covered check-callers check-links check-words check-parts oracle networks planners planners-check fuzz fuzzers bench limits soak paper figure clean files format packages run-planners run-demo run-paper run-figure separable ranks run-ranks

# --- building ----------------------------------------------------------------

all: $(BUILD)/libmafat.so $(BUILD)/run_inference $(BUILD)/mafat_serve $(BUILD)/make_weights $(BUILD)/pack_weights $(BUILD)/mafat $(if $(ANNOTATE),$(BUILD)/annotate) $(if $(MPICC),$(BUILD)/mafat_ranks) $(if $(MEMORY_LIMIT),$(BUILD)/memory_limit) $(BUILD)/swap_cost ## build all programs (default)

help: ## print this list
	@awk -F ':.*## ' '/^# --- / { heading = $$0; gsub(/^# --- | -*$$/, "", heading) } \
	  /^[a-z-]+:.*## / { if (heading != "") print "\n" heading; heading = ""; printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- compiling ---------------------------------------------------------------

$(BUILD)/obj/%.o: %.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(IMAGE_FLAGS) $(URING_FLAGS) $(CFLAGS) $(or $(SHAREABLE),$(PLACELESS)) $(EXTRA) $(EXTRA_SECTIONS) -MMD -MP -c $< -o $@

# The same objects for libmafat.a and libmafat.so, all position-independent. Only functions that the
# headers in include/ declare are exported.
$(call objects,$(LIBRARY)): SHAREABLE = -fPIC -fvisibility=hidden

# Flags that clang rejects.
of_gcc = $(if $(findstring clang,$(CC)),,$(1))

# Sections let the linker drop unused functions, and let run_inference.ld separate the code of
# opening a model from the code of runs.
$(call objects,$(LIBRARY) $(PROGRAM)): EXTRA_SECTIONS = -ffunction-sections

# Small rather than fast: runs once, and stays resident during a run.
$(call objects,$(FORMATS) api/facts.c api/facts_layers.c api/picture_options.c runner/image/image.c runner/image/source.c runner/image/jpeg_markers.c): EXTRA = -Os

# Fast: loops over the weights file while a layer waits.
$(call objects,runner/weights/pack.c formats/packed/hash.c): EXTRA = -O3
# Vectorized, without code growth: -O3 would double this code, which every run needs.
$(call objects,runner/weights/pack_integers.c): EXTRA = -O2 $(call of_gcc,-fvect-cost-model=dynamic)
# Small: resident in every run, never in an inner loop.
$(call objects,api/inputs.c api/ports.c api/footprint.c runner/os/parts.c runner/image/npy.c programs/run_inference/ports.c programs/run_inference/picture_facts.c): EXTRA = -Os
# Small: video code that waits for frames or runs once for each.
$(call objects,api/frames.c runner/image/frame.c $(wildcard programs/shared/video/*.c) programs/run_inference/video.c): EXTRA = -Os
# Small: used only on request.
$(call objects,$(wildcard programs/run_inference/map*.c) programs/run_inference/svg.c programs/run_inference/help.c): EXTRA = -Os
$(call objects,$(wildcard runner/detect/heads/*.c)): EXTRA = -Os
# Loops over lanes are vectorized instead of unrolled.
$(call objects,$(addprefix runner/engine/kinds/,lanes.c normalize.c quantize.c reduce.c rearrange_lanes.c resample.c integer/matmul.c) runner/image/pixel_rule.c): EXTRA = -O3 $(call of_gcc,--param max-completely-peel-times=8)
# Kernels get sizes that were checked before, and keep no file bytes on their stacks: no canaries
# and no checked copies in their inner calls.
$(BUILD)/obj/runner/kernels/%.o: PROTECTED = -fno-stack-protector
$(BUILD)/obj/runner/kernels/%.o: CHECKED = -U_FORTIFY_SOURCE
# Written once, compiled once for each level. run_inference.ld sorts their sections by the networks
# and plans that need them.
KERNEL = -O3 -ffunction-sections
# Integer kernels are vectorized and unrolled in their sources. -O3 would add half as much code. The
# portable ones are small, for machines without a better level.
INTEGERS = -O2 $(call of_gcc,-fvect-cost-model=dynamic) -ffunction-sections
$(BUILD)/obj/runner/kernels/%.o: EXTRA = -O3
$(BUILD)/obj/runner/kernels/functions.o: EXTRA = -O3 -fno-math-errno -fno-trapping-math
$(BUILD)/obj/runner/kernels/portable.o: EXTRA = $(KERNEL)
$(BUILD)/obj/runner/kernels/integer_portable.o: EXTRA = -Os -ffunction-sections
# Compiler flags of each level, by object name and architecture: base/levels.def.
ARCHITECTURE := $(firstword $(subst -, ,$(MACHINE)))
level_flags = $(shell sed -nE 's/^FLAGS\($(basename $(notdir $(1))), $(ARCHITECTURE), (.*)\)$$/\1/p' base/levels.def)
LEVELS := $(BUILD)/obj/runner/kernels/x86 $(BUILD)/obj/runner/kernels/arm
$(addsuffix /%.o,$(LEVELS)): EXTRA = $(KERNEL) $(call level_flags,$@) $(PLAIN)
$(addsuffix /integer_%.o,$(LEVELS)): EXTRA = $(INTEGERS) $(call level_flags,$@) $(PLAIN)
$(addsuffix /frame_rows_%.o,$(LEVELS)): EXTRA = -O3 $(call level_flags,$@) $(PLAIN)
$(call objects,$(ANNOTATOR)): EXTRA = $(GD_FLAGS) $(call pkg,--cflags,json-c libexif)
$(BUILD)/obj/tests/%.o: EXTRA = $(call pkg,--cflags,check json-c)

# The fields of the struct of options as text, for the Python package.
$(BUILD)/generated/model_options_fields.h: include/mafat.h scripts/struct_fields.awk
	@mkdir -p $(@D)
	$(Q)awk -f scripts/struct_fields.awk $< >$@
$(BUILD)/obj/api/option_fields.o: $(BUILD)/generated/model_options_fields.h
$(BUILD)/obj/api/option_fields.o: EXTRA = -I$(BUILD)/generated

$(LIB): $(call objects,$(LIBRARY))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar qcs $@ $(filter %.o,$^)

# The same objects in a thin archive, which keeps their paths: run_inference.ld selects files by
# path, since a kind's files have the same name in several folders.
PLACED := $(BUILD)/obj/libmafat.a
$(PLACED): $(call objects,$(LIBRARY))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar qcs --thin $@ $(filter %.o,$^)

# Symbols of statically linked decoders are not exported.
$(SHARED): $(call objects,$(LIBRARY))
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--exclude-libs,ALL $(if $(SANITIZE),,-Wl,-z,defs) \
	  -o $@ $(filter %.o,$^) $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

$(BUILD)/libmafat.so: $(SHARED)
	$(Q)ln -sf $(SONAME) $@

# The linker script: code in parts, by when it is needed. A part begins at a page, or at a window:
# the bytes that the kernel maps around a page that is entered. Smaller values make a smaller file,
# of whose parts neighbours stay resident.
WINDOW ?= 0x10000
PAGE ?= 0x1000
$(BUILD)/run_inference.ld: scripts/link_parts.awk base/levels.def runner/os/parts.def programs/run_inference/run_inference.ld
	@mkdir -p $(@D)
	$(Q)awk -v window=$(WINDOW) -v page=$(PAGE) -f $(filter-out base/levels.def,$^) >$@.new && mv $@.new $@

# Stripped: a memory cgroup is charged for the pages of a program that the kernel reads ahead, also
# for debug information. run_inference_dynamic keeps it; run_inference_symbols keeps function names
# (make check-parts).
$(BUILD)/run_inference_symbols: override STRIPPED = -Wl,--strip-debug -Wl,--gc-sections
$(BUILD)/run_inference $(BUILD)/run_inference_symbols: $(call objects,$(PROGRAM)) $(if $(ORDER),$(PLACED),$(LIB)) $(ORDER) $(if $(ORDER),programs/shared/left_out.ld)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(STRIPPED) $(whole) $(addprefix -Wl$(comma)-T$(comma),$(ORDER)) \
	  -o $@ $(filter-out %.ld,$^) $(if $(filter 1,$(STATIC)),$(STATIC_LIBS),$(IMAGE_LIBS) $(URING_LIBS)) $(LDLIBS)

# For debuggers and valgrind, which sees no heap in a static program. It also proves that the public
# headers are enough, since libmafat.so exports nothing else.
$(BUILD)/run_inference_dynamic: $(call objects,$(PROGRAM)) $(SHARED)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(LDLIBS)

# Linked like run_inference and with its modules, so that predictions hold for it, too.
SERVE := $(wildcard programs/mafat_serve/*.c)
SERVING := $(filter-out %/mafat_serve.c,$(SERVE))
$(call objects,$(SERVE)): EXTRA_SECTIONS = -ffunction-sections
$(BUILD)/obj/programs/mafat_serve/page.o: programs/mafat_serve/page.html
$(BUILD)/mafat_serve: $(call objects,$(SERVE) $(MODULES)) $(if $(ORDER),$(PLACED),$(LIB)) $(ORDER) $(if $(ORDER),programs/shared/left_out.ld)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(STRIPPED) $(whole) $(addprefix -Wl$(comma)-T$(comma),$(ORDER)) \
	  -o $@ $(filter-out %.ld,$^) $(if $(filter 1,$(STATIC)),$(STATIC_LIBS),$(IMAGE_LIBS) $(URING_LIBS)) $(LDLIBS)

# Calls only exported functions, like run_inference_dynamic.
$(BUILD)/mafat_serve_dynamic: $(call objects,$(SERVE) $(MODULES)) $(SHARED)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(LDLIBS)

$(BUILD)/make_weights: $(call objects,$(wildcard programs/make_weights/*.c) programs/shared/progress.c $(WRITING)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(URING_LIBS) $(LDLIBS)

$(BUILD)/pack_weights: $(call objects,$(wildcard programs/pack_weights/*.c) programs/shared/progress.c $(WRITING)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

# The command that runs all programs. Earlier builds had a folder of this name with the drop-in: it
# is removed if it holds nothing else.
$(BUILD)/mafat: $(call objects,$(wildcard programs/mafat/*.c) programs/shared/writer.c $(SPEAKING)) $(LIB)
	$(call say,LD,$@)
	$(Q)[ ! -d $@ ] || { rm -f $@/libmafat-darknet.so $@/libdarknet.so && rmdir $@; }
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(URING_LIBS) $(LDLIBS)

$(BUILD)/annotate: $(call objects,$(ANNOTATOR))
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(GD_LIBS) $(call pkg,--libs,json-c libexif) $(LDLIBS)

# run_inference's modules on rank 0, the library on all ranks.
RANKS := $(wildcard programs/mafat_ranks/*.c)
WITH_MPI = OMPI_CC="$(CC)" MPICH_CC="$(CC)" $(MPICC)
$(BUILD)/obj/programs/mafat_ranks/mpi%.o: programs/mafat_ranks/mpi%.c Makefile
	$(call say,MPICC,$<)
	@mkdir -p $(@D)
	$(Q)$(WITH_MPI) $(CPPFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP -c $< -o $@

$(BUILD)/mafat_ranks: $(call objects,$(RANKS) $(MODULES)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(WITH_MPI) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

# --- experiments -------------------------------------------------------------

# Static if possible: it runs in an initramfs, and uses little memory next to the command it limits.
# The linker warns about functions that look up users; none of them is called.
MEMORY_LIMIT_STATIC ?= $(if $(and $(call has_archive,libc.a),$(call has_archive,libcgroup.a),$(call has_archive,libproc2.a)),$(if $(SANITIZE),,1))
LD_QUIET := $(if $(shell $(CC) $(LDFLAGS) -Wl,--help 2>/dev/null | grep -e --no-warnings),-Wl$(comma)--no-warnings)

$(BUILD)/memory_limit: $(call objects,$(wildcard programs/memory_limit/*.c) $(addprefix programs/shared/,writer.c streams.c refused_option.c nearest.c)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(if $(filter 1,$(MEMORY_LIMIT_STATIC)),$(ALONE) $(LD_QUIET)) -o $@ $^ -lcgroup -lproc2 $(LDLIBS)

# A start with minimal memory (tests/limits/cold.py); the exact peak of resident bytes
# (tests/cli/run_inference.sh).
$(BUILD)/launcher $(BUILD)/resident_peak: $(BUILD)/%: tests/limits/%.c
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(STRIPPED) $(if $(filter 1,$(STATIC)),-static) -o $@ $<

# Programs that use the library: many runs (tests/soak/endless.py), failing system calls
# (tests/faults/inject.py).
$(BUILD)/endless: $(call objects,tests/soak/endless.c) $(LIB)
$(BUILD)/failing_library: $(call objects,tests/faults/failing_library.c) $(LIB)
$(BUILD)/endless $(BUILD)/failing_library:
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

# --- tests -------------------------------------------------------------------

# Preloaded by tests/faults/kills.py.
$(BUILD)/storm.so: tests/faults/storm.c
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# A file system with misbehaving files (tests/faults/hostile_files.sh, which is skipped without
# libfuse3).
$(BUILD)/hostile_files: tests/faults/hostile_files.c
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(call pkg,--cflags,fuse3) $(LDFLAGS) -o $@ $< $(call pkg,--libs,fuse3)

# Wrapped: the unit tests fail allocations in turn and count those during runs; Check does not
# record every assertion (tests/support/marks.c).
WRAPPED := malloc calloc realloc strdup free mmap mmap64 mafat_heap_calloc mafat_heap_realloc mafat_heap_free _mark_point

$(BUILD)/unit_tests: $(call objects,$(TESTS) $(MODULES) $(SERVING)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(foreach f,$(WRAPPED),-Wl,--wrap=$(f)) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(call pkg,--libs,check json-c zlib) $(LDLIBS)

# Hashes of every network's plans (doc/testing.md).
$(BUILD)/golden: $(call objects,$(wildcard tests/golden/*.c) tests/support/random.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(URING_LIBS) $(LDLIBS)

# Every kernel of every level against the reference; its --bench also times
# oneDNN and OpenBLAS where they are installed (they are linked into nothing else).
DNNL ?= $(call has,dnnl.h)
DNNL_LIBS ?= -ldnnl -lgomp
OPENBLAS ?= $(shell pkg-config --exists openblas 2>/dev/null && echo yes)
OPENBLAS_CFLAGS ?= $(call pkg,--cflags,openblas)
OPENBLAS_LIBS ?= $(call pkg,--libs,openblas)
KERNEL_CHECK := $(wildcard tests/kernel_check/*.c) $(wildcard tests/kernels/*.c)
$(BUILD)/obj/tests/kernel_check/peak_%.o: EXTRA = -O3 $(call level_flags,$(patsubst peak_%,%,$(basename $(notdir $@))))
$(BUILD)/obj/tests/kernel_check/bench_dnnl.o: EXTRA = $(if $(DNNL),-DHAVE_DNNL $(DNNL_CFLAGS))
$(BUILD)/obj/tests/kernel_check/bench_openblas.o: EXTRA = -O3 $(if $(OPENBLAS),-DHAVE_OPENBLAS $(OPENBLAS_CFLAGS))

$(BUILD)/kernel_check: $(call objects,$(KERNEL_CHECK)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(if $(DNNL),$(DNNL_LIBS)) $(if $(OPENBLAS),$(OPENBLAS_LIBS)) $(URING_LIBS) $(LDLIBS)

ORACLE_CFLAGS := -isystem /usr/lib/darknet/include
ORACLE_LIBS := -L/usr/lib/darknet -ldarknet -Wl,-rpath,/usr/lib/darknet -Wl,--allow-shlib-undefined
$(BUILD)/obj/tests/oracle/%.o: EXTRA = $(ORACLE_CFLAGS) $(call pkg,--cflags,json-c)

ORACLES := $(patsubst tests/oracle/%.c,$(BUILD)/%,$(wildcard tests/oracle/oracle_*.c))
# The unit tests' random networks and plans, without Check.
RANDOM_NETWORKS := $(addprefix tests/support/,support.c plans.c random.c run.c vary.c) tests/differential/asserts.c tests/differential/graph.c
$(BUILD)/oracle_random: $(call objects,$(RANDOM_NETWORKS))
$(BUILD)/oracle_random: ORACLE_MORE = $(LIB)
$(ORACLES): $(BUILD)/%: $(BUILD)/obj/tests/oracle/%.o $(call objects,$(filter-out $(wildcard tests/oracle/oracle_*.c),$(wildcard tests/oracle/*.c)) tests/support/picture_writer.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ORACLE_MORE) $(ORACLE_LIBS) $(IMAGE_LIBS) $(URING_LIBS) $(call pkg,--libs,json-c) $(LDLIBS)

# Runs random graphs and writes them for comparison (tests/differential).
$(BUILD)/random_graphs: $(call objects,$(filter-out %/asserts.c %/graph.c,$(wildcard tests/differential/*.c)) $(RANDOM_NETWORKS) $(addprefix tests/support/,onnx_writer.c tflite_writer.c)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

# Runs ONNX's own test models and compares the outputs.
$(BUILD)/onnx_nodes: $(call objects,$(wildcard tests/conformance/*.c) tests/support/onnx_writer.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(URING_LIBS) $(LDLIBS)

# Compares ONNX and TFLite models with their packed files.
$(BUILD)/packed_models: $(call objects,tests/packed/packed_models.c tests/support/tflite_operators.c tests/support/tflite_writer.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

# Models for make check-parts.
$(BUILD)/parts_models: $(call objects,tests/parts/models.c tests/support/onnx_writer.c tests/support/tflite_writer.c)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Measures the cost of a page of swap; needs no library.
$(BUILD)/swap_cost: $(call objects,programs/swap_cost/swap_cost.c $(addprefix programs/shared/,refused_option.c nearest.c))
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(if $(filter 1,$(STATIC)),-static) -o $@ $^

# Writes networks for published planners and runs their plans (experiments/planners).
$(BUILD)/lay_plans: $(call objects,$(wildcard experiments/planners/*.c)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

# Times plans of one network in turn and compares them with the latency model.
$(BUILD)/time_plans: $(call objects,tests/search/time_plans.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(URING_LIBS) $(LDLIBS)

# Bytes moved between a fast memory and the rest, by formula and by copies.
$(BUILD)/separable: $(call objects,$(wildcard experiments/separable/*.c)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(URING_LIBS) $(LDLIBS)

# Measures where the time of a picture goes.
$(BUILD)/last_mile: $(call objects,experiments/last_mile/last_mile.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

ASKING := $(shell grep -lE 'MAFAT_WITHOUT_(JPEG|PNG|URING)' $(LIBRARY) $(PROGRAM) $(TESTS)) $(ANNOTATOR) $(wildcard programs/mafat_ranks/mpi*.c) $(wildcard tests/kernel_check/bench_*.c)
$(LIB) $(PLACED) $(SHARED) $(call objects,$(ASKING)): $(FEATURES)

$(FEATURES):
	@mkdir -p $(@D) && echo '$(features)' >$@
ifneq ($(features),$(file <$(FEATURES)))
.PHONY: $(FEATURES)
endif

packages:
	@./scripts/packages.sh test

# OPTIONS, PREREQUISITES: none if the options are --help.
unless_help = $(if $(filter -h --help,$(1)),,$(2))

# One job for each CPU, unless make was called with -j.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
TESTED = all $(BUILD)/storm.so $(BUILD)/random_graphs $(BUILD)/parts_models $(if $(ORDER),$(BUILD)/run_inference_symbols) $(BUILD)/endless $(BUILD)/failing_library $(BUILD)/lay_plans $(BUILD)/run_inference_dynamic $(BUILD)/mafat_serve_dynamic $(BUILD)/launcher $(BUILD)/resident_peak $(BUILD)/unit_tests $(BUILD)/kernel_check $(BUILD)/golden $(BUILD)/onnx_nodes $(BUILD)/packed_models $(if $(call pkg,--modversion,fuse3),$(BUILD)/hostile_files)

# --- testing -----------------------------------------------------------------

check: ## before every commit: a sample of all tests (a minute)
	@$(MAKE) --no-print-directory $(JOBS) run-check

test: packages ## before a pull request: install packages, build, test (15 minutes on two cores)
	@$(MAKE) --no-print-directory $(JOBS) run-test

test-gate: packages ## slower tests of a release: libdarknet, faults, memory limits, valgrind (30 minutes)
	@$(MAKE) --no-print-directory $(JOBS) run-gate

test-full: packages ## all cases, sanitizers, fuzzing, cgroups v2, all memory limits (root; hours)
	@$(MAKE) --no-print-directory $(JOBS) run-full

# Checks of the sources by scripts.
CHECKS := check-includes check-kinds check-tables check-covered check-callers check-links check-words
run-check run-test run-gate run-full: $(TESTED) $(CHECKS)
# Includes the fuzz targets' objects, so that they keep compiling.
run-gate run-full: $(ORACLES) $(call objects,$(wildcard tests/fuzz/*.c)) check-arm-tests
run-check run-test run-gate run-full:
	@BUILD=$(BUILD) ./tests/run.sh $(@:run-%=%)

check-fresh: ## demo and test in a minimal Debian (root, a mirror, 4 GB; 15 minutes)
	@./scripts/packages.sh fresh
	@BUILD=$(BUILD) ./tests/fresh.sh

golden: $(BUILD)/golden ## compare plans, buffers, costs and output bits of 46 networks with golden.txt (20 s)
	@BUILD=$(BUILD) ./tests/golden/run.sh

golden-write: $(BUILD)/golden ## rewrite golden.txt, for an intended change of behaviour
	@BUILD=$(BUILD) ./tests/golden/run.sh --write

oracle: all $(ORACLES) ## compare with libdarknet layer by layer, and with the installed ONNX and TFLite runtimes (5 minutes)
	BUILD=$(BUILD) ./tests/oracle/run.sh
	BUILD=$(BUILD) ./experiments/peers/oracle.py
	BUILD=$(BUILD) ./experiments/peers/boxes.py

# --- measuring ---------------------------------------------------------------

bench: $(call unless_help,$(BENCH),all) ## time and memory of mafat and other programs; writes README's table (BENCH='--quick')
	@BUILD=$(BUILD) ./scripts/bench.sh $(BENCH)

limits: $(call unless_help,$(LIMITS),all) ## networks inside memory limits, in cgroups (root; LIMITS='--floor NAME', '--help')
	@BUILD=$(BUILD) ./tests/limits/run.sh $(LIMITS)

soak: all $(BUILD)/launcher ## runs at exactly the predicted charge: none may be killed or swap (root; SOAK=minutes, 10)
	@BUILD=$(BUILD) ./tests/soak/soak.py --minutes $(or $(SOAK),10)

paper: ## the paper's figures and table, with Darknet (root; 2 hours, PAPER=--quick minutes; PAPER='--help')
	@$(call unless_help,$(PAPER),./scripts/packages.sh experiments)
	@$(MAKE) --no-print-directory run-paper

run-paper: $(call unless_help,$(PAPER),all $(BUILD)/memory_limit $(BUILD)/swap_cost)
	@BUILD=$(BUILD) ./experiments/paper/run.py $(PAPER)

figure: ## latency by memory limit, with other programs (root; 45 minutes, FIGURE=--quick 5; FIGURE='--help')
	@$(call unless_help,$(FIGURE),./scripts/packages.sh experiments)
	@$(MAKE) --no-print-directory run-figure

run-figure: $(call unless_help,$(FIGURE),all $(BUILD)/memory_limit $(BUILD)/swap_cost)
	@BUILD=$(BUILD) ./experiments/limits/run.py $(FIGURE)

networks: ## write published networks as ONNX files with random weights to BUILD/networks (NETWORKS='bert_tiny ...')
	@BUILD=$(BUILD) ./experiments/networks/write_networks.py --int8 $(NETWORKS)

planners: ## published memory planners and ours on sixteen networks (PLANNERS='--only kws', '--help')
	@$(call unless_help,$(PLANNERS),./scripts/packages.sh planners)
	@$(MAKE) --no-print-directory run-planners

planners-check: all $(BUILD)/lay_plans ## plans of these planners give the same bits in the predicted arenas; four networks under valgrind
	@BUILD=$(BUILD) ./experiments/planners/run.py --check
	@BUILD=$(BUILD) ./experiments/planners/run.py --check 'valgrind -q --error-exitcode=1' --only kws,vww,mobilenet_v2,nasnet_a_cifar

run-planners: $(call unless_help,$(PLANNERS),all $(BUILD)/lay_plans)
	@BUILD=$(BUILD) ./experiments/planners/run.py $(PLANNERS)

separable: $(call unless_help,$(SEPARABLE),$(BUILD)/separable) ## bytes moved to and from a fast memory of 64 KB, with published figures (SEPARABLE='--help')
	@BUILD=$(BUILD) ./experiments/separable/run.py $(SEPARABLE)

ranks: ## several devices in network namespaces: measured and predicted bytes and time (root; HOSTS='--quick', '--help')
	@$(call unless_help,$(HOSTS),./scripts/packages.sh ranks)
	@$(MAKE) --no-print-directory run-ranks

run-ranks: $(call unless_help,$(HOSTS),all)
	@BUILD=$(BUILD) ./experiments/ranks/run.py $(HOSTS)

check-latency: $(call unless_help,$(LATENCY),all $(BUILD)/time_plans) ## predicted against measured latency, random plans of real networks (LATENCY='--help')
	@BUILD=$(BUILD) ./tests/search/check_latency.py $(LATENCY)

check-predictor: $(call unless_help,$(PREDICT),all) ## predicted against measured bytes (PREDICT=--whole: 200 runs; PREDICT=--limits: smallest limits, root)
	@BUILD=$(BUILD) ./tests/predictor/run.sh $(PREDICT)

check-search: $(call unless_help,$(SEARCH),all $(BUILD)/time_plans) ## time the chosen plan against sixty others (30 minutes; SEARCH='--only ...', '--help')
	$(Q)tests/search/check_search.py --build $(BUILD) $(SEARCH)

# --- more tests --------------------------------------------------------------

# -ftree-vrp: the kernels need constant propagation under UBSan. With -O3 gcc takes ten minutes a
# file.
check-asan: ## unit tests under AddressSanitizer and UBSan (an hour; MAFAT_TEST_SIZE=check: less)
	$(MAKE) BUILD=$(BUILD)/asan OPT=-O1 KERNEL='-O1 -ftree-vrp -ffunction-sections' INTEGERS='-O1 -ffunction-sections' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' all $(BUILD)/asan/unit_tests
	CK_TIMEOUT_MULTIPLIER=10 $(BUILD)/asan/unit_tests
	BUILD=$(BUILD)/asan ./tests/cli/run_inference.sh
	BUILD=$(BUILD)/asan ./tests/cli/serve.sh

# Instruments the vector kernels, too, since threads divide maps there.
check-tsan: ## threads, streams, executor, ranks and mafat_serve under ThreadSanitizer (20 minutes)
	$(MAKE) BUILD=$(BUILD)/tsan OPT=-O1 KERNEL='-O1 -ffunction-sections' INTEGERS='-O1 -ffunction-sections' SANITIZE='-fsanitize=thread -fno-omit-frame-pointer' $(BUILD)/tsan/unit_tests $(addprefix $(BUILD)/tsan/,mafat_serve make_weights)
	TSAN_OPTIONS='halt_on_error=1 suppressions=tests/tsan.txt' CK_TIMEOUT_MULTIPLIER=10 $(BUILD)/tsan/unit_tests team threads reads streaming executor ranks api_runs cancel
	TSAN_OPTIONS='halt_on_error=1 exitcode=66 suppressions=tests/tsan.txt' BUILD=$(BUILD)/tsan ./tests/cli/serve.sh

# Without other libraries, which are not instrumented, and with the portable kernels.
MSAN = $(MAKE) --no-print-directory $(JOBS) BUILD=$(BUILD)/msan CC=clang OPT='-O1 -DMAFAT_WITHOUT_VECTORS' PLAIN='-fno-sanitize=all -O1' KERNEL='-O0 -ffunction-sections $(UNGUIDED)' INTEGERS='-O1 -ffunction-sections $(UNGUIDED)' \
  JPEG= PNG= URING= STATIC= ANNOTATE= MEMORY_LIMIT= MPICC= missing= SANITIZE='-fsanitize=fuzzer-no-link,memory -fno-sanitize-recover=all -fno-omit-frame-pointer'
check-msan: ## small networks and fuzz targets under MemorySanitizer (clang; MSAN_SECONDS each, 20)
	@command -v clang >/dev/null || { echo "check-msan: clang is not installed"; exit 77; }
	@$(MSAN) $(BUILD)/msan/libknown.a
	@$(MSAN) LDLIBS='$(BUILD)/msan/libknown.a -lm' fuzzers $(addprefix $(BUILD)/msan/,run_inference make_weights pack_weights packed_models)
	@BUILD=$(BUILD)/msan ./tests/msan.sh
	@BUILD=$(BUILD)/msan ./tests/fuzz/turns.py --each $(or $(MSAN_SECONDS),20)

# Marks memory that the Linux kernel writes as initialized (tests/fuzz/known.c).
$(BUILD)/libknown.a: $(call objects,tests/fuzz/known.c)
	$(Q)rm -f $@ && ar qcs $@ $^

analyze: ## gcc -fanalyzer, clang-tidy, cppcheck; exceptions: scripts/analyze_reasons.txt (15 minutes)
	@./scripts/packages.sh analyze
	@./scripts/analyze.py

check-valgrind: all $(BUILD)/run_inference_dynamic $(BUILD)/unit_tests ## some programs under valgrind (a minute)
	BUILD=$(BUILD) ./tests/valgrind.sh

# Compiles these kernels with their own flags and links kernel_check with them.
check-avxvnni: $(BUILD)/kernel_check ## the AVX-VNNI kernels on a processor with AVX512-VNNI
	@BUILD=$(BUILD) COMPILE='$(CC) $(CPPFLAGS) $(CFLAGS) $(INTEGERS) $(call level_flags,integer_avxvnni)' \
	  LINK='$(CC) $(CFLAGS) $(LDFLAGS) $(call objects,$(KERNEL_CHECK)) LIBRARY $(if $(DNNL),$(DNNL_LIBS)) $(if $(OPENBLAS),$(OPENBLAS_LIBS)) $(URING_LIBS) $(LDLIBS)' ./tests/avxvnni.sh

check-parts: $(BUILD)/run_inference $(BUILD)/run_inference_symbols $(addprefix $(BUILD)/,parts_models random_graphs make_weights pack_weights) ## runs use no code that the program has dropped (gdb; two minutes)
	@BUILD=$(BUILD) ./tests/parts/check.py --all

check-includes: ## includes go to lower folders only, without cycles; no folder is too large
	@./scripts/check_includes.py

check-kinds: ## only kinds/, formats/ and the files of scripts/kinds_named.txt name a kind of layer
	@./scripts/check_kinds.sh

check-tables: ## lists of kinds, options, levels and others are only in their tables
	@./scripts/check_tables.sh
	@./scripts/check_options.sh

check-covered: ## every source of the library is named by a unit test
	@./scripts/check_covered.py

check-callers: ## callers that first comments name are all that there are
	@./scripts/check_callers.py

check-links: ## links of all pages exist
	@./scripts/check_links.py

check-words: ## comments, messages, pages and names use plain words; each struct tag is defined once
	@./scripts/check_words.py

format: ## format the lines of C that are longer than 100 columns (needs clang-format)
	@./scripts/format.py

files: ## write BUILD/files.md: what each source file is for, from its first comment
	@mkdir -p $(BUILD)
	$(Q)./scripts/list_files.py >$(BUILD)/files.md
	@echo $(BUILD)/files.md

# One program for each reader of foreign input, with an instrumented library, in a build folder of
# their own.
FUZZERS := $(filter-out $(if $(ANNOTATE),,$(BUILD)/fuzz_json),$(patsubst tests/fuzz/%.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c)))
$(BUILD)/fuzz_json: $(call objects,programs/annotate/draw.c programs/annotate/json.c)
$(BUILD)/fuzz_json: FUZZ_LIBS = $(GD_LIBS) $(call pkg,--libs,json-c)
$(BUILD)/obj/tests/fuzz/fuzz_json.o: EXTRA = $(GD_FLAGS) $(call pkg,--cflags,json-c)
$(BUILD)/fuzz_http: $(call objects,$(addprefix programs/mafat_serve/,http.c route.c))
$(FUZZERS): $(BUILD)/%: $(BUILD)/obj/tests/fuzz/%.o $(call objects,$(MODULES) $(wildcard tests/fuzz/mutate*.c) tests/fuzz/known.c tests/support/random.c tests/support/onnx_writer.c tests/support/onnx_models.c tests/support/onnx_operators.c tests/support/tflite_writer.c tests/support/tflite_models.c tests/support/tflite_operators.c tests/support/integer_graph.c tests/kernels/integer_rule.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LIBS) $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

# The corpus of each target (tests/fuzz/add_inputs.sh).
FUZZ_INPUTS := $(patsubst tests/fuzz/corpus/%.tar.xz,$(BUILD)/inputs/%,$(wildcard tests/fuzz/corpus/*.tar.xz))
$(FUZZ_INPUTS): $(BUILD)/inputs/%: tests/fuzz/corpus/%.tar.xz
	$(call say,UNPACK,$<)
	$(Q)rm -rf $@ && mkdir -p $@ && tar -xf $< -C $@ && touch $@

fuzzers: $(FUZZERS) $(FUZZ_INPUTS) $(BUILD)/onnx_nodes

FUZZ_SECONDS ?= 60
CLANG ?= clang
# Kernels do not guide the fuzzer, and clang would take many minutes to instrument their unrolled
# code. Vector kernels, which no target runs, have no instrumentation (PLAIN); portable ones have
# AddressSanitizer.
UNGUIDED := -fno-sanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table,stack-depth
fuzz: ## fuzz each reader for FUZZ_SECONDS, 60 (clang; FUZZ='cfg packed': only these)
	@command -v clang >/dev/null || { echo "fuzz: clang is not installed"; exit 77; }
	@$(MAKE) --no-print-directory $(JOBS) BUILD=$(BUILD)/fuzz CC=clang OPT=-O1 PLAIN='-fno-sanitize=all -O1' KERNEL='-O0 -ffunction-sections $(UNGUIDED) -fno-sanitize=undefined' INTEGERS='-O1 -ffunction-sections $(UNGUIDED)' STATIC= MEMORY_LIMIT= missing= \
	  SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' fuzzers
	@BUILD=$(BUILD)/fuzz ./tests/fuzz/turns.py --each $(FUZZ_SECONDS) $(FUZZ)

# Counts plain C without the kernels, whose control flow no foreign byte changes. mmap is not
# wrapped here: the profile is mapped with it.
UNCOUNTED := -fno-profile-instr-generate -fno-coverage-mapping
check-coverage: ## coverage of each reader by fuzzing and faults, at least 95 % (clang, llvm-14; 15 minutes)
	@command -v llvm-cov-14 >/dev/null || { echo "check-coverage: llvm-14 is not installed"; exit 77; }
	@$(MAKE) --no-print-directory $(JOBS) BUILD=$(BUILD)/cover CC='$(CLANG)' OPT=-O1 PLAIN='-O1 $(UNCOUNTED)' KERNEL='-O0 -ffunction-sections $(UNCOUNTED)' INTEGERS='-O1 -ffunction-sections $(UNCOUNTED)' \
	  STATIC= MEMORY_LIMIT= missing= SANITIZE='-fprofile-instr-generate -fcoverage-mapping' WRAPPED='$(filter-out mmap,$(WRAPPED))' fuzzers $(BUILD)/cover/unit_tests
	@BUILD=$(BUILD)/cover FUZZ_BUILD=$(BUILD)/fuzz ./tests/fuzz/coverage.py

# --- other -------------------------------------------------------------------

demo: ## install packages, build, run examples (a minute)
	@BUILD=$(BUILD) ./scripts/packages.sh demo
	@$(MAKE) --no-print-directory run-demo

run-demo: all
	@BUILD=$(BUILD) ./scripts/demo.sh

darknet: $(call unless_help,$(DARKNET),$(LIB) $(SHARED)) ## build Debian's Darknet with patches in BUILD/darknet (DARKNET=--opencv, '--help')
	@BUILD=$(BUILD) ./darknet_patch/apply.sh $(DARKNET)

include darknet_patch/dropin.mk
include packaging/install.mk
include packaging/arm.mk
include packaging/release.mk

clean: ## remove BUILD
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
