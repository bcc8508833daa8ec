#!/usr/bin/env bash
# Checks mafat-plan(7): every plan on the page is valid, reads back as documented, or is refused as
# documented. Run from the project's root; BUILD names the build folder (default: build).
set -u
build=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=plan
work=$(mktemp -d)
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
log=$work/log

page=doc/man/mafat-plan.7
cfg=/usr/share/darknet/cfg/yolov2.cfg
if [ ! -f "$cfg" ]; then
  skip page "no $cfg (Debian's package darknet)"
  exit 0
fi

predict() { # PLAN OPTION...: predicts the plan
  local plan=$1
  shift
  "$build/run_inference" --predict "$@" --memory 4G --plan "$plan" "$cfg"
}
reads_back() { # PLAN
  predict "$1" --json 2>"$log" | sed -n 's/.*"plan":"\([^"]*\)".*/\1/p'
}
accepts() { # PLAN
  if predict "$1" >"$log" 2>&1; then ok "accepts $1"; else fail "accepts $1" "$(tail -n 1 "$log")"; fi
}
section() { # NAME: its lines
  sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$page"
}

# ---- Plans, and plans with further words

sed -n 's/^\.\(It Li\|Ql\) \([0-9[rp][^ ]*[x0-9s/][^ ]*\).*/\2/p; s/.* --plan \([^ ]*\) .*/\1/p' "$page" | grep -E '^(rows|panels|[0-9[])' |
  sort -u >"$work/plans"
sed -n 's/^\.It Li \(split([^ ]*\/NoCut\)$/\1/p' "$page" >>"$work/plans"
[ "$(wc -l <"$work/plans")" -ge 20 ]
check 'plans of the page' "only $(wc -l <"$work/plans") were found" test $? = 0
while read -r plan; do accepts "$plan"; done <"$work/plans"
sed -n 's/^\.\(It Li\|Ql\) :\([^ ]*\).*/\2/p' "$page" | sort -u >"$work/words"
while read -r word; do
  case $word in
  balanced) accepts "2x2:$word" ;;
  early | bricks) accepts "rows4:$word" ;;
  *) accepts "panels:$word" ;;
  esac
done <"$work/words"

# ---- As read back

section 'READING BACK' | sed -n '/^\.Bd/,/^\.Ed/{/^\./!p}' >"$work/pairs"
while read -r written canonical; do
  told=$(reads_back "$written")
  check "reads back $written" "as $told, not $canonical" test "$told" = "$canonical"
  told=$(reads_back "$canonical")
  check "canonical $canonical" "read back as $told" test "$told" = "$canonical"
done <"$work/pairs"
check 'pairs of the page' 'there are none' test -s "$work/pairs"

# ---- As refused

section DIAGNOSTICS | sed -n 's/^\.It \(plan .*\)/\1/p' | sed 's/\\& / /' >"$work/messages"
while IFS= read -r message; do
  plan=${message#plan }
  case $plan in
  *:\ the\ *) plan=${plan%%: the *} ;;
  *:\ each\ *) plan=${plan%%: each *} ;;
  *:\ given\ *) plan=${plan%%: given *} ;;
  *) plan=${plan%%: expected *} ;;
  esac
  predict "$plan" >"$work/out" 2>"$log"
  status=$?
  if [ $status = 2 ] && [ ! -s "$work/out" ] && [ "$(cat "$log")" = "run_inference: $message" ]; then ok "refuses $plan"; else
    fail "refuses $plan" "exit status $status: $(cat "$log")"
  fi
done <"$work/messages"
check 'messages of the page' 'there are none' test -s "$work/messages"
exit "$failed"
