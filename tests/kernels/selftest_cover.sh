#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the kernel's own selftests go through, as `vmafuzz cover --against` reads it.
# usage: tests/kernels/selftest_cover.sh SOURCE BZIMAGE OUT [TEST...]
# SOURCE: the kernel's source; BZIMAGE: built from it with kcov (vmafuzz kernel build --preset fuzz);
# OUT: the points that were reached, one a line. TEST: names in tools/testing/selftests/mm, by default
# those of mseal and mremap. Writes what the tests said to OUT.log. Exit status: 0, or 3 if it cannot.
set -euo pipefail

die() { printf 'selftest_cover: %s\n' "$*" >&2; exit 3; }

[ $# -ge 3 ] || die "usage: $0 SOURCE BZIMAGE OUT [TEST...]"
source=$1 image=$2 out=$3
shift 3
[ $# -gt 0 ] || set -- mseal_test mremap_test mremap_dontunmap
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
selftests=$source/tools/testing/selftests
[ -d "$selftests/mm" ] || die "there is no $selftests/mm: give the kernel's source"
[ -r "$image" ] || die "cannot read $image"
command -v qemu-system-x86_64 >/dev/null || die "qemu-system-x86_64 is missing: install qemu-system-x86"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/tests"
gcc -O2 -static -o "$work/root/init" "$here/selftest_init.c"
for test; do
	# shellcheck disable=SC2046
	gcc -O2 -static -D_GNU_SOURCE= -D__NR_mseal=462 -I "$source/tools/include/uapi" \
		-I "$selftests" -o "$work/root/tests/$test" "$selftests/mm/$test.c" \
		$([ -e "$selftests/mm/vm_util.c" ] && echo "$selftests/mm/vm_util.c") \
		"$here/kcov_selftest.c" -lpthread 2>"$work/cc.log" ||
		die "cannot build $test: $(grep -m1 error "$work/cc.log")"
done
(cd "$work/root" && find . | cpio -o -H newc --quiet) | gzip -1 >"$work/initrd"

# No KVM asked for: what is reached is the same, and it may not work where /dev/kvm is there.
timeout "${SELFTEST_SECONDS:-1800}" qemu-system-x86_64 -M q35 -accel tcg -cpu max -m 3G -display none -no-reboot \
	-nodefaults -kernel "$image" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1" \
	-serial "file:$out.log" -serial "file:$work/pcs" </dev/null ||
	die "the guest did not end: see $out.log"
tr -d '\r' <"$work/pcs" >"$work/lines"
if [ "$(head -n 1 "$work/lines")" != BEGIN ] || [ "$(tail -n 1 "$work/lines")" != END ]; then
	die "the guest told no points: has this kernel kcov? see $out.log"
fi
sed '1d;$d' "$work/lines" | sort -u >"$out"
printf '%d points in %s\n' "$(wc -l <"$out")" "$out"
