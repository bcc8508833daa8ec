# `make install`, `make uninstall`, `make deb`. DESTDIR is prepended to every path, but not to paths
# inside installed files (mafat.pc).

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

# Name in the build folder:installed name. memory_limit is installed dynamically linked, because
# libcgroup and libproc2 are under the LGPL; swap_cost, because a static one has no advantage.
SHIPPED := mafat run_inference mafat_serve make_weights:mafat-weights pack_weights:mafat-pack \
           swap_cost_dynamic:swap_cost $(if $(ANNOTATE),annotate:mafat-annotate) \
           $(if $(MEMORY_LIMIT),memory_limit_dynamic:mafat-limit) $(if $(MPICC),mafat_ranks)
# Name in the sources, too general for a folder of all programs:installed name, that of `mafat WORD`
# being mafat-WORD. In this version the names in the sources are installed as links.
RENAMED := make_weights:mafat-weights pack_weights:mafat-pack $(if $(ANNOTATE),annotate:mafat-annotate) \
           $(if $(MEMORY_LIMIT),memory_limit:mafat-limit)
built_name = $(firstword $(subst :, ,$(1)))
installed_name = $(lastword $(subst :, ,$(1)))
PROGRAM_NAMES := $(foreach p,$(SHIPPED),$(call installed_name,$(p)))
OLD_NAMES := $(foreach r,$(RENAMED),$(call built_name,$(r)))
# By their names in the sources; packaging/installed_page.sed puts the installed names in.
MAN_PAGES := $(patsubst %,%.1,$(filter-out $(foreach r,$(RENAMED),$(call installed_name,$(r))),$(PROGRAM_NAMES)) $(OLD_NAMES)) \
             libmafat.3 mafat-plan.7 $(if $(DROPIN),mafat-darknet.7)
page_name = $(firstword $(foreach r,$(RENAMED),$(if $(filter $(call built_name,$(r)).1,$(1)),$(call installed_name,$(r)).1)) $(1))
# bash-completion looks for a file of the command's name.
COMPLETED := $(filter-out mafat,$(PROGRAM_NAMES)) $(OLD_NAMES)
# Pages for users, in the same folders as here; links to files that are not installed become text.
# Their pictures.
PAGES := README.md CHANGELOG.md SECURITY.md $(filter-out $(addprefix doc/,architecture.md testing.md attacks.md),$(wildcard doc/*.md))
DOCUMENTS := LICENSE $(addprefix doc/,dog.jpg python.jpg)
HEADERS := mafat.h mafat_plan.h mafat_video.h mafat_pack.h mafat_ranks.h mafat_file.h mafat.hpp
# The example network and its picture, which the tutorial uses.
SHAPES := shapes.cfg shapes.weights shapes.names
SHAPES_PICTURE := models/shapes/holdout/000004.jpg
man_section = $(subst .,,$(suffix $(1)))

INSTALLED = $(PROGRAM_NAMES:%=$(BINDIR)/%) $(OLD_NAMES:%=$(BINDIR)/%) $(LIBDIR)/$(SONAME) $(LIBDIR)/libmafat.so $(LIBDIR)/libmafat.a \
            $(LIBDIR)/pkgconfig/mafat.pc $(HEADERS:%=$(INCLUDEDIR)/%) $(PAGES:%=$(DOCDIR)/%) $(DOCUMENTS:%=$(DOCDIR)/%) \
            $(foreach m,$(MAN_PAGES),$(MANDIR)/man$(call man_section,$(m))/$(call page_name,$(m))) \
            $(OLD_NAMES:%=$(MANDIR)/man1/%.1) \
            $(SHAPES:%=$(SHAPESDIR)/%) $(SHAPESDIR)/shapes.jpg \
            $(BASHDIR)/mafat $(COMPLETED:%=$(BASHDIR)/%) $(ZSHDIR)/_mafat \
            $(if $(DROPIN),$(LIBDIR)/mafat/libmafat-darknet.so $(LIBDIR)/mafat/libdarknet.so)
FOLDERS = $(sort $(dir $(INSTALLED)))
# Folders that only mafat uses: removed with their last file.
OWN_FOLDERS = $(DOCDIR)/doc $(DOCDIR) $(LIBDIR)/mafat $(SHAPESDIR) $(PREFIX)/share/mafat

# Paths are words in lists, sed scripts and shell scripts: these characters would change where files
# go.
PLACES := PREFIX BINDIR LIBDIR INCLUDEDIR MANDIR DOCDIR SHAPESDIR BASHDIR ZSHDIR
strange = $(filter-out 0 1,$(words $(1)))$(strip $(foreach c,' " & | \ % ;,$(findstring $(c),$(1))))
check_places = $(foreach v,$(PLACES),$(if $(call strange,$($(v))),$(error $(v) expects a path without blanks and without any of '"&|\%;, found $($(v)))))\
               $(if $(findstring ',$(DESTDIR)),$(error DESTDIR expects a path without ', found $(DESTDIR)))

# PAGE: where it is installed
page_path = $(DESTDIR)$(MANDIR)/man$(call man_section,$(1))/$(call page_name,$(1))

# FILE...: quoted for the shell, with DESTDIR
destined = $(foreach f,$(1),'$(DESTDIR)$(f)')

# Updates the loader's cache for libraries in system folders.
tell_loader = [ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || PATH=$$PATH:/usr/sbin:/sbin ldconfig

$(BUILD)/swap_cost_dynamic: $(call objects,programs/swap_cost/swap_cost.c $(addprefix programs/shared/,refused_option.c nearest.c))
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(BUILD)/memory_limit_dynamic: $(call objects,$(wildcard programs/memory_limit/*.c) $(addprefix programs/shared/,writer.c streams.c refused_option.c nearest.c)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcgroup -lproc2 $(LDLIBS)

# Manual pages and completion, completed from the tables of options and searches.
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

# --- installing --------------------------------------------------------------

install: shipped ## install programs, libraries and pages (PREFIX, DESTDIR, BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR, SHAPESDIR, BASHDIR, ZSHDIR)
	$(check_places)$(Q)$(INSTALL) -d $(call destined,$(FOLDERS))
	$(Q)$(foreach p,$(SHIPPED),$(INSTALL) -s -m 755 $(BUILD)/$(call built_name,$(p)) '$(DESTDIR)$(BINDIR)/$(call installed_name,$(p))' &&) true
	$(Q)$(foreach r,$(RENAMED),ln -sf $(call installed_name,$(r)) '$(DESTDIR)$(BINDIR)/$(call built_name,$(r))' &&) true
	$(Q)$(INSTALL) -s -m 644 $(SHARED) '$(DESTDIR)$(LIBDIR)'
	$(Q)$(INSTALL) -m 644 $(LIB) '$(DESTDIR)$(LIBDIR)'
	$(Q)ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libmafat.so'
	$(Q)$(if $(DROPIN),$(INSTALL) -s -m 644 $(DROPIN) '$(DESTDIR)$(LIBDIR)/mafat')
	$(Q)sed -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
	  -e 's|@PRIVATE@|$(strip $(IMAGE_LIBS) $(if $(PNG),-lz) $(if $(URING),-luring)) -pthread $(LDLIBS)|' packaging/mafat.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/mafat.pc'
	$(Q)chmod 644 '$(DESTDIR)$(LIBDIR)/pkgconfig/mafat.pc'
	$(Q)$(INSTALL) -m 644 $(HEADERS:%=include/%) '$(DESTDIR)$(INCLUDEDIR)'
	$(Q)$(foreach m,$(MAN_PAGES),$(INSTALL) -m 644 $(BUILD)/man/$(m) '$(call page_path,$(m))' && \
	  sed -f packaging/installed_page.sed $(BUILD)/man/$(m) >'$(call page_path,$(m))' &&) true
	$(Q)$(foreach r,$(RENAMED),ln -sf $(call installed_name,$(r)).1 '$(DESTDIR)$(MANDIR)/man1/$(call built_name,$(r)).1' &&) true
	$(Q)$(if $(DROPIN),sed -i 's|/usr/local/lib/|$(LIBDIR)/|' '$(DESTDIR)$(MANDIR)/man7/mafat-darknet.7')
	$(Q)$(INSTALL) -m 644 $(COMPLETION) '$(DESTDIR)$(BASHDIR)/mafat'
	$(Q)$(foreach p,$(COMPLETED),ln -sf mafat '$(DESTDIR)$(BASHDIR)/$(p)' &&) true
	$(Q)$(INSTALL) -m 644 scripts/completion/_mafat '$(DESTDIR)$(ZSHDIR)'
	$(Q)$(foreach p,$(PAGES),$(INSTALL) -m 644 $(BUILD)/pages/$(p) '$(DESTDIR)$(DOCDIR)/$(p)' &&) true
	$(Q)$(foreach d,$(DOCUMENTS),$(INSTALL) -m 644 $(d) '$(DESTDIR)$(DOCDIR)/$(d)' &&) true
	$(Q)$(INSTALL) -m 644 $(SHAPES:%=models/shapes/%) '$(DESTDIR)$(SHAPESDIR)'
	$(Q)$(INSTALL) -m 644 $(SHAPES_PICTURE) '$(DESTDIR)$(SHAPESDIR)/shapes.jpg'
	$(Q)$(tell_loader)

uninstall: ## remove what `make install` installed (same variables)
	$(check_places)$(Q)rm -f $(call destined,$(INSTALLED))
	$(Q)rmdir $(call destined,$(OWN_FOLDERS)) 2>/dev/null || true
	$(Q)$(tell_loader)

deb: ## build Debian packages in BUILD/deb
	@./scripts/packages.sh deb
	@BUILD=$(BUILD) ./packaging/deb.sh

check-deb: deb ## install, run and remove the packages; follow the tutorial in a minimal Debian (root, a mirror)
	@./scripts/packages.sh test fresh
	@BUILD=$(BUILD) ./tests/deb.sh
	@BUILD=$(BUILD) ./tests/deb_clean.sh

print-dropin: # for debian/rules
	@echo $(DROPIN)
