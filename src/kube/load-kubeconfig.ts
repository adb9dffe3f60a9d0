import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { KubeConfig, type Cluster } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { KubeError } from './cluster-api.ts';
import { KUBECONFIG_INVALID } from './kube-fault.ts';

/** Where the way to the API server and the credential come from. */
export type KubeconfigSource =
  | { readonly kind: 'file'; readonly path: string }
  /** From a request or a store: must hold everything inline, and may not run commands or read files of this machine. */
  | { readonly kind: 'text'; readonly yaml: string }
  | { readonly kind: 'in-cluster' };

const MAX_CHARACTERS = 1024 * 1024;
/** Entries that make the reader open a file or run a program. */
const REACHES_OUT = [
  'certificate-authority',
  'client-certificate',
  'client-key',
  'tokenFile',
  'token-file',
  'exec',
  'auth-provider',
];

type Entry = Record<string, unknown>;

/** Reads and checks a kubeconfig. Throws KubeError `KubeconfigInvalid`, never quoting what the file holds. */
export function loadKubeconfig(source: KubeconfigSource): KubeConfig {
  const config = new KubeConfig();
  try {
    if (source.kind === 'in-cluster') config.loadFromCluster();
    else config.loadFromString(JSON.stringify(readDocument(source)));
  } catch (error) {
    if (error instanceof KubeError) throw error;
    throw invalid(`${nameOf(source)} cannot be read: ${messageOf(error)}`, error);
  }
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (cluster === null || user === null) {
    const context = config.getCurrentContext();
    throw invalid(`${nameOf(source)} names no cluster and user in its current-context "${context}"`);
  }
  if (source.kind === 'in-cluster' && !URL.canParse(cluster.server)) {
    const why = 'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set';
    throw invalid(`this program does not run in a cluster: ${why}; give it a kubeconfig`);
  }
  if (serverOf(cluster, source).protocol === 'https:') return config;
  const plain = new KubeConfig();
  // There is no certificate to verify on a loopback http address; the library wants that said.
  plain.loadFromClusterAndUser({ ...cluster, skipTLSVerify: true }, user);
  return plain;
}

export function currentCluster(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw invalid('the kubeconfig has no current cluster');
  return cluster;
}

export function invalid(message: string, cause?: unknown): KubeError {
  return new KubeError(message, { status: 0, reason: KUBECONFIG_INVALID, ...(cause === undefined ? {} : { cause }) });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : String(error);
}

function readDocument(source: Exclude<KubeconfigSource, { kind: 'in-cluster' }>): unknown {
  const text = source.kind === 'file' ? readFileSync(source.path, 'utf8') : source.yaml;
  if (text.length > MAX_CHARACTERS) throw invalid(`${nameOf(source)} is larger than ${MAX_CHARACTERS} characters`);
  const document = parseYaml(text, source);
  if (!isEntry(document)) throw invalid(`${nameOf(source)} is not a map`);
  const parts = [...entriesOf(document, 'clusters', 'cluster'), ...entriesOf(document, 'users', 'user')];
  for (const { name, entry } of parts) {
    if (source.kind === 'file') {
      absolutePaths(entry, dirname(resolve(source.path)));
      continue;
    }
    const found = REACHES_OUT.find((key) => entry[key] !== undefined && entry[key] !== null);
    if (found === undefined) continue;
    const advice = 'give a token or a client certificate inline ("kubectl config view --raw --flatten" embeds files)';
    throw invalid(`${nameOf(source)}: "${name}" has ${found}, which reaches out of the text; ${advice}`);
  }
  return document;
}

function parseYaml(text: string, source: KubeconfigSource): unknown {
  try {
    return parse(text);
  } catch {
    // The parser's message quotes the line, which may be a credential.
    throw invalid(`${nameOf(source)} is not YAML`);
  }
}

/** Paths in a kubeconfig are relative to it; and a token file is read again as it rotates. */
function absolutePaths(entry: Entry, folder: string): void {
  for (const key of ['certificate-authority', 'client-certificate', 'client-key']) {
    const path = entry[key];
    if (typeof path === 'string') entry[key] = resolve(folder, path);
  }
  const tokenFile = entry['tokenFile'];
  if (typeof tokenFile !== 'string') return;
  delete entry['token'];
  entry['auth-provider'] = { name: 'tokenFile', config: { tokenFile: resolve(folder, tokenFile) } };
}

function entriesOf(document: Entry, list: string, key: string): readonly { name: string; entry: Entry }[] {
  const items = document[list];
  if (!Array.isArray(items)) return [];
  return (items as unknown[]).flatMap((item) => {
    if (!isEntry(item)) return [];
    const entry = item[key];
    return isEntry(entry) ? [{ name: String(item['name']), entry }] : [];
  });
}

function serverOf(cluster: Cluster, source: KubeconfigSource): URL {
  if (!URL.canParse(cluster.server)) throw invalid(`${nameOf(source)}: server "${cluster.server}" is not a URL`);
  const url = new URL(cluster.server);
  const loopback = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) {
    throw invalid(`${nameOf(source)}: server ${url.origin} must be https (plain http is for loopback addresses only)`);
  }
  return url;
}

function nameOf(source: KubeconfigSource): string {
  if (source.kind === 'file') return `kubeconfig ${source.path}`;
  return source.kind === 'text' ? 'the kubeconfig given as text' : 'the in-cluster service account';
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
