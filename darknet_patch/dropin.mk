# The drop-in for Debian's libdarknet.so (darknet_patch/README.md), where Darknet's header is there:
# libmafat-darknet.so is the code, libdarknet.so an empty library that needs it and, after it, Debian's.

DARKNET_LIBRARY ?= /usr/lib/darknet/libdarknet.so
DARKNET_INCLUDE ?= /usr/lib/darknet/include
DROPIN := $(if $(and $(wildcard $(DARKNET_INCLUDE)/darknet.h),$(wildcard $(DARKNET_LIBRARY)),$(if $(SANITIZE),,yes)),$(BUILD)/dropin/libmafat-darknet.so $(BUILD)/dropin/libdarknet.so)

all: $(DROPIN)

# dlopen() in dropin.c must end in a jump, so never without optimization.
$(BUILD)/obj/darknet_patch/%.o: EXTRA = -O2 -fPIC -fvisibility=hidden -foptimize-sibling-calls -isystem $(DARKNET_INCLUDE) -Iinclude -DMAFAT_DARKNET_LIBRARY='"$(DARKNET_LIBRARY)"'

$(BUILD)/dropin/libmafat-darknet.so: $(call objects,darknet_patch/bridge.c darknet_patch/dropin.c) $(SHARED)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libmafat-darknet.so -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/..' -Wl,-z,defs -o $@ $^ -ldl

$(BUILD)/dropin/libdarknet.so: $(BUILD)/dropin/libmafat-darknet.so
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -nostdlib -Wl,--no-as-needed,--allow-shlib-undefined,--enable-new-dtags,-rpath,'$$ORIGIN' -o $@ $^ $(DARKNET_LIBRARY)
