#!/usr/bin/env bash
# tests/arm/count.sh BUILD TRIPLET [OPTION...]: counts the instructions of kernel_check's layers at
# the level neon with the plugin BUILD/count.so under qemu-user. They stand in for time, which an
# emulator cannot measure: see count.c. Options are those of kernel_check --bench (--shape,
# --kernel). The share is that of the multiply-adds of four lanes that the algorithm needs if tiles
# fit its maps. FUNCTIONS=1 adds a line for each function, with its share of the layer's
# instructions.
set -eu
build=$1 triplet=$2 processor=${2%%-*}
shift 2
QEMU_LD_PREFIX=/usr/$triplet "qemu-$processor" -d plugin \
  -plugin "file=$build/count.so${FUNCTIONS:+,functions=on}" \
  "$build/$triplet/kernel_check" --bench --once --cpu neon "$@" |
  awk -v processor="$processor" '
    function row(name, work, operations, at) {
      printf "%-16s %-24s %8.1f %8.3f", name, work, operations / 1e6, $at / operations * 2
      if (work in least) printf " %6.1f", 100 * least[work] * operations / 2 / $at; else printf " %6s", ""
      for (i = 1; i <= 5; i++) printf " %7.1f", 100 * $(at + i) / $at
      printf " %7.1f\n", 100 * ($at - $(at + 1) - $(at + 2) - $(at + 3) - $(at + 4)) / $at
    }
    BEGIN {
      least["conv"] = least["depthwise"] = 1 / 4
      least["winograd"] = 36 / 144 / 4
      least["winograd-large"] = 64 / 324 / 4
      print processor ": instructions for each two operations, the share of those that have to be, and of them in %"
      printf "%-16s %-24s %8s %8s %6s %7s %7s %7s %7s %7s %7s\n", "layer", "kernel", "MFLOP", "per two", "share",
        "fma", "arith", "load", "store", "(stack)", "other"
    }
    $1 == "-" { row("", "- " $2, operations, 3); next }
    NF >= 9 { operations = $3; row($1, $2, $3, 4) }'
