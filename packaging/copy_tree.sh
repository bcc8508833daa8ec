#!/usr/bin/env bash
# Copies the tree to a folder that is there and empty: what git tracks or would, with what was changed; where it has no git of its
# own, all but the folders that are built into. Exit status: not 0 where something is missing in the copy.
# usage: copy_tree.sh FOLDER [BUILD]
set -eu -o pipefail
to=$1 build=${2:-build}
# A git of a folder above, a home's, say, knows nothing of these files, or ignores them.
if [ -e .git ] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  # shellcheck disable=SC2016 # the inner shell's
  git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' - |
    tar -c --null -T - | tar -x -C "$to"
else
  tar -c --exclude=./build --exclude="$build" . | tar -x -C "$to"
fi
