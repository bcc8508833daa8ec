# Cross-builds for `make check-arm`, which runs them under qemu-user.

# A cross-build has only libc: no decoders, no annotate. The unit tests use tests/arm/check.h in
# place of Check, without the suites that need libjpeg, libpng or json-c.
ARM_TRIPLETS := aarch64-linux-gnu arm-linux-gnueabihf
ARM_TESTS = $(filter-out tests/support/marks.c tests/support/picture_%.c tests/unit/image/test_image%.c \
              tests/unit/image/test_pictures.c tests/unit/programs/test_output.c,$(TESTS)) tests/arm/check.c
ARM_CHECKS = unit_tests $(if $(wildcard tests/kernel_check),kernel_check)
arm_make = CPPFLAGS='-Itests/arm -DMAFAT_TESTS_WITHOUT_LIBRARIES' $(MAKE) --no-print-directory $(if $(filter 1,$(V)),,-s) \
           CC=$(1)-gcc BUILD=$(BUILD)/$(1) JPEG= PNG= URING= DNNL= OPENBLAS= ANNOTATE= MEMORY_LIMIT= MPICC= DARKNET_LIBRARY= missing= pkg= TESTS='$(ARM_TESTS)'

$(BUILD)/arm_floats: $(BUILD)/obj/tests/arm/floats.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS) $(URING_LIBS) $(LDLIBS)

.PHONY: check-arm check-arm-tests run-arm count-arm check-arm-asan run-arm-asan $(ARM_TRIPLETS) $(ARM_TRIPLETS:%=asan-%)

$(ARM_TRIPLETS):
	+@$(call arm_make,$@) all $(addprefix $(BUILD)/$@/,run_inference_dynamic $(ARM_CHECKS))

# --- Arm ---------------------------------------------------------------------

# Finds tests that need a library, or something that tests/arm/check.h lacks, without a cross-build.
check-arm-tests: ## compile the unit tests without libraries, as for Arm (seconds)
	@$(CC) -fsyntax-only -Werror=implicit-function-declaration -Itests/arm -DMAFAT_TESTS_WITHOUT_LIBRARIES -DMAFAT_WITHOUT_JPEG -DMAFAT_WITHOUT_PNG \
	  -DMAFAT_WITHOUT_URING $(CPPFLAGS) $(CFLAGS) $(ARM_TESTS)

run-arm: all $(BUILD)/arm_floats $(ARM_TRIPLETS)
	@BUILD=$(BUILD) ./tests/arm.sh $(ARM_TRIPLETS)
	@BUILD=$(BUILD) ./tests/sandbox/run.sh $(ARM_TRIPLETS)

check-arm: ## cross-build for aarch64 and armv7, test under qemu-user; the sandbox in an emulated machine
	@./scripts/packages.sh arm
	@$(MAKE) --no-print-directory run-arm

# Without leak detection, which stops the process's threads; qemu-user cannot do that.
ARM_SANITIZED := $(ARM_TRIPLETS:%=asan-%)
$(ARM_SANITIZED): folder = $(BUILD)/arm-asan/$(@:asan-%=%)
$(ARM_SANITIZED):
	+@$(call arm_make,$(@:asan-%=%)) BUILD=$(folder) OPT=-O1 KERNEL='-O1 -ftree-vrp -ffunction-sections' INTEGERS='-O1 -ffunction-sections' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' \
	  $(addprefix $(folder)/,run_inference pack_weights $(ARM_CHECKS))

run-arm-asan: $(ARM_SANITIZED)
	@BUILD=$(BUILD)/arm-asan ./tests/arm/sanitized.sh $(ARM_TRIPLETS)

check-arm-asan: ## the cross-builds under AddressSanitizer and UBSan, in qemu-user
	@./scripts/packages.sh arm
	@$(MAKE) --no-print-directory run-arm-asan

# A plugin is compiled for the machine that qemu runs on.
$(BUILD)/count.so: tests/arm/count.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -fPIC -fvisibility=hidden -o $@ $<

# FUNCTIONS=1: by function; SHAPE=text: only layers whose name contains the text.
count-arm: $(BUILD)/count.so ## count the kernels' instructions on Arm, by layer, under qemu-user
	@./scripts/packages.sh arm
	@$(MAKE) --no-print-directory ARM_CHECKS=kernel_check $(ARM_TRIPLETS)
	@for triplet in $(ARM_TRIPLETS); do ./tests/arm/count.sh $(BUILD) $$triplet $(if $(SHAPE),--shape $(SHAPE)) || exit 1; done
