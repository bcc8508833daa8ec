#!/usr/bin/env bash
# Checks build/mafat: its commands run the programs beside it; unknown words; mafat doctor;
# completion for both shells. Run from the project's root; BUILD names the build folder (default:
# build).
set -u
build=$(realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=mafat
program=$build/mafat
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
out=$work/out err=$work/err at_once=5
shapes=models/shapes/shapes

# ---- Commands

run --help
cp "$out" "$work/help"
expect help 0
check 'help in one screen' 'more than 40 lines, or wider than 90' test "$(wc -l <"$out")" -le 40 -a -z "$(awk 'length > 90' "$out")"
commands=$(sed -nE 's/^  ([a-z]+) .*/\1/p' "$work/help" | tr '\n' ' ')
check 'which commands' "found: $commands" test "$commands" = 'doctor predict run bench annotate serve pack weights limit ranks '
for word in $commands; do
  check "help tries $word" 'no line of --help shows how' grep -q "^ *\\$ .*mafat $word" "$work/help"
  grep -q "^\.It Cm $word\$" doc/man/mafat.1 || fail manual "mafat.1 does not have $word"
done
run --version
check version "$(head -c 100 "$out")" grep -qx "mafat $(sed -n 's/^VERSION *:= *//p' Makefile)" "$out"

same() { # WORD PROGRAM: both print the same help, except for their name
  if [ ! -x "$build/$2" ]; then skip "mafat $1" "$2 is not built"; else
    run "$1" --help
    if "$build/$2" --help | cmp -s - <(sed "s/mafat $1/$2/g" "$out"); then ok "mafat $1"; else fail "mafat $1" "not what $2 prints"; fi
  fi
}
same run run_inference
same annotate annotate
same serve mafat_serve
same pack pack_weights
same weights make_weights
same limit memory_limit
own() { # WORD TEXT: help that begins with the word's usage and a sentence; the options are run's
  run "$1" --help=all
  expect "help of $1" 0
  check "$1 has a usage of its own" "$(head -n 3 "$out")" \
    grep -qx "usage: mafat $1 \[options\] MODEL.cfg .*" <(head -n 1 "$out")
  check "$1 says what it does" "$(head -n 5 "$out")" grep -q "^$2" <(head -n 5 "$out")
  check "$1 has the options of run" 'they differ' cmp <(sed -n '/^Input$/,/^Exit status/p' "$out" | grep '^  -') \
    <("$build/run_inference" --help=all | sed -n '/^Input$/,/^Exit status/p' | grep '^  -')
  run "$1" -h
  check "$1 -h begins so, too" "$(head -n 3 "$out")" grep -q "^usage: mafat $1 " <(head -n 1 "$out")
  check "$1 -h in one screen" "$(wc -l <"$out") lines" test "$(wc -l <"$out")" -le 40
  check "$1 has one usage" "$(cat "$out")" test "$(grep -c '^usage: ' "$out")" = 1
}
own predict Predicts
own bench Measures
run predict $shapes.cfg
expect 'predict predicts' 0
"$build/run_inference" --predict $shapes.cfg | head -n 1 >"$work/first"
check 'predict predicts as run_inference does' 'the first lines differ' cmp "$work/first" <(head -n 1 "$out")
run bench --repeat 3 --memory 16M --quiet $shapes.cfg $shapes.weights models/shapes/holdout/000004.jpg
expect 'bench' 0
check 'bench: layers, time, memory' "$(grep ^time "$out")" test "$(grep -cE '^(time: 3 runs, median [0-9.]+ ms|total |reserve: )' "$out")" = 3
run run --memory 4K $shapes.cfg $shapes.weights models/shapes/holdout/000004.jpg
check 'the command'"'"'s exit status' "exit status $code instead of 3" test "$code" = 3
mkdir "$work/elsewhere"
ln -s "$program" "$work/elsewhere/m"
program=$work/elsewhere/m run pack --help
expect 'found from a link' 0

# ---- A program names itself as it was called

bad 'run names itself' 'mafat run: --memory expects a size' run --memory x
bad 'predict names itself' 'mafat predict: no/such.cfg: cannot open' predict no/such.cfg
bad 'serve names itself' 'mafat serve: --memory expects a size' serve --memory x
bad 'pack names itself' 'mafat pack: expected MODEL.cfg' pack
bad 'weights names itself' 'mafat weights: expected MODEL.cfg' weights
[ ! -x "$build/annotate" ] || bad 'annotate names itself' 'mafat annotate: unknown option' annotate --nothing
[ ! -x "$build/memory_limit" ] || bad 'limit names itself' 'mafat limit: option --limit expects' limit --limit x
program=$build/run_inference bad 'run_inference names itself' 'run_inference: --memory expects a size' --memory x
run run --help
check 'help has the name' "$(head -n 1 "$out")" grep -q '^usage: mafat run ' "$out"

# ---- Too little stack or address space to start: a line, no signal

limited() { # NAME STACK_KB SPACE_KB COMMAND...: fails with one line; 127: it is the dynamic loader's
  local name=$1 stack=$2 space=$3 code
  shift 3
  bash -c "ulimit -s $stack && ulimit -v $space && exec timeout 20 \"\$@\"" limited "$@" >"$out" 2>"$err" </dev/null
  code=$?
  check "$name, stack $stack, space $space" "exit status $code: $(head -c 200 "$err")" \
    test $code -ge 1 -a $code -le 127 -a "$(wc -l <"$err")" = 1
}
for stack in 32 100; do
  for name in run_inference pack_weights mafat_serve make_weights annotate; do
    [ ! -x "$build/$name" ] || limited $name $stack unlimited "$build/$name" $shapes.cfg "$work/none"
    [ ! -x "$build/$name" ] || check "$name names the stack" "$(cat "$err")" \
      grep -q "^$name: expected a stack of at least .* found a limit of $stack " "$err"
  done
done
for word in run predict pack serve; do
  limited "mafat $word" 32 unlimited "$program" $word $shapes.cfg $shapes.weights
  limited "mafat $word" 8192 3000 "$program" $word $shapes.cfg $shapes.weights
  limited "mafat $word" 32 3000 "$program" $word $shapes.cfg $shapes.weights
done
# A program of 1 GiB, which the kernel would kill as it starts.
mkdir "$work/huge"
ln "$program" "$work/huge/mafat" 2>"$err" || cp "$program" "$work/huge/mafat"
python3 - "$work/huge/run_inference" <<'PY'
import struct, sys
head = b'\x7fELF\2\1\1' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 2, 62, 1, 0x400000, 64, 0, 0, 64, 56, 1, 64, 0, 0)
segment = struct.pack('<IIQQQQQQ', 1, 6, 0, 0, 0, 120, 1 << 30, 4096)
open(sys.argv[1], 'wb').write(head + segment)
PY
chmod +x "$work/huge/run_inference"
limited 'a program without room' 8192 500000 "$work/huge/mafat" run
check 'the room that it needs' "$(cat "$err")" grep -q '^mafat: .*/run_inference: expected an address space of at least 1024.4 MiB, found a limit of 488.2 (ulimit -v)$' "$err"

# ---- Cfg and weights in each other's place

for word in run predict pack serve weights; do
  # shellcheck disable=SC2046 # words
  bad "$word, swapped" "$shapes.weights: expected a cfg, found binary data, such as weights; the order is MODEL.cfg MODEL.weights" \
    $word $shapes.weights $shapes.cfg $([ $word = run ] && echo models/shapes/holdout/000004.jpg; [ $word = pack ] && echo "$work/x.packed")
done

# ---- A packed file is reported, with what to do next

run pack $shapes.cfg $shapes.weights "$work/a.packed"
expect 'a packed file' 0
check 'its line' "$(cat "$out")" \
  grep -qxE "$work/a.packed: packed, 0\.[0-9] MiB; try: mafat run $work/a.packed IMAGE" "$out"
run pack --quiet $shapes.cfg $shapes.weights "$work/b.packed"
expect 'a packed file quietly' 0
check 'no line' "$(cat "$out")" test ! -s "$out"
for word in pack weights limit annotate; do
  [ -x "$build/memory_limit" ] || [ $word != limit ] || continue
  [ -x "$build/annotate" ] || [ $word != annotate ] || continue
  run $word --help
  check "$word's usage names it" "$(head -n 3 "$out")" grep -qE "^usage: (.*[| ])?mafat $word " "$out"
done

# ---- Help, version and misspelled options of all programs

version=$(sed -n 's/^VERSION *:= *//p' Makefile)
asked() { # NAME COMMAND...: checks -h, --help, --help=all, -V, --version and a misspelled option
  local name=$1 lines
  shift
  "$@" --help >"$work/help" 2>"$err"
  lines=$(wc -l <"$work/help")
  check "$name --help" "status $?, $lines lines, $(cat "$err")" test "$lines" -le 40 -a "$lines" -gt 5 -a ! -s "$err"
  check "$name --help in 100 columns" 'it is wider' test -z "$(awk 'length > 100' "$work/help")"
  check "$name -h" 'not as --help' cmp "$work/help" <("$@" -h 2>&1)
  check "$name -h and -V" 'not in its help' test "$(grep -cE -- '-h, --help|-V, --version' "$work/help")" -ge 1
  check "$name --help=all" 'not more than --help' test "$("$@" --help=all | wc -l)" -ge "$lines"
  check "$name --version" "$("$@" --version 2>&1 | head -n 1)" test "$("$@" --version 2>&1)" = "$name $version"
  check "$name -V" 'not as --version' test "$("$@" -V 2>&1)" = "$name $version"
}
for name in run_inference mafat_serve pack_weights make_weights annotate memory_limit swap_cost kernel_check; do
  [ ! -x "$build/$name" ] || asked $name "$build/$name"
done
asked mafat "$program"
asked 'mafat doctor' "$program" doctor
[ ! -x "$build/mafat_ranks" ] || asked mafat_ranks "$build/mafat_ranks"
check 'ten options' 'run_inference --help lists another number' test "$("$build/run_inference" --help | grep -c '^  --')" = 10
check 'three examples' 'run_inference --help has another number' test "$("$build/run_inference" --help | sed '1,/^Examples/d' | grep -c '^  run_inference')" = 3
headings=$("$build/run_inference" --help=all | grep -E '^[A-Z][a-z]+$' | tr '\n' ' ')
check 'groups' "found: $headings" test "$headings" = 'Input Output Memory Speed Planning Research Examples '
misspelled() { # PROGRAM OPTION MEANT
  [ ! -x "$build/$1" ] || program=$build/$1 bad "$1 $2 is $3" "unknown option $2: did you mean $3?" "$2"
}
misspelled run_inference --memroy --memory
misspelled run_inference --memroy=64M --memory
misspelled run_inference --treads --threads
misspelled mafat_serve --lisen --listen
misspelled pack_weights --wieghts --weights
misspelled make_weights --sede --seed
misspelled annotate --ouptut --output
misspelled memory_limit --limt --limit
misspelled swap_cost --sise --size
bad 'doctor --jsno is --json' 'unknown option --jsno: did you mean --json?' doctor --jsno

# ---- Unknown words

bad 'no word' 'expected a command, such as doctor' # without arguments
meant() { bad "$1 is $2" "no command '$1': did you mean mafat $2?" "$1"; }
meant rnu run
meant packs pack
meant predcit predict
meant pack_weights pack
meant memory-limit limit
meant docter doctor
bad 'nothing near' "no command 'transmogrify'; --help lists all" transmogrify
bad 'nothing near an empty word' "no command ''; --help lists all" ''
bad 'a very long word' "no command 'aaaa" "$(printf 'a%.0s' {1..5000})"
cp "$build/mafat" "$work/mafat"
program=$work/mafat
bad 'alone: a library is named' "$work/annotate is not there: \`make\` builds it where it finds libgd" annotate
bad 'alone: a program is named' "$work/run_inference: No such file" run x
run --help
check 'alone: help tells' 'nothing is marked' test "$(grep -c '(not installed)' "$out")" = 9
run doctor
expect 'alone: doctor' 0
check 'alone: doctor tells' 'mafat-limit is not missed' grep -q 'mafat-limit is not installed' "$out"
# Installed programs take precedence over the build folder's, and give the name.
mkdir "$work/installed"
cp "$build/mafat" "$work/installed"
program=$work/installed/mafat
cp "$build/pack_weights" "$work/installed/mafat-pack"
bad 'installed: found' 'mafat pack: expected MODEL.cfg' pack
program=$work/installed/mafat-pack bad 'installed: names itself' 'mafat-pack: expected MODEL.cfg'
ln -s mafat-pack "$work/installed/pack_weights"
program=$work/installed/pack_weights bad 'the old name: names itself' 'pack_weights: expected MODEL.cfg'
ln -s "$(type -P true)" "$work/installed/memory_limit"
ln -s "$(type -P echo)" "$work/installed/mafat-limit"
run limit installed
check 'installed: first' "$(head -n 1 "$out")" grep -qx installed "$out"
program=$build/mafat

# All programs print control characters and ends of lines as '?'.
odd=$'--x\e[31m\ny' told='--x?[31m?y'
bad 'controls' "no command '$told'" "$odd"
bad 'controls: doctor' "unknown option $told" doctor "$odd"
bad 'controls: a file' "cannot find 'x?[31m?y'" doctor "${odd#--}"
for program in make_weights pack_weights swap_cost run_inference annotate mafat_serve memory_limit; do
  [ -x "$build/$program" ] || continue
  name=$program program=$build/$program bad "controls: $program" "unknown option $told" "$odd"
done
program=$build/mafat

# ---- doctor

head -c 3000000 /dev/urandom >"$work/weights"
run doctor "$work/weights"
expect doctor 0
for about in processor prediction memory limit cgroups swap locking disk; do
  grep -q "^$about  " "$out" || fail 'doctor has a line' "none of $about"
done
check 'doctor in one screen' 'more than 24 lines' test "$(wc -l <"$out")" -le 24
check 'doctor times reads' "$(grep ^disk "$out")" grep -qE "^disk +[0-9]+ MB/s by (io_uring|aio|thread), .*; 3 MB of $work/weights\$" "$out"
mkdir "$work/empty"
run doctor "$work/empty"
check 'doctor of a folder without files' "$(grep ^disk "$out")" grep -q '^disk  .*not timed: no file of 1.2 MB' "$out"
run doctor "$work"
check 'doctor takes the largest file' "$(grep ^disk "$out")" grep -q "^disk .* of $work/[a-z]*\$" "$out"
run doctor $shapes.cfg
expect 'doctor of a small file' 0
check 'a small file says nothing' "$(grep ^disk "$out")" grep -q "^disk  .*not timed: $shapes.cfg has less than 1.2 MB" "$out"
bad 'doctor of no file' "cannot find '$work/none'" doctor "$work/none"
bad 'doctor of two' "expected one FILE at most, found 'b'" doctor . b
bad 'an option that is none' "unknown option --nothing; see --help" doctor --nothing
bad 'a letter that is none' "unknown option -x;" doctor -xy
bad 'a value too many' "--json: this option expects no value" doctor --json=3
run doctor --help
expect 'doctor --help' 0
check 'no speed of a calibration is taken' 'doctor does not say whose milliseconds' grep -q 'mafat run --calibrate' <(run doctor "$work/empty"; cat "$out")

if ! command -v python3 >/dev/null; then skip json 'needs python3'; else
  cat >"$work/told.py" <<'PYTHON'
import json, sys
text = open(sys.argv[1]).read()
a = json.loads(text)
assert text.count("\n") == 1
for expression in sys.argv[2:]:
    assert eval("(" + expression + ")"), "not so: %s in %.900s" % (expression, text)
PYTHON
  json() { # NAME EXPRESSION...: Python, true of the object `a`
    local name=$1 said
    shift
    if said=$(python3 "$work/told.py" "$out" "$@" 2>&1); then ok "$name"; else fail "$name" "$(tail -n 1 <<<"$said")"; fi
  }
  run doctor --json "$work/weights"
  expect 'doctor --json' 0
  json 'json: this machine' 'a["processors"] >= 1' '"portable" == a["levels"][0] or "neon" in a["levels"]' 'a["calibrated"] is False' \
    'a["memory_bytes"] > a["available_bytes"] > 0' 'a["budget_bytes"] > 0' 'a["swap_bytes"] >= a["swap_free_bytes"] >= 0' \
    'a["cgroups"] in (None, "v1", "v2", "hybrid")'
  json 'json: the disk' 'a["disk"]["file"].endswith("/weights")' 'a["disk"]["method"] in ("io_uring", "aio", "thread")' \
    '2.7e6 < a["disk"]["bytes"] <= 3e6' 'a["disk"]["mb_s"] > 0'
  json 'json: findings' '[f["about"] for f in a["findings"]] == ["processor", "prediction", "memory", "limit", "swap", "locking", "disk"]' \
    'all(f["text"] for f in a["findings"])'
  for key in $(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1])))' "$out"); do
    grep -qE "^\.(It|Li) .*\b$key\b" doc/man/mafat.1 || fail manual "mafat.1 does not have $key"
  done
  if [ -x "$build/memory_limit" ]; then json 'json: memory_limit' '"possible" in a["memory_limit"]'; fi
  run doctor --json "$work/empty"
  json 'json: no disk' 'a["disk"]["file"] is None and a["disk"]["mb_s"] is None'
  if [ -x "$build/memory_limit" ] && "$build/memory_limit" --check 2>/dev/null | grep -q ^possible; then
    "$program" limit --limit 64M -o "$work/report" -- "$program" doctor --json "$work/empty" >"$out" 2>"$err"
    json 'in a group: its limit' 'a["limit_bytes"] == 64 << 20' 'a["budget_bytes"] == 64 << 20' 'a["limit_folder"]'
    "$program" limit --limit 64M -o "$work/report" -- "$program" doctor "$work/empty" >"$out" 2>"$err"
    check 'in a group: told' "$(grep ^limit "$out")" grep -q '^limit  .*64.0 MiB by control group' "$out"
  else skip 'in a group' 'no group can be made here'; fi
fi
run doctor "$work/empty"
if [ -e /dev/full ]; then
  "$program" doctor "$work/empty" >/dev/full 2>"$err"
  code=$?
  expect 'doctor to a full disk' 1 'mafat doctor: '
fi

# ---- Completion: every option of a program's --help, and what the commands are

# complete_bash WORD...: bash's offers for the last word, one a line
complete_bash() {
  # shellcheck disable=SC2016 # in that shell
  PATH=$build:$PATH BUILD=$build bash -c '. "$BUILD/completion/mafat.bash"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _mafat "$1"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
options_of() { # COMMAND...: options in its --help=all, found independently of the completion
  "$@" --help=all | awk '/^  -/ { for (i = 1; i <= NF && $i ~ /^(--?[a-zA-Z]|[A-Z[<]|[a-z]+\|)/; i++) { sub(/[,:]$/, "", $i); if ($i ~ /^--/) print $i } }' | sort -u
}
has_all() { # NAME OFFERED WANTED
  local lacks
  lacks=$(comm -13 "$2" "$3" | tr '\n' ' ')
  check "$1" "offered are not: ${lacks:-(nothing was wanted)}" test -z "$lacks" -a -s "$3"
}
options_of "$build/run_inference" >"$work/wanted"
check 'options were found' "$(wc -l <"$work/wanted") of run_inference" test "$(wc -l <"$work/wanted")" -ge 45
for words in "run_inference --" "mafat run --" "mafat predict --"; do
  # shellcheck disable=SC2086 # words
  complete_bash $words | sort >"$work/offered"
  has_all "bash: $words" "$work/offered" "$work/wanted"
done
for pair in pack_weights:pack make_weights:weights annotate:annotate mafat_serve:serve memory_limit:limit swap_cost:; do
  name=${pair%:*}
  [ -x "$build/$name" ] || continue
  options_of "$build/$name" >"$work/wanted.$name"
  complete_bash "$name" -- | sort >"$work/offered"
  has_all "bash: $name --" "$work/offered" "$work/wanted.$name"
  [ -z "${pair#*:}" ] || complete_bash mafat "${pair#*:}" -- | sort | cmp -s - "$work/offered" || fail 'bash: a command is its program' "mafat ${pair#*:}"
done
# mafat_ranks passes on options of runs only
if [ -x "$build/mafat_ranks" ]; then
  { options_of "$build/mafat_ranks"; "$build/mafat_ranks" --help | grep -oE '^  --[a-z-]+' | tr -d ' '; grep -vxE -e '--(predict|sweep|pareto|map|predictor|calibrate|ranks)' "$work/wanted"; } |
    sort -u >"$work/wanted.ranks"
  for words in "mafat_ranks --" "mafat ranks --"; do
    # shellcheck disable=SC2086 # words
    complete_bash $words | sort >"$work/offered"
    check "bash: $words" "differ: $(comm -3 "$work/offered" "$work/wanted.ranks" | tr -s '\t\n' ' ')" cmp "$work/offered" "$work/wanted.ranks"
  done
else skip 'bash: mafat_ranks --' 'it is not built'; fi
offers() { # WANTED WORD...: the offers for the last word, in this order
  local name="bash: ${*:2}" offered
  offered=$(complete_bash "${@:2}" | tr '\n' ' ')
  check "$name" "offered: $offered" test "$offered" = "$1 "
}
offers 'doctor predict run bench annotate serve pack weights limit ranks --help --version' mafat ''
offers 'predict pack' mafat p
offers 'winograd winograd-large' mafat run --algorithm w
offers 'winograd winograd-large' run_inference --algorithm w
offers 'float32 fp16' pack_weights --weights f
offers '--json' mafat doctor --j
offers 'float32 fp16' mafat-pack --weights f
offers '' mafat-limit -- cat models/sh
offers '' mafat run dog # a file's name: bash's own
offers '' memory_limit -- cat models/sh # and there, too: a list's words would end at the blanks of a name
for value in $(. "$build/completion/mafat.bash" && _mafat_words run --algorithm && _mafat_words run --decode && _mafat_words run --search); do
  "$build/run_inference" --help=all | grep -qw -e "$value" || fail 'values are known' "run_inference --help=all does not have $value"
done

if ! command -v zsh >/dev/null; then skip zsh 'is not installed'; else
  # Prints the function's offers: the shell's builtins are replaced by printing ones.
  cat >"$work/offer.zsh" <<'ZSH'
_describe() { [[ $1 == -o ]] && shift; print -l -- ${(P)2} }
_files() { print files }
words=("${@[2,-1]}") CURRENT=$(($# - 1)) PREFIX=$words[CURRENT]
source $1
ZSH
  complete_zsh() { PATH=$build:$PATH zsh -f "$work/offer.zsh" scripts/completion/_mafat "$@"; }
  for words in "run_inference --" "mafat run --"; do
    # shellcheck disable=SC2086 # words
    complete_zsh $words | sed 's/:.*//' | sort -u >"$work/offered"
    has_all "zsh: $words" "$work/offered" "$work/wanted"
  done
  if [ -x "$build/mafat_ranks" ]; then
    for words in "mafat_ranks --" "mafat ranks --"; do
      # shellcheck disable=SC2086 # words
      complete_zsh $words | sed 's/:.*//' | sort -u >"$work/offered"
      check "zsh: $words" "differ: $(comm -3 "$work/offered" "$work/wanted.ranks" | tr -s '\t\n' ' ')" cmp "$work/offered" "$work/wanted.ranks"
    done
  fi
  check 'zsh: commands' "$(complete_zsh mafat '' | tr '\n' ' ' | head -c 300)" test "$(complete_zsh mafat '' | sed 's/:.*//' | tr '\n' ' ')" = "$commands"
  check 'zsh: options are described' "$(complete_zsh mafat run --cpu)" grep -q '^--cpu:highest kernel level' <(complete_zsh mafat run --cpu)
  check 'zsh: files' "$(complete_zsh mafat run dog)" test "$(complete_zsh mafat run dog)" = files
fi
exit "$failed"
