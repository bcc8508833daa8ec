#!/usr/bin/env bash
# make_patch.sh BEFORE AFTER: prints a patch between two trees of Darknet's source, without
# context. Its first line is the checksum of the files it applies to, which apply.sh compares.
set -u
if [ $# != 2 ] || [ ! -d "$1" ] || [ ! -d "$2" ]; then
  echo "usage: darknet_patch/make_patch.sh BEFORE AFTER: two folders; the patch goes to stdout" >&2
  exit 2
fi
before=$(realpath "$1") after=$(realpath "$2")
cd "$before" || exit 2
mapfile -t changed < <(find . -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name Makefile \) -printf '%P\n' | LC_ALL=C sort |
  while read -r file; do cmp -s "$file" "$after/$file" || printf '%s\n' "$file"; done)
printf '# applies to %s\n' "$(cat "${changed[@]}" /dev/null | sha256sum | cut -d ' ' -f 1)"
for file in "${changed[@]}"; do
  diff -U0 --label "a/$file" --label "b/$file" "$file" "$after/$file"
done | sed -E 's/^(@@ [^@]* @@).*/\1/' | awk '
  /^-/ && !/^--- a\// { print "make_patch.sh: a line of Darknet is removed: insert lines only" > "/dev/stderr"; failed = 1 }
  { print }
  END { exit failed }'
