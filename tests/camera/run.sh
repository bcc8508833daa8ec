#!/usr/bin/env bash
# Boots a Debian kernel in an emulated machine, whose driver vivid emulates a camera, and runs
# run_inference --camera: every frame format, buffers inside the budget, the sandbox. Needs no
# root. BUILD names the build folder; --console prints the machine's console at the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck disable=SC2034 # by tests/emulated_machine.sh
{
  suite=camera
  wanted=vivid
  maybe=''
  folders=('drivers/media/*' 'drivers/video/*' 'drivers/i2c/*')
  console=${1-}
}
# shellcheck source=tests/emulated_machine.sh
. tests/emulated_machine.sh

[ -x "$build/run_inference" ] || cannot "needs $build/run_inference"
if needs_loader "$build/run_inference"; then cannot "$build/run_inference is not static"; fi
# shellcheck disable=SC2119 # no programs
begin_machine
cp "$build/run_inference" models/shapes/shapes.{cfg,weights,names} "$to/files"
boot_machine 600 2 512
