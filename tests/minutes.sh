#!/bin/sh
# Shows what `make test` spends its time on. `make` calls this script:
#
#   minutes.sh begin             forgets earlier runs
#   minutes.sh step NAME COLD    begins a step, and says how long it takes when nothing is compiled yet
#   minutes.sh table             prints how long each step took
set -eu
cd "$(dirname "$0")/.."
steps=target/steps
mkdir -p target

case $1 in
begin) rm -f "$steps" ;;
step)
	echo "== $2 (cold: $3)" >&2
	printf '%s\t%s\n' "$(date +%s)" "$2" >>"$steps"
	;;
table)
	printf '%s\tend\n' "$(date +%s)" >>"$steps"
	echo
	awk -F '\t' '
		BEGIN { printf "minutes  step\n" }
		NR > 1 { printf "%7.1f  %s\n", ($1 - begin) / 60, name }
		NR == 1 { first = $1 }
		{ begin = $1; name = $2 }
		END { printf "%7.1f  all\n", (begin - first) / 60 }
	' "$steps"
	;;
esac
