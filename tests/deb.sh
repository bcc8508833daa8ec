#!/usr/bin/env bash
# Checks the packages that `make deb` has built: they install, the installed programs run, a program in C builds with them,
# and nothing is left when they are removed. Run from the project's root, as root; `make check-deb` builds them first. The
# system itself is not touched: all this happens in a copy of it that writes to memory. BUILD names the build folder.
set -u
build=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=deb
# shellcheck source=tests/check.sh
. tests/check.sh

if [ "$(id -u)" != 0 ]; then skip install 'needs root'; exit 0; fi
if [ "${1-}" != inside ]; then # in a mount namespace, which disappears with all changes
  exec unshare --mount --propagation private bash "$0" inside
fi

work=$(mktemp -d) || exit 1
at_end 'cd /; umount -l "$work"; rmdir "$work"'
root=$work/root
if ! { mount -t tmpfs none "$work" && mkdir "$work"/{upper,work,root} &&
  mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root"; } 2>/dev/null; then
  skip install 'no overlay of / here'
  exit 0
fi
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
log=$work/log
mkdir "$root/try"
cp -r models/shapes "$build"/deb/*.deb doc/man/libmafat.3 "$root/try"
rm -f "$root"/try/*-dbgsym_*.deb
picture=$(cd models && find shapes/holdout -name '*.jpg' | sort | head -n 1)

# shellcheck disable=SC2317 # called by check
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 sh -c "cd /try && $1"; }
tries() { check "$1" "'$2' failed" inside "$2"; } # NAME COMMAND

for file in "$root"/try/*.deb; do
  dpkg-deb -c "$file" | sed -n 's/.* \.\(\/[^ ]*[^/ ]\)\( -> .*\)\{0,1\}$/\1/p'
done | sort -u >"$work/files"
packages=$(for file in "$root"/try/*.deb; do dpkg-deb -f "$file" Package; done | tr '\n' ' ')

tries install 'dpkg -i *.deb'
tries audit "dpkg --audit | wc -l | grep -qx 0 && dpkg --verify $packages"
for program in mafat run_inference mafat_serve mafat-weights mafat-pack mafat-annotate mafat-limit swap_cost make_weights pack_weights annotate memory_limit; do
  tries "$program" "$program --help && man -w $program"
done
tries 'mafat finds the others' 'mafat predict shapes/shapes.cfg && mafat doctor | grep ^processor'
tries 'libmafat(3)' 'man -w libmafat'
tries 'mafat-plan(7)' 'man -w mafat-plan'
tries 'make_weights runs' 'make_weights --quiet shapes/shapes.cfg random.weights'
tries 'pack_weights runs' 'pack_weights --quiet shapes/shapes.cfg shapes/shapes.weights packed'
tries 'run_inference runs' "run_inference --memory 16M --json --names shapes/shapes.names shapes/shapes.cfg packed $picture >found.json"
tries 'annotate runs' 'annotate -o drawn/ <found.json && test -s drawn/*'
tries 'LGPL libraries are shared' 'ldd /usr/bin/memory_limit | grep libcgroup && ldd /usr/bin/memory_limit | grep libproc2'
sed -n '/^#include <mafat_plan.h>/,/^\.Ed/{/^\.Ed/q;p}' doc/man/libmafat.3 | sed 's/\\e/\\/g' >"$root/try/boxes.c"
tries 'a program in C' "cc -o boxes boxes.c \$(pkg-config --cflags --libs mafat) && ./boxes shapes/shapes.cfg packed $picture | grep '^class '"
cat >"$root/try/load.py" <<'PY'
import ctypes, sys
darknet = ctypes.CDLL(sys.argv[1])
darknet.load_network.restype = ctypes.c_void_p
darknet.load_network.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
assert darknet.load_network(b"shapes/shapes.cfg", b"shapes/shapes.weights", 0)
PY
tries python3-mafat "python3 -c 'import sys, mafat; print(len(mafat.open(*sys.argv[1:3]).detect(sys.argv[3])))' shapes/shapes.cfg shapes/shapes.weights $picture | grep '^[1-9]'"
libraries=/usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)/mafat
drop_in() { tries "$1" "MAFAT_MEMORY=256M $2 2>said; status=\$?; cat said; grep '^mafat: ' said && exit \$status"; }
if [ ! -e "$root$libraries" ]; then skip 'the drop-in' 'not built'
elif [ ! -x /usr/bin/python3 ]; then skip 'the drop-in' 'no python3'
else
  drop_in 'the drop-in, preloaded' "LD_PRELOAD=$libraries/libmafat-darknet.so python3 load.py /usr/lib/darknet/libdarknet.so"
  drop_in 'the drop-in, by path' "python3 load.py $libraries/libdarknet.so"
  drop_in 'the drop-in, by library path' "LD_LIBRARY_PATH=$libraries python3 load.py libdarknet.so"
  tries 'mafat-darknet(7)' "man -l \$(man -w mafat-darknet) | grep $libraries"
fi

tries remove "dpkg -P $packages"
left=$(while read -r file; do # folders that other packages own stay
  [ ! -e "$root$file" ] && [ ! -L "$root$file" ] || [ -e "$file" ] || echo "$file"
done <"$work/files" | head -n 3)
check 'nothing is left' "left: $left" test -z "$left"
exit "$failed"
