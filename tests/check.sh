# shellcheck shell=bash
# shellcheck disable=SC2034 # $failed is the exit status of who sources this
# What tests of command lines say, and count: sourced by tests/cli/*.sh. $suite, if set, stands before every name; $log, if
# set, takes what checks print, and its last line is told where one fails.
failed=0

ok() { printf 'ok %s%s\n' "${suite:+$suite }" "$1"; }
skip() { printf 'skip %s%s: %s\n' "${suite:+$suite }" "$1" "$2"; }
fail() {
  printf 'FAIL %s%s: %s\n' "${suite:+$suite }" "$1" "$2"
  failed=1
}
check() { # NAME WHY COMMAND...: the command must succeed
  local name=$1 why=$2
  shift 2
  if "$@" >"${log:-/dev/null}" 2>&1; then ok "$name"; else fail "$name" "$why${log:+; $(tail -n 1 "$log")}"; fi
}
bad() { # NAME TEXT ARGUMENT...: run refuses them with exit status 2 and one line on stderr ($err) that has the text
  local name=$1 text=$2
  shift 2
  run "$@"
  if [ "$code" = 2 ] && [ ! -s "$out" ] && [ "$(wc -l <"$err")" = 1 ] && grep -qF -e "$text" "$err"; then ok "$name"; else
    fail "$name" "exit status $code, $(head -c 300 "$out" "$err")"
  fi
}
