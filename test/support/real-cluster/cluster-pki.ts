import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SERVER_NAMES = [
  'IP:127.0.0.1',
  'DNS:localhost',
  'DNS:kubernetes',
  'DNS:kubernetes.default',
  'DNS:kubernetes.default.svc',
  'IP:10.96.0.1',
].join(',');

/** Files of one cluster's keys, certificates and tokens; all in a folder of mode 0700. */
export interface ClusterPki {
  readonly caPem: string;
  readonly adminToken: string;
  /** Path of `<name>.crt`, `<name>.key`, `tokens.csv`, `accounts.key`, `accounts.pub`. */
  readonly path: (file: string) => string;
}

/** One CA signs the server's certificate and the clients'. EC keys, since they take no time to make. */
export async function createClusterPki(folder: string): Promise<ClusterPki> {
  await mkdir(folder, { mode: 0o700 });
  const path = (file: string): string => join(folder, file);
  const openssl = async (...args: string[]): Promise<unknown> => run('openssl', args, { timeout: 30_000 });
  const key = async (name: string): Promise<void> => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    await writeFile(path(`${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    await writeFile(path(`${name}.pub`), publicKey.export({ type: 'spki', format: 'pem' }));
  };
  const sign = async (name: string, subject: string, extensions: string): Promise<void> => {
    await key(name);
    await writeFile(path(`${name}.ext`), extensions);
    const request = ['-key', path(`${name}.key`), '-subj', subject, '-out', path(`${name}.csr`)];
    await openssl('req', '-new', ...request);
    const authority = ['-CA', path('ca.crt'), '-CAkey', path('ca.key')];
    const serial = ['-set_serial', `0x${randomBytes(8).toString('hex')}`, '-days', '365'];
    const files = ['-in', path(`${name}.csr`), '-extfile', path(`${name}.ext`), '-out', path(`${name}.crt`)];
    await openssl('x509', '-req', '-sha256', ...authority, ...serial, ...files);
  };
  await Promise.all([key('ca'), key('accounts')]);
  const root = ['-key', path('ca.key'), '-subj', '/CN=test-cluster', '-days', '365', '-out', path('ca.crt')];
  await openssl('req', '-x509', '-new', '-sha256', ...root);
  await Promise.all([
    sign('server', '/CN=kube-apiserver', `extendedKeyUsage=serverAuth\nsubjectAltName=${SERVER_NAMES}\n`),
    sign('front-proxy', '/CN=front-proxy', 'extendedKeyUsage=clientAuth\n'),
  ]);
  const adminToken = randomBytes(24).toString('hex');
  await writeFile(path('tokens.csv'), `${adminToken},test-admin,1,"system:masters"\n`, { mode: 0o600 });
  return { caPem: await readFile(path('ca.crt'), 'utf8'), adminToken, path };
}
