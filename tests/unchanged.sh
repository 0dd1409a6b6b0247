#!/bin/sh
# Runs a test program for cargo, in the folder of its package. The tests of the runtime read nothing but the program and
# the files of the package, so they run again only after one of these has changed.

[ "$CARGO_PKG_NAME" = kube-manager ] || exec "$@"
passed="$1.passed"
if [ "$passed" -nt "$1" ] && [ -z "$(find . -newer "$passed" -print -quit)" ]; then
	echo "the tests of $CARGO_PKG_NAME have passed"
	exit
fi
"$@" && : >"$passed"
