#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kcov in a guest: VMAFUZZ_KCOV_KERNEL is a folder with bzImage and vmlinux, or the newest fuzz-* kernel
# in the cache is taken.
set -euo pipefail

build=$(readlink -f "${1:?usage: test_kcov.sh BUILD-FOLDER}")
source_dir=${VM_SOURCE_DIR:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
vmafuzz=$build/vmafuzz
cache=${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmafuzz}
corpus=$source_dir/corpus/conformance
failures=0

skip() {
	echo "skipped: $*"
	exit 77
}

fail() {
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

[ -x "$build/vmafuzz-keeper" ] || skip "vmafuzz-keeper is not built"
command -v qemu-system-x86_64 >/dev/null || skip "there is no qemu-system-x86_64 (qemu-system-x86)"
kernel=${VMAFUZZ_KCOV_KERNEL:-$({ find "$cache"/kernels -maxdepth 1 -name 'fuzz-*' 2>/dev/null || true; } | sort -V | tail -n 1)}
[ -n "$kernel" ] || skip "no kernel with kcov: run vmafuzz kernel build debian:6.12 --preset fuzz, or set VMAFUZZ_KCOV_KERNEL"
for file in bzImage vmlinux; do
	[ -r "$kernel/$file" ] || skip "$kernel has no $file"
done
work=$(mktemp -d)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
target=qemu:$kernel/bzImage

# field FILE NAME: a number of a JSON object's top level.
field() {
	sed -n "s/^  \"$2\": \([0-9]*\),*$/\1/p" "$1" | head -n 1
}

cover() { # OUT ARGS...
	local out=$1
	shift
	"$vmafuzz" cover --vmlinux "$kernel/vmlinux" --json "$out" "$@" >"$work/text" 2>"$work/err" ||
		fail "cover $*: exit status $?: $(cat "$work/err")"
}

# The calls of these programs go where they must, and nowhere else.
cover "$work/mseal" --target "$target" "$corpus/mseal" --functions do_mseal
reached=$(field "$work/mseal" reached)
[ "${reached:-0}" -gt 10 ] || fail "only ${reached:-0} points of do_mseal"
cover "$work/other" --target "$target" "$corpus/mseal" --functions do_mseal,madvise_vma_behavior
cover "$work/twice" --target "$target" "$corpus/mseal" --functions do_mseal,madvise_vma_behavior
cmp -s "$work/other" "$work/twice" || fail "the same programs reached other points: $(diff "$work/other" "$work/twice" | head -5)"

# Programs that kcov watches are judged as they are without it.
"$vmafuzz" check --target "$target" "$corpus/mseal" "$corpus/mlockall" "$corpus/fork" >"$work/check" 2>&1 ||
	fail "check: $(grep -m3 '^not ok' "$work/check")"

# A campaign: edges count, points are kept, nothing is found to violate.
fuzz() { # OUT
	"$vmafuzz" fuzz --engine random --programs 150 --seed 7 --corpus "$source_dir/corpus/seeds" --target "$target" \
		--vmlinux "$kernel/vmlinux" --out "$1" >"$work/fuzz" 2>&1 || fail "fuzz: $(tail -n 3 "$work/fuzz")"
}
fuzz "$work/a"
edges=$(sed -n 's/.*"kernel_edges": \([0-9]*\).*/\1/p' "$work/a/stats.json")
[ "${edges:-0}" -gt 500 ] || fail "a campaign found ${edges:-0} edges"
[ "$(wc -l <"$work/a/pcs")" -gt 300 ] || fail "a campaign kept $(wc -l <"$work/a/pcs") points"
[ "$(sort "$work/a/pcs" | uniq -d | wc -l)" = 0 ] || fail "points are kept twice"
cover "$work/campaign" "$work/a"
[ "$(field "$work/campaign" reached)" -gt 300 ] || fail "cover of a campaign: $(field "$work/campaign" reached) points"
[ "$(field "$work/campaign" reached)" -lt "$(field "$work/campaign" points)" ] || fail "everything was reached"

# What is asked for and cannot be had.
"$vmafuzz" cover --vmlinux "$kernel/vmlinux" --target local "$corpus/mseal" >"$work/text" 2>&1 && fail "local has kcov"
grep -q 'has no kcov\|cannot' "$work/text" || [ -e /sys/kernel/debug/kcov ] || fail "no kcov: $(cat "$work/text")"

[ "$failures" -eq 0 ]
