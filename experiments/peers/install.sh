#!/bin/sh
# Installs the peers for run.py and oracle.py: Debian packages as root or by sudo, onnxruntime and
# TFLite from npm into the build folder. They need 0.7 GB, so no target installs them.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
onnxruntime=1.30.0
tflite=0.0.2   # version of the package for node, whose C library is TFLite 2.9.0

blas() { readlink -f "$(ldconfig -p | sed -n 's/.*libblas\.so\.3 .*=> //p' | head -n 1)" 2>/dev/null || true; }

groups=peers
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || groups="$groups node"
before=$(blas)
# shellcheck disable=SC2086 # words
./scripts/packages.sh $groups
# Another BLAS would be used by every program of this machine.
[ "$before" = "$(blas)" ] ||
  echo "install.sh: libblas.so.3 has changed; to undo: update-alternatives --config libblas.so.3-$(gcc -print-multiarch)" >&2

# Its install script would fetch CUDA; the CPU library is in the package.
mkdir -p "$build/peers"
[ -d "$build/peers/node_modules/onnxruntime-node" ] ||
  npm install --prefix "$build/peers" --ignore-scripts --no-audit --no-fund --silent "onnxruntime-node@$onnxruntime"
# Extracts only libraries and headers, without building or dependencies.
if [ ! -d "$build/peers/tflite/package" ]; then
  mkdir -p "$build/peers/tflite"
  (cd "$build/peers/tflite" && npm pack --silent "tfjs-tflite-node@$tflite" && tar -xzf tfjs-tflite-node-*.tgz &&
    rm tfjs-tflite-node-*.tgz)
fi
# A photograph of a face, by NASA, from a package of 300 MB of which only this file is extracted.
if [ ! -e "$build/peers/astronaut.png" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT INT TERM
  (cd "$folder" && apt-get download -qq python3-skimage && dpkg-deb -x python3-skimage_*.deb .)
  cp "$folder/usr/lib/python3/dist-packages/skimage/data/astronaut.png" "$build/peers/"
fi
echo "install.sh: everything is there; make bench"
