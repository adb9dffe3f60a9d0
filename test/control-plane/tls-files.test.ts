import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTlsFiles } from '../../src/control-plane/tls-files.ts';
import { createLoopbackCertificate } from '../../src/sandbox/loopback-certificate.ts';
import { issuePrivateChain, type PrivateChain } from '../support/private-authority.ts';

let folder: string;
let chain: PrivateChain;
let other: PrivateChain;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tls-files-'));
  [chain, other] = await Promise.all([issuePrivateChain('private'), issuePrivateChain('other')]);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function read(cert: string, key = chain.key): Promise<Awaited<ReturnType<typeof readTlsFiles>>> {
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return await readTlsFiles({ certFile, keyFile });
}

describe('the root that agents are told', () => {
  it.each<[string, () => string, () => string]>([
    ['the root at the end of the file', () => chain.leaf + chain.intermediate + chain.root, () => chain.root],
    ['the root wherever it stands', () => chain.leaf + chain.root + chain.intermediate, () => chain.root],
    ['nothing, for a chain without its root', () => chain.leaf + chain.intermediate, () => ''],
    ['nothing, for the certificate alone', () => chain.leaf, () => ''],
    ['nothing, where only a stranger is self-signed', () => chain.leaf + chain.intermediate + other.root, () => ''],
    ['nothing, where a link is missing', () => chain.leaf + chain.root, () => ''],
  ])('is %s', async (_, file, root) => {
    expect(await read(file())).toMatchObject({ root: root(), isPublic: false });
  });

  it('is the certificate itself where that is self-signed', async () => {
    const { cert, key } = createLoopbackCertificate();
    expect(await read(cert, key)).toMatchObject({ root: cert, isPublic: false });
  });
});
