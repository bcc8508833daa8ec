# `make release`: single-file programs, for devices without package manager or compiler.
# packaging/release.sh creates a Debian with the libraries of every architecture and calls `make
# released` there for each of them.

RELEASED := mafat run_inference pack_weights memory_limit $(if $(wildcard programs/mafat_serve/*.c),mafat_serve)
# The programs in a container image; the image runs the first.
IMAGED := run_inference $(filter mafat_serve,$(RELEASED))
RELEASED_PAGES := $(RELEASED:%=%.1) mafat-plan.7
# Link maps list the archives that were used; INSIDE.md of a release is written from them.
ONE_FILE = LDFLAGS='$(ALONE) -s -Wl,--gc-sections -Wl,-z,common-page-size=4096 $(TABLES_LEFT_OUT) -Wl,-Map=$$@.map' IMAGE_LIBS='-ljpeg -lpng -lz' $(SMALL)
ONE_FILE += STRIPPED='-s -Wl,--gc-sections'
# Small on Arm: -Os except for kernels, no position-independent library code, and no portable
# kernels on aarch64, which always has NEON. Parts of the code start at a page instead of a 64 KB
# window, which saves up to 60 KB each, or anywhere instead of at a page, which saves 2 KB each
# (runner/os/parts.def).
ON_ARM := $(filter aarch64-% arm%,$(MACHINE))
SMALL = $(if $(ON_ARM),WINDOW=0x1000 PAGE=64 SHAREABLE= OPT='-Os$(if $(filter aarch64-%,$(MACHINE)), -DMAFAT_WITHOUT_PORTABLE)')

.PHONY: release released linked-released check-release print-release

# --- releases ----------------------------------------------------------------

release: ## single-file programs and container images in BUILD/release (root, a mirror, 2 GB; RELEASE='aarch64': one)
	@$(call unless_help,$(RELEASE),./scripts/packages.sh release)
	@BUILD=$(BUILD) ./packaging/release.sh $(RELEASE)

check-release: ## run the programs of make release under qemu-user, and its images unpacked
	@BUILD=$(BUILD) ./tests/release.sh

# A release must have JPEG, PNG and io_uring.
released:
	$(Q)[ -z '$(filter-out annotate,$(missing))' ] || { echo 'released: without $(missing): no release' >&2; exit 1; }
	+$(Q)$(MAKE) --no-print-directory $(ONE_FILE) linked-released

linked-released: $(RELEASED:%=$(BUILD)/%) $(RELEASED_PAGES:%=$(BUILD)/man/%)

print-release: # for packaging/release.sh and tests/release.sh
	@echo "version='$(VERSION)' programs='$(strip $(RELEASED))' imaged='$(strip $(IMAGED))' pages='$(strip $(RELEASED_PAGES))'"
