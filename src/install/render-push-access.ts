import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OPERATOR_NAMESPACE } from '../resources/labels.ts';
import { checkNamespace } from './install-options.ts';
import type { Manifest } from './render-install.ts';
import { joinDocuments, objectOf, withFields } from './yaml-document.ts';

const ROOT = new URL('../../templates/install/', import.meta.url);
const ACCOUNT = 'service-control-plane';
const TOKEN_SECRET = 'service-control-plane-token';
/** Servers give less where their administrators say so. */
const DURATION = '2160h';

export interface PushAccessOptions {
  readonly slug: string;
  /** One binding in each. */
  readonly namespaces: readonly string[];
  /** With the role by which the control plane renews its token. */
  readonly renewable?: boolean;
  /** With a Secret that holds a token which does not end, for what cannot ask for one. */
  readonly tokenSecret?: boolean;
}

/**
 * What a cluster's admin applies for push mode: account, roles, one binding for each namespace. Its first comment says how a
 * kubeconfig is made from it.
 *
 * @throws InstallOptionError
 */
export function renderPushAccess(options: PushAccessOptions): Manifest {
  const texts = textsOf(options);
  const script = kubeconfigCommands(options);
  const header = [
    `What the control plane writes to cluster ${options.slug} with in push mode. An admin of that cluster applies it`,
    '(kubectl apply -f -), and then makes a kubeconfig by these commands:',
    '',
    ...script.split('\n').map((line) => (line === '' ? '' : `  ${line}`)),
    '',
    `Then, where the control plane is administered:  servicectl clusters push-credential ${options.slug} --kubeconfig ${fileOf(options)}`,
    `or, to move a cluster that is in another mode:  servicectl clusters mode ${options.slug} push --kubeconfig ${fileOf(options)}`,
  ];
  return { text: joinDocuments(header, texts), objects: texts.map(objectOf) };
}

/** A controller of the cluster puts the token in, within a second as a rule. */
const WAIT_FOR_TOKEN = [
  `echo 'waiting for the cluster to put a token into Secret ${OPERATOR_NAMESPACE}/${TOKEN_SECRET}' >&2`,
  'tries=0',
  `until kubectl --namespace ${OPERATOR_NAMESPACE} get secret ${TOKEN_SECRET} -o 'jsonpath={.data.token}' | grep -q .; do`,
  '  tries=$((tries + 1))',
  '  if [ "$tries" -ge 60 ]; then',
  `    echo 'there is no token in it after a minute: this cluster fills no Secrets of type kubernetes.io/service-account-token; leave out --token-secret, which takes kubectl 1.24 or later' >&2`,
  '    exit 1',
  '  fi',
  '  sleep 1',
  'done',
].join('\n');

/** The same as a script for `sh`: applies it and writes the kubeconfig to a file of mode 0600. */
export function pushAccessScript(options: PushAccessOptions): string {
  const manifest = joinDocuments([], textsOf(options));
  return [
    `# Makes what the control plane writes to cluster ${options.slug} with in push mode; run it as an admin of that cluster.`,
    'set -eu',
    `kubectl apply -f - <<'MANIFEST'\n${manifest}MANIFEST`,
    ...(options.tokenSecret === true ? [WAIT_FOR_TOKEN] : []),
    kubeconfigCommands(options),
    '',
  ].join('\n');
}

/** No credential is an argument of a program: other users of the machine can read those. */
function kubeconfigCommands(options: PushAccessOptions): string {
  const { slug, tokenSecret } = options;
  const config = 'kubectl config view --raw --flatten --minify';
  const of = (field: string): string => `$(${config} -o 'jsonpath={.clusters[0].cluster.${field}}')`;
  const token =
    tokenSecret === true
      ? `$(kubectl --namespace ${OPERATOR_NAMESPACE} get secret ${TOKEN_SECRET} -o 'jsonpath={.data.token}' | base64 -d)`
      : `$(kubectl --namespace ${OPERATOR_NAMESPACE} create token ${ACCOUNT} --duration=${DURATION})`;
  // A failure inside a here-document would go unseen; an assignment's is seen.
  return [
    // In a shell of its own: whoever pastes it keeps theirs.
    '(',
    'umask 077',
    `server=${of('server')} || exit 1`,
    `ca=${of('certificate-authority-data')} || exit 1`,
    `name=${of('tls-server-name')} || exit 1`,
    `proxy=${of('proxy-url')} || exit 1`,
    `token=${token} || exit 1`,
    `test -n "$token" || { echo 'there is no token' >&2; exit 1; }`,
    // A file that is there keeps its mode.
    `rm -f ${fileOf(options)}`,
    `cat > ${fileOf(options)} <<KUBECONFIG`,
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    `- name: ${slug}`,
    '  cluster:',
    '    server: "$server"',
    '    certificate-authority-data: "$ca"',
    '    tls-server-name: "$name"',
    '    proxy-url: "$proxy"',
    'users:',
    `- name: ${ACCOUNT}`,
    '  user: {token: "$token"}',
    'contexts:',
    `- name: ${slug}`,
    `  context: {cluster: ${slug}, user: ${ACCOUNT}}`,
    `current-context: ${slug}`,
    'KUBECONFIG',
    ')',
  ].join('\n');
}

function fileOf({ slug }: PushAccessOptions): string {
  return `${slug}.push.kubeconfig`;
}

function textsOf({ namespaces, renewable, tokenSecret }: PushAccessOptions): readonly string[] {
  for (const namespace of namespaces) checkNamespace('allowedNamespaces', namespace);
  const binding = read('push/namespace-role-binding.yaml');
  return [
    read('push/service-account.yaml'),
    read('push/namespace-role.yaml'),
    read('push/role.yaml'),
    read('push/role-binding.yaml'),
    ...namespaces.map((namespace) => withFields(binding, [[['metadata', 'namespace'], namespace]])),
    ...(renewable === true ? [read('push-renewal/role.yaml'), read('push-renewal/role-binding.yaml')] : []),
    ...(tokenSecret === true ? [read('push-token/secret.yaml')] : []),
  ];
}

function read(file: string): string {
  return readFileSync(fileURLToPath(new URL(file, ROOT)), 'utf8');
}
