#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What vmafuzz triage prints, and its exit status. usage: test_triage.sh BUILD_DIR
set -euo pipefail

vmafuzz=$1/vmafuzz
logs=${VM_SOURCE_DIR:-$PWD}/tests/console
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
	printf '%s\n' "$*"
	failures=$((failures + 1))
}

# run STATUS ARGS...: stdin is passed on.
run() {
	local wanted=$1 status=0
	shift
	"$vmafuzz" triage "$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -eq "$wanted" ] ||
		fail "triage $*: exit status $status, not $wanted: $(cat "$work/out" "$work/err")"
}

# says FILE REGEX...
says() {
	local file=$work/$1 regex
	shift
	for regex; do
		grep -qE -- "$regex" "$file" || fail "no line $regex in: $(cat "$file")"
	done
}

run 0 "$logs/debian_clean.log" </dev/null
[ ! -s "$work/out" ] || fail "a clean log has reports: $(cat "$work/out")"
run 0 "$logs/debian_oom.log" </dev/null
says out '^.*/debian_oom.log:[0-9]+: out of memory$' '^  out-of-memory, info$'
run 1 "$logs/debian_warn_text.log" </dev/null
run 1 "$logs/debian_hung.log" </dev/null
run 2 "$logs/debian_warn_text.log" "$logs/arm64_bug.log" </dev/null
says out ': WARNING in gadget_warn_text$' ': BUG in move_vma$' '^  bug, dead$' \
	'^    -> +\+0: 00 00 21 d4 +brk #0x800$' '^  called by mremap_to\+0x1c4$'

# Later reports of a broken kernel are told apart; stdin is read.
run 2 - <"$logs/debian_bad_pte.log"
says out '^-:1: bad page map in unmap_page_range$' '^  bad-page-map, broken$' \
	'^  bad-mm-counter, broken, after an earlier one broke the kernel$'

run 2 --json "$logs/debian_null_write.log" </dev/null
says out '"title": "NULL dereference in gadget_null_write"' '"kind": "null-dereference"' \
	'"severity": "broken"' '"text": "mov dword ptr \[0x68\], 7"' '"module": "crashme"'
if command -v python3 >/dev/null; then
	python3 -c 'import json, sys; json.load(sys.stdin)' <"$work/out" || fail "not JSON"
fi

# Of another build: said, and the code is shown all the same.
run 2 --vmlinux "$vmafuzz" "$logs/debian_gp.log" </dev/null
says out 'in module crashme, which vmlinux does not have' '^    -> +\+0: '

run 3 </dev/null
says err 'triage needs a console log'
run 3 "$work/missing" </dev/null
says err "cannot read $work/missing: No such file"
run 3 --vmlinux "$logs/README.md" "$logs/debian_gp.log" </dev/null
says err 'README.md is no ELF file: give the uncompressed vmlinux'
run 0 --help </dev/null
says out 'usage: vmafuzz triage LOG'

[ "$failures" -eq 0 ]
