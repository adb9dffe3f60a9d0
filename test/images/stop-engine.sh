#!/usr/bin/env bash
# Ends the engine of start-engine.sh with all its containers, and removes its folder.
set -euo pipefail
folder=$(readlink -f "${1:?usage: stop-engine.sh FOLDER}")
if [ -s "$folder/pid" ]; then
  pid=$(cat "$folder/pid")
  # Ours, not a number that was given to another program since.
  if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "--data-root $folder/data"; then
    docker=(/usr/bin/docker --host "unix://$folder/docker.sock")
    containers=$("${docker[@]}" ps --all --quiet 2>/dev/null || true)
    [ -z "$containers" ] || "${docker[@]}" rm --force --volumes $containers >/dev/null || true
    kill "$pid"
    for _ in $(seq 1 150); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
  fi
fi
# What the kernel still has mounted would keep the folder.
while read -r mount; do umount -l "$mount" || true; done < <(awk -v f="$folder/" 'index($2, f) == 1 { print $2 }' /proc/mounts | sort -r)
rm -rf "$folder"
