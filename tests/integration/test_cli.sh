#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What check, replay, judge, show and inject print, and their exit status.
# usage: test_cli.sh BUILD_DIR
set -euo pipefail

vmafuzz=$1/vmafuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
	printf '%s\n' "$*"
	failures=$((failures + 1))
}

# run ARGS...: leaves stdout in $work/out, stderr in $work/err, the exit status in $status.
run() {
	ran="vmafuzz $*"
	status=0
	"$vmafuzz" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# expect STATUS REGEX...: this exit status, and each expression on some line of stdout.
expect() {
	local wanted=$1 regex
	shift
	if [ "$status" -ne "$wanted" ]; then
		fail "$ran: exit status $status, not $wanted: $(cat "$work/out" "$work/err")"
	fi
	for regex; do
		grep -qE -- "$regex" "$work/out" || fail "$ran: no line $regex in: $(cat "$work/out")"
	done
}

# refused REGEX: status 3, nothing on stdout, one line on stderr that matches.
refused() {
	if [ "$status" -ne 3 ] || [ -s "$work/out" ] || [ "$(wc -l <"$work/err")" -ne 1 ] ||
		! grep -qE -- "$1" "$work/err"; then
		fail "$ran: status $status, not refused with one line $1: $(cat "$work/out" "$work/err")"
	fi
}

absent() {
	! grep -E -- "$1" "$work/out" || fail "$ran: a line $1"
}

mkdir -p "$work/suite/mremap/deep" "$work/empty"
cat >"$work/suite/mremap/lost.vma" <<'END'
# 64 GiB of growth: the destination is gone before the limit is seen.
mmap p0+4 rw anon private
mmap p16+4 rw anon private fill
mremap p0+4 -> p16+16777216 maymove|fixed => ENOMEM, deviation
expect p16+4 unmapped
END
cat >"$work/suite/mremap/deep/refused.vma" <<'END'
mmap p0+4 rw anon private
let a = mmap any+3 rw anon shared
mremap p0+4 -> p2+4 maymove|fixed => EINVAL, untouched
END
cat >"$work/suite/unmet.vma" <<'END'
mmap p0+4 rw anon private => ENOMEM
END
cat >"$work/seal.vma" <<'END'
mmap p0+4 rw anon private
mseal p1+1 => ok
munmap p0+4 => EPERM, untouched
END
printf 'observe full\n' >"$work/suite/not_a_program.txt"

has_mseal=true
"$vmafuzz" replay "$work/seal.vma" | grep -q 'mseal.*ENOSYS' && has_mseal=false

# check: KTAP, sorted, by folder; a program that does not meet its own expectation fails.
run check "$work/suite"
expect 1 '^1\.\.3$' '^# target local: Linux .*, profile .* \(.*\), contract ' '^ok 1 mremap/deep/refused$' \
	'^# deviation: mremap: destination lost on ENOMEM \(commit limit\)$' '^ok 2 mremap/lost$' \
	'^# line 1: expected ENOMEM, got p0$' '^not ok 3 unmet # line 1: expected ENOMEM, got p0$' \
	'^# pass 2, fail 1, skip 0$' '^# rule mmap: exact [0-9]+, set [0-9]+, silent [0-9]+$'
[ "$(head -n 1 "$work/out")" = 'KTAP version 1' ] || fail "check: no KTAP version first"
run check "$work/suite/mremap"
expect 0 '^ok 1 deep/refused$' '^ok 2 lost$'
run check "$work/suite/mremap/lost.vma"
expect 0 '^ok 1 mremap/lost$'
run check --fail-on violation "$work/suite"
expect 0 '^ok 3 unmet$' '^# line 1: expected ENOMEM'
run check --fail-on deviation "$work/suite"
expect 1 '^not ok 2 mremap/lost # deviation: mremap: destination lost on ENOMEM' '^ok 3 unmet$'
run check --fail-on crash --contract strict "$work/suite"
expect 0 '^# violation: mremap: destination lost on ENOMEM' '^ok 2 mremap/lost$'
run check --contract strict "$work/suite/mremap"
expect 1 '^not ok 2 lost # violation: mremap: destination lost on ENOMEM' '^#   rests on '
run check -v "$work/suite/mremap/lost.vma"
expect 0 '^#  1  mmap p0\+4 rw anon private +=' '^#     p16\+4  rw- private'
run check --causes "$work/suite/mremap"
expect 0 '^# cause mremap: source and destination overlap$' '^# cause mremap: commit limit$'

# Results for CI: the exit status and KTAP are what they are without.
run check --junit "$work/junit.xml" --json "$work/check.json" "$work/suite"
expect 1 '^# pass 2, fail 1, skip 0$'
grep -q '^<testsuites name="vmafuzz check" tests="3" failures="1" errors="0" skipped="0" ' \
	"$work/junit.xml" || fail "check --junit: no counts: $(head -2 "$work/junit.xml")"
grep -q '<failure message="line 1: expected ENOMEM, got p0" type="conformance">' "$work/junit.xml" ||
	fail "check --junit: no failure"
[ "$(grep -c '<testcase classname="mremap[a-z/]*" name="' "$work/junit.xml")" -eq 2 ] ||
	fail "check --junit: not a testcase a program"
if command -v xmllint >/dev/null; then
	xmllint --noout "$work/junit.xml" || fail "check --junit: not well-formed"
fi
grep -q '^  "pass": 2,$' "$work/check.json" || fail "check --json: no count"
grep -q '^        "line 1: expected ENOMEM, got p0"$' "$work/check.json" || fail "check --json: nothing unmet"
grep -q '^        "mremap: commit limit"$' "$work/check.json" || fail "check --json: no cause"
run check --json "$work/nowhere/check.json" "$work/suite/mremap"
expect 3 '^# pass 2, fail 0, skip 0$'
run check "$work/nowhere"
refused 'cannot read .*nowhere: No such file'
run check "$work/empty"
refused 'there is no .vma file in .*empty'
printf 'mmap p0+4 rw anon private\nmunmap p0+4 rw\n' >"$work/empty/bad.vma"
run check "$work/suite" "$work/empty"
refused 'bad.vma:2:13: '
run check --target exec:false "$work/suite"
refused "the command 'false' ended at start .status 1.: it must start vmafuzz-executor"
# An executor that ends with a program in flight: not the kernel's fault, but not a pass.
gone="exec:'$1/vmafuzz-executor' </dev/null"
run check --target "$gone" "$work/suite"
expect 3 '^not ok 1 mremap/deep/refused # the executor died$' '^# pass 0, fail 3, skip 0$'
run check --junit "$work/junit.xml" --target "$gone" "$work/suite"
grep -q 'errors="3" skipped="0"' "$work/junit.xml" || fail "check --junit: died, but no error"
run replay --target "$gone" "$work/suite/unmet.vma"
expect 3 '^nothing was seen of the program$'
run check --inject no-such-fault "$work/suite"
refused 'no such fault'
run check --profile 1.0 "$work/suite"
refused 'there is no profile 1.0'

# A target without mseal: what rests on seals is skipped.
if ! $has_mseal; then
	run check "$work/seal.vma"
	expect 0 '^ok 1 .*/seal # SKIP kernel has no mseal$' '^# pass 0, fail 0, skip 1$'
fi

# replay: steps, state where it changed, verdict, expectations, repetition.
run replay "$work/suite/mremap/lost.vma"
expect 0 '^target local: ' '^ 4  mremap p0\+4 -> p16\+16777216 maymove\|fixed += ENOMEM$' \
	'^deviation: mremap: destination lost on ENOMEM \(commit limit\)$' \
	'^    p16\+4  \(not mapped\)   <--$'
absent '^reproduced'
run replay --fail-on deviation --times 3 "$work/suite/mremap/lost.vma"
expect 1 '^reproduced 3 of 3: deviation: mremap: destination lost on ENOMEM \(commit limit\)$'
run replay --times 2 "$work/suite/unmet.vma"
expect 0 '^nothing to report in 2 runs$' '^line 1: expected ENOMEM, got p0$'
run replay "$work/suite/unmet.vma" "$work/empty/bad.vma"
refused 'bad.vma:2:13: '
run replay
refused 'needs a program'
run replay --times no "$work/suite/unmet.vma"
refused '--times no: give a whole number'
run replay --save-trace "$work/t" "$work/suite/unmet.vma" "$work/suite/unmet.vma"
refused 'one program at a time'

# A state that did not change is not drawn again, unless asked for.
run replay "$work/suite/mremap/deep/refused.vma"
unchanged=$(grep -c '^    p0+4' "$work/out")
run replay -v "$work/suite/mremap/deep/refused.vma"
[ "$(grep -c '^    p0+4' "$work/out")" -gt "$unchanged" ] || fail "replay -v shows no more states"

# Text, bytes, trace and the folder of a finding are the same program.
lost=$work/suite/mremap/lost.vma
run show --text "$lost"
expect 0 '^mremap p0\+4 -> p16\+16777216 maymove\|fixed$'
cp "$work/out" "$work/canonical.vma"
run show --bytes -o "$work/lost.bin" "$lost"
expect 0
run replay --save-trace "$work/lost.trace" "$work/lost.bin"
expect 0 '^deviation: mremap: destination lost'
mkdir "$work/finding"
cp "$lost" "$work/finding/program.vma"
cp "$work/lost.trace" "$work/finding/trace.bin"
for form in "$work/canonical.vma" "$work/lost.bin" "$work/lost.trace" "$work/finding"; do
	run show --text "$form"
	cmp -s "$work/out" "$work/canonical.vma" || fail "show --text $form: another program"
	run replay "$form"
	expect 0 '^deviation: mremap: destination lost on ENOMEM \(commit limit\)$'
done
run show --bytes "$work/canonical.vma"
cmp -s "$work/out" "$work/lost.bin" || fail "show --bytes: not the bytes that -o writes"
if command -v script >/dev/null; then
	script -qec "'$vmafuzz' show --bytes '$lost'" "$work/typescript" >"$work/out" && fail "show --bytes on a terminal"
	grep -q 'use -o FILE' "$work/out" || fail "show --bytes on a terminal: no hint"
fi

# The picture: what the model says, and what was seen; still a .vma file.
run show "$lost"
expect 0 '^# +p0 +p16$' '^#  3  wwww.*wwww  fill p16\+4 = 4$' '^#  4  wwww[^w]* mremap .* = ENOMEM$'
cp "$work/out" "$work/shown.vma"
run show --text "$work/shown.vma"
cmp -s "$work/out" "$work/canonical.vma" || fail "what show prints is another program"
run show "$work/lost.trace"
expect 0 '^# as observed on Linux ' '^#  4  wwww[^w]* mremap .* = ENOMEM$'
run show --profile 6.12 "$work/seal.vma"
expect 0 '^#  2  w W w +w? ?mseal|^#  2  w\|W\|w.*mseal p1\+1 = 0$'
COLUMNS=60 run show "$lost"
expect 0 '\.\.\.$'
[ "$(awk '/^#/ && length > 60' "$work/out" | grep -vcE 'column is|sealed;')" -eq 0 ] || fail "show: wider than the terminal"
for i in $(seq 0 2 120); do echo "mmap p$i+1 rw anon private"; done >"$work/many.vma"
COLUMNS=80 run show "$work/many.vma"
expect 0 '^#  1  w\.\.' '^# 61  (w\.)+w?>  mmap' '> no room for the rest'
run show "$lost" "$lost"
refused 'show takes one file'
run show --bytes --text "$lost"
refused 'exclude each other'

# judge: the oracle alone; refuses what is no whole trace, in one line.
run judge "$work/lost.trace"
expect 0 '^deviation: mremap: destination lost on ENOMEM' '^violations 0, deviations 1, notes 0$'
run judge --contract strict "$work/finding"
expect 1 '^violation: mremap: destination lost on ENOMEM'
head -c 200 "$work/lost.trace" >"$work/cut.trace"
run judge "$work/cut.trace"
refused 'cut.trace: truncated'
{ head -c 100 "$work/lost.trace"; printf '\xff\xfe'; tail -c +103 "$work/lost.trace"; } >"$work/bad.trace"
run judge "$work/bad.trace"
refused 'bad.trace'
run judge "$lost"
refused 'lost.vma: not a trace'

# Recorded traces are judged as they were when they were recorded.
for trace in tests/traces/*.trace; do
	"$vmafuzz" judge "$trace" >"$work/out" 2>"$work/err" || [ $? -eq 1 ] ||
		fail "judge $trace: $(cat "$work/err")"
	grep -E '^(note|deviation|violation): ' "$work/out" >"$work/titles" || true
	diff "${trace%.trace}.expected" "$work/titles" || fail "judge $trace: other titles"
done

run inject list
expect 0 '^dest-unmapped +[a-z]' '^seal-lost +[a-z]'
run inject
refused 'inject list'

# Every command has its help, and refuses what it does not know.
for command in check replay judge show inject; do
	run "$command" --help
	expect 0 "^usage: vmafuzz $command" '^exit status: 0 conforms'
	run "$command" --no-such-option
	refused '--no-such-option'
done

# The word that was refused is named, wherever it stands: getopt moves operands behind options.
run replay "$lost" -q
refused 'there is no option -q;'
run replay "$lost" --verbose -qv
refused 'there is no option -q;'
run replay "$lost" "$lost" --no-such-option=3 -v
refused 'vmafuzz: --no-such-option=3 is no option, or short for several;'
run replay "$lost" --p local
refused 'vmafuzz: --p is no option, or short for several;'
run replay "$lost" --verbose=3 "$lost"
refused 'vmafuzz: --verbose takes no argument;'
run show --text "$lost" --help=3
refused 'vmafuzz: --help takes no argument;'
run replay "$lost" --times
refused 'vmafuzz: --times needs an argument;'
run show "$lost" --output
refused 'vmafuzz: --output needs an argument;'
run show "$lost" -o
refused 'vmafuzz: -o needs an argument;'

run no-such-command
refused 'no command no-such-command'

[ "$failures" -eq 0 ]
