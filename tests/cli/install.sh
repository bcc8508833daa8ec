#!/usr/bin/env bash
# Checks make install: which files are installed, what they need, that C programs build against
# them and run, and that uninstall removes all. Run from the project's root; BUILD names the build
# folder (default: build).
set -u
build=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=install
work=$(mktemp -d)
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
log=$work/log

shapes=models/shapes
picture=$(find "$shapes/holdout" -name '*.jpg' | sort | head -n 1)
cc=${CC:-gcc}

# Variables of a calling make are passed on, but not its job server.
# shellcheck disable=SC2317 # called by check
installs() { # TARGET ROOT PREFIX
  MAKEFLAGS=${MAKEFLAGS:+$(printf '%s' "$MAKEFLAGS" | sed 's/ *--jobserver-[^ ]*//g; s/-j[0-9]*//')} \
    make --no-print-directory BUILD="$build" DESTDIR="$2" PREFIX="$3" "$1"
}
needed() { # FILE: the shared libraries it needs, without versions, one a line
  readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' | sort
}

# ---- A build folder that contains a folder named mafat, such as a checkout (BUILD=..) or a home

mkdir -p "$work/beside/mafat" "$work/old/mafat"
echo precious >"$work/beside/mafat/Makefile"
touch "$work/old/mafat/libdarknet.so" # the drop-in's folder once had this name
for folder in beside old; do
  # Copies of files that make would write: links into build/obj would change the other tests'
  # objects.
  ln -s "$(realpath "$build/obj")" "$(realpath "$build/generated")" "$(realpath "$build/libmafat.a")" "$(realpath "$build/features")" "$work/$folder"
  touch -d 2000-01-01 "$work/$folder/mafat" # older than its inputs
done
# shellcheck disable=SC2317 # called by check
at_build() { # FOLDER
  MAKEFLAGS='' make --no-print-directory -o Makefile BUILD="$work/$1" "$work/$1/mafat"
}
at_build beside >"$work/said" 2>&1
code=$?
check "another's folder" "exit status $code, $(tail -n 1 "$work/said")" test $code != 0 -a "$(cat "$work/beside/mafat/Makefile")" = precious
check 'the folder that was' 'make failed' at_build old

# copy_tree.sh, used by packages and releases, copies the whole tree even inside another
# repository.
mkdir -p "$work/above/tree" "$work/copy" "$work/tools"
cp packaging/copy_tree.sh "$work/above/tree"
if command -v git >/dev/null; then git -C "$work/above" init -q && echo '*' >"$work/above/.gitignore"; fi
check 'a tree below a git that ignores it' 'copy_tree.sh failed' env -C "$work/above/tree" ./copy_tree.sh "$work/copy"
check 'a tree below a git that ignores it: all of it' "$(ls "$work/copy")" cmp packaging/copy_tree.sh "$work/copy/copy_tree.sh"
printf '#!/bin/sh\n%s "$@" && [ "$1" != -c ]\n' "$(command -v tar)" >"$work/tools/tar"
chmod 755 "$work/tools/tar"
(cd "$work/above/tree" && PATH=$work/tools:$PATH exec ./copy_tree.sh "$work/copy") 2>"$log"
code=$?
check 'a tree of which something is missing' 'copy_tree.sh ended with 0' test $code != 0

# A package installed for two architectures counts as installed.
if command -v dpkg >/dev/null; then
  cat >"$work/tools/dpkg-query" <<STUB
#!/bin/sh
for architecture in $(dpkg --print-architecture) other; do
  printf '%b' "\$(printf '%s' "\$2" | sed "s/^-f=//; s/[\$]{Architecture}/\$architecture/; s/[\$]{db:Status-Status}/installed/")"
done
STUB
  printf '#!/bin/sh\nexit 1\n' | tee "$work/tools/apt-get" "$work/tools/sudo" >"$work/said"
  chmod 755 "$work/tools"/*
  PATH=$work/tools:$PATH scripts/packages.sh test >"$work/said" 2>&1
  code=$?
  check 'packages of two architectures' "exit status $code, $(head -n 1 "$work/said")" test "$code" = 0 -a ! -s "$work/said"
fi

# User flags are added to the flags that determine bits and do not replace them.
make --no-print-directory -n -B BUILD="$work/flags" CFLAGS=-Os CPPFLAGS=-DOWN "$work/flags/obj/base/box.o" >"$work/said" 2>&1
check 'own flags' "$(tail -n 1 "$work/said")" grep -q -e '-DOWN .*-I\. .*-Os .*-std=c11 .*-ffp-contract=off ' "$work/said"

root=$work/root
check install 'make install failed' installs install "$root" /usr
[ "$failed" = 0 ] || exit 1
lib=$root/usr/lib

# ---- Installed files

has() { [ -s "$root/usr/$1" ] || fail there "$1 is missing"; }
for name in mafat run_inference mafat_serve swap_cost; do has "bin/$name"; done
[ -x "$build/mafat_ranks" ] && has bin/mafat_ranks
for name in lib/libmafat.a lib/libmafat.so lib/libmafat.so.0 lib/pkgconfig/mafat.pc include/mafat{,_plan,_video,_pack,_ranks,_file}.h include/mafat.hpp share/man/man3/libmafat.3 share/man/man7/mafat-plan.7 share/doc/mafat/README.md share/doc/mafat/doc/{serve.md,dog.jpg} share/bash-completion/completions/mafat share/zsh/site-functions/_mafat share/mafat/shapes/shapes.weights share/mafat/shapes/shapes.jpg; do
  has "$name"
done
for pair in pack_weights:mafat-pack make_weights:mafat-weights annotate:mafat-annotate memory_limit:mafat-limit; do
  old=${pair%:*} new=${pair#*:}
  [ -x "$build/$old" ] || continue
  has "bin/$new"
  has "share/man/man1/$new.1"
  for link in "bin/$old:$new" "share/man/man1/$old.1:$new.1"; do
    [ "$(readlink "$root/usr/${link%:*}")" = "${link#*:}" ] || fail there "${link%:*} is no link to ${link#*:}"
  done
  grep -qx ".Nm $new" "$root/usr/share/man/man1/$new.1" || fail there "$new.1 has another name"
  check "$new" 'its help has another name' test "$("$root/usr/bin/$new" --help | sed "s/$new/$old/g")" = "$("$root/usr/bin/$old" --help)"
  check "mafat ${new#*-}" "it is not $new" test "$("$root/usr/bin/mafat" "${new#*-}" --help | sed "s/mafat ${new#*-}/$new/g")" = "$("$root/usr/bin/$new" --help)"
done
others=$(grep -lE '\b(Nm|Xr) (annotate|memory_limit|make_weights|pack_weights)\b' -r "$root/usr/share/man")
check 'pages have the installed names' "$others" test -z "$others"
for program in "$root"/usr/bin/*; do has "share/man/man1/${program##*/}.1"; has "share/bash-completion/completions/${program##*/}"; done
[ "$failed" = 0 ] && ok there
said=$(scripts/check_links.py "$root/usr/share/doc/mafat")
check 'links of the installed pages' "$said" test -z "$said"
check modes 'a file that others may write to' test -z "$(find "$root" -type f -perm /022)"
check paths 'the place where it was put together is in what was installed' test -z "$(grep -rl "$work" "$root")"

# ---- Exported names: exactly the headers'

sed -n 's/^MAFAT_API .*[ *]\(mafat_[a-z0-9_]*\)(.*/\1/p' include/mafat*.h | sort >"$work/declared"
sed -n 's/^[a-z].*[ *]\(mafat_[a-z0-9_]*\)(.*/\1/p' include/mafat*.h | sort >"$work/without"
nm -D --defined-only "$lib/libmafat.so.0" | awk '{ print $NF }' | sort >"$work/seen"
if [ -s "$work/declared" ] && diff "$work/declared" "$work/seen" >"$log"; then ok symbols; else fail symbols "declared and visible differ: $(head -c 300 "$log")"; fi
check api "functions of a public header without MAFAT_API: $(head -c 200 "$work/without")" test ! -s "$work/without"
sed -n 's/^\.Fn \(mafat_[a-z0-9_]*\).*/\1/p' doc/man/libmafat.3 | sort -u >"$work/page"
check manual "what libmafat.3 names and the headers declare differ: $(comm -3 "$work/declared" "$work/page" | tr -s '\t\n' ' ')" cmp "$work/declared" "$work/page"
[ "$(readelf -d "$lib/libmafat.so.0" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = libmafat.so.0 ]
check soname 'not libmafat.so.0' test $? = 0
check text 'libmafat.so.0 has code that is relocated' test -z "$(readelf -d "$lib/libmafat.so.0" | grep TEXTREL)"
check rpath 'a program or library has a search path' test -z "$(readelf -d "$root"/usr/bin/* "$lib/libmafat.so.0" 2>/dev/null | grep -E 'RPATH|RUNPATH')"

version=$(sed -n 's/^VERSION *:= *//p' Makefile)
check version "debian/changelog and the Makefile ($version) differ" test "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)" = "$version"

# ---- Libraries of the programs. The LGPL requires that these two can be replaced.

if [ -x "$root/usr/bin/memory_limit" ]; then
  for name in libcgroup libproc2; do
    check "needs $name" 'memory_limit is not linked with it dynamically' grep -qx "$name" <(needed "$root/usr/bin/memory_limit")
  done
fi
for program in "$root"/usr/bin/*; do # must not need our shared library
  needed "$program" | grep -q mafat && fail needs "${program##*/} needs libmafat"
done
others=$(needed "$lib/libmafat.so.0" | grep -vxE 'libc|libm|libjpeg|libpng[0-9]*|libz|liburing|libgcc_s|libpthread|ld-linux.*')
check needs "libmafat.so.0 needs more than decoders: $others" test -z "$others"

# ---- Programs in C: the first example of the manual, shared and static

sed -n '/^#include <mafat_plan.h>/,/^\.Ed/{/^\.Ed/q;p}' doc/man/libmafat.3 | sed 's/\\e/\\/g' >"$work/boxes.c"
if ! command -v pkg-config >/dev/null; then
  skip example 'no pkg-config'
else
  flags() { PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs "$@" mafat; }
  read -ra shared <<<"$(flags)"
  read -ra static <<<"$(flags --static)"
  export LC_ALL=C
  boxes() { # NAME PROGRAM: its output equals run_inference's results
    local found wanted
    found=$(LD_LIBRARY_PATH=$lib "$work/$2" "$shapes/shapes.cfg" "$shapes/shapes.weights" "$picture" 2>"$log" | grep -c '^class ')
    wanted=$("$root/usr/bin/run_inference" --quiet --memory 32M --thresh 0.5 --names "$shapes/shapes.names" \
      "$shapes/shapes.cfg" "$shapes/shapes.weights" "$picture" 2>>"$log" | grep -c '%')
    if [ "$found" -gt 0 ] && [ "$found" = "$wanted" ]; then ok "$1"; else
      fail "$1" "$found boxes, run_inference finds $wanted; $(tail -n 1 "$log")"
    fi
  }
  if "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$work/shared" "$work/boxes.c" "${shared[@]}" >"$log" 2>&1; then
    boxes 'example shared' shared
    check 'example needs' 'it is not linked with libmafat.so' grep -qx libmafat <(needed "$work/shared")
  else fail 'example shared' "$(head -n 1 "$log")"; fi
  if [ "$(printf 'int main(void) { return 0; }' | "$cc" -static -x c -o "$work/none" - 2>&1)" ]; then
    skip 'example static' 'no static libc'
  elif "$cc" -std=c11 -static -o "$work/static" "$work/boxes.c" "${static[@]}" >"$log" 2>&1; then
    boxes 'example static' static
  else fail 'example static' "$(head -n 1 "$log")"; fi
fi
if command -v g++ >/dev/null; then
  echo 'int main() { mafat_model_options o = {sizeof o}; return mafat_version() == nullptr || !o.size; }' | sed '1i #include <mafat.h>' >"$work/one.cc"
  check 'from C++' 'the header does not compile' g++ -Wall -Werror -I"$root/usr/include" -fsyntax-only "$work/one.cc"
else skip 'from C++' 'no g++'; fi

# ---- Manual pages for everything

for page in doc/man/* "$build"/man/* "$root"/usr/share/man/*/*; do
  if command -v mandoc >/dev/null; then check "page ${page##*/}" 'mandoc' mandoc -T lint -W warning "$page"
  elif command -v man >/dev/null; then check "page ${page##*/}" 'man' test -z "$(man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)"
  else skip "page ${page##*/}" 'neither mandoc nor man'; fi
done

# ---- Other prefixes, with blanks, and uninstall

far="$work/far % & away"
check 'other places' 'make install failed' installs install "$far" /opt/mafat
check 'pkg-config elsewhere' 'mafat.pc does not name /opt/mafat/lib' grep -qx 'libdir=/opt/mafat/lib' "$far/opt/mafat/lib/pkgconfig/mafat.pc"
for prefix in '/opt/a b' '/opt/a&b' '/opt/a%b' "/opt/a'b"; do # an unquoted prefix would misplace files
  for target in install uninstall; do
    installs $target "$work/nowhere" "$prefix" >"$work/said" 2>&1
    code=$?
    check "$target PREFIX=$prefix" "exit status $code" test $code = 2
    check "$target PREFIX=$prefix: message" "$(tail -n 1 "$work/said")" grep -q 'PREFIX expects a path without blanks' "$work/said"
  done
done
check 'nothing was put anywhere' "$(find "$work/nowhere" 2>&1)" test ! -e "$work/nowhere" -a ! -e b
for gone in "$far:/opt/mafat" "$root:/usr"; do
  check "uninstall ${gone##*:}" 'make uninstall failed' installs uninstall "${gone%:*}" "${gone##*:}"
  left=$(cd "${gone%:*}" && find . ! -type d -o -name mafat -type d -path '*/share/doc/*' -o -path '*/lib/mafat')
  check "uninstall leaves nothing in ${gone##*:}" "$left" test -z "$left"
done
exit "$failed"
