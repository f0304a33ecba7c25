#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which causes of oracle/rules/*.c the programs of the corpus reach, by `vmafuzz check --causes` on
# this machine; and docs/conformance.md, whose table it writes.
# usage: corpus_causes.sh BUILD_DIR            fail where a cause is neither reached nor excused,
#                                              or a program is not in the table
#        corpus_causes.sh BUILD_DIR --write    write the table anew
#        corpus_causes.sh BUILD_DIR --list     "RULE: CAUSE" and the number of programs that reach it
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
vmafuzz=$1/vmafuzz
mode=${2:-}
doc=$root/docs/conformance.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

# "NAME<tab>RULE: CAUSE" for each program that was run, from the lines before its result.
reached() {
	"$vmafuzz" check --causes "$1" >"$work/ktap" || [ $? -eq 1 ]
	awk -v folder="$(basename "$1")" '
		/^# cause / { cause[n++] = substr($0, 9); next }
		/^(not )?ok / {
			sub(/^not /, "")
			for (i = 0; i < n; i++)
				print folder "/" $3 "\t" cause[i]
			n = 0
		}' "$work/ktap"
}

# "RULE: CAUSE" of every cause; the strings of an initialiser may stand on several lines.
written() {
	local file rule
	for file in oracle/rules/*.c; do
		rule=$(basename "${file%_vma.c}" .c)
		tr -d '\n' <"$file" | grep -oE '\.text =[[:space:]]*"[^"]*"' |
			sed -E "s|^[^\"]*\"(.*)\"\$|$rule: \\1|" || true
	done
}

# The first comment of a program, one line.
sentence() {
	awk '/^#/ { sub(/^# ?/, ""); printf "%s%s", n++ ? " " : "", $0; next } { exit }' "$1"
}

programs() {
	find corpus/conformance corpus/regressions -name '*.vma' | sort
}

table() {
	local file name causes
	echo '| program | shows | causes of refusal that it reaches |'
	echo '|---|---|---|'
	while read -r file; do
		name=${file#corpus/}
		name=${name%.vma}
		causes=$(awk -F '\t' -v name="$name" '$1 == name { print $2 }' "$work/reached" | paste -sd ';' |
			sed 's/;/; /g; s/|/\\|/g')
		printf '| %s | %s | %s |\n' "$name" "$(sentence "$file" | sed 's/|/\\|/g')" "$causes"
	done < <(programs)
}

{ reached corpus/conformance; reached corpus/regressions; } >"$work/reached"
cut -f 2 "$work/reached" | sort -u >"$work/known"
written | sort -u >"$work/written"

if [ "$mode" = --list ]; then
	while read -r cause; do
		printf '%5d  %s\n' "$(cut -f 2 "$work/reached" | grep -cxF -- "$cause")" "$cause"
	done <"$work/written"
	exit 0
fi
if [ "$mode" = --write ]; then
	sed '/^<!-- table -->$/q' "$doc" >"$work/doc"
	table >>"$work/doc"
	cp "$work/doc" "$doc"
	exit 0
fi

# Rules that share a file (read and write are touches, pkey_mprotect is in mprotect.c) reach its
# causes under their own names: a cause counts as reached by its text where no file has the name, or
# where the file is a part of the rule (madvise_vma.c).
failures=0
while read -r cause; do
	grep -qxF -- "$cause" "$work/known" && continue
	text=${cause#*: }
	others=$(grep -F -- ": $text" "$work/known" | cut -d: -f 1 || true)
	for rule in $others; do
		[ -e "oracle/rules/$rule.c" ] || continue 2
		[[ $cause != "$rule"_* ]] || continue 2
	done
	grep -qF -- "| \`$cause\` |" "$doc" && continue
	echo "no program reaches '$cause', and docs/conformance.md does not say why"
	failures=$((failures + 1))
done <"$work/written"
# shellcheck disable=SC2016 # backquotes of Markdown
sed -n '/^<!-- table -->$/q; s/^| `\(.*: .*\)` |.*/\1/p' "$doc" >"$work/excused"
while read -r cause; do
	if ! grep -qxF -- "$cause" "$work/written"; then
		echo "docs/conformance.md excuses '$cause', which no rule has"
		failures=$((failures + 1))
	fi
done <"$work/excused"
while read -r file; do
	name=${file#corpus/}
	if ! grep -qF "| ${name%.vma} | " "$doc"; then
		echo "$file is not in docs/conformance.md: run tests/corpus_causes.sh BUILD_DIR --write"
		failures=$((failures + 1))
	fi
	if [ -z "$(sentence "$file")" ]; then
		echo "$file does not begin with a comment that says what it shows"
		failures=$((failures + 1))
	fi
done < <(programs)
[ "$failures" -eq 0 ]
