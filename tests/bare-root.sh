#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Does a fresh clone work on a bare Debian 12, with nothing else typed?
#
#   tests/bare-root.sh [root|user|nosudo]...       (default: all three)
#
# Makes a Debian 12 root (debootstrap --variant=minbase, kept as a tarball for the next
# time), clones the last commit of this repository into it and runs there `./dev build`,
# `./dev run --time 10` (which may find something: exit status 1) and `./dev test`:
#   root    as root
#   user    as an ordinary user who may use sudo
#   nosudo  as an ordinary user without sudo: ./dev must say what to install and exit 3
# Run it as root. It needs debootstrap, git, 3 GB in the temporary folder, some ten minutes
# and the network; so it is not part of `./dev test`. All mounts are in a mount namespace
# of their own. The root of a case that fails is kept, so that one can look at it.
# Environment: MIRROR, XDG_CACHE_HOME (/var/tmp), TMPDIR (/var/tmp).
set -euo pipefail

repository=$(dirname "$(dirname "$(readlink -f "$0")")")
cache=${XDG_CACHE_HOME:-/var/tmp}/vmafuzz-bare-root
mirror=${MIRROR:-http://deb.debian.org/debian}
suite=bookworm

say() { printf 'bare-root: %s\n' "$*"; }
die() { printf 'bare-root: %s\n' "$*" >&2; exit 3; }

make_tarball() {
	local tarball=$cache/$suite.tar work
	[ -e "$tarball" ] && return
	say "debootstrap $suite, kept in $tarball"
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/work.XXXXXX")
	debootstrap --variant=minbase "$suite" "$work/root" "$mirror" >"$work/log" 2>&1 ||
		die "debootstrap failed, see $work/log"
	tar -C "$work/root" --exclude='./dev/*' --exclude='./proc/*' -cf "$work/root.tar" .
	mv "$work/root.tar" "$tarball"
	rm -rf --one-file-system "$work"
}

# fresh_root FOLDER: a bare root there, with this machine's Debian sources and a clone in /src.
fresh_root() {
	local file
	tar -C "$1" -xf "$cache/$suite.tar"
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf \
		/etc/apt/apt.conf.d/*proxy* /etc/resolv.conf /etc/hosts; do
		if [ -e "$file" ]; then
			cp -L "$file" "$1$file"
		fi
	done
	if [ -e /etc/apt/sources.list.d/debian.sources ] && [ ! -e /etc/apt/sources.list ]; then
		rm -f "$1/etc/apt/sources.list"
	fi
	git clone -q --no-hardlinks "file://$repository" "$1/src"
	mkdir -p "$cache/archives" "$1/var/cache/apt/archives"
	mount --bind "$cache/archives" "$1/var/cache/apt/archives"
	mount -t proc proc "$1/proc"
	mount --rbind /dev "$1/dev"
}

# inside FOLDER USER COMMAND: what the user would see, in the clone.
inside() {
	chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		su "$2" -s /bin/bash -c "cd /src && $3"
}

add_user() {
	chroot "$1" useradd -m -s /bin/bash developer
	chroot "$1" chown -R developer:developer /src
}

all_commands() {
	local command status failed=0
	for command in './dev build' './dev run --time 10' './dev test'; do
		say "$2: $command"
		status=0
		inside "$1" "$2" "$command" </dev/null || status=$?
		say "$2: $command: exit status $status"
		case $command:$status in
		*:0) ;;
		'./dev run'*:1) say "it works, and found what it lists on this kernel" ;;
		*) failed=1 ;;
		esac
	done
	return "$failed"
}

case_root() {
	all_commands "$1" root
}

case_user() {
	add_user "$1"
	inside "$1" root 'apt-get -q -y update && apt-get -q -y install --no-install-recommends sudo' >/dev/null 2>&1 ||
		die "could not install sudo"
	echo 'developer ALL=(ALL) NOPASSWD: ALL' >"$1/etc/sudoers.d/developer"
	all_commands "$1" developer
}

case_nosudo() {
	local said status=0
	add_user "$1"
	said=$(inside "$1" developer './dev build' 2>&1) || status=$?
	printf '%s\n' "$said"
	[ "$status" -eq 3 ] || die "without sudo: exit status $status, not 3"
	[[ $said == *"run as root: apt-get install "* ]] || die "without sudo: no word of what to install"
	[ "$(wc -l <<<"$said")" -eq 1 ] || die "without sudo: more than one line"
}

# In the namespaces: one case in one root.
if [ "${1-}" = --inside ]; then
	fresh_root "$3"
	"case_$2" "$3"
	exit
fi

[ "$(id -u)" -eq 0 ] || die "run it as root: it makes a root file system and mounts"
for command in debootstrap git unshare; do
	command -v "$command" >/dev/null || die "$command is missing: apt-get install debootstrap git util-linux"
done
[ $# -gt 0 ] || set -- root user nosudo
for name; do
	declare -F "case_$name" >/dev/null || die "there is no case \"$name\": root, user or nosudo"
done
make_tarball
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/vmafuzz-bare-root.XXXXXX")
for name; do
	mkdir "$folder/$name"
	unshare --mount --propagation private --pid --fork --kill-child \
		bash "$(readlink -f "$0")" --inside "$name" "$folder/$name" || {
		say "$name: failed; its root is left in $folder/$name, the clone in src/"
		exit 1
	}
	rm -rf --one-file-system "${folder:?}/$name"
	say "$name: good"
done
rmdir "$folder"
