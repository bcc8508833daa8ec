#!/usr/bin/env bash
# Checks the build: appearing or disappearing libraries rebuild their users and no more; --help of
# a target installs and builds nothing; groups of packages.txt. Run from the project's root; BUILD
# names the build folder (default: build).
set -u
build=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=build
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
unset MAKEFLAGS MFLAGS MAKELEVEL
quietly() { make --no-print-directory "$@" 2>&1; }

# ---- A library disappears and returns

png=$({ git grep -l MAFAT_WITHOUT_PNG -- '*.c' 2>/dev/null || grep -rl --include='*.c' MAFAT_WITHOUT_PNG .; } | head -n 1)
png=${png#./}
# NAME SOURCES VARIABLE...: sources that make would compile, of two objects, the first of which
# uses the library
compiles() {
  local said
  said=$(quietly BUILD="$work/b" "$work/b/obj/${png%.c}.o" "$work/b/obj/base/box.o" "${@:3}" | sed -n 's/^  CC  *//p' | sort | xargs)
  check "$1" "expected to compile '$2', found '$said'" test "$said" = "$2"
}
links() { # NAME PROGRAMS VARIABLE...: programs that make would link, of three
  local said
  said=$(quietly -n BUILD="$build" "$build"/{run_inference,mafat,libmafat.so.0} "${@:3}" | sed -n "s,^printf.* LD $build/,,p" | sort | xargs)
  check "$1" "expected to link '$2', found '$said'" test "$said" = "$2"
}
if grep -q MAFAT_WITHOUT_PNG "$build/features"; then skip 'a library that goes' 'there is no libpng'
else
  compiles 'at first' "base/box.c $png"
  compiles 'nothing has changed' ''
  compiles 'libpng goes' "$png" PNG=
  compiles 'libpng is gone' '' PNG=
  compiles 'libpng comes' "$png"
  links 'nothing has changed: links' ''
  links 'libpng goes: links' 'libmafat.so.0 mafat run_inference' PNG=
fi

# ---- --help must not require packages

mkdir "$work/none"
printf '#!/bin/sh\necho "$@" >>%s\necho "0 upgraded, 7 newly installed"\n[ "$2" = --print-uris ]\n' "$work/asked" | tee "$work/none"/{apt-get,dpkg-query,sudo} >/dev/null
chmod 755 "$work/none"/*
without_packages() { PATH=$work/none:$PATH "$@"; }
helped=
while read -r target options; do
  helped+=" $target"
  without_packages make -s --no-print-directory BUILD="$work/never" "$target" "$options=--help" >"$work/said" 2>&1
  code=$?
  check "$target --help" "exit status $code, $(head -n 1 "$work/said")" test $code = 0 -a -n "$(grep -i '^usage' "$work/said")"
done <<'END'
bench BENCH
limits LIMITS
paper PAPER
figure FIGURE
networks NETWORKS
planners PLANNERS
separable SEPARABLE
ranks HOSTS
check-latency LATENCY
check-predictor PREDICT
check-search SEARCH
darknet DARKNET
release RELEASE
END
check 'help asks for no package' "it asks for $(head -n 1 "$work/asked" 2>/dev/null)" test ! -e "$work/asked"
check 'help builds nothing' 'it makes a build folder' test ! -e "$work/never"
left=$(make help | sed -n "/--help/s/^ *\([a-z-]*\).*/\1/p" | grep -vxF "$(xargs -n 1 <<<"$helped")")
check 'help of all targets' "not tried: $left" test -z "$left"

# ---- Groups of packages.txt

asks() { # GROUP...: packages that would be installed
  without_packages scripts/packages.sh "$@" 2>&1 | sed -n '1s/^packages.sh: installing [^:]*: \([^;]*\).*/\1/p' | xargs -n 1
}
check 'a group has those it includes' "$(asks demo)" test -z "$(asks run | grep -vxF "$(asks demo)")"
check 'a package is asked for once' "$(asks test planners | sort | uniq -d)" test -z "$(asks test planners | sort | uniq -d)"
scripts/packages.sh nothing >"$work/said" 2>&1
check 'no such group' "$(head -n 1 "$work/said")" grep -q 'expected a group of packages.txt, found nothing' "$work/said"
for group in $(sed -n 's/^\[\([a-z]*\).*/\1/p' packages.txt); do
  check "group $group" 'it has no package' test -n "$(asks "$group")"
done
exit "$failed"
