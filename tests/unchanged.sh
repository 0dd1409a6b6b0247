#!/bin/sh
# Runs a test program for cargo. The tests of the runtime read nothing but the program, so they run again only after the
# program has changed.

[ "$CARGO_PKG_NAME" = kube-manager ] || exec "$@"
passed="$1.passed"
if [ "$passed" -nt "$1" ]; then
	echo "the tests of $CARGO_PKG_NAME have passed"
	exit
fi
"$@" && : >"$passed"
