#!/usr/bin/env bash
# Builds, with the engine that DOCKER_HOST names, the images service-control-plane:test, service-operator:test and
# service-kube:test from bases that are imported, not pulled: build-base.sh makes the Debian one; the one for compiling
# is that and the Node and npm of this machine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cache-folder.sh"
docker=/usr/bin/docker
: "${DOCKER_HOST:?must name the engine (start-engine.sh)}"
export DOCKER_BUILDKIT=1
say() { printf 'test/images/build-images.sh [%4ds] %s\n' "$SECONDS" "$*"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/build-base.sh"
$docker import "$cache/images/debian-bookworm-slim.tar" service-base:debian >/dev/null

mkdir "$work/node"
cp "$root/node_modules/node/bin/node" "$work/node/node"
cp -rL "$(dirname "$(readlink -f "$(PATH=${PATH//$root\/node_modules\/.bin:/} command -v npm)")")/.." "$work/node/npm"
cat >"$work/node/Dockerfile" <<'DOCKERFILE'
FROM service-base:debian
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
DOCKERFILE
$docker build --quiet --network host --tag service-base:node "$work/node" >/dev/null
say 'base images are in'

build() { # target
  # The machine's own roots: a proxy that ends TLS is trusted while building, and not in the image.
  $docker build --progress plain --network host --secret id=ca,src=/etc/ssl/certs/ca-certificates.crt \
    --build-arg BUILD_IMAGE=service-base:node --build-arg RUNTIME_IMAGE=service-base:debian \
    --build-arg REVISION="$(git -C "$root" rev-parse HEAD)" --target "$1" --tag "service-$1:test" "$root" \
    >"$work/build.log" 2>&1 || { tail -n 60 "$work/build.log" >&2; say "the target $1 does not build" >&2; exit 1; }
  say "service-$1:test is built: $(($($docker image inspect --format '{{.Size}}' "service-$1:test") / 1000000)) MB"
}
build control-plane
build operator

# Waits for another run that builds it at this moment.
"$root/test/kube/build.sh"
mkdir "$work/kube"
cp "$cache/bin"/{etcd,kube-apiserver,kube-controller-manager} "$here/kube/run-cluster.sh" "$here/kube/Dockerfile" "$work/kube/"
$docker build --quiet --network host --build-arg RUNTIME_IMAGE=service-base:debian --tag service-kube:test "$work/kube" >/dev/null
say 'service-kube:test is built'
