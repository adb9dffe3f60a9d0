import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Type } from 'typebox';
import { isAlias, parseDocument, visit } from 'yaml';
import { refusal } from '../../protocol/parse.ts';
import { Secret } from '../../runtime/secret.ts';
import { describeAccess, type PushAccess } from './push-access.ts';

const MAX_KUBECONFIG_BYTES = 64 * 1024;

/** A kubeconfig in a request. It is read strictly and kept sealed; no answer ever holds it. */
export const KubeconfigText = Type.String({
  minLength: 1,
  maxLength: MAX_KUBECONFIG_BYTES,
  description: 'a kubeconfig with one context, as YAML or JSON, that holds its credential itself',
});

/** Lines, brackets, quotes: a kubeconfig has about thirty, and a thousand where its base64 is folded. */
const MAX_MARKS = 2000;
const MAX_TOKEN = 16_384;
const MAX_NAME = 253;

type Entry = Readonly<Record<string, unknown>>;

const FLATTEN = '"kubectl config view --raw --flatten --minify" embeds files and leaves one context';
const TOKEN =
  'give a token or a client certificate that stands in it ("servicectl clusters push-access" says how to make one)';
const FILE = `is a path to a file, which the control plane never reads: ${FLATTEN}`;
const IMPERSONATION =
  'is impersonation: give the credential of the account that is meant, with its own rights and nobody else’s';
const PASSWORD = `is a password, which API servers take no more: ${TOKEN}`;

/** Entries of a user or cluster that are never taken, and what to do instead. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['exec', `runs a program on the control plane, which it never does: ${TOKEN}`],
  ['auth-provider', `needs a plugin, which the control plane has none of: ${TOKEN}`],
  ['tokenFile', FILE],
  ['token-file', FILE],
  ['certificate-authority', FILE],
  ['client-certificate', FILE],
  ['client-key', FILE],
  ['username', PASSWORD],
  ['password', PASSWORD],
  ['as', IMPERSONATION],
  ['as-uid', IMPERSONATION],
  ['as-groups', IMPERSONATION],
  ['as-user-extra', IMPERSONATION],
  [
    'insecure-skip-tls-verify',
    'lets anybody on the way read the credential: give the certificate authority of the API server as certificate-authority-data',
  ],
]);
const OF_CLUSTER = ['server', 'tls-server-name', 'certificate-authority-data', 'proxy-url'];
const OF_USER = ['token', 'client-certificate-data', 'client-key-data'];
const IGNORED = ['extensions', 'disable-compression'];

/**
 * An uploaded kubeconfig as the one way to an API server that it holds. Nothing is read from this machine, no program is
 * run, and no message quotes what the text holds: it names the place.
 *
 * @param path JSON pointer of the text in the request, for the fault
 * @throws AppError `constraint_violated` that says where the fault is and what would be taken instead
 */
export function readKubeconfig(text: string, { path, now }: { readonly path: string; readonly now: Date }): PushAccess {
  const refuse: Refuse = (message) => refusal([{ path, message }]);
  const document = readYaml(text, refuse);
  const context = only(document, 'contexts', 'context', refuse);
  const current = document['current-context'];
  if (isGiven(current) && current !== context.name) {
    throw refuse('current-context does not name the context that is there: correct it, or leave it out');
  }
  const cluster = only(document, 'clusters', 'cluster', refuse);
  const user = only(document, 'users', 'user', refuse);
  if (context.entry['cluster'] !== cluster.name) {
    throw refuse('contexts[0].context.cluster does not name the cluster that is there');
  }
  if (context.entry['user'] !== user.name)
    throw refuse('contexts[0].context.user does not name the user that is there');
  refuseEntries(cluster.entry, 'clusters[0].cluster', OF_CLUSTER, refuse);
  refuseEntries(user.entry, 'users[0].user', OF_USER, refuse);
  const access: PushAccess = {
    userName: printable(user.name),
    ...readCluster(cluster.entry, refuse),
    ...readUser(user.entry, refuse),
  };
  const { expiresAt } = describeAccess(access);
  if (expiresAt !== null && expiresAt <= now.toISOString()) {
    throw refuse(`the credential in it expired at ${expiresAt}: make a new one`);
  }
  return access;
}

type Refuse = (message: string) => Error;

function readYaml(text: string, refuse: Refuse): Entry {
  if (Buffer.byteLength(text) > MAX_KUBECONFIG_BYTES) {
    throw refuse(`is larger than ${MAX_KUBECONFIG_BYTES} bytes: ${FLATTEN}`);
  }
  // The parser's time takes the square of some of these; neither tokens nor base64 hold any.
  if ((text.match(/[[{&!*?"\n]/g)?.length ?? 0) > MAX_MARKS)
    throw refuse(`is no kubeconfig: it has more than ${MAX_MARKS} lines and brackets`);
  let value: unknown;
  try {
    const document = parseDocument(text, { merge: false, stringKeys: true });
    // The parser's messages quote lines, which may be a credential.
    const [fault] = [...document.errors, ...document.warnings];
    if (fault !== undefined) {
      const line = fault.linePos?.[0].line;
      throw refuse(`is not one YAML document${line === undefined ? '' : `: line ${line}`} (${fault.code})`);
    }
    let hasAlias = false;
    visit(document, (_key, node) => {
      if (!isAlias(node)) return undefined;
      hasAlias = true;
      return visit.BREAK;
    });
    if (hasAlias) throw refuse(`has YAML aliases (*name), which no kubeconfig needs: ${FLATTEN}`);
    value = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    // Nested so deeply that the reader gave up.
    if (error instanceof RangeError) throw refuse('is nested deeper than any kubeconfig');
    throw error;
  }
  if (!isEntry(value)) throw refuse('is not a map with clusters, users and contexts');
  const [kind, apiVersion] = [value['kind'], value['apiVersion']];
  if ((isGiven(kind) && kind !== 'Config') || (isGiven(apiVersion) && apiVersion !== 'v1')) {
    throw refuse('is not a kubeconfig: kind must be Config and apiVersion v1');
  }
  return value;
}

function only(document: Entry, list: string, key: string, refuse: Refuse): { readonly name: string; entry: Entry } {
  const items = document[list];
  const count = Array.isArray(items) ? items.length : 0;
  if (!Array.isArray(items) || count !== 1) {
    throw refuse(`${list} has ${count} entries; it takes a kubeconfig with exactly one: ${FLATTEN}`);
  }
  const [item] = items as unknown[];
  const name = isEntry(item) ? item['name'] : undefined;
  const entry = isEntry(item) ? item[key] : undefined;
  if (typeof name !== 'string' || !isEntry(entry)) throw refuse(`${list}[0] must have a name and a map "${key}"`);
  return { name, entry };
}

function refuseEntries(entry: Entry, where: string, taken: readonly string[], refuse: Refuse): void {
  for (const [index, [key, value]] of Object.entries(entry).entries()) {
    if (!isGiven(value) || value === false || taken.includes(key) || IGNORED.includes(key)) continue;
    const why = REFUSED.get(key);
    if (why !== undefined) throw refuse(`${where}.${key} ${why}`);
    // Not named: somebody may have put a credential where a name belongs.
    throw refuse(`${where}: entry ${index + 1} is not known here; taken are ${taken.join(', ')}`);
  }
}

function readCluster(entry: Entry, refuse: Refuse): Pick<PushAccess, 'server' | 'ca' | 'tlsServerName' | 'proxyUrl'> {
  const where = 'clusters[0].cluster';
  const ca = pemOf(entry, 'certificate-authority-data', where, refuse);
  if (ca !== undefined) readCertificates(ca, `${where}.certificate-authority-data`, refuse);
  const name = textOf(entry, 'tls-server-name', where, MAX_NAME, refuse);
  if (name !== undefined && !/^[A-Za-z0-9.:-]+$/.test(name))
    throw refuse(`${where}.tls-server-name is not a host name`);
  const proxy = textOf(entry, 'proxy-url', where, 2048, refuse);
  return {
    server: readServer(textOf(entry, 'server', where, 2048, refuse), `${where}.server`, refuse),
    ...(ca === undefined ? {} : { ca }),
    ...(name === undefined ? {} : { tlsServerName: name }),
    ...(proxy === undefined ? {} : { proxyUrl: readProxy(proxy, `${where}.proxy-url`, refuse) }),
  };
}

function readServer(text: string | undefined, where: string, refuse: Refuse): string {
  if (text === undefined || !URL.canParse(text)) throw refuse(`${where} must be a URL like https://203.0.113.7:6443`);
  const url = new URL(text);
  const isLoopback = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback)) {
    throw refuse(`${where} must begin with https:// (http:// is for loopback addresses only)`);
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse(`${where} has a user name or password in it: ${TOKEN}`);
  }
  if (url.search !== '' || url.hash !== '') throw refuse(`${where} has a query or fragment, which no API server has`);
  return url.href.replace(/\/+$/, '');
}

function readProxy(text: string, where: string, refuse: Refuse): Secret {
  if (!URL.canParse(text) || !['http:', 'https:'].includes(new URL(text).protocol)) {
    throw refuse(`${where} must be an http:// or https:// proxy; others are not supported`);
  }
  return new Secret(text);
}

function readUser(entry: Entry, refuse: Refuse): Pick<PushAccess, 'token' | 'clientCertificate'> {
  const where = 'users[0].user';
  const token = textOf(entry, 'token', where, MAX_TOKEN, refuse)?.trim();
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw refuse(`${where}.token is not one line of visible ASCII characters`);
  }
  const certificate = pemOf(entry, 'client-certificate-data', where, refuse);
  const key = pemOf(entry, 'client-key-data', where, refuse);
  if ((certificate === undefined) !== (key === undefined)) {
    const absent = key === undefined ? 'client-key-data' : 'client-certificate-data';
    throw refuse(`${where}.${absent} is absent: a client certificate needs both`);
  }
  if (token === undefined && certificate === undefined) throw refuse(`${where} holds no credential: ${TOKEN}`);
  return {
    ...(token === undefined ? {} : { token: new Secret(token) }),
    ...(certificate === undefined || key === undefined
      ? {}
      : { clientCertificate: { certificate, key: readKey(certificate, key, where, refuse) } }),
  };
}

function readKey(certificate: string, key: string, where: string, refuse: Refuse): Secret {
  const [leaf] = readCertificates(certificate, `${where}.client-certificate-data`, refuse);
  let matches: boolean | undefined;
  try {
    matches = leaf?.checkPrivateKey(createPrivateKey(key));
  } catch {
    throw refuse(`${where}.client-key-data is not a private key as PEM without a passphrase, in base64`);
  }
  if (matches !== true) throw refuse(`${where}.client-key-data is not the key of client-certificate-data`);
  return new Secret(key);
}

function readCertificates(pem: string, where: string, refuse: Refuse): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    if (blocks.length > 0) return blocks.map((block) => new X509Certificate(block));
  } catch {
    // Said below.
  }
  throw refuse(`${where} is not one or more certificates as PEM, in base64`);
}

function pemOf(entry: Entry, key: string, where: string, refuse: Refuse): string | undefined {
  const text = textOf(entry, key, where, MAX_KUBECONFIG_BYTES, refuse)?.replaceAll(/\s/g, '');
  if (text === undefined) return undefined;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw refuse(`${where}.${key} is not base64`);
  return Buffer.from(text, 'base64').toString('utf8');
}

function textOf(entry: Entry, key: string, where: string, max: number, refuse: Refuse): string | undefined {
  const value = entry[key];
  if (!isGiven(value)) return undefined;
  if (typeof value !== 'string') throw refuse(`${where}.${key} must be text`);
  if (value.length > max) throw refuse(`${where}.${key} is longer than ${max} characters`);
  return value;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '').slice(0, MAX_NAME);
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
