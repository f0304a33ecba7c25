#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The benchmark measures everything that it promises, on programs that do what they are meant to; how
# fast is not asked. usage: test_bench.sh BUILD_DIR
set -euo pipefail

bench=$1/vmafuzz-bench
failures=0

fail() {
	printf '%s\n' "$*"
	failures=$((failures + 1))
}

said=$("$bench" --rounds 2 --programs 60) || fail "exit status $?, expected 0"
for line in '^floor +[1-9]' '^maps +[1-9]' '^full +[1-9]' '^maps, judged +[1-9]' '^full, judged +[1-9]' \
	'^decode and judge +[1-9]' '^judge +[1-9]' \
	'^aim: maps at least 0\.75 of the floor: (met|not met) \([0-9.]+\)$' \
	'^aim: full at least 0\.45 of the floor: (met|not met) \([0-9.]+\)$' \
	'^aim: decode and judge at least 500000 calls/s: (met|not met) \([0-9]+\)$'; do
	grep -qE "$line" <<<"$said" || fail "no line /$line/ in: $said"
done
# All calls but, on old kernels, mseal.
grep -qE '^60 programs of 12 calls, .*; (9[5-9]\.[0-9]|100\.0)% of the calls succeed, 0 violations$' \
	<<<"$said" || fail "the programs do not do what they should: $said"

# refused ARGS...: exit status 3 and a line that names the last argument.
refused() {
	local status=0
	said=$("$bench" "$@" 2>&1 >/dev/null) || status=$?
	[ "$status" -eq 3 ] || fail "$*: exit status $status, expected 3"
	grep -qF -- "${!#}" <<<"$said" || fail "$*: \"$said\" does not name it"
}
refused --rounds 0
refused --programs -1
refused --seed 1x
refused --nonsense
refused something

[ "$failures" -eq 0 ]
