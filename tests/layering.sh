#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Dependencies point one way: cli -> fuzz -> {oracle, harness} -> harness/program, and
# the oracle is pure. usage: tests/layering.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

source_dir=$1 build_dir=$2
failures=0

complain() {
	printf '%s\n' "$*"
	failures=$((failures + 1))
}

# What the files of a folder may include, as a regular expression.
allowed_includes() {
	case $1 in
	harness/program) echo '^harness/program/' ;;
	harness/snapshot) echo '^harness/(program|snapshot)/' ;;
	harness/trace) echo '^harness/(program|snapshot|trace)/' ;;
	harness/*) echo '^harness/' ;;
	oracle) echo '^(oracle|harness/(program|trace|snapshot))/' ;;
	fuzz) echo '^(fuzz|oracle|harness)/' ;;
	cli) echo '^(cli|fuzz|oracle|harness)/' ;;
	esac
}

check_includes() {
	local folder=$1 allowed file line header
	allowed=$(allowed_includes "$folder")
	while IFS=: read -r file line header; do
		[[ $header =~ $allowed ]] ||
			complain "$file:$line: $folder must not include \"$header\""
	done < <(cd "$source_dir" && grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$folder" |
		sed -E 's/^([^:]*:[0-9]+:)[^"]*"([^"]*)".*/\1\2/')
}

# libc functions that only compute, and what a compiler puts in by itself.
pure='^(__)?(bcmp|mem(cpy|move|set|cmp|chr|rchr|mem|pcpy)|str[a-z]+|stpn?cpy|v?snprintf|qsort(_r)?|bsearch'
pure+='|malloc|calloc|realloc|free|reallocarray|abort|abs|labs|llabs|ffs(l|ll)?|to(upper|lower)'
pure+='|isoc(99|23)_(strto[a-z]+|sscanf)|sscanf)(_chk)?$'
pure+='|^(__assert_fail|__errno_location|__ctype_[a-z_]+|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_'
pure+='|__popcountdi2|__isoc(99|23)_[a-z]+)$'

# These keep state in libc, or ask for the locale.
impure='^(strtok|strerror|strsignal|strcoll|strxfrm|strftime|strfmon|strptime)$'

# Every symbol that the archive wants is its own, harness/program's, or pure libc.
check_pure() {
	local archive=$1 known symbol
	known=$(nm --defined-only "$build_dir"/libvm_{oracle,program}.a 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
	while read -r symbol; do
		[[ $symbol =~ $pure && ! $symbol =~ $impure ]] ||
			complain "$archive must not use $symbol: it is to be pure"
	done < <(nm -u "$build_dir/$archive" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u |
		comm -23 - <(printf '%s\n' "$known"))
}

# No object of the archive has writable data. What relocation alone writes to is constant.
check_stateless() {
	local archive=$1 object section
	while read -r object section; do
		complain "$archive($object): $section is not empty: no global state"
	done < <(objdump -h "$build_dir/$archive" | awk '
		/file format/ { object = $1; sub(/:$/, "", object) }
		$2 ~ /^\.(data|bss|tdata|tbss)/ && $2 !~ /^\.data\.rel\.ro/ && $3 !~ /^0+$/ { print object, $2 }')
}

for folder in harness/{program,snapshot,trace,executor,target,guest,kernel} oracle fuzz cli; do
	if [ -d "$source_dir/$folder" ]; then
		check_includes "$folder"
	fi
done
for archive in libvm_oracle.a libvm_program.a; do
	if [ ! -e "$build_dir/$archive" ]; then
		complain "$build_dir/$archive is missing"
		continue
	fi
	check_pure "$archive"
	check_stateless "$archive"
done

[ "$failures" -eq 0 ]
