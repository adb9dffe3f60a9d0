import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import type { Job } from '../../../src/protocol/job.ts';
import { encryptTo, generateEncryptionKeypair } from '../../../src/protocol/jwe.ts';
import { signPayload } from '../../../src/protocol/payload-signature.ts';
import type { PublicJwk } from '../../../src/protocol/register.ts';
import { generateSigningKey } from '../../../src/protocol/signing-key.ts';
import type { InstanceOptions } from '../../reconcile/manifests.ts';
import { CLUSTER_ID } from '../fake-control-plane.ts';
import { applyJob, JobStage } from './job-stage.ts';

const signing = generateSigningKey();
const KEYS: Partial<AgentConfig> = { signing_public_keys: { keys: [signing.publicJwk] } };

async function signed(job: Job, cluster_id = CLUSTER_ID): Promise<Job> {
  const { kind, idempotencyKey, expiresAt, payload } = job;
  const key = { kid: signing.publicJwk.kid ?? '', privateJwk: signing.privateJwk };
  const header = { kind, idempotencyKey, expiresAt, cluster_id };
  return { ...job, signature: await signPayload({ payload, key, header }) };
}

/** To the key that the operator registered. */
async function encrypted(stage: JobStage, job: Job, to?: PublicJwk): Promise<Job> {
  const bodies = stage.plane.requests.flatMap(({ path, body }) => (path === '/api/agent/register' ? [body] : []));
  const { public_key: registered } = bodies[0] as { public_key: PublicJwk };
  const { payload, ...rest } = job;
  return { ...rest, encryptedPayload: await encryptTo(to ?? registered, JSON.stringify(payload)) };
}

const withSecret = (value: string): InstanceOptions => ({ spec: { values: { password: value } } });

describe('the signature of a payload', () => {
  it('that verifies is applied', async () => {
    await using stage = await JobStage.start({ withReleases: true, config: KEYS });
    stage.plane.queue.put(await signed(applyJob('j1')));
    expect(await stage.result('j1')).toBe('succeeded');
  });

  it('that is not over it is refused: failed, an audit event, and nothing is applied', async () => {
    await using stage = await JobStage.start({ config: KEYS });
    const { plane } = stage;
    const altered = { ...(await signed(applyJob('j1'))), payload: applyJob('j1', { version: '6.6.1' }).payload };
    plane.queue.put(altered as Job);
    const result = await stage.result('j1');
    expect(result).toMatch(
      /^failed: JobPayloadSignatureInvalid: the signature of the payload is not taken \(invalid\)/,
    );
    const event = () => plane.events.find(({ kind }) => kind === 'JobPayloadSignatureInvalid');
    await expect.poll(event, { timeout: 30_000 }).toBeDefined();
    const uid = (await stage.world.read()).metadata.uid;
    expect(event()).toMatchObject({
      eventKey: `JobPayloadSignatureInvalid/${uid}/j1`,
      resourceRef: { kind: 'Cluster', uid },
      conditions: [{ type: 'JobPayloadSignatureInvalid', status: 'True' }],
    });
    expect(await stage.instance()).toBeUndefined();
  });

  it('that was made for another cluster is refused', async () => {
    await using stage = await JobStage.start({ config: KEYS });
    stage.plane.queue.put(await signed(applyJob('j1'), 'c-ffffffffffffffff'));
    expect(await stage.result('j1')).toMatch(/^failed: JobPayloadSignatureInvalid: .*wrong_context.*cluster_id/);
  });

  it('that is missing is warned of and admitted, unless the cluster requires one', async () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(part: Buffer, _encoding, done) {
        lines.push(String(part));
        done();
      },
    });
    await using stage = await JobStage.start({ withReleases: true, config: KEYS, logger: pino({}, sink) });
    const { plane } = stage;
    plane.queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    expect(lines.join('')).toContain('the payload of a job carries no signature; it is admitted');
    await stage.world.setSpec({ security: { requireSignedPayloads: true } });
    plane.configure({ delivery_epoch: 1, operation_templates: ['scale'] });
    plane.queue.put(applyJob('j2', { source: '1.2', version: '6.6.1' }));
    expect(await stage.result('j2')).toMatch(/^failed: JobPayloadSignatureInvalid: the payload carries no signature/);
  });
});

describe('an encrypted payload', () => {
  it('is opened at apply time, stands encrypted in the journal, and nothing of it is logged', async () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(part: Buffer, _encoding, done) {
        lines.push(String(part));
        done();
      },
    });
    const logger = pino({ level: 'trace' }, sink);
    await using stage = await JobStage.start({ withReleases: true, config: KEYS, logger });
    const { plane } = stage;
    let stored = '';
    plane.intercept = ({ path }) => {
      // The result is held, so that the journal can be looked at.
      return path.endsWith('/j1/result');
    };
    plane.queue.put(await encrypted(stage, await signed(applyJob('j1', withSecret('hunter2-hunter2')))));
    await expect
      .poll(() => plane.requests.some(({ path }) => path.endsWith('/j1/result')), { timeout: 30_000 })
      .toBe(true);
    const [name = ''] = await stage.journal();
    const secret = await stage.world.secret(name);
    stored = Object.values(secret?.data ?? {})
      .map((text) => Buffer.from(text, 'base64').toString('utf8'))
      .join('\n');
    expect(stored).toContain('encryptedPayload');
    expect(stored + lines.join('') + JSON.stringify(plane.events)).not.toContain('hunter2');
    expect(secret?.metadata.labels?.['app.service.io/cluster-id']).toBe(CLUSTER_ID);
    expect(secret?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Cluster', name: 'eu' });
    expect((await stage.instance())?.['spec']).toMatchObject({ values: { password: 'hunter2-hunter2' } });
  });

  it('that was made for another key is refused: failed, and an audit event', async () => {
    await using stage = await JobStage.start({ config: KEYS });
    const { plane } = stage;
    const other = await generateEncryptionKeypair();
    plane.queue.put(await encrypted(stage, applyJob('j1'), other.publicJwk));
    expect(await stage.result('j1')).toMatch(/^failed: JobPayloadDecryptionFailed: .*unknown_key/);
    await expect
      .poll(() => plane.events.some(({ kind }) => kind === 'JobPayloadDecryptionFailed'), { timeout: 30_000 })
      .toBe(true);
  });

  it('is required where values travel in the clear', async () => {
    await using stage = await JobStage.start({ config: KEYS });
    const { plane, world } = stage;
    await world.setSpec({ security: { requireEncryptedSecretPayloads: true } });
    plane.configure({ operation_templates: ['scale'] });
    plane.queue.put(applyJob('j1', withSecret('hunter2')));
    expect(await stage.result('j1')).toMatch(/^failed: the payload holds chart values in the clear/);
  });
});
