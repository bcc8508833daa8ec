# `make install`, `make uninstall`, `make deb`.  DESTDIR stands before every path;
# an installed file that holds paths (mafat.pc) does not know of it.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/mafat
SHAPESDIR  ?= $(PREFIX)/share/mafat/shapes
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
INSTALL    ?= install

# Build folder's name of a program:installed name. libcgroup and libproc2 are under the LGPL,
# and nothing is gained by a static swap_cost: linked dynamically in what is handed on.
SHIPPED := mafat run_inference mafat_serve make_weights pack_weights swap_cost_dynamic:swap_cost \
           $(if $(ANNOTATE),annotate) $(if $(MEMORY_LIMIT),memory_limit_dynamic:memory_limit) $(if $(MPICC),mafat_ranks)
built_name = $(firstword $(subst :, ,$(1)))
installed_name = $(lastword $(subst :, ,$(1)))
PROGRAM_NAMES := $(foreach p,$(SHIPPED),$(call installed_name,$(p)))
MAN_PAGES := $(PROGRAM_NAMES:%=%.1) libmafat.3 mafat-plan.7 $(if $(DROPIN),mafat-darknet.7)
# bash-completion looks for a file of the command's name.
COMPLETED := $(filter-out mafat,$(PROGRAM_NAMES))
# Pages for users, in the folders that they have here; links to other files become text. Pictures that they show.
PAGES := README.md CHANGELOG.md SECURITY.md $(filter-out $(addprefix doc/,architecture.md testing.md attacks.md),$(wildcard doc/*.md))
DOCUMENTS := LICENSE $(addprefix doc/,dog.jpg python.jpg)
HEADERS := mafat.h mafat_plan.h mafat_video.h mafat_pack.h mafat_ranks.h mafat_file.h mafat.hpp
# The network that comes along, with a picture: what the tutorial begins with.
SHAPES := shapes.cfg shapes.weights shapes.names
SHAPES_PICTURE := models/shapes/holdout/000004.jpg
man_section = $(subst .,,$(suffix $(1)))

INSTALLED = $(PROGRAM_NAMES:%=$(BINDIR)/%) $(LIBDIR)/$(SONAME) $(LIBDIR)/libmafat.so $(LIBDIR)/libmafat.a \
            $(LIBDIR)/pkgconfig/mafat.pc $(HEADERS:%=$(INCLUDEDIR)/%) $(PAGES:%=$(DOCDIR)/%) $(DOCUMENTS:%=$(DOCDIR)/%) \
            $(foreach m,$(MAN_PAGES),$(MANDIR)/man$(call man_section,$(m))/$(m)) \
            $(SHAPES:%=$(SHAPESDIR)/%) $(SHAPESDIR)/shapes.jpg \
            $(BASHDIR)/mafat $(COMPLETED:%=$(BASHDIR)/%) $(ZSHDIR)/_mafat \
            $(if $(DROPIN),$(LIBDIR)/mafat/libmafat-darknet.so $(LIBDIR)/mafat/libdarknet.so)
FOLDERS = $(sort $(dir $(INSTALLED)))
# Folders of nobody else: removed with the last file.
OWN_FOLDERS = $(DOCDIR)/doc $(DOCDIR) $(LIBDIR)/mafat $(SHAPESDIR) $(PREFIX)/share/mafat

# Words of lists here, of a sed, and of scripts: one of these characters would put files elsewhere.
PLACES := PREFIX BINDIR LIBDIR INCLUDEDIR MANDIR DOCDIR SHAPESDIR BASHDIR ZSHDIR
strange = $(filter-out 0 1,$(words $(1)))$(strip $(foreach c,' " & | \ % ;,$(findstring $(c),$(1))))
check_places = $(foreach v,$(PLACES),$(if $(call strange,$($(v))),$(error $(v) expects a path without blanks and without any of '"&|\%;, found $($(v)))))\
               $(if $(findstring ',$(DESTDIR)),$(error DESTDIR expects a path without ', found $(DESTDIR)))

# FILE...: as a shell's words, wherever DESTDIR is
destined = $(foreach f,$(1),'$(DESTDIR)$(f)')

# A library in the system's own folders is found by name after this.
tell_loader = [ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || PATH=$$PATH:/usr/sbin:/sbin ldconfig

$(BUILD)/swap_cost_dynamic: $(call objects,programs/swap_cost/swap_cost.c)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(BUILD)/memory_limit_dynamic: $(call objects,$(wildcard programs/memory_limit/*.c) programs/shared/writer.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcgroup -lproc2 $(LDLIBS)

# Pages with what they lack of the tables of options and searches; the completion with the words of these.
TABLES := programs/shared/options.def $(wildcard search/*/*.c)
BUILT_PAGES = $(MAN_PAGES:%=$(BUILD)/man/%)
COMPLETION := $(BUILD)/completion/mafat.bash

$(BUILD)/man/%: doc/man/% $(TABLES) scripts/options.awk
	@mkdir -p $(@D)
	$(Q)awk -v mode=page -f scripts/options.awk $(TABLES) $< >$@

$(COMPLETION): scripts/completion/mafat.bash $(TABLES) scripts/options.awk
	@mkdir -p $(@D)
	$(Q)awk -v mode=complete -f scripts/options.awk $(TABLES) $< >$@

$(BUILD)/pages/%: % scripts/installed_page.awk packaging/install.mk
	@mkdir -p $(@D)
	$(Q)awk -v page=$* -v installed='$(PAGES) $(DOCUMENTS)' -f scripts/installed_page.awk $< >$@

.PHONY: shipped install uninstall deb check-deb print-dropin

all: $(COMPLETION) $(BUILT_PAGES)

shipped: $(COMPLETION) $(BUILT_PAGES) $(PAGES:%=$(BUILD)/pages/%) $(SHARED) $(BUILD)/libmafat.so $(LIB) $(DROPIN) $(foreach p,$(SHIPPED),$(BUILD)/$(call built_name,$(p)))

install: shipped ## install (DESTDIR, PREFIX, BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR, SHAPESDIR, BASHDIR, ZSHDIR)
	$(check_places)$(Q)$(INSTALL) -d $(call destined,$(FOLDERS))
	$(Q)$(foreach p,$(SHIPPED),$(INSTALL) -s -m 755 $(BUILD)/$(call built_name,$(p)) '$(DESTDIR)$(BINDIR)/$(call installed_name,$(p))' &&) true
	$(Q)$(INSTALL) -s -m 644 $(SHARED) '$(DESTDIR)$(LIBDIR)'
	$(Q)$(INSTALL) -m 644 $(LIB) '$(DESTDIR)$(LIBDIR)'
	$(Q)ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libmafat.so'
	$(Q)$(if $(DROPIN),$(INSTALL) -s -m 644 $(DROPIN) '$(DESTDIR)$(LIBDIR)/mafat')
	$(Q)sed -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
	  -e 's|@PRIVATE@|$(strip $(IMAGE_LIBS) $(if $(PNG),-lz) $(if $(URING),-luring)) -pthread $(LDLIBS)|' packaging/mafat.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/mafat.pc'
	$(Q)chmod 644 '$(DESTDIR)$(LIBDIR)/pkgconfig/mafat.pc'
	$(Q)$(INSTALL) -m 644 $(HEADERS:%=include/%) '$(DESTDIR)$(INCLUDEDIR)'
	$(Q)$(foreach m,$(MAN_PAGES),$(INSTALL) -m 644 $(BUILD)/man/$(m) '$(DESTDIR)$(MANDIR)/man$(call man_section,$(m))' &&) true
	$(Q)$(if $(DROPIN),sed -i 's|/usr/local/lib/|$(LIBDIR)/|' '$(DESTDIR)$(MANDIR)/man7/mafat-darknet.7')
	$(Q)$(INSTALL) -m 644 $(COMPLETION) '$(DESTDIR)$(BASHDIR)/mafat'
	$(Q)$(foreach p,$(COMPLETED),ln -sf mafat '$(DESTDIR)$(BASHDIR)/$(p)' &&) true
	$(Q)$(INSTALL) -m 644 scripts/completion/_mafat '$(DESTDIR)$(ZSHDIR)'
	$(Q)$(foreach p,$(PAGES),$(INSTALL) -m 644 $(BUILD)/pages/$(p) '$(DESTDIR)$(DOCDIR)/$(p)' &&) true
	$(Q)$(foreach d,$(DOCUMENTS),$(INSTALL) -m 644 $(d) '$(DESTDIR)$(DOCDIR)/$(d)' &&) true
	$(Q)$(INSTALL) -m 644 $(SHAPES:%=models/shapes/%) '$(DESTDIR)$(SHAPESDIR)'
	$(Q)$(INSTALL) -m 644 $(SHAPES_PICTURE) '$(DESTDIR)$(SHAPESDIR)/shapes.jpg'
	$(Q)$(tell_loader)

uninstall: ## remove what `make install` put there (the same variables)
	$(check_places)$(Q)rm -f $(call destined,$(INSTALLED))
	$(Q)rmdir $(call destined,$(OWN_FOLDERS)) 2>/dev/null || true
	$(Q)$(tell_loader)

deb: ## Debian packages, into BUILD/deb; lintian
	@./scripts/packages.sh deb
	@BUILD=$(BUILD) ./packaging/deb.sh

check-deb: deb ## the packages: installed, run, removed, in a copy of the system; the tutorial in a Debian that has nothing else (root; needs a mirror)
	@./scripts/packages.sh test fresh
	@BUILD=$(BUILD) ./tests/deb.sh
	@BUILD=$(BUILD) ./tests/deb_clean.sh

print-dropin: # for debian/rules
	@echo $(DROPIN)
