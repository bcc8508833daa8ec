#!/usr/bin/env bash
# Boots a Debian kernel in an emulated machine and tests memory_limit, swap and one inference with
# real control groups v2, independent of this machine. Needs no root. BUILD names the build folder.
# --help lists the options; see README.md.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
here=tests/v2
build=${BUILD:-build}
cache=$build/v2
accel=${V2_ACCEL:-tcg}
kernel=$cache/kernel${V2_KERNEL:+-$V2_KERNEL}

usage() {
  cat <<'HELP'
usage: run.sh [--console] [--soak N | --neighbours N]

Boots a Debian kernel in qemu-system-x86_64 (its control groups in three layouts) and runs build/memory_limit, build/swap_cost and
build/run_inference there. The kernel is an installed one, else one that apt downloads to the build folder, once.

  --console   shows the machines' consoles at the end
  --soak N    instead, N runs at exactly the predicted charge (tests/soak/inside.sh); a line for each in soak/v2.csv of the build folder
  --neighbours N  instead, N runs beside a process of the same group that holds 10 to 90 % of its limit (default: 9, with the rest)
  --help

The variable V2_ACCEL=kvm takes hardware virtualisation; without it everything is emulated, which takes a minute. V2_KERNEL names, for --soak, a
package that stands for another kernel, such as linux-image-6.12-amd64, which is downloaded whatever is installed.
HELP
}
console='' soak='' neighbours='' patience=150 # seconds until a machine is ended
while [ $# -gt 0 ]; do
  case $1 in
    --console) console=$1 ;;
    --soak | --neighbours)
      [[ ${2-} =~ ^[1-9][0-9]*$ ]] || {
        echo "run.sh: $1 expects a number of runs, found '${2-}'" >&2
        exit 2
      }
      if [ "$1" = --soak ]; then soak=$2; else neighbours=$2; fi
      patience=$((150 + 15 * $2))
      shift
      ;;
    --help) usage && exit 0 ;;
    *)
      echo "run.sh: expected --console, --soak or nothing, found '$1'; --help lists the options" >&2
      exit 2
      ;;
  esac
  shift
done
# shellcheck source=tests/check.sh
. tests/check.sh
cannot() { # REASON: reports that the test cannot run
  skip v2 "$1"
  exit 0
}

work='' machines=()
# shellcheck disable=SC2317 # called by a trap
clean() {
  trap '' HUP INT TERM
  [ ${#machines[@]} -eq 0 ] || { kill "${machines[@]}" && wait; } 2>/dev/null
  [ -z "$work" ] || rm -rf "$work"
}
trap 'case $BASHPID in $$) clean ;; esac' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

[ "$(uname -m)" = x86_64 ] || cannot 'its machine is an x86-64'
for tool in qemu-system-x86_64 busybox cpio python3; do
  command -v $tool >/dev/null || cannot "needs $tool (scripts/packages.sh test)"
done
busybox=$(command -v busybox)
if needs_loader "$busybox"; then cannot "$busybox is not static (busybox-static)"; fi
[ -x "$build/make_weights" ] || cannot "needs $build/make_weights"
for program in memory_limit swap_cost run_inference ${soak:+launcher}; do
  [ -x "$build/$program" ] || cannot "needs $build/$program"
  if needs_loader "$build/$program"; then cannot "$build/$program is not static"; fi
done
# Removes folders of killed runs; a machine ends within three minutes.
find "$cache" -maxdepth 1 -name 'run.*' -mmin +10 -exec rm -rf {} + 2>/dev/null
mkdir -p "$cache" && work=$(mktemp -d "$cache/run.XXXXXX") || exit 1

# ---- A kernel and its modules

# shellcheck disable=SC2034 # by tests/emulated_kernel.sh
{
  wanted='virtio_pci virtio_blk ext4'
  maybe=crc32c_generic # ext4 asks modprobe for it by another name
  folders=('crypto/*' 'fs/ext4/*' 'fs/jbd2/*' 'fs/mbcache*' 'drivers/virtio/*' 'drivers/block/virtio*' 'lib/*')
}
# shellcheck source=tests/emulated_kernel.sh
. tests/emulated_kernel.sh

# ---- The machine

picture=$(printf '%s\n' models/shapes/holdout/*.jpg | head -n 1)

make_initramfs() {
  local to=$work/initramfs program
  mkdir -p "$to"/{bin,dev,etc,proc,sys,files,modules}
  cp "$kernel"/modules/* "$to/modules"
  cp "$busybox" "$to/bin/busybox"
  for program in memory_limit swap_cost; do
    strip -o "$to/bin/$program" "$build/$program" 2>/dev/null || cp "$build/$program" "$to/bin"
  done
  cp "$build/run_inference" models/shapes/shapes.{cfg,weights,names} "$to/files"
  cp "$picture" "$to/files/picture.jpg"
  cp $here/inside.sh "$to/init" && chmod 755 "$to/init"
  cp tests/check.sh tests/soak/inside.sh tests/soak/neighbour.sh "$to"
  sh -c '. tests/soak/neighbour.sh && neighbour_cfg' >"$to/files/net.cfg"
  "$build/make_weights" "$to/files/net.cfg" "$to/files/net.weights" >"$work/log" 2>&1
  [ -z "$soak" ] || add_soak "$to"
  (cd "$to" && find . | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$work/initramfs.gz"
}

add_soak() { # FOLDER: files for the runs at the predicted charge
  cp "$build/launcher" "$1/bin"
  python3 tests/soak/inputs.py "$1/files" models/shapes/shapes.cfg
  "$build/pack_weights" models/shapes/shapes.cfg models/shapes/shapes.weights "$1/files/shapes.packed" >"$work/log" 2>&1
}

boot() { # LAYOUT KERNEL-OPTION...: its results in $work/LAYOUT, its console in $work/LAYOUT.console
  local layout=$1 model=max
  shift
  [ "$accel" = tcg ] || model=host
  truncate -s 256M "$work/$layout.swap"
  truncate -s 64M "$work/$layout.disk"
  timeout -k 5 $patience qemu-system-x86_64 -accel "$accel" -cpu $model -smp 2 -m 512 -nodefaults -display none -no-reboot \
    -serial "file:$work/$layout.console" -serial "file:$work/$layout" -kernel "$kernel/vmlinuz" -initrd "$work/initramfs.gz" \
    -append "console=ttyS0 loglevel=4 panic=-1 v2_layout=$layout $*" \
    -drive "if=virtio,format=raw,file=$work/$layout.swap" -drive "if=virtio,format=raw,file=$work/$layout.disk" \
    </dev/null >"$work/$layout.qemu" 2>&1 &
  machines+=($!)
}

find_kernel "${V2_KERNEL-}"
make_initramfs
layouts='v2 mixed disabled'
if [ -n "$soak" ]; then
  layouts=soak
  boot soak "v2_soak=$soak"
elif [ -n "$neighbours" ]; then
  layouts=beside
  boot beside "v2_neighbours=$neighbours"
else
  boot v2
  boot mixed
  boot disabled cgroup_disable=memory
fi
wait "${machines[@]}"
machines=()

if [ -n "$soak" ]; then
  mkdir -p "$build/soak" && sed -n 's/^soak //p' "$work/soak" | tr -d '\r' >"$build/soak/v2.csv"
fi
echo "   Linux $(cat "$kernel/version"), $accel"
for layout in $layouts; do
  grep -E '^(ok|FAIL|skip) ' "$work/$layout"
  grep -q '^FAIL ' "$work/$layout" && failed=1
  grep -qx finished "$work/$layout" ||
    fail "the machine ($layout)" "does not finish: $(head -n 3 "$work/$layout.qemu") $(tail -n 2 "$work/$layout" "$work/$layout.console")"
  python3 $here/judge.py "$build" "$picture" "$work/$layout" || failed=1
  [ -z "$console" ] || cat "$work/$layout.console"
done
exit "$failed"
