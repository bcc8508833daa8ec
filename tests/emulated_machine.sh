# shellcheck shell=bash disable=SC2119,SC2154 # $suite is who sources this'; functions without arguments
# Boots an emulated machine whose first process is the test's own inside.sh in an initramfs. Source
# it in the project's folder with $suite (a folder of tests/), $wanted, $maybe and $folders
# (tests/emulated_kernel.sh). Needs no root. $build: build folder; non-empty $console: print the
# machine's console at the end. An x86-64; with $architecture arm64, a Raspberry Pi 4's processor.
#
#     begin_machine PROGRAM...    fails if something is missing; then $to is the initramfs with
#     busybox, the kernel's modules, inside.sh
#     add_program PROGRAM...      copies programs and their libraries to its /bin
#     boot_machine SECONDS PROCESSORS MEGABYTES   runs it, at most that long; prints its results
#     and ends
build=${BUILD:-build}
cache=$build/$suite
kernel=$cache/kernel
# shellcheck source=tests/check.sh
. tests/check.sh
cannot() { # REASON: reports that the test cannot run
  skip "$suite" "$1"
  exit 0
}

work='' machine=''
# shellcheck disable=SC2317 # called by a trap
end_machine() {
  [ -z "$machine" ] || { kill "$machine" && wait; } 2>/dev/null
  [ -z "$work" ] || rm -rf "$work"
}
at_end end_machine
# shellcheck source=tests/emulated_kernel.sh
. tests/emulated_kernel.sh

case ${architecture-} in
  arm64) # has one serial port, used for both
    emulator=qemu-system-aarch64 machine_options=(-machine virt -cpu cortex-a72) serial=ttyAMA0 ports=(results)
    kernel_package=linux-image-cloud-arm64
    ;;
  *) emulator=qemu-system-x86_64 machine_options=(-cpu max) serial=ttyS0 ports=(console results) kernel_package='' ;;
esac

find_busybox() {
  if [ -n "${architecture-}" ]; then
    busybox=$cache/busybox
    [ -e "$busybox" ] || { know_packages && download_package busybox-static '*bin/busybox' && cp "$work"/unpacked/*bin/busybox "$busybox"; } ||
      cannot 'there is no busybox for it'
    return
  fi
  busybox=$(command -v busybox) || cannot 'needs busybox (scripts/packages.sh test)'
  if needs_loader "$busybox"; then cannot "$busybox is not static (busybox-static)"; fi
}

begin_machine() {
  local tool busybox
  [ "$(uname -m)" = x86_64 ] || cannot 'its machine is an x86-64'
  PATH=$PATH:/usr/sbin:/sbin
  for tool in "$emulator" cpio "$@"; do
    command -v "$tool" >/dev/null || cannot "needs $tool (scripts/packages.sh test${architecture:+ arm})"
  done
  mkdir -p "$cache" && work=$(mktemp -d "$cache/run.XXXXXX") || exit 1
  find_busybox
  find_kernel $kernel_package
  to=$work/initramfs
  mkdir -p "$to"/{bin,dev,proc,sys,tmp,files,modules}
  cp -r "$kernel/modules/." "$to/modules"
  cp "$busybox" "$to/bin/busybox"
  cp "tests/$suite/inside.sh" "$to/init" && chmod 755 "$to/init"
  cp tests/check.sh "$to"
}

add_program() {
  local program library
  for program in "$@"; do
    cp "$(command -v "$program")" "$to/bin" || exit 1
    ldd "$(command -v "$program")" 2>/dev/null | grep -oE '/[^ ]+' | while read -r library; do
      mkdir -p "$to$(dirname "$library")"
      [ -e "$to$library" ] || cp -L "$library" "$to$library"
    done
  done
}

boot_machine() {
  local port serial_ports=()
  for port in "${ports[@]}"; do serial_ports+=(-serial "file:$work/$port"); done
  (cd "$to" && find . | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$work/initramfs.gz"
  timeout -k 5 "$1" "$emulator" -accel tcg "${machine_options[@]}" -smp "$2" -m "$3" -nodefaults -display none -no-reboot \
    "${serial_ports[@]}" -kernel "$kernel/vmlinuz" -initrd "$work/initramfs.gz" \
    -append "console=$serial loglevel=1 panic=-1" </dev/null >"$work/qemu" 2>&1 &
  machine=$!
  wait $machine
  machine=''
  echo "   Linux $(cat "$kernel/version")"
  grep -E '^(ok|FAIL|skip) ' "$work/results"
  ! grep -q '^FAIL ' "$work/results" || failed=1
  grep -qx finished "$work/results" || fail 'the machine' "does not finish: $(head -n 3 "$work/qemu") $(tail -n 2 "$work/results" "$work/${ports[0]}")"
  [ -z "${console-}" ] || cat "$work/${ports[0]}"
  exit "$failed"
}
