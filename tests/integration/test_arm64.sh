#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An arm64 guest runs conformance programs; those of another architecture are skipped with the reason.
# Skipped where there is no cross compiler, no QEMU for arm64 or no arm64 kernel in the cache.
set -euo pipefail

build=$(readlink -f "${1:?usage: test_arm64.sh BUILD-FOLDER}")
source_dir=${VM_SOURCE_DIR:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
corpus=$source_dir/corpus/conformance
cache=${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmafuzz}
failures=0

skip() {
	echo "skipped: $*"
	exit 77
}

fail() {
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

[ -x "$build/vmafuzz-executor-arm64" ] ||
	skip "vmafuzz-executor-arm64 is not built: install gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"
command -v qemu-system-aarch64 >/dev/null ||
	skip "there is no qemu-system-aarch64: install qemu-system-arm"
kernel=$(find "$cache/kernels" -maxdepth 1 -name 'debian-6.12.*-arm64' -printf '%f\n' 2>/dev/null |
	sort -V | tail -n 1)
[ -n "$kernel" ] || skip "no arm64 kernel: vmafuzz kernel fetch debian:6.12 --arch arm64"

work=$(mktemp -d)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT

# check NAME VMAFUZZ PATH...: its output is in $work/NAME, its exit status in $status.
check() {
	local name=$1 vmafuzz=$2
	shift 2
	status=0
	"$vmafuzz" check --target "kernel:$kernel" "$@" >"$work/$name" 2>&1 || status=$?
}

# Nothing to run there: one line says what to install.
mkdir "$work/bin"
cp "$build/vmafuzz" "$build/vmafuzz-keeper" "$work/bin"
check missing "$work/bin/vmafuzz" "$corpus/munmap"
[ "$status" = 3 ] || fail "without an executor: exit status $status, not 3"
grep -q "vmafuzz-executor-arm64 .*: install .* gcc-aarch64-linux-gnu" "$work/missing" ||
	fail "without an executor: $(cat "$work/missing")"

check slice "$build/vmafuzz" "$corpus"/{munmap,mremap,mseal,mprotect} "$corpus/mmap/low_32bit.vma"
[ "$status" = 0 ] || fail "exit status $status: $(grep -E '^not ok|^[^ok#]' "$work/slice" | head -n 5)"
grep -q "low_32bit # SKIP of x86_64 alone, and this is aarch64" "$work/slice" ||
	fail "what is of x86 alone was not skipped: $(tail -n 20 "$work/slice")"
pass=$(sed -n 's/^# pass \([0-9]*\), fail 0, .*/\1/p' "$work/slice")
[ "${pass:-0}" -ge 150 ] || fail "'${pass}' programs passed, of 150 and more"

[ "$failures" = 0 ]
