#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Failing allocations: skipped where the kernel cannot; in a guest with CONFIG_FAULT_INJECTION, which is
# VMAFUZZ_TEST_FUZZ_IMAGE or a kernel of the cache that was built for fuzzing.
set -euo pipefail

build=$(readlink -f "${1:?usage: test_fail_nth.sh BUILD-FOLDER}")
source_dir=${VM_SOURCE_DIR:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
vmafuzz=$build/vmafuzz
cache=${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmafuzz}
work=$(mktemp -d)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

skip() {
	[ "$failures" -eq 0 ] || exit 1
	echo "skipped: $*"
	exit 77
}

has() { # FILE WORDS
	grep -qF -- "$2" "$1" || fail "$1 does not say '$2': $(cat "$1")"
}

# ---- a kernel that cannot ----

cat >"$work/munmap.vma" <<'VMA'
# The first allocation of a munmap that splits a VMA is the new VMA.
mmap   p0+4 rw anon private fill
munmap p1+1 fail-nth 1             => ENOMEM, untouched
munmap p1+1                        => ok, changed
VMA
if [ ! -e /proc/self/fail-nth ]; then
	"$vmafuzz" check "$work/munmap.vma" >"$work/out" || fail "check of a fail-nth program here: $?"
	has "$work/out" '# SKIP allocations cannot be made to fail'
	"$vmafuzz" check --fail-nth all "$source_dir/corpus/conformance/munmap/middle.vma" >"$work/out" ||
		fail "check --fail-nth here: $?"
	has "$work/out" '# SKIP allocations cannot be made to fail'
	"$vmafuzz" replay "$work/munmap.vma" >"$work/out" || fail "replay of a fail-nth program here: $?"
	has "$work/out" '(no allocation can be made to fail here)'
fi
"$vmafuzz" check --fail-nth some "$work/munmap.vma" >"$work/out" 2>&1 && fail "--fail-nth some is taken"

# ---- a guest that can ----

[ -x "$build/vmafuzz-keeper" ] || skip "vmafuzz-keeper is not built"
command -v qemu-system-x86_64 >/dev/null || skip "there is no qemu-system-x86_64 (qemu-system-x86)"
image=${VMAFUZZ_TEST_FUZZ_IMAGE:-$({ find "$cache"/kernels/*fuzz* \( -name 'bzImage*' -o -name 'vmlinuz*' \) -size +1M 2>/dev/null ||
	true; } | sort -V | tail -n 1)}
[ -n "$image" ] || skip "no kernel with CONFIG_FAULT_INJECTION: build one with vmafuzz kernel build" \
	"debian:6.12 --preset fuzz, or set VMAFUZZ_TEST_FUZZ_IMAGE"

cat >"$work/moves.vma" <<'VMA'
# What a fixed move replaces is gone before the move is tried.
mmap   p0+4 rw anon private fill
mmap   p16+6 r anon private
mremap p0+4 -> p16+6 maymove|fixed
VMA
guest() { # ARGS
	"$vmafuzz" check --target "qemu:$image" --timeout 30000 "$@"
}

guest "$work/munmap.vma" >"$work/out" || fail "fail-nth 1 of a munmap: $(cat "$work/out")"
has "$work/out" 'ok 1 '
grep -q SKIP "$work/out" && fail "skipped on a kernel that can: $(cat "$work/out")"

guest --fail-nth all "$work/moves.vma" >"$work/out" || fail "a walk: exit status $?: $(cat "$work/out")"
has "$work/out" 'deviation: mremap: destination lost on ENOMEM (an allocation failed) (call 4, allocation '
has "$work/out" '# site mremap: vm_area_dup < copy_vma < move_vma'
grep -Eq '^# site mmap: vm_area_alloc < .*: fails untouched [1-9]' "$work/out" ||
	fail "no mmap failed and left all untouched: $(cat "$work/out")"
grep -Eq '^# ([2-9]|[1-9][0-9]+) allocations failed in 4 calls' "$work/out" || fail "too few: $(cat "$work/out")"

status=0
guest --fail-nth all --fail-on deviation "$work/moves.vma" >"$work/out" || status=$?
[ $status = 1 ] || fail "--fail-on deviation: exit status $status, not 1"
has "$work/out" 'not ok 1 '

[ "$failures" -eq 0 ]
