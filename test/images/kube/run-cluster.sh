#!/bin/bash
# Runs etcd, kube-apiserver and, when asked to, kube-controller-manager on loopback until SIGTERM. Keys, tokens and etcd's
# data are made at the first start and kept over a restart. When one of the programs ends, so do the others.
set -euo pipefail
folder=/service-kube
pki=$folder/pki
url=https://127.0.0.1:$SERVICE_KUBE_API_PORT
etcd_url=http://127.0.0.1:$SERVICE_KUBE_ETCD_PORT
peer_url=http://127.0.0.1:$SERVICE_KUBE_ETCD_PEER_PORT

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key"; }
sign() { # name, subject, extensions
  key "$1"
  openssl req -new -key "$pki/$1.key" -subj "$2" -out "$pki/$1.csr"
  openssl x509 -req -sha256 -days 365 -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial \
    -extfile <(printf '%s\n' "$3") -out "$pki/$1.crt" 2>/dev/null
}
make_keys() {
  umask 077
  mkdir -p "$pki"
  key ca
  openssl req -x509 -new -key "$pki/ca.key" -sha256 -days 3650 -subj /CN=service-kube -out "$pki/ca.crt"
  sign server /CN=kube-apiserver \
    $'extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc'
  sign front-proxy /CN=front-proxy extendedKeyUsage=clientAuth
  key accounts
  openssl ec -in "$pki/accounts.key" -pubout -out "$pki/accounts.pub" 2>/dev/null
  printf '%s,admin,1,"system:masters"\n' "$(openssl rand -hex 32)" >"$pki/tokens.csv"
}
write_kubeconfig() {
  cat >"$folder/.admin.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters:
  - name: test
    cluster: { server: "$url", certificate-authority-data: $(base64 -w0 <"$pki/ca.crt") }
users:
  - name: admin
    user: { token: $(cut -d, -f1 "$pki/tokens.csv") }
contexts:
  - name: test
    context: { cluster: test, user: admin }
current-context: test
YAML
  mv "$folder/.admin.kubeconfig" "$folder/admin.kubeconfig"
}

[ -f "$pki/tokens.csv" ] || make_keys
write_kubeconfig
flags=()
if [ -f "$folder/audit-policy.json" ]; then
  flags+=("--audit-policy-file=$folder/audit-policy.json" "--audit-log-path=$folder/audit/audit.log" --audit-log-mode=blocking)
fi
while IFS= read -r flag; do [ -z "$flag" ] || flags+=("$flag"); done <<<"${SERVICE_KUBE_API_FLAGS:-}"

trap 'kill $(jobs -p) 2>/dev/null; wait; exit 0' TERM INT
etcd --data-dir="$folder/etcd" --name=test --log-level=warn --logger=zap \
  --listen-client-urls="$etcd_url" --advertise-client-urls="$etcd_url" \
  --listen-peer-urls="$peer_url" --initial-advertise-peer-urls="$peer_url" --initial-cluster="test=$peer_url" &
etcd=$!
kube-apiserver --etcd-servers="$etcd_url" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
  --secure-port="$SERVICE_KUBE_API_PORT" --endpoint-reconciler-type=none \
  --tls-cert-file="$pki/server.crt" --tls-private-key-file="$pki/server.key" --client-ca-file="$pki/ca.crt" \
  --token-auth-file="$pki/tokens.csv" --authorization-mode=Node,RBAC \
  --requestheader-client-ca-file="$pki/ca.crt" --requestheader-allowed-names=front-proxy \
  --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
  --requestheader-extra-headers-prefix=X-Remote-Extra- \
  --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key" \
  --service-account-issuer=https://kubernetes.default.svc \
  --service-account-signing-key-file="$pki/accounts.key" --service-account-key-file="$pki/accounts.pub" \
  --service-cluster-ip-range=10.96.0.0/24 --profiling=false "${flags[@]}" &
api=$!
ready() {
  printf 'GET /readyz HTTP/1.0\r\n\r\n' |
    timeout 5 openssl s_client -quiet -verify_quiet -CAfile "$pki/ca.crt" -connect "127.0.0.1:$SERVICE_KUBE_API_PORT" 2>/dev/null |
    grep -q '^ok'
}
if [ "${SERVICE_KUBE_CONTROLLER_MANAGER:-0}" = 1 ]; then
  # It gives up after ten seconds without an API server.
  until ready || ! kill -0 "$etcd" "$api"; do sleep 0.2; done
  kube-controller-manager --kubeconfig="$folder/admin.kubeconfig" --authentication-kubeconfig="$folder/admin.kubeconfig" \
    --authorization-kubeconfig="$folder/admin.kubeconfig" --bind-address=127.0.0.1 \
    --secure-port="$SERVICE_KUBE_MANAGER_PORT" --port=0 --leader-elect=false \
    --service-account-private-key-file="$pki/accounts.key" --root-ca-file="$pki/ca.crt" --profiling=false &
fi
wait -n -p ended || echo "run-cluster: process $ended ended with $? (etcd $etcd, kube-apiserver $api)" >&2
kill $(jobs -p) 2>/dev/null || true
wait
exit 1
