#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A campaign in a guest, and somebody is killed: nothing is left, no finding is lost, and where it was
# not the campaign's own head, it goes on. The image: tests/guest_image.sh.
set -euo pipefail

build=$(readlink -f "${1:?usage: test_guest_kills.sh BUILD-FOLDER}")
source_dir=${VM_SOURCE_DIR:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
vmafuzz=$build/vmafuzz
failures=0
# shellcheck source=tests/guest_image.sh
. "$source_dir/tests/guest_image.sh"

work=$(mktemp -d)
export TMPDIR=$work # guests have their folders here
mkdir "$work/seeds"
# What 6.12 shows with the first seed, and any kernel under this injected fault.
cat >"$work/seeds/moves.vma" <<'END'
mmap     p0+4 rw anon private
mmap     p4+1 rw anon private
mmap     p16+4 rw anon private
mremap   p0+4 -> p16+4 maymove|fixed
munmap   p16+2
END

# Processes with this test's folder in their arguments or environment.
left() {
	local pid
	for pid in /proc/[0-9]*; do
		[ "${pid#/proc/}" != $$ ] || continue
		if { tr '\0' '\n' <"$pid/environ"; tr '\0' '\n' <"$pid/cmdline"; } 2>/dev/null |
			grep -q -- "[${work:0:1}]${work:1}/"; then
			echo "${pid#/proc/} ($(tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | cut -c1-100))"
		fi
	done
}

cleanup() {
	left | while read -r pid _; do kill -9 "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

# number NAME KEY: a top-level number of NAME's stats.json.
number() {
	sed -n "s/^  \"$2\": \([0-9]*\),*\$/\1/p" "$work/$1/stats.json"
}

# until WHAT TENTHS COMMAND...: wait for it to succeed.
until_so() {
	local what=$1 tenths=$2
	shift 2
	for _ in $(seq "$tenths"); do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.1
	done
	fail "$what: not within $((tenths / 10)) s"
	return 1
}

has_finding() { [ -n "$(ls -A "$work/$1/findings" 2>/dev/null)" ]; }
has_corpus() { [ "$(find "$work/$1/corpus" -type f 2>/dev/null | wc -l)" -ge "$2" ]; }
nothing_left() { [ -z "$(left)" ]; }

# campaign NAME ENGINE ARGS: in the background, $pid; wait for its first finding.
campaign() {
	local name=$1 engine=$2
	shift 2
	env --default-signal=INT "$vmafuzz" fuzz --engine "$engine" --corpus "$work/seeds" --out "$work/$name" \
		--inject neighbour-unmapped --target "qemu:$image,accel=tcg" "$@" >"$work/$name.txt" 2>&1 &
	pid=$!
	until_so "$name: a finding" 900 has_finding "$name" || { tail -n 5 "$work/$name.txt"; return 1; }
}

# The process of ours that has these words in its command line.
ours() {
	left | sed -n "s/^\([0-9]*\) (.*$1.*/\1/p" | head -n 1
}

is_there() { [ -n "$(ours "$1")" ]; }

# Whole findings; what was in flight at a kill may still be pending.
findings_are_whole() {
	local folder file
	for folder in "$work/$1"/findings/*/; do
		for file in program.vma program.bin trace.bin explanation.txt count; do
			[ -s "$folder/$file" ] || fail "$1: $folder has no $file"
		done
	done
}

# After SIGINT: in order, with a summary.
end_campaign() { # NAME
	local status=0
	kill -INT "$pid"
	wait "$pid" || status=$?
	[ $status = 1 ] || fail "$1: exit status $status: $(tail -n 3 "$work/$1.txt")"
	grep -q "exit status 1" "$work/$1.txt" || fail "$1: no summary"
	until_so "$1: nothing left" 100 nothing_left || left
	findings_are_whole "$1"
	[ -z "$(find "$work" -maxdepth 1 -name 'vmafuzz-guest-*')" ] || fail "$1: a guest's folder is left"
}

# goes_on NAME: new programs are kept after the kill.
goes_on() {
	local before
	before=$(find "$work/$1/corpus" -type f | wc -l)
	until_so "$1: goes on" 900 has_corpus "$1" $((before + 2)) || tail -n 5 "$work/$1.txt"
}

# The engine's own process differs by engine.
engines=random
killed=0 # engines
[ ! -x "$build/vmafuzz-libfuzzer" ] || engines="libfuzzer random"

for engine in $engines; do
	case $engine in
	random) process="vmafuzz fuzz" ;;
	libfuzzer) process=vmafuzz-libfuzzer ;;
	esac

	# QEMU, the keeper, then the engine: in one campaign, which goes on after each.
	name=$engine
	campaign "$name" "$engine" || continue
	for victim in "qemu-system" "vmafuzz-keeper" "$process"; do
		# The engine may be just starting again after the kill before.
		until_so "$name: a $victim" 300 is_there "$victim" || continue
		target=$(ours "$victim")
		# A forked engine has the supervisor's command line: the one with another pid.
		[ "$target" != $pid ] || target=$(pgrep -P $pid -f "$victim" | grep -v keeper | head -n 1)
		# An engine that is just starting again is not to be had; one of them has to be.
		if [ -z "$target" ]; then
			[ "$victim" = "$process" ] || fail "$name: there is no $victim to kill"
			continue
		fi
		[ "$victim" != "$process" ] || killed=$((killed + 1))
		kill -KILL "$target"
		goes_on "$name"
		until_so "$name: guest after $victim" 300 is_there qemu-system
	done
	[ "$(ours qemu-system | wc -l)" = 1 ] || fail "$name: not one guest"
	end_campaign "$name"
	grep -q "the guest ended" "$work/$name.txt" "$work/$name/log" || fail "$name: the end of QEMU is not told"
done

[ "$killed" -gt 0 ] || fail "no engine was killed"

# The head itself: everything goes, and the next run in the folder takes up what was there.
name=head
campaign "$name" random || exit 1
kill -KILL $pid
wait $pid 2>/dev/null || true
until_so "$name: nothing left" 100 nothing_left || left
findings_are_whole "$name"
kept=$(find "$work/$name/findings" -mindepth 1 -maxdepth 1 | wc -l)
campaign "$name" random --programs 20 || exit 1
status=0
wait $pid || status=$?
[ $status = 1 ] || fail "$name: exit status of the next run: $status"
[ "$(find "$work/$name/findings" -mindepth 1 -maxdepth 1 | wc -l)" -ge "$kept" ] || fail "$name: findings are lost"
until_so "$name: nothing left of the next run" 100 nothing_left || left
[ -z "$(find "$work" -maxdepth 1 -name 'vmafuzz-guest-*')" ] || fail "$name: the killed guest's folder is left"

# The terminal: SIGHUP.
name=terminal
campaign "$name" random || exit 1
kill -HUP $pid
status=0
wait $pid || status=$?
[ $status = 1 ] || fail "$name: exit status $status"
until_so "$name: nothing left" 100 nothing_left || left
findings_are_whole "$name"

[ $failures = 0 ] || exit 1
echo "all passed"
