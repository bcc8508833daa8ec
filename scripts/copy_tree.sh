#!/bin/sh
# Copies the tree to a folder that is there and empty: what git tracks or would, with what was changed; where there is no git, all
# but the folders that are built into.
# usage: copy_tree.sh FOLDER [BUILD]
set -eu
to=$1 build=${2:-build}
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  # shellcheck disable=SC2016 # the inner shell's
  git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' - |
    tar -c --null -T - | tar -x -C "$to"
else
  tar -c --exclude=./build --exclude="$build" . | tar -x -C "$to"
fi
