#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What ./dev says and does, with stand-ins for the tools that it calls: nothing is installed.
set -euo pipefail

source_dir=${VM_SOURCE_DIR:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tree" "$work/elsewhere"
cp "$source_dir/dev" "$work/tree/dev"
failures=0

# Only these programs are there.
for tool in bash cat dirname readlink mktemp rm grep tee nproc stat env; do
	ln -s "$(command -v "$tool")" "$work/bin/$tool"
done

# stand_in NAME: a program that does what its standard input says, and notes that it was called.
stand_in() {
	{
		echo '#!/bin/bash'
		printf 'echo "%s $*" >>"%s"\n' "$1" "$work/called"
		cat
	} >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# run ARGS...: leaves what ./dev said in $said, its status in $status, calls in $work/called.
run() {
	status=0
	: >"$work/called"
	said=$(cd "$work/elsewhere" && PATH=$work/bin "$work/tree/dev" "$@" 2>&1) || status=$?
}

# expect WHAT STATUS WORDS...
expect() {
	local what=$1 wanted=$2 words
	shift 2
	if [ "$status" -ne "$wanted" ]; then
		printf '%s: exit status %d, not %d; it said: %s\n' "$what" "$status" "$wanted" "$said"
		failures=$((failures + 1))
	fi
	for words; do
		if [[ $said != *"$words"* ]]; then
			printf '%s: no "%s" in: %s\n' "$what" "$words" "$said"
			failures=$((failures + 1))
		fi
	done
}

# expect_calls WHAT LINE...: exactly these calls of stand-ins that match apt-get.
expect_calls() {
	local what=$1 got wanted
	shift
	got=$(grep '^apt-get' "$work/called" || true)
	wanted=$(printf '%s\n' "$@")
	if [ "$got" != "$wanted" ]; then
		printf '%s: called\n%s\nnot\n%s\n' "$what" "$got" "$wanted"
		failures=$((failures + 1))
	fi
}

user_is() {
	stand_in id <<-END
		if [ "\$1" = -u ]; then echo $1; else echo someone; fi
	END
}

all_installed() { stand_in dpkg-query <<<'echo installed'; }

ninja_missing() {
	stand_in dpkg-query <<-'END'
		case $* in *ninja-build*) exit 1 ;; *) echo installed ;; esac
	END
}

stand_in apt-get </dev/null
stand_in cmake </dev/null
stand_in setarch <<<'[ "$2" = true ] || { shift; exec "$@"; }'
user_is 0
all_installed

run help
expect "help" 0 "./dev COMMAND" run build test lint bench soak
run
expect "no command" 3 "./dev COMMAND"
run tset
expect "unknown command" 3 'there is no command "tset"'
run soak long
expect "soak without a number" 3 'not "long"'

run build
expect "all installed" 0 "building build/"
expect_calls "all installed" ""

ninja_missing
options="-q -y -o DPkg::Lock::Timeout=300"
run build
expect "one missing, as root" 0 "apt-get install --no-install-recommends ninja-build"
expect_calls "one missing, as root" "apt-get $options update" \
	"apt-get $options install --no-install-recommends ninja-build"

user_is 1000
run build
expect "one missing, no sudo" 3 "run as root: apt-get install --no-install-recommends ninja-build"
expect_calls "one missing, no sudo" ""

stand_in sudo <<<'[ "$1" = -n ] || exec "$@"'
run build
expect "one missing, with sudo" 0 "apt-get install"
expect_calls "one missing, with sudo" "apt-get $options update" \
	"apt-get $options install --no-install-recommends ninja-build"

stand_in sudo <<<'exit 1'
run build
expect "sudo refused" 3 "run as root: apt-get install --no-install-recommends ninja-build"

all_installed
stand_in cmake <<<'echo "no such compiler"; exit 1'
run build
expect "configuring fails" 3 "no such compiler" "could not configure build/"
stand_in cmake </dev/null

run run
expect "nothing to run" 3 "build/vmafuzz was not built"
mkdir -p "$work/tree/build"
stand_in vmafuzz <<<'echo "in $PWD: $*"; exit 1'
mv "$work/bin/vmafuzz" "$work/tree/build/vmafuzz"
run run --time 10
expect "run" 1 "in $work/elsewhere: fuzz --time 60 --corpus $work/tree/corpus/seeds --out $work/tree/out --time 10"
run soak 5 --seed 3
expect "soak" 1 "fuzz --engine random --time 5 " "--seed 3"

stand_in ctest <<'END'
case $* in
*build-asan*)
	echo '1/1 Test #1: unit-test_a ......................   Passed    0.02 sec'
	;;
*)
	echo '1/5 Test  #1: unit-test_a ......................   Passed    0.00 sec'
	echo '2/5 Test  #2: unit-test_b ......................***Failed    0.12 sec'
	echo '3/5 Test  #3: unit-test_c ......................***Not Run   0.00 sec'
	echo '4/5 Test  #4: unit-test_d ......................***Exception: SegFault  0.00 sec'
	echo '5/5 Test #10: integration-sk ...................***Skipped   0.00 sec'
	exit 8
	;;
esac
END
run test
expect "tests fail" 1 $'\n2 passed, 3 failed, 1 skipped'
stand_in ctest <<<"echo '1/1 Test #1: unit-test_a ...   Passed    0.02 sec'"
run test
expect "tests pass" 0 $'\n2 passed, 0 failed'
stand_in ctest <<<"echo '1/1 Test #1: unit-test_a ...   Passed    0.02 sec'; exit 8"
run test
expect "ctest itself fails" 1 $'\n2 passed, 0 failed'
stand_in ctest <<<'echo "No tests were found!!!"'
run test
expect "no tests" 3 "no test was run"

[ "$failures" -eq 0 ]
