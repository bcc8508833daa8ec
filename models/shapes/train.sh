#!/bin/sh
# Draw the pictures, train shapes.cfg on them, replace shapes.weights.
set -eu

usage() {
    cat <<'END'
usage: train.sh [FOLDER]

Draws the pictures, trains shapes.cfg with `darknet detector train` and replaces
shapes.weights beside this script. Pictures, log and backups go to FOLDER, which is
kept; without one, to a temporary folder that is removed at the end.

Environment:
    DARKNET    the program to train with (default: darknet)
    TRAIN      pictures to train on (default: 8000)
END
}

case ${1-} in
-h | --help)
    usage
    exit 0
    ;;
-*)
    echo "train.sh: unknown option $1; see train.sh --help" >&2
    exit 2
    ;;
esac
if [ $# -gt 1 ]; then
    echo "train.sh: at most one folder is expected; see train.sh --help" >&2
    exit 2
fi

here=$(cd "$(dirname "$0")" && pwd)
darknet=${DARKNET:-darknet}
train=${TRAIN:-8000}
if [ $# -eq 1 ]; then
    mkdir -p "$1"
    work=$(cd "$1" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
fi

began=$(date +%s)
"$here/generate.py" --train "$train" --holdout 0 "$work"
drawn=$(date +%s)

# Darknet is run inside the folder: it looks for "images" and "raw" in the whole path of
# a picture when it derives that of the label.
cd "$work"
sed -e 's/^batch=1$/batch=16/' "$here/shapes.cfg" > training.cfg
cp "$here/shapes.names" .
mkdir -p backup
cat > training.data <<'END'
classes=6
train=train.txt
valid=train.txt
names=shapes.names
backup=backup
END
rm -f backup/training_final.weights

echo "train.sh: training; $work/training.log is the log" >&2
if ! "$darknet" detector train training.data training.cfg > training.log 2>&1; then
    echo "train.sh: $darknet failed; the end of its log:" >&2
    tail -n 5 training.log >&2
    exit 1
fi
ended=$(date +%s)

cp backup/training_final.weights "$here/shapes.weights"
iterations=$(grep -c ' avg, .* rate, ' training.log)
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)
echo "train.sh: $train pictures drawn in $((drawn - began)) s, $iterations iterations in" \
    "$((ended - drawn)) s on ${cpu:-an unknown CPU}"
