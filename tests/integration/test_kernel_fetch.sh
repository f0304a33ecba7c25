#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetching a kernel from the machine's mirror; what is said where that cannot be.
set -euo pipefail

build=$1
vmafuzz=$build/vmafuzz
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# expect STATUS TEXT COMMAND...: its exit status, and that it says so.
expect() {
	local status=$1 text=$2 out got=0
	shift 2
	out=$("$@" 2>&1) || got=$?
	[ "$got" -eq "$status" ] || fail "$*: exit status $got, not $status: $out"
	grep -qF -- "$text" <<<"$out" || fail "$*: does not say \"$text\": $out"
}

export VMAFUZZ_CACHE=$dir/cache
expect 0 "no kernel in the cache yet" "$vmafuzz" kernel list
expect 3 "needs an action" "$vmafuzz" kernel
expect 3 "there is no kernel frobnicate" "$vmafuzz" kernel frobnicate
expect 3 "takes no operand" "$vmafuzz" kernel list x
expect 3 "either debian:VERSION" "$vmafuzz" kernel fetch
expect 3 "either debian:VERSION" "$vmafuzz" kernel fetch --all debian:6.12
expect 3 "give amd64 or arm64" "$vmafuzz" kernel available --arch vax
expect 3 "absolute path" env VMAFUZZ_CACHE=here "$vmafuzz" kernel list
expect 3 "there is no apt-get" env PATH="$dir" "$vmafuzz" kernel available
touch "$dir/file"
expect 3 "Not a directory" env VMAFUZZ_CACHE="$dir/file" "$vmafuzz" kernel fetch debian:6.12
[ "$failures" -eq 0 ] || exit 1

# The rest needs the mirror. Lists and kernels of the user's own cache are used where they are there.
unset VMAFUZZ_CACHE
command -v apt-get >/dev/null || { echo "skipped: no apt-get"; exit 77; }
if ! available=$(timeout 250 "$vmafuzz" kernel available --json 2>"$dir/err"); then
	echo "skipped: no list of packages: $(tail -1 "$dir/err")"
	exit 77
fi
grep -q '"version": "6.12.' <<<"$available" || fail "no 6.12 in: $available"
expect 3 "the mirror has no kernel debian:5.99" "$vmafuzz" kernel fetch debian:5.99
if ! timeout 250 "$vmafuzz" kernel fetch debian:7.3 >"$dir/out" 2>"$dir/err"; then
	echo "skipped: cannot fetch: $(tail -1 "$dir/err")"
	exit 77
fi
image=$("$vmafuzz" kernel list --json | sed -n 's/.*"image": "\(.*debian-7\.3.*\)".*/\1/p' | head -1)
# A bzImage has its boot sector's mark and "HdrS".
[ "$(dd if="$image" bs=1 skip=514 count=4 status=none)" = HdrS ] || fail "$image is no bzImage"
expect 0 "was there" "$vmafuzz" kernel fetch debian:7.3
[ "$failures" -eq 0 ]
