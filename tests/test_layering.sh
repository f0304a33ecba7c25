#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/layering.sh must see what it is there to see: small trees that break one rule each.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fresh_tree() {
	rm -rf "${work:?}"/*
	mkdir -p "$work"/{oracle,fuzz,cli,harness/{program,trace,target}}
	echo 'int program(void); int program(void) { return 1; }' >"$work/harness/program/a.c"
	echo 'int program(void); int oracle(void); int oracle(void) { return program(); }' >"$work/oracle/a.c"
}

layering() {
	local part
	for part in oracle harness/program; do
		gcc -fPIC -c "$work/$part/a.c" -o "$work/a.o"
		rm -f "$work/libvm_${part##*/}.a"
		ar rcs "$work/libvm_${part##*/}.a" "$work/a.o"
	done
	bash "$here/layering.sh" "$work" "$work"
}

# caught WORDS: the tree is refused, with these words.
caught() {
	local said
	if said=$(layering) || [[ $said != *"$1"* ]]; then
		printf 'not caught: %s (it said: %s)\n' "$1" "$said"
		failures=$((failures + 1))
	fi
}

fresh_tree
layering || { echo "a good tree is refused"; failures=1; }

fresh_tree
echo '#include "fuzz/x.h"' >"$work/harness/trace/a.h"
caught 'harness/trace must not include "fuzz/x.h"'

fresh_tree
echo '#include "harness/target/target.h"' >"$work/oracle/a.h"
caught 'oracle must not include "harness/target/target.h"'

fresh_tree
echo '#include "cli/cmd.h"' >"$work/fuzz/a.h"
caught 'fuzz must not include "cli/cmd.h"'

fresh_tree
echo '#include "oracle/verdict.h"' >"$work/harness/target/a.c"
caught 'harness/target must not include "oracle/verdict.h"'

fresh_tree
printf '#include <stdio.h>\nint f(int x); int f(int x) { return printf("%%d", x); }\n' >"$work/oracle/a.c"
caught 'must not use printf'

fresh_tree
printf '#include <unistd.h>\nint f(void); int f(void) { return getpid(); }\n' >"$work/harness/program/a.c"
caught 'libvm_program.a must not use getpid'

fresh_tree
echo 'int f(void); int f(void) { static int calls; return ++calls; }' >"$work/oracle/a.c"
caught '.bss is not empty'

fresh_tree
echo 'int f(void); static int v; static int *p[] = { &v }; int f(void) { return *p[0]++; }' >"$work/oracle/a.c"
caught '.data'

[ "$failures" -eq 0 ]
