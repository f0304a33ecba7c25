#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How often random programs met the causes of refusal that docs/conformance.md says its programs reach:
# "COUNT RULE: CAUSE", rarest first, from the numbers of one or more campaigns.
# usage: soak_cells.sh OUT/stats.json...
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || {
	echo "usage: soak_cells.sh OUT/stats.json..." >&2
	exit 3
}

# "RULE: CAUSE" of the table, whose last column has them separated by "; ".
named() {
	sed -n '/^<!-- table -->$/,$p' "$root/docs/conformance.md" | grep '^| [cr].*/' |
		awk -F ' [|] ' '{ sub(/ [|]$/, "", $NF); n = split($NF, c, "; "); for (i = 1; i <= n; i++) print c[i] }' |
		grep ': ' | sort -u
}

# "COUNT<tab>RULE: CAUSE" of each kind of call that was counted; a rule has the name of its file.
counted() {
	awk -F '"' '
		BEGIN {
			rule["read"] = rule["write"] = rule["fill"] = "touch"
			rule["shmat"] = rule["shmdt"] = "shm"
			rule["mlock2"] = rule["munlock"] = "mlock"
			rule["munlockall"] = "mlockall"
			rule["pkey_mprotect"] = "mprotect"
			rule["process_madvise"] = "madvise"
			rule["end"] = rule["exec"] = "fork"
			rule["pkey_alloc"] = rule["pkey_free"] = "pkey"
			rule["set_mempolicy_home_node"] = "mbind"
		}
		/"calls_by_cause": / { inside = 1 }
		inside && /^  \]/ { inside = 0 }
		inside && $2 == "call" { name = $4 in rule ? rule[$4] : $4 }
		inside && $2 == "cause" { cause = $4 }
		inside && $2 == "count" && cause != "" {
			sub(/^: /, "", $3)
			print $3 "\t" name ": " cause
		}' "$@"
}

awk -F '\t' '
	NR == FNR { count[$2] += $1; next }
	{ printf "%9d  %s\n", count[$1], $1 }' <(counted "$@") <(named) | sort -n
