# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests of guests, to be sourced: $image from $build and $vmafuzz, or the end of the test with
# status 77. VMAFUZZ_TEST_IMAGE; else the newest debian-6.12 in the cache of kernels; else one that is
# fetched into the build folder.
image=${VMAFUZZ_TEST_IMAGE-}
cache=${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmafuzz}

skip() {
	echo "skipped: $*"
	exit 77
}

# newest_image CACHE
newest_image() {
	{ find "$1/kernels" -path '*/debian-6.12*' ! -path '*arm64*' -name 'vmlinuz*' -size +1M 2>/dev/null || true; } |
		sort -V | tail -n 1
}

[ -x "$build/vmafuzz-keeper" ] || skip "vmafuzz-keeper is not built"
command -v qemu-system-x86_64 >/dev/null || skip "there is no qemu-system-x86_64: install qemu-system-x86"
[ -n "$image" ] || image=$(newest_image "$cache")
[ -n "$image" ] || image=$(newest_image "$build/test-cache")
if [ -z "$image" ]; then
	VMAFUZZ_CACHE=$build/test-cache timeout 150 "$vmafuzz" kernel fetch debian:6.12 >"$build/fetch.log" 2>&1 ||
		skip "no Debian 6.12 kernel, and none to be had: $(tail -n 1 "$build/fetch.log")"
	image=$(newest_image "$build/test-cache")
fi
[ -r "$image" ] || skip "cannot read the kernel image $image"
