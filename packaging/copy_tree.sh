#!/usr/bin/env bash
# usage: copy_tree.sh FOLDER [BUILD]
# Copies the source tree, with uncommitted changes, into an existing empty folder: the files that
# git tracks or would track, or without a repository of its own all files but build folders. Fails
# if a file is missing in the copy.
set -eu -o pipefail
to=$1 build=${2:-build}
# A repository of a parent folder does not count: it may ignore these files.
if [ -e .git ] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  # shellcheck disable=SC2016 # the inner shell's
  git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' - |
    tar -c --null -T - | tar -x -C "$to"
else
  tar -c --exclude=./build --exclude="$build" . | tar -x -C "$to"
fi
