import { CompactEncrypt, importJWK, type JWK } from 'jose';
import { must } from '../../check.ts';
import { DECISIONS, PAGE, SPEC } from '../../sections.ts';
import { mustEqual, type OperatorCheck } from '../operator-check.ts';
import type { OperatorStage } from '../operator-stage.ts';
import { CLUSTER_ID } from '../scripted-control-plane.ts';
import { applyJob } from '../scripted-jobs.ts';

function signed(stage: OperatorStage, job: Record<string, unknown>, changes: object = {}): Record<string, unknown> {
  const { payload, kind, idempotencyKey, expiresAt } = job;
  const header = { kind, idempotencyKey, expiresAt, cluster_id: CLUSTER_ID, ...changes };
  return { ...job, signature: stage.plane.key.sign(payload, header) };
}

/** To the key that the operator has registered last. */
async function encrypt(stage: OperatorStage, payload: unknown): Promise<string> {
  const bodies = stage.plane
    .requests(/\/(register|rotate)$/)
    .map(({ body }) => body as { public_key?: JWK & { kty: 'OKP'; crv: string; x: string } });
  const key = bodies.findLast((body) => body?.public_key !== undefined)?.public_key;
  must(key !== undefined, 'a public key at registration');
  const header = { alg: 'ECDH-ES', enc: 'A256GCM', ...(key.kid === undefined ? {} : { kid: key.kid }) };
  return await new CompactEncrypt(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader(header)
    .encrypt(await importJWK(key, 'ECDH-ES'));
}

async function refused(stage: OperatorStage, job: Record<string, unknown>, event: string): Promise<void> {
  const id = String(job['id']);
  stage.plane.offer(job);
  const result = await stage.result(id);
  mustEqual(result['outcome'], 'failed', 'outcome');
  must(typeof result['error'] === 'string' && result['error'] !== '', 'an error');
  mustEqual(await stage.instance(id), undefined, 'the object');
  const told = (): boolean => stage.plane.events(event).some(({ eventKey }) => String(eventKey).endsWith(`/${id}`));
  await stage.until(`an event ${event} with the key <kind>/<uid>/${id}`, told);
}

/** Signatures are verified and payloads decrypted before anything is applied. */
export const PAYLOAD_SECURITY: readonly OperatorCheck[] = [
  {
    id: 'payload-security.signed',
    section: SPEC.rule(5),
    heading: PAGE.security,
    sentence: 'a job whose signature verifies is applied',
    run: async (stage) => {
      stage.plane.offer(signed(stage, applyJob('signed', 'signed', 1)));
      mustEqual((await stage.result('signed'))['outcome'], 'succeeded', 'outcome');
    },
  },
  {
    id: 'payload-security.altered',
    section: SPEC.rule(5),
    heading: PAGE.security,
    sentence: 'a payload that was altered is not applied: failed, and JobPayloadSignatureInvalid',
    run: async (stage) => {
      const job = signed(stage, applyJob('altered', 'other-name', 1));
      const payload = structuredClone(job['payload']) as { metadata: { name: string } };
      payload.metadata.name = 'altered';
      await refused(stage, { ...job, payload }, 'JobPayloadSignatureInvalid');
    },
  },
  {
    id: 'payload-security.for-another-use',
    section: DECISIONS.jobs,
    heading: PAGE.security,
    sentence: 'a signature made for another cluster or another key of idempotency does not count',
    run: async (stage) => {
      const foreign = signed(stage, applyJob('foreign', 'foreign', 1), { cluster_id: 'c-zzzzzzzzzzzzzzzz' });
      await refused(stage, foreign, 'JobPayloadSignatureInvalid');
      const replayed = signed(stage, applyJob('replayed', 'replayed', 1), { idempotencyKey: 'other/shop/x@1' });
      await refused(stage, replayed, 'JobPayloadSignatureInvalid');
    },
  },
  {
    id: 'payload-security.encrypted',
    section: SPEC.rule(6),
    heading: PAGE.security,
    sentence: 'an encrypted payload is decrypted with the own key and applied',
    run: async (stage) => {
      const { payload, ...job } = applyJob('encrypted', 'encrypted', 1);
      stage.plane.offer({ ...job, encryptedPayload: await encrypt(stage, payload) });
      mustEqual((await stage.result('encrypted'))['outcome'], 'succeeded', 'outcome');
    },
  },
  {
    id: 'payload-security.does-not-open',
    section: SPEC.rule(6),
    heading: PAGE.security,
    sentence: 'a payload that does not open is failed, and JobPayloadDecryptionFailed',
    run: async (stage) => {
      const { payload, ...job } = applyJob('unopened', 'unopened', 1);
      const jwe = await encrypt(stage, payload);
      const encryptedPayload = `${jwe.slice(0, -6)}AAAAAA`;
      await refused(stage, { ...job, encryptedPayload }, 'JobPayloadDecryptionFailed');
    },
  },
];
