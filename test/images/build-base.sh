#!/usr/bin/env bash
# Makes what `debian:bookworm-slim` is on a machine that reaches no registry: a minimal Debian root, as a tar for
# `docker import`, at <cache>/images/debian-bookworm-slim.tar. When it is there, there is nothing to do.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/cache-folder.sh"
base=$cache/images/debian-bookworm-slim.tar
say() { printf 'test/images/build-base.sh [%4ds] %s\n' "$SECONDS" "$*"; }
fail() { say "$*" >&2; exit 1; }

mkdir -p "$cache/images"
# Two runs at once: the second waits, and finds it there.
exec 9>"$cache/images/lock"
flock -w 900 9 || fail "another build has held $cache/images/lock for a quarter of an hour"
if [ -s "$base" ]; then
  say "nothing to do: $base is there"
  exit 0
fi
command -v debootstrap >/dev/null || fail 'debootstrap is not installed (apt-get install debootstrap)'
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "bookworm" { print $2; exit }')
[ -n "$mirror" ] || fail 'apt knows no mirror of Debian bookworm'
work=$(mktemp -d "$cache/images/root.XXXXXX")
trap 'rm -rf "$work" "$base.part"' EXIT
chmod 755 "$work"
debootstrap --variant=minbase --include=ca-certificates bookworm "$work" "$mirror" >"$cache/images/debootstrap.log" 2>&1 ||
  fail "debootstrap failed; the end of its log: $(tail -n 5 "$cache/images/debootstrap.log")"
rm -rf "$work"/usr/share/{doc,man,info,locale}/* "$work"/var/cache/apt/* "$work"/var/lib/apt/lists/* "$work"/var/log/*
tar -C "$work" --numeric-owner -cf "$base.part" .
mv "$base.part" "$base"
say "done: $base, $(du -h "$base" | cut -f1)"
