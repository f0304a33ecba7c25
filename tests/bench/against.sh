#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the executor costs now beside another revision: both benchmarks in turns, so that what else the machine
# does is the same for both. Prints, by level of observation, the medians of programs/s and their ratio.
# Exit status: 0, whatever was measured; 3 cannot run.
#
# usage: tests/bench/against.sh REVISION [TURNS] [BENCH OPTION]...
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
die() { printf 'against: %s\n' "$*" >&2; exit 3; }
[ $# -ge 1 ] || die "usage: tests/bench/against.sh REVISION [TURNS] [BENCH OPTION]..."
revision=$(git -C "$root" rev-parse --verify --quiet "$1^{commit}") || die "$1 is no revision here"
shift
turns=20
if [[ ${1-} =~ ^[1-9][0-9]*$ ]]; then
	turns=$1
	shift
fi
[ $# -gt 0 ] || set -- --rounds 10

# There: that revision as a worktree of its own, built as this one is.
there=$(mktemp -d "${TMPDIR:-/tmp}/vmafuzz-against-XXXXXX")
trap 'git -C "$root" worktree remove --force "$there/tree" 2>/dev/null; rm -rf "$there"' EXIT
git -C "$root" worktree add --quiet --detach "$there/tree" "$revision"
type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$root/build/CMakeCache.txt")
cmake -S "$there/tree" -B "$there/build" -G Ninja -DCMAKE_BUILD_TYPE="$type" >"$there/log" 2>&1 &&
	ninja -C "$there/build" vmafuzz-bench vmafuzz-executor >>"$there/log" 2>&1 || {
	tail -5 "$there/log" >&2
	die "$revision does not build"
}

# one BUILD WHO OPTION...: a line "WHO LEVEL PROGRAMS/S" for each level.
one() {
	local build=$1 who=$2
	shift 2
	"$build/vmafuzz-bench" "$@" | awk -v who="$who" '
		/^observed/ { inside = 1; next }
		!NF { inside = 0 }
		inside { level = $1; n = 2
			if ($1 ~ /,$/) { level = $1 $2; n = 3 }
			if ($n ~ /^[0-9]+$/) print who, level, $n }'
}

for ((i = 0; i < turns; i++)); do
	one "$there/build" then "$@"
	one "$root/build" now "$@"
done >"$there/lines"
printf '%s against %s, %s turns of: %s\n\n' "$(git -C "$root" describe --always --dirty)" \
	"$(git -C "$root" rev-parse --short "$revision")" "$turns" "$*"
awk '
	function median(who, level,   n, i, j, v, t) {
		n = count[who, level]
		for (i = 1; i <= n; i++) v[i] = value[who, level, i]
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	{ value[$1, $2, ++count[$1, $2]] = $3; if (!($2 in seen)) { seen[$2]; order[++levels] = $2 } }
	END {
		printf "%-14s %12s %12s %12s %s\n", "observed", "then", "now", "time now", "beside the floor"
		for (i = 1; i <= levels; i++) {
			l = order[i]; t = median("then", l); n = median("now", l)
			if (i == 1) floor = t / n
			printf "%-14s %12.0f %12.0f %11.2fx %11.2fx\n", l, t, n, t / n, t / n / floor
		}
	}' "$there/lines"
