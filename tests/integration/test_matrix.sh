#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vmafuzz matrix: on two targets of this machine, on one that cannot be run, and on two guests.
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

# run STATUS COMMAND...: its output in $dir/out and $dir/err.
run() {
	local status=$1 got=0
	shift
	"$@" >"$dir/out" 2>"$dir/err" || got=$?
	[ "$got" -eq "$status" ] || fail "$*: exit status $got, not $status: $(cat "$dir/out" "$dir/err")"
}

says() { grep -qF -- "$1" "$dir/out" || fail "no \"$1\" in: $(cat "$dir/out")"; }

mkdir "$dir/programs"
cat >"$dir/programs/lost.vma" <<'END'
mmap p0+4 rw anon private
mprotect p2+2 r
mmap p16+4 rw anon private
fill p16+4
mremap p0+4 -> p16+6 maymove|fixed
END
cat >"$dir/programs/plain.vma" <<'END'
mmap p0+4 rw anon private fill
munmap p1+1
END

real_cache=${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmafuzz}
export VMAFUZZ_CACHE=$dir/cache
run 3 "$vmafuzz" matrix
grep -q 'kernel fetch --all' "$dir/err" || fail "does not say how to get kernels: $(cat "$dir/err")"
run 3 "$vmafuzz" matrix debian-6.12 "$dir/programs"
grep -q 'kernel fetch debian:6.12' "$dir/err" || fail "does not say how to get it: $(cat "$dir/err")"
run 3 "$vmafuzz" matrix local "$dir/none.vma"

# A good kernel, and one that loses what a failed move must keep.
plain="exec:$build/vmafuzz-executor"
broken="exec:$build/vmafuzz-executor --inject neighbour-unmapped"
run 1 "$vmafuzz" matrix "$plain" "$broken" "$dir/programs/plain.vma" --json "$dir/m.json" --page "$dir/m.md"
says '.V  '
grep -q '"explained": false' "$dir/m.json" || fail "the violation counts as explained: $(cat "$dir/m.json")"
grep -q 'not explained yet' "$dir/m.md" || fail "the page does not say so: $(cat "$dir/m.md")"

# One that cannot be run says why, and the others are run all the same.
run 3 "$vmafuzz" matrix local exec:false "$dir/programs/plain.vma"
says 'not run: '
says 'profile'
[ -z "$(ls -A "$dir/cache/matrix")" ] || fail "verdicts of targets are kept: $(ls -A "$dir/cache/matrix")"
[ "$failures" -eq 0 ] || exit 1

# Guests of the user's own cache.
export VMAFUZZ_CACHE=$real_cache
command -v qemu-system-x86_64 >/dev/null || { echo "skipped: no qemu-system-x86_64"; exit 77; }
for name in debian-6.12 debian-6.17; do
	"$vmafuzz" kernel list | grep -q "^$name" || {
		echo "skipped: $name is not in the cache: vmafuzz kernel fetch ${name/-/:}"
		exit 77
	}
done
run 0 timeout 200 "$vmafuzz" matrix debian-6.12 debian-6.17 "$dir/programs"
says 'D.  mremap: destination lost on EFAULT (source crosses a VMA)'
says 'gone in 6.17'
# What is known is not run again.
run 0 timeout 20 "$vmafuzz" matrix debian-6.12 debian-6.17 "$dir/programs"
says 'gone in 6.17'
[ ! -s "$dir/err" ] || fail "ran again: $(cat "$dir/err")"
[ "$failures" -eq 0 ]
