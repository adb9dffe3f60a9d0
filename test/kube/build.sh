#!/usr/bin/env bash
# Makes a real API server for the tests on Debian bookworm: etcd and Go from apt, kube-apiserver and
# kube-controller-manager 1.20.2 from bookworm's source package. The programs go to
# ${SERVICE_KUBE_CACHE:-${XDG_CACHE_HOME:-~/.cache}/service-kube}/bin; when they are there, there is nothing to do.
# KEEP_BUILD=1 leaves the sources and Go's caches (1.9 GB).
set -euo pipefail

cache=${SERVICE_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/service-kube}
version=1.20.2
commit=faecb196815e248d3ecfb03c680a4507229c2a56
go_bin=/usr/lib/go-1.19/bin
programs=(kube-apiserver kube-controller-manager)

say() { printf 'test/kube/build.sh [%4ds] %s\n' "$SECONDS" "$*"; }
fail() { say "$*" >&2; exit 1; }

complete() {
  local program
  for program in etcd "${programs[@]}"; do [ -x "$cache/bin/$program" ] || return 1; done
}

# Moved into place whole, so that a build that was stopped leaves nothing that looks like a program.
keep() { install -m 755 "$1" "$cache/bin/.$2.part" && mv "$cache/bin/.$2.part" "$cache/bin/$2"; }

in_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@" || fail "needs root for: $*"; fi
}

install_packages() {
  local wanted=() source_tools=(dpkg-dev ca-certificates)
  command -v etcd >/dev/null || wanted+=(etcd-server)
  command -v openssl >/dev/null || wanted+=(openssl)
  [ -x "$go_bin/go" ] || wanted+=(golang-1.19-go)
  dpkg -s "${source_tools[@]}" >/dev/null 2>&1 || wanted+=("${source_tools[@]}")
  [ ${#wanted[@]} -gt 0 ] || return 0
  say "apt: ${wanted[*]}"
  export DEBIAN_FRONTEND=noninteractive
  in_root apt-get update -qq || fail 'apt-get update failed: is a Debian mirror reachable?'
  in_root apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null ||
    fail "apt could not install ${wanted[*]}"
}

# A source list, package lists and caches of our own, from the mirror that this machine uses already: /etc/apt and
# /var/lib/apt stay as they are.
fetch_sources() {
  local work=$1 mirror
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "bookworm" { print $2; exit }')
  [ -n "$mirror" ] || fail 'apt knows no mirror of Debian bookworm, whose source package this builds'
  mkdir -p "$work/lists/partial"
  cat >"$work/sources.list" <<LIST
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main
deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main
LIST
  local apt=(apt-get -qq
    -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$work/lists" -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache=
    -o APT::Sandbox::User=root)
  cd "$work"
  "${apt[@]}" update || fail "no package lists from $mirror"
  "${apt[@]}" source --download-only kubernetes || fail "the source package kubernetes is not at $mirror"
  # The vendored reflect2 1.0.1 crashes a server built with Go 1.18 or later at its first custom resource.
  "${apt[@]}" download golang-github-modern-go-reflect2-dev || fail 'no golang-github-modern-go-reflect2-dev'
  compgen -G "kubernetes_*$version.orig.tar.gz" >/dev/null || fail "bookworm's kubernetes is no longer $version"
}

unpack_sources() {
  local work=$1 tree=$2 reflect2=vendor/github.com/modern-go/reflect2
  mkdir -p "$tree"
  tar xzf "$work"/kubernetes_*"$version".orig.tar.gz -C "$tree" --strip-components=1
  dpkg-deb -x "$work"/golang-github-modern-go-reflect2-dev_*.deb "$work/reflect2"
  rm -rf "${tree:?}/$reflect2"
  cp -r "$work/reflect2/usr/share/gocode/src/github.com/modern-go/reflect2" "$tree/$reflect2"
}

# The tarball lacks one generated file: the OpenAPI definitions of all types that ask for one.
generate_openapi() {
  local work=$1 tree=$2 packages
  cd "$tree"
  go build -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  packages=$(
    find cmd pkg plugin vendor/k8s.io/*/ -name '*.go' -not -path '*/testdata/*' \
      -not -path 'vendor/k8s.io/code-generator/*' -not -path 'vendor/k8s.io/sample-apiserver/*' -print0 |
      xargs -0 grep -l -E '^// *\+k8s:openapi-gen=' | xargs -n1 dirname | LC_ALL=C sort -u |
      sed 's#^#k8s.io/kubernetes/#' | paste -sd, -
  )
  "$work/openapi-gen" --logtostderr -i "$packages" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
    -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r "$work/openapi-violations"
}

build_programs() {
  local work=$1 tree=$2 flags='-s -w' package pair program
  for package in component-base/version client-go/pkg/version; do
    for pair in "gitVersion=v$version" gitMajor=1 gitMinor=20 "gitCommit=$commit" gitTreeState=clean \
      buildDate=2021-01-13T13:20:00Z; do
      flags+=" -X k8s.io/kubernetes/vendor/k8s.io/$package.$pair"
    done
  done
  cd "$tree"
  for program in "${programs[@]}"; do
    go build -trimpath -tags providerless -ldflags "$flags" -o "$work/$program" "./cmd/$program" ||
      fail "$program did not build"
    keep "$work/$program" "$program"
    say "$program is built"
  done
}

mkdir -p "$cache/bin"
# Two runs at once: the second waits, and finds everything there.
exec 9>"$cache/lock"
if ! flock -n 9; then
  say 'another build is at work; waiting for it'
  flock -w 1800 9 || fail "another build has held $cache/lock for half an hour"
fi
if complete; then
  say "nothing to do: $cache/bin is complete"
  exit 0
fi

install_packages
[ -x "$cache/bin/etcd" ] || keep "$(readlink -f "$(command -v etcd)")" etcd
if complete; then
  say "done: $cache/bin"
  exit 0
fi
work=$cache/build
[ "${KEEP_BUILD:-0}" = 1 ] || trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work"
tree=$work/gopath/src/k8s.io/kubernetes
export PATH="$go_bin:$PATH" GOPATH="$work/gopath" GOCACHE="$work/gocache" GO111MODULE=off CGO_ENABLED=0 GOFLAGS=
fetch_sources "$work"
unpack_sources "$work" "$tree"
say "sources of Kubernetes $version are in $work"
generate_openapi "$work" "$tree"
say 'OpenAPI definitions are generated'
build_programs "$work" "$tree"
say "done: $cache/bin"
