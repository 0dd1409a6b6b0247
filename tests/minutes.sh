#!/bin/sh
# Shows what `make test` spends its time on. `make` calls this script:
#
#   minutes.sh begin             forgets earlier runs
#   minutes.sh step NAME COLD    begins a step, and says how long it takes when nothing is compiled yet
#   minutes.sh table             prints how long each step took, and what cargo did for generated projects
#
# The script that replaces cargo for these projects writes the file `cargo`: processor time and subcommand.
set -eu
cd "$(dirname "$0")/.."
folder=target/minutes
mkdir -p "$folder"

case $1 in
begin) rm -f "$folder"/* ;;
step)
	echo "== $2 (cold: $3)" >&2
	printf '%s\t%s\n' "$(date +%s)" "$2" >>"$folder/steps"
	;;
table)
	printf '%s\tend\n' "$(date +%s)" >>"$folder/steps"
	echo
	awk -F '\t' '
		BEGIN { printf "minutes  step\n" }
		NR > 1 { printf "%7.1f  %s\n", ($1 - begin) / 60, name }
		NR == 1 { first = $1 }
		{ begin = $1; name = $2 }
		END { printf "%7.1f  all\n", (begin - first) / 60 }
	' "$folder/steps"
	[ -f "$folder/cargo" ] || exit 0
	echo
	awk -F '\t' '
		BEGIN { printf "processor minutes  runs  cargo, for generated projects\n" }
		{ seconds[$2] += $1; runs[$2]++ }
		END { for (name in runs) printf "%17.1f %5d  %s\n", seconds[name] / 60, runs[name], name }
	' "$folder/cargo"
	;;
esac
