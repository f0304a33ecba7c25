#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Records the conformance programs on this kernel as tests/traces/conformance/*.trace, which
# tests/perturb and the re-judging test read. Run it after programs or the trace format changed.
#
# usage: tests/traces/record.sh [BUILD_FOLDER]
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1-$root/build}
out=$root/tests/traces/conformance

rm -rf "$out"
mkdir -p "$out"
find "$root/corpus/conformance" -name '*.vma' | sort | while read -r program; do
	name=${program#"$root/corpus/conformance/"}
	name=${name%.vma}
	"$build/vmafuzz" replay --save-trace "$out/${name//\//_}.trace" "$program" >/dev/null
done
ls "$out" | wc -l
