#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each injected fault makes the conformance programs fail, with a title that names its effect; without
# one they pass. usage: test_inject.sh BUILD_DIR
set -euo pipefail

vmafuzz=$1/vmafuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
	printf '%s\n' "$*"
	failures=$((failures + 1))
}

# What a title of the fault looks like, as a regular expression.
title_of() {
	case $1 in
	dest-unmapped) echo 'mremap: destination lost on E[A-Z]+ \(.*\)' ;;
	tail-cut) echo 'mremap: (.* and )?source tail lost on E[A-Z]+ \(.*\)' ;;
	seal-ignored-munmap) echo 'munmap: (sealed page lost|seal ignored, success instead of EPERM)' ;;
	seal-ignored-mmap) echo 'mmap: (sealed page (lost|replaced|protection changed)|seal ignored, success instead of EPERM)' ;;
	seal-ignored-mremap) echo 'mremap: (sealed page (lost|replaced)|seal ignored, success instead of EPERM)' ;;
	seal-ignored-mprotect) echo 'mprotect: (sealed page protection changed|seal ignored, success instead of EPERM)' ;;
	partial-munmap) echo 'munmap: range lost on EPERM \(sealed page in the range\)' ;;
	page-zeroed) echo 'mremap: content of destination zeroed' ;;
	neighbour-unmapped) echo '(munmap|mremap): bystander lost' ;;
	neighbour-protected) echo 'mprotect: bystander protection changed' ;;
	wrong-errno) echo '[a-z]+: E[A-Z0-9]+ instead of E[A-Z0-9]+ \(.*\)' ;;
	success-for-nothing) echo '(munmap|mprotect): success, but range ' ;;
	residence-wrong) echo 'mincore: wrong value returned' ;;
	size-kept) echo 'read: success instead of SIGBUS' ;;
	rights-ignored) echo 'write: success instead of SIGSEGV' ;;
	fork-unseals) echo 'fork: sealed page seal lost' ;;
	fork-not-copied) echo 'end: content of bystander changed' ;;
	seal-ignored-shmat) echo 'shmat: (sealed page (sharing|protection) changed|seal ignored, success instead of EPERM)' ;;
	exec-keeps) echo 'exec: success, but child is still mapped' ;;
	seal-lost) echo 'mseal: .*seal lost' ;;
	lock-ignored) echo 'mlock(all)?: success, but range has other VmFlags' ;;
	locks-still-counted) echo 'totals: VmLck is not the sum of the VMAs' ;;
	seal-ignored-madvise) echo 'madvise: seal ignored, success instead of EPERM' ;;
	dontneed-kept) echo 'madvise: content of range changed' ;;
	dontneed-neighbour) echo 'madvise: content of bystander lost' ;;
	guard-missing) echo '(read|write): success instead of SIGSEGV \(guard page\)' ;;
	droppable-dumped) echo 'madvise: success instead of EINVAL \(droppable memory\)' ;;
	stack-gap-ignored) echo '(read|write|fill): success instead of SIGSEGV \(growth into the guard gap above a mapping\)' ;;
	limits-ignored) echo 'm(map|remap|protect): success instead of ENOMEM \(RLIMIT_(AS or RLIMIT_)?DATA\)' ;;
	huge-unreserved) echo 'mmap: success instead of ENOMEM \(no huge pages to reserve\)' ;;
	*) return 1 ;;
	esac
}

# Seals and guard pages cannot be ignored where there are none.
seals=true
guards=true
huge=true
printf 'mmap p0+1 rw anon private\nmadvise p0+1 guard_install\n' >"$work/guard.vma"
"$vmafuzz" replay "$work/guard.vma" | grep -q 'guard_install.*EINVAL' && guards=false
printf 'mmap p0+1 rw anon private\nmseal p0+1\n' >"$work/seal.vma"
"$vmafuzz" replay "$work/seal.vma" | grep -q 'mseal.*ENOSYS' && seals=false

# nor can huge pages be missing where there are some, or none are known
printf 'mmap p0+1 rw anon private hugetlb\n' >"$work/huge.vma"
"$vmafuzz" replay "$work/huge.vma" | grep -q 'hugetlb.*ENOMEM' || huge=false

"$vmafuzz" check >"$work/out" || fail "check without a fault: exit status $?:
$(grep -B 8 '^not ok' "$work/out")"

# A call that is ignored shows in its own programs, whichever it is.
for folder in "$VM_SOURCE_DIR"/corpus/conformance/*/; do
	call=$(basename "$folder")
	status=0
	"$vmafuzz" check --inject "ignored-$call" "$folder" >"$work/out" 2>&1 || status=$?
	[ "$status" -eq 1 ] || grep -q 'no such fault' "$work/out" ||
		fail "ignored-$call: exit status $status"
done

for fault in $("$vmafuzz" inject list | awk '!/CALL/ { print $1 }'); do
	title=$(title_of "$fault") || {
		fail "$fault: this test does not know its title"
		continue
	}
	$guards || [[ $fault != guard-missing ]] || continue
	$huge || [[ $fault != huge-* ]] || continue
	$seals || [[ $fault != *seal* && $fault != partial-munmap ]] || continue
	status=0
	"$vmafuzz" check --inject "$fault" >"$work/out" || status=$?
	[ "$status" -eq 1 ] || fail "check --inject $fault: exit status $status, not 1"
	grep -qE "^not ok .* # violation: $title" "$work/out" ||
		fail "check --inject $fault: no program fails with $title; titles are:
$(grep -E '^# (violation|deviation)' "$work/out" | sort | uniq -c)"
done

[ "$failures" -eq 0 ]
