#!/usr/bin/env bash
# tests/arm/count.sh BUILD TRIPLET [OPTION...]: instructions of kernel_check's layers at the level
# neon, counted by the plugin BUILD/count.so under qemu-user. They stand in for time, which
# emulation cannot tell: see count.c. Options are those of kernel_check --bench (--shape, --kernel).
# FUNCTIONS=1 adds a line for each function, with its part of the layer's instructions.
set -eu
build=$1 triplet=$2 processor=${2%%-*}
shift 2
QEMU_LD_PREFIX=/usr/$triplet "qemu-$processor" -d plugin \
  -plugin "file=$build/count.so${FUNCTIONS:+,functions=on}" \
  "$build/$triplet/kernel_check" --bench --once --cpu neon "$@" |
  awk -v processor="$processor" '
    function row(name, work, operations, at) {
      printf "%-16s %-22s", name, work
      if (operations) printf "%9.1f %9.3f", operations / 1e6, $at / operations * 2; else printf "%9s %9s", "", ""
      for (i = 1; i <= 5; i++) printf " %7.1f", 100 * $(at + i) / $at
      printf " %7.1f\n", 100 * ($at - $(at + 1) - $(at + 2) - $(at + 3) - $(at + 4)) / $at
    }
    BEGIN {
      print processor ": instructions for each two operations (0.25: multiply-adds alone), and of them in %"
      printf "%-16s %-22s%9s %9s %7s %7s %7s %7s %7s %7s\n", "layer", "kernel", "MFLOP", "per two",
        "fma", "arith", "load", "store", "(stack)", "other"
    }
    $1 == "-" { row("", $2, operations, 3); next }
    NF >= 9 { operations = $3; row($1, $2, $3, 4) }'
