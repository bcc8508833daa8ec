# `make release`: programs that are one file each, for devices that have neither a package manager nor a compiler.
# packaging/release.sh makes a Debian with the libraries of every architecture, and in it calls `make released` for each of them.

RELEASED := mafat run_inference pack_weights memory_limit $(if $(wildcard programs/mafat_serve/*.c),mafat_serve)
# What of them an image for containers has, the first of which it runs.
IMAGED := run_inference $(filter mafat_serve,$(RELEASED))
RELEASED_PAGES := $(RELEASED:%=%.1) mafat-plan.7
# The map of a link tells which archives it took from: what is inside is told by that (INSIDE.md of a release).
ONE_FILE = LDFLAGS='$(ALONE) -s -Wl,--gc-sections -Wl,-z,common-page-size=4096 $(TABLES_LEFT_OUT) -Wl,-Map=$$@.map' IMAGE_LIBS='-ljpeg -lpng -lz' $(SMALL)
ONE_FILE += STRIPPED='-s -Wl,--gc-sections$(SMALL_LINK)'
# Small on Arm: what is no kernel by -Os, code that no library shares, and of 64 bits no kernels in plain C: there NEON is always. Parts of
# the code begin at a page, not at a window of 64 KB, which is up to 60 KB of nothing each (runner/os/parts.def).
ON_ARM := $(filter aarch64-% arm%,$(MACHINE))
SMALL = $(if $(ON_ARM),SHAREABLE= OPT='-Os$(if $(filter aarch64-%,$(MACHINE)), -DMAFAT_WITHOUT_PORTABLE)')
SMALL_LINK = $(if $(ON_ARM), -Wl$(comma)--defsym=mafat_window=0x1000)

.PHONY: release released linked-released check-release print-release

release: ## programs of one file each, for x86-64, aarch64 and armv7, and images for containers: BUILD/release (root; needs a mirror, 2 GB; RELEASE='aarch64': some)
	@$(call unless_help,$(RELEASE),./scripts/packages.sh release)
	@BUILD=$(BUILD) ./packaging/release.sh $(RELEASE)

check-release: ## what make release has made: under qemu-user, and the images unpacked
	@BUILD=$(BUILD) ./tests/release.sh

# A release reads JPEG and PNG, and reads ahead: without the libraries there is none.
released:
	$(Q)[ -z '$(filter-out annotate,$(missing))' ] || { echo 'released: without $(missing): no release' >&2; exit 1; }
	+$(Q)$(MAKE) --no-print-directory $(ONE_FILE) linked-released

linked-released: $(RELEASED:%=$(BUILD)/%) $(RELEASED_PAGES:%=$(BUILD)/man/%)

print-release: # for packaging/release.sh and tests/release.sh
	@echo "version='$(VERSION)' programs='$(strip $(RELEASED))' imaged='$(strip $(IMAGED))' pages='$(strip $(RELEASED_PAGES))'"
