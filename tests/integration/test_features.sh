#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One corpus has the same features whichever engine's side runs it, and each program of it the same
# ones every time; a distilled corpus has them all. usage: test_features.sh BUILD_DIR
set -euo pipefail

build=$(readlink -f "${1:?usage: test_features.sh BUILD-FOLDER}")
work=$(mktemp -d)
failures=0
trap 'rm -rf "$work"' EXIT

[ -x "$build/vmafuzz" ] && [ -x "$build/vmafuzz-executor" ] || {
	echo "skipped: vmafuzz or its executor is not built"
	exit 77
}

fail() {
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

expect() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# random NAME CORPUS: its programs once each, by the random engine; prints the number of features.
random() {
	"$build/vmafuzz" fuzz --engine random --out "$work/$1" --corpus "$2" \
		--programs "$(find "$2" -type f | wc -l)" --fail-on crash >"$work/$1.txt" 2>&1 || {
		fail "random engine: $(tail -1 "$work/$1.txt")"
	}
	sed -n 's/^  "features": \([0-9]*\),*$/\1/p' "$work/$1/stats.json"
}

# A corpus, and its features by three sides.
"$build/vmafuzz" fuzz --engine random --out "$work/made" --programs 400 --fail-on crash \
	>/dev/null 2>&1 || fail "no corpus was made"
corpus=$work/corpus
printf '\n' >"$work/made/corpus/newline" # libFuzzer runs this whether it is there or not
cp -r "$work/made/corpus" "$corpus"
want=$(random again "$corpus")
[ "$want" -gt 500 ] || fail "only $want features in the corpus"
expect "random engine, once more" "$(random third "$corpus")" "$want"

export VMAFUZZ_TARGET=local VMAFUZZ_CONTRACT=exact VMAFUZZ_OUT=$work/again
if [ -x "$build/vmafuzz-libfuzzer" ]; then
	"$build/vmafuzz-libfuzzer" -max_len=8192 -detect_leaks=0 -runs=0 "$corpus" \
		>"$work/libfuzzer.txt" 2>&1 || fail "libFuzzer: $(tail -1 "$work/libfuzzer.txt")"
	# It counts the edges of its own callbacks (cov) as features (ft), too.
	read -r cov ft <<<"$(sed -n 's/.*INITED cov: \([0-9]*\) ft: \([0-9]*\) .*/\1 \2/p' \
		"$work/libfuzzer.txt")"
	expect "libFuzzer's features" "$((ft - cov))" "$want"
else
	echo "not compared: vmafuzz-libfuzzer is not built"
fi
# AFL++ has one more: slot 0, so that a program without features is no broken target.
showmap() {
	AFL_MAP_SIZE=131072 AFL_QUIET=1 afl-showmap -q -r -m none -t 20000 -i "$corpus" -o "$1" -- \
		"$build/vmafuzz-afl" >"$work/afl.txt" 2>&1 || fail "afl-showmap: $(tail -1 "$work/afl.txt")"
}
if [ -x "$build/vmafuzz-afl" ] && command -v afl-showmap >/dev/null; then
	showmap "$work/maps"
	expect "AFL++'s features" \
		"$(cat "$work"/maps/* | sed 's/:.*//' | sort -u | grep -vcx '0*')" "$want"
	showmap "$work/maps-again"
	diff -rq "$work/maps" "$work/maps-again" || fail "AFL++: a program has other features now"
else
	echo "not compared: vmafuzz-afl is not built, or afl-showmap not there"
fi
unset VMAFUZZ_TARGET VMAFUZZ_CONTRACT VMAFUZZ_OUT

# Distilled: fewer programs, the same features.
before=$(find "$work/made/corpus" -type f | wc -l)
"$build/vmafuzz" fuzz --minimize-corpus --out "$work/made" --corpus "$corpus" >"$work/distil.txt" \
	2>&1 || fail "--minimize-corpus: exit status $?: $(cat "$work/distil.txt")"
after=$(find "$work/made/corpus" -type f | wc -l)
expect "distilled" "$(cat "$work/distil.txt")" \
	"$work/made/corpus: $before programs before, $after after, with the same $want features"
[ "$after" -lt "$before" ] || fail "$after of $before programs are left"
expect "features of the distilled corpus" "$(random distilled "$work/made/corpus")" "$want"
[ ! -e "$work/made/corpus.new" ] || fail "corpus.new is left behind"

[ "$failures" -eq 0 ]
