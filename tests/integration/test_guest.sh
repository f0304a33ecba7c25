#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A guest from an image (tests/guest_image.sh): what is wrong is said, and a slice of conformance.
set -euo pipefail

build=$(readlink -f "${1:?usage: test_guest.sh BUILD-FOLDER}")
source_dir=${VM_SOURCE_DIR:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
vmafuzz=$build/vmafuzz
corpus=$source_dir/corpus/conformance
failures=0

# shellcheck source=tests/guest_image.sh
. "$source_dir/tests/guest_image.sh"

work=$(mktemp -d)
# Guests have their folders here, so that those of others are not taken for ours.
export TMPDIR=$work

cleanup() {
	left | while read -r pid _; do kill -9 "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap cleanup EXIT

# Processes with this test's folder in their arguments: keepers and QEMUs.
left() {
	pgrep -af -- "vmafuzz-keeper.*$work|qemu-system.*$work" || true
}

fail() {
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

nothing_left() { # WHAT
	for _ in $(seq 50); do
		[ -n "$(left)" ] || break
		sleep 0.1
	done
	[ -z "$(left)" ] || fail "$1: left running: $(left)"
	[ -z "$(find "$work" -maxdepth 1 -name 'vmafuzz-guest-*')" ] || fail "$1: a folder is left"
}

refused() { # WORDS TARGET [ARGS]
	local words=$1 target=$2 status=0
	shift 2
	"$vmafuzz" replay --target "$target" "$@" "$corpus/mmap/hint.vma" >"$work/refused" 2>&1 || status=$?
	[ $status = 3 ] || fail "$target: exit status $status, not 3"
	[ "$(wc -l <"$work/refused")" = 1 ] || fail "$target: not one line: $(cat "$work/refused")"
	grep -qF -- "$words" "$work/refused" || fail "$target does not say '$words': $(cat "$work/refused")"
	nothing_left "$target"
}

# ---- what is wrong is said in one line ----

refused "cannot read the kernel image /no/such/image: No such file" qemu:/no/such/image
refused "PVH" "qemu:$vmafuzz-keeper,accel=tcg"
refused "is no kernel image" "qemu:$0"
refused "lacks its image" qemu:
refused "mem=1: give MiB" "qemu:$image,mem=1"
refused "no option 'colour'" "qemu:$image,colour=red"
refused "is a kernel for x86_64, not arm64" "qemu:$image,arch=arm64" --executor "$build/vmafuzz-executor"
refused "cannot read the modules in /no/such" "qemu:$image,modules=/no/such"
refused "Cannot allocate memory" "qemu:$image,accel=tcg,mem=1024G"
if [ "$(id -u)" != 0 ]; then
	touch "$work/secret"
	chmod 0 "$work/secret"
	refused "Permission denied" "qemu:$work/secret"
fi
mkdir "$work/bin"
for tool in env sh; do ln -s "$(command -v $tool)" "$work/bin"; done
status=0
PATH=$work/bin "$vmafuzz" replay --target "qemu:$image" "$corpus/mmap/hint.vma" \
	>"$work/noqemu" 2>&1 || status=$?
[ $status = 3 ] || fail "without QEMU: exit status $status"
grep -q "there is no qemu-system-x86_64: install" "$work/noqemu" || fail "without QEMU: $(cat "$work/noqemu")"
# A file with a kernel's magic number that does not boot.
{ head -c 514 /dev/zero; printf HdrS; head -c 100000 /dev/zero; } >"$work/broken"
status=0
"$vmafuzz" replay --target "qemu:$work/broken,accel=tcg" "$corpus/mmap/hint.vma" >"$work/refused" 2>&1 ||
	status=$?
[ $status = 3 ] || fail "an image that does not boot: exit status $status"
nothing_left "an image that does not boot"

# ---- a slice of conformance, over each channel ----

for channel in virtio uart; do
	status=0
	"$vmafuzz" check --target "qemu:$image,channel=$channel" "$corpus"/{mremap,mseal,fork} \
		>"$work/$channel" 2>&1 || status=$?
	[ $status = 0 ] || fail "check over $channel: exit status $status: $(grep '^not ok' "$work/$channel")"
	grep -q '^# pass [1-9][0-9]*, fail 0' "$work/$channel" || fail "check over $channel: $(tail "$work/$channel")"
	nothing_left "check over $channel"
done

# ---- settings of the machine, set and put back ----

status=0
"$vmafuzz" check --target "qemu:$image" "$corpus"/*/max_map_count.vma "$corpus"/*/overcommit_*.vma \
	"$corpus"/mmap/min_addr_*.vma "$corpus"/*/cap_*.vma "$corpus"/mmap/{below_min_addr,commit_limit_private}.vma \
	>"$work/machine" 2>&1 || status=$?
[ $status = 0 ] || fail "settings: exit status $status: $(grep '^not ok' "$work/machine")"
grep -q '^# pass [1-9][0-9]*, fail 0, skip 0' "$work/machine" || fail "settings: $(tail "$work/machine")"
nothing_left "settings"

[ $failures = 0 ] || exit 1
echo "all passed"
