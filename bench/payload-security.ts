import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMasterKey } from '../src/control-plane/master-key.ts';
import { PayloadSigner } from '../src/control-plane/payload-signer.ts';
import { signRendered } from '../src/control-plane/sign-rendered.ts';
import { insertPendingCluster } from '../src/control-plane/store/clusters.ts';
import { openStore } from '../src/control-plane/store/open-store.ts';
import { findSigningKeys, publicJwkOf } from '../src/control-plane/store/signing-keys.ts';
import { renderIntent } from '../src/intent/render.ts';
import type { IntentRecord } from '../src/intent/intent-record.ts';
import { decryptWith, encryptTo, generateEncryptionKeypair } from '../src/protocol/jwe.ts';
import { judgeSignature } from '../src/policy/judge-signature.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { median } from './git/repository.ts';

/**
 * What signing, verifying and sealing add to one intent, beside rendering it, for manifests of three sizes. Signing is with
 * everything behind it: the current key out of a SQLite file each time. Rounds are interleaved. Prints one JSON object.
 */
const ROUNDS = 30;
const A_ROUND = 10;
const CLUSTER = 'c-0123456789abcdef';
const SIZES = { small: 4, middle: 60, large: 2000 };

const target = { clusterId: CLUSTER, slug: 'eu', deliveryEpoch: 1 };
const chart = { type: 'oci', url: 'oci://registry.example.com/charts/podinfo', name: 'podinfo' } as const;

function recordOf(entries: number): IntentRecord {
  const env = Array.from({ length: entries }, (_, index) => ({ name: `NAME_${index}`, value: 'v'.repeat(20) }));
  return {
    intentVersion: 'v1alpha1',
    id: 'int_01',
    action: 'install',
    namespace: 'shop',
    name: 'podinfo',
    generation: 1,
    catalogEntry: 'podinfo',
    chartVersion: '6.5.0',
    values: { replicaCount: 2, env },
    requestedBy: 'bench',
    requestedAt: '2026-11-28T00:00:00.000Z',
  };
}

const folder = mkdtempSync(join(tmpdir(), 'payload-security-'));
const logger = createLogger('bench', 'silent');
const store = await openStore({ url: `sqlite:${join(folder, 'db')}`, clock: systemClock, logger });
const masterKey = openMasterKey({ file: join(folder, 'master.key'), randomBytes });
const signer = new PayloadSigner({ store, masterKey, clock: systemClock });
const results: Record<string, unknown> = {};
try {
  await store.write(async (trx) => {
    const at = '2026-11-28T00:00:00.000Z';
    await trx.insertInto('organizations').values({ id: 'org', name: 'org', created_at: at }).execute();
    await insertPendingCluster(trx, {
      id: CLUSTER,
      organization_id: 'org',
      slug: 'eu',
      display_name: 'eu',
      connectivity_mode: 'gitops',
      allowed_namespaces: '[]',
      allowed_catalog_entries: '[]',
      allowed_operation_templates: '[]',
      security: '{}',
      intervals: '{}',
      own_intervals: null,
      repository_id: null,
      git_directory: null,
      created_at: at,
    });
  });
  for (const [size, entries] of Object.entries(SIZES)) results[size] = await measure(recordOf(entries));
} finally {
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}
process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);

async function measure(record: IntentRecord): Promise<unknown> {
  const rendered = renderIntent(record, target, { chart });
  const signed = await signRendered(signer, rendered);
  if (signed.kind !== 'apply') throw new Error('unreachable');
  const signingKeys = (await findSigningKeys(store.db, CLUSTER)).map(publicJwkOf);
  const keys = await generateEncryptionKeypair();
  const secret = JSON.stringify(record.values);
  const sealed = await encryptTo(keys.publicJwk, secret);
  const steps: Readonly<Record<string, () => unknown>> = {
    render: () => renderIntent(record, target, { chart }),
    sign: async () => await signRendered(signer, rendered),
    verify: async () => await judgeSignature(signed.object, { clusterId: CLUSTER, signingKeys }),
    seal: async () => await encryptTo(keys.publicJwk, secret),
    open: async () => await decryptWith(keys.privateJwk, sealed),
  };
  const times = new Map(Object.keys(steps).map((name) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, step] of Object.entries(steps)) {
      const start = performance.now();
      for (let turn = 0; turn < A_ROUND; turn += 1) await step();
      times.get(name)?.push(((performance.now() - start) / A_ROUND) * 1000);
    }
  }
  const microseconds = Object.fromEntries([...times].map(([name, all]) => [name, Math.round(median(all))]));
  const { render = 1, sign = 0 } = microseconds;
  const bytes = { manifest: Buffer.byteLength(rendered.text), signed: Buffer.byteLength(signed.text) };
  return { bytes, microseconds, signToRender: Math.round((sign / render) * 100) / 100 };
}
