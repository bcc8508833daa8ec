# bash completion for mafat and its programs. Options are those that a program's own --help=all lists, so
# that none is missing here. bash-completion loads this file by the command's name; by hand:
# source mafat.bash
# shellcheck shell=bash disable=SC2207 # words of ours have no blanks

# _mafat_options PROGRAM...: the options that its --help=all lists, one a line
_mafat_options() {
  "$@" --help=all 2>/dev/null | sed -n 's/^  \(-[^ ].*\)/\1/p' | sed 's/  .*//' | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u
}

# _mafat_words NAME WORD: the words that an option's value is one of. Those of the tables of options and searches are put in
# as this file is built (scripts/options.awk).
_mafat_words() {
  case $1:$2 in
  # WORDS
  *:--threads) echo auto 1 2 4 ;;
  *:--memory | *:--limit) echo 8M 16M 32M 64M 128M ;;
  run:--predictor) echo exact paper ;;
  pack:--fork) echo auto darknet alexeyab ;;
  pack:--weights) echo float32 fp16 int8 int4 ;;
  pack:--activations) echo float32 int8 ;;
  limit:--format) echo text json csv ;;
  limit:--swap) echo none all ;;
  esac
}

_mafat() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=("$1") name=${1##*/} i
  COMPREPLY=()
  case $name in
  mafat)
    if [ "$COMP_CWORD" = 1 ]; then
      COMPREPLY=($(compgen -W "$("$1" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p') --help --version" -- "$word"))
      return
    fi
    name=${COMP_WORDS[1]} program+=("$name")
    ;;
  mafat-*) name=${name#mafat-} ;;
  run_inference) name=run ;;
  mafat_ranks) name=ranks ;;
  mafat_serve) name=serve ;;
  pack_weights) name=pack ;;
  memory_limit) name=limit ;;
  esac
  case $name in predict | bench) name=run ;; esac
  if [ "$name" = limit ]; then # behind -- a command of its own, and files
    for ((i = 1; i < COMP_CWORD; i++)); do
      [ "${COMP_WORDS[i]}" = -- ] || continue
      [ "$i" != $((COMP_CWORD - 1)) ] || COMPREPLY=($(compgen -c -- "$word"))
      return
    done
  fi
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_mafat_options "${program[@]}")" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$(_mafat_words "$name" "$before")" -- "$word"))
  fi
}
# Where nothing of this fits, files.
complete -o bashdefault -o default -F _mafat mafat run_inference mafat_serve mafat-pack mafat-weights mafat-annotate mafat-limit mafat_ranks swap_cost \
  pack_weights make_weights annotate memory_limit
