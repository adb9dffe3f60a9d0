#!/usr/bin/env bash
# Starts a container engine of our own (Debian's docker.io) with everything it keeps in FOLDER, and prints the value for
# DOCKER_HOST. It makes no bridge and touches no firewall: containers use the host's network.
#
#   start-engine.sh FOLDER     stop-engine.sh FOLDER ends it and removes the folder
set -euo pipefail
folder=${1:?usage: start-engine.sh FOLDER}
fail() { printf 'test/images/start-engine.sh: %s\n' "$*" >&2; exit 1; }

[ -x /usr/bin/docker ] && command -v dockerd >/dev/null || fail 'docker.io is not installed (apt-get install docker.io)'
[ "$(id -u)" = 0 ] || fail 'a container engine needs root'
mkdir -p "$folder"
folder=$(readlink -f "$folder")
[ ! -e "$folder/pid" ] || fail "$folder/pid is there: an engine runs already (stop-engine.sh $folder)"
host=unix://$folder/docker.sock
# The kernel takes no socket path longer than 107 bytes.
[ ${#folder} -le 90 ] || fail "$folder is too long a path for a socket"
setsid dockerd --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/pid" --host "$host" \
  --storage-driver overlay2 --bridge none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
  >"$folder/log" 2>&1 </dev/null &
engine=$!
for _ in $(seq 1 300); do
  if /usr/bin/docker --host "$host" version >/dev/null 2>&1; then
    echo "$host"
    exit 0
  fi
  kill -0 "$engine" 2>/dev/null || break
  sleep 0.2
done
kill "$engine" 2>/dev/null || true
fail "the engine did not start; the end of its log:
$(tail -n 15 "$folder/log")"
