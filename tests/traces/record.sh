#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Records conformance programs on this kernel as tests/traces/conformance/*.trace, which tests/perturb and
# the re-judging test read: those that have no trace, or whose trace is of another program; --all: all (after
# the trace format changed). Traces of programs that are gone are removed.
#
# usage: tests/traces/record.sh [--all] [BUILD_FOLDER]
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
all=
if [ "${1-}" = --all ]; then
	all=1
	shift
fi
build=${1-$root/build}
out=$root/tests/traces/conformance
target=${TARGET-local} # what this machine cannot show: TARGET=exec:COMMAND, of a guest with keys, say

# recorded TRACE PROGRAM: is it of this program?
recorded() {
	[ -z "$all" ] && [ -e "$1" ] &&
		cmp -s <("$build/vmafuzz" show --text "$1" 2>/dev/null) \
			<("$build/vmafuzz" show --text "$2" 2>/dev/null)
}

mkdir -p "$out"
declare -A wanted
while read -r program; do
	name=${program#"$root/corpus/conformance/"}
	name=${name%.vma}
	trace=$out/${name//\//_}.trace
	wanted[$trace]=1
	# one that this machine cannot give its preamble leaves no trace
	recorded "$trace" "$program" ||
		"$build/vmafuzz" replay --target "$target" --save-trace "$trace" "$program" >/dev/null ||
		[ ! -e "$trace" ]
done < <(find "$root/corpus/conformance" -name '*.vma' | sort)
for trace in "$out"/*.trace; do
	[ -n "${wanted[$trace]-}" ] || rm "$trace"
done
echo "${#wanted[@]}"
