#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Campaigns on the running kernel, whichever it is: every engine that is built.
set -euo pipefail

build=$(readlink -f "${1:?usage: test_fuzz.sh BUILD-FOLDER}")
source_dir=${VM_SOURCE_DIR:-$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")}
vmafuzz=$build/vmafuzz
work=$(mktemp -d)
failures=0

[ -x "$vmafuzz" ] && [ -x "$build/vmafuzz-executor" ] || {
	echo "skipped: vmafuzz or its executor is not built"
	exit 77
}

# left_behind: processes that have this test's folder in their environment or arguments.
left_behind() {
	local pid here="[${work:0:1}]${work:1}" # does not match itself
	for pid in /proc/[0-9]*; do
		[ "${pid#/proc/}" != $$ ] || continue
		if { tr '\0' '\n' <"$pid/environ"; tr '\0' '\n' <"$pid/cmdline"; } 2>/dev/null |
			grep -q -- "$here"; then
			echo "${pid#/proc/} ($(tr '\0' ' ' <"$pid/cmdline" 2>/dev/null))"
		fi
	done
}

cleanup() {
	local line
	left_behind | while read -r line; do kill -9 "${line%% *}" 2>/dev/null || true; done
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	printf 'FAILED: %s\n' "$*"
	failures=$((failures + 1))
}

# fuzz NAME ARGS...: a campaign in $work/NAME; $status, and what it said in $work/NAME.txt.
fuzz() {
	local name=$1
	shift
	status=0
	timeout 120 "$vmafuzz" fuzz --corpus "$source_dir/corpus/seeds" --out "$work/$name" "$@" \
		>"$work/$name.txt" 2>&1 || status=$?
}

# number NAME KEY: a top-level number of NAME's stats.json.
number() {
	sed -n "s/^  \"$2\": \([0-9]*\),*\$/\1/p" "$work/$1/stats.json"
}

expect() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}

said() { # NAME WORDS
	grep -qF -- "$2" "$work/$1.txt" || {
		fail "$1 does not say '$2' but:"
		tail -n 20 "$work/$1.txt"
	}
}

engines=random
[ ! -x "$build/vmafuzz-libfuzzer" ] || engines="$engines libfuzzer"
if [ -x "$build/vmafuzz-afl" ] && [ -e "$build/libvmafuzz-mutator.so" ] &&
	command -v afl-fuzz >/dev/null; then
	engines="$engines afl"
fi
echo "engines: $engines"

# Whole findings, and nothing else, where findings are.
check_findings() {
	local folder file
	for folder in "$work/$1"/findings/*/; do
		[ -d "$folder" ] || continue
		for file in program.vma program.bin trace.bin explanation.txt count; do
			[ -s "$folder/$file" ] || fail "$1: $folder has no $file"
		done
	done
	[ -z "$(ls -A "$work/$1/pending")" ] || fail "$1: findings are left in pending"
}

for engine in $engines; do
	fuzz "$engine" --engine "$engine" --programs 1500
	[ "$status" -le 1 ] || fail "$engine: exit status $status: $(tail -n 3 "$work/$engine.txt")"
	expect "$engine: status in stats.json" "$(number "$engine" exit_status)" "$status"
	[ "$(number "$engine" programs)" -ge 1500 ] || fail "$engine: too few programs"
	[ "$(number "$engine" features)" -ge 100 ] || fail "$engine: no feedback"
	[ "$(number "$engine" corpus)" -ge 50 ] || fail "$engine: no corpus"
	expect "$engine: programs in flight" "$(find "$work/$engine" -name 'current.*')" ""
	check_findings "$engine"

	# A hard invariant, under any contract and profile: AFL++ has it as a crash, too.
	fuzz "$engine-bad" --engine "$engine" --programs 6000 --time 30 --inject neighbour-unmapped
	expect "$engine: exit status with an injected fault" "$status" 1
	[ "$(number "$engine-bad" violations)" -ge 1 ] || fail "$engine: no violation"
	check_findings "$engine-bad"
done

case $engines in
*afl*)
	grep -q '^stability *: \(100.00\|99\.[0-9]*\)%' "$work/afl/afl/default/fuzzer_stats" ||
		fail "afl: $(grep stability "$work/afl/afl/default/fuzzer_stats")"
	[ -n "$(find "$work/afl/afl/default/queue" -name '*aim-*')" ] ||
		fail "afl: no queue entry is named by our mutator"
	[ "$(number afl-bad afl_crashes)" -ge 1 ] || fail "afl: the violation is no crash of AFL++'s"
	;;
esac

# The lost destination of a move that the commit limit refuses: in every version up to 6.18, which
# call it a deviation, from seeds that do not have it. Found within a fixed number of programs.
if grep -q '"profile": "6\.1[28]"' "$work/random/stats.json" &&
	[ "$(awk '/^MemTotal|^SwapTotal/ { kb += $2 } END { print kb }' /proc/meminfo)" -lt 60000000 ] &&
	[ "$(cat /proc/sys/vm/overcommit_memory)" = 0 ]; then
	fuzz lost --engine random --programs 6000 --seed 3
	said lost "deviation: mremap: destination lost on ENOMEM (commit limit)"
fi

# Seed and number decide everything.
fuzz same1 --engine random --programs 800 --seed 11
fuzz same2 --engine random --programs 800 --seed 11
fuzz other --engine random --programs 800 --seed 12
expect "two runs with one seed" "$(ls "$work/same1/corpus")" "$(ls "$work/same2/corpus")"
expect "calls of two runs with one seed" "$(number same1 calls)" "$(number same2 calls)"
[ "$(ls "$work/same1/corpus")" != "$(ls "$work/other/corpus")" ] || fail "the seed means nothing"

# Going on in the same folder.
kept=$(find "$work/same1/corpus" -name '*.bin' | wc -l)
fuzz same1 --engine random --programs 1200 --seed 13
said same1 "going on with $kept programs"
[ "$(number same1 corpus)" -ge "$kept" ] || fail "resume: the corpus shrank"

# Several jobs share one folder, and the number of programs.
fuzz jobs --engine random --jobs 2 --programs 501
expect "programs of two jobs" "$(number jobs programs)" 501

# Ctrl-C, SIGTERM: in order, with the summary. SIGKILL: nothing is left running.
for engine in $engines; do
	for signal in INT KILL; do
		name=$engine-$signal
		# Job control would be needed for a background child to get SIGINT at all.
		env --default-signal=INT "$vmafuzz" fuzz --engine "$engine" --out "$work/$name" \
			--corpus "$source_dir/corpus/seeds" >"$work/$name.txt" 2>&1 &
		pid=$!
		for _ in $(seq 100); do
			sleep 0.1
			[ -z "$(ls -A "$work/$name/corpus" 2>/dev/null)" ] || break
		done
		kill -"$signal" $pid
		status=0
		wait $pid || status=$?
		if [ $signal = INT ]; then
			[ "$status" -le 1 ] || fail "$name: exit status $status"
			said "$name" "(exit status $status)"
		fi
		for _ in $(seq 50); do
			[ -n "$(left_behind)" ] || break
			sleep 0.1
		done
		expect "$name: left running" "$(left_behind)" ""
	done
done

# What is wrong is said in one line, with status 3.
refused() { # WORDS ARGS...
	local words=$1
	shift
	status=0
	"$vmafuzz" fuzz "$@" >"$work/refused.txt" 2>&1 || status=$?
	expect "exit status of: $*" "$status" 3
	expect "lines of: $*" "$(wc -l <"$work/refused.txt")" 1
	said refused "$words"
}
refused "Not a directory" --engine random --out "$work/same1.txt"
refused "there is no engine" --engine none
refused "there is no profile" --profile 1.0
refused "there is no contract" --contract none
refused "give a time" --time soon
refused "the command '/bin/true' ended at start (status 0): it must start vmafuzz-executor" --target exec:/bin/true --out "$work/o"
refused "from 0 to 9223372036854775807" --seed 9223372036854775808
refused "give a whole number" --programs -5
refused "No such file" --engine random --corpus "$work/none" --out "$work/o"
refused "unknown target" --target nowhere --out "$work/o"
"$vmafuzz" fuzz --help | grep -q -- '--engine' || fail "no --help"

[ $failures = 0 ] || exit 1
echo "all passed"
