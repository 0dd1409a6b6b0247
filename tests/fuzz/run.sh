#!/bin/sh
# usage: run.sh TARGET SECONDS RUNS
# Runs a fuzz target with random inputs for SECONDS, or until RUNS inputs have run. The script stops at an input that
# panics, takes 10 seconds, or needs more than 200 MB, and keeps the input in target/fuzz/TARGET-*. The corpus stays
# in target/fuzz/corpus for the next run.
set -eu
cd "$(dirname "$0")/../.."
host=$(rustc -vV | sed -n 's/^host: //p')
folder=target/fuzz
corpus=$folder/corpus/$1
log=$folder/$1.log
mkdir -p "$corpus"

# libFuzzer observes the branches that an input takes. These flags instrument them with a stable compiler.
RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
	"${CARGO:-cargo}" build --quiet --locked --release --manifest-path tests/fuzz/Cargo.toml \
	--target "$host" --target-dir "$folder"

begin=$(date +%s)
if ! FUZZ_TARGET=$1 FUZZ_SEEDS=$corpus "$folder/$host/release/fuzz" "$corpus" \
	-artifact_prefix="$folder/$1-" -dict=tests/fuzz/words.txt -max_len=20000 -max_total_time="$2" \
	-print_final_stats=1 -rss_limit_mb=200 -runs="$3" -timeout=10 >"$log" 2>&1; then
	grep -v '^#' "$log" | tail -n 60 >&2
	echo "error: $1 fails: the input is in $folder/$1-*, the log is $log" >&2
	exit 1
fi
inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
memory=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
echo "$1: $inputs inputs in $(($(date +%s) - begin)) s, at most $memory MB, no failure"
