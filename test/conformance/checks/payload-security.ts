import { createPublicKey, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { compactDecrypt, importJWK } from 'jose';
import { isObject, must, mustBe, type Check } from '../check.ts';
import type { ClusterClient } from '../cluster-client.ts';
import { nextJob } from '../next-job.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';
import type { Stage } from '../stage.ts';

/** The suite's own cluster with both toggles on. */
async function securedCluster(stage: Stage): Promise<ClusterClient> {
  return await stage.shared('secured', async () => {
    const cluster = await stage.newCluster();
    const security = { requireSignedPayloads: true, requireEncryptedSecretPayloads: true };
    await stage.admin.succeed('PATCH', `/clusters/${cluster.id}`, { security });
    return cluster;
  });
}

async function decrypt(stage: Stage, compact: unknown): Promise<{ payload: unknown; header: Record<string, unknown> }> {
  const key = await importJWK(stage.key.privateKey, 'ECDH-ES');
  const { plaintext, protectedHeader } = await compactDecrypt(String(compact), key);
  return { payload: JSON.parse(Buffer.from(plaintext).toString('utf8')), header: { ...protectedHeader } };
}

/** Signatures over payloads and encryption to the cluster's key. */
export const PAYLOAD_SECURITY: readonly Check[] = [
  {
    id: 'payload-security.toggles',
    section: SPEC.signing,
    heading: PAGE.security,
    sentence: 'the toggles that an admin sets reach the cluster through config',
    needs: 'admin',
    run: async (stage) => {
      const answer = await (await securedCluster(stage)).get('/api/agent/config?wait=0');
      const { security } = mustBe(answer, 200);
      for (const name of ['requireSignedPayloads', 'requireEncryptedSecretPayloads']) {
        must(isObject(security) && security[name] === true, `security.${name} true`, answer);
      }
    },
  },
  {
    id: 'payload-security.encrypted',
    section: SPEC.job,
    heading: PAGE.security,
    sentence: "encryptedPayload replaces payload: a JWE to the cluster's public key",
    needs: 'admin',
    run: async (stage) => {
      const cluster = await securedCluster(stage);
      const { job, answer } = await nextJob(stage, 'install', 'encrypted', { cluster });
      must(
        job['payload'] === undefined && typeof job['encryptedPayload'] === 'string',
        'encryptedPayload alone',
        answer,
      );
      const { payload, header } = await decrypt(stage, job['encryptedPayload']);
      must(header['alg'] === 'ECDH-ES' && header['enc'] === 'A256GCM', 'ECDH-ES and A256GCM', answer);
      must(header['kid'] === stage.key.publicKey['kid'], "the key's kid", answer);
      must(isObject(payload) && payload['kind'] === 'ApplicationInstance', 'the manifest in it', answer);
    },
  },
  {
    id: 'payload-security.signed',
    section: DECISIONS.jobs,
    heading: PAGE.security,
    sentence:
      'signature is a detached JWS (EdDSA, b64 false) over the JCS of the plain payload, its header bound to job and cluster',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await securedCluster(stage);
      const { job, answer } = await nextJob(stage, 'install', 'signed', { cluster });
      const { payload } = job['payload'] === undefined ? await decrypt(stage, job['encryptedPayload']) : job;
      const [header64 = '', detached, signature = ''] = String(job['signature']).split('.');
      must(detached === '' && signature !== '', 'a compact JWS without its payload', answer);
      const header = JSON.parse(Buffer.from(header64, 'base64url').toString('utf8')) as Record<string, unknown>;
      must(header['alg'] === 'EdDSA' && header['b64'] === false, 'alg EdDSA and b64 false', answer);
      const bound = {
        kind: job['kind'],
        idempotencyKey: job['idempotencyKey'],
        expiresAt: job['expiresAt'],
        cluster_id: cluster.id,
      };
      for (const [name, value] of Object.entries(bound)) must(header[name] === value, `${name} in the header`, answer);
      const config = (await cluster.get('/api/agent/config?wait=0')).json as {
        signing_public_keys: { keys: ({ kid: string } & Record<string, string>)[] };
      };
      const jwk = config.signing_public_keys.keys.find(({ kid }) => kid === header['kid']);
      must(jwk !== undefined, `key ${String(header['kid'])} among signing_public_keys`, answer);
      const input = Buffer.from(`${header64}.${canonicalize(payload) ?? ''}`, 'utf8');
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: jwk['x'] ?? '' }, format: 'jwk' });
      must(verify(null, input, key, Buffer.from(signature, 'base64url')), 'a signature that verifies', answer);
    },
  },
  {
    id: 'payload-security.object-annotation',
    section: DECISIONS.jobs,
    heading: PAGE.security,
    sentence:
      'the delivered object carries app.service.io/signature, the same over {apiVersion, kind, namespace, name, spec, source}',
    needs: 'admin',
    run: async (stage) => {
      const { job, answer, cluster } = await nextJob(stage, 'install', 'annotated');
      const object = job['payload'];
      must(isObject(object) && isObject(object['metadata']), 'an object with metadata', answer);
      const { annotations, namespace, name } = object['metadata'];
      must(isObject(annotations), 'annotations', answer);
      const [header64 = '', detached, signature = ''] = String(annotations['app.service.io/signature']).split('.');
      must(detached === '' && signature !== '', 'a compact JWS without its payload as annotation', answer);
      const header = JSON.parse(Buffer.from(header64, 'base64url').toString('utf8')) as Record<string, unknown>;
      must(header['cluster_id'] === cluster.id, 'cluster_id in the header', answer);
      must(header['idempotencyKey'] === job['idempotencyKey'], 'idempotencyKey in the header', answer);
      const config = (await cluster.get('/api/agent/config?wait=0')).json as {
        signing_public_keys: { keys: ({ kid: string } & Record<string, string>)[] };
      };
      const jwk = config.signing_public_keys.keys.find(({ kid }) => kid === header['kid']);
      must(jwk !== undefined, `key ${String(header['kid'])} among signing_public_keys`, answer);
      const { apiVersion, kind, spec } = object;
      const source = annotations['app.service.io/source'];
      const content = canonicalize({ apiVersion, kind, namespace, name, spec, source }) ?? '';
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: jwk['x'] ?? '' }, format: 'jwk' });
      const input = Buffer.from(`${header64}.${content}`, 'utf8');
      must(verify(null, input, key, Buffer.from(signature, 'base64url')), 'a signature that verifies', answer);
    },
  },
  {
    id: 'payload-security.endorsed-successor',
    section: DECISIONS.register,
    heading: PAGE.security,
    sentence: 'a new signing key is signed by its predecessor, and config answers the current one first',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await securedCluster(stage);
      await stage.admin.succeed('POST', `/clusters/${cluster.id}/signing-keys`);
      const answer = await cluster.get('/api/agent/config?wait=0');
      const config = mustBe(answer, 200) as {
        signing_public_keys: { keys: ({ kid: string } & Record<string, string>)[] };
        signing_key_endorsements?: { kid: string; predecessor: string; jws: string }[];
      };
      const [current, before] = config.signing_public_keys.keys;
      must(current !== undefined && before !== undefined, 'two keys', answer);
      const endorsement = config.signing_key_endorsements?.find(({ kid }) => kid === current.kid);
      must(endorsement?.predecessor === before.kid, `an endorsement of ${current.kid} by ${before.kid}`, answer);
      const [header = '', payload = '', signature = ''] = endorsement.jws.split('.');
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: before['x'] ?? '' }, format: 'jwk' });
      const holds = verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'));
      must(holds, 'a signature by the predecessor', answer);
      const endorsed = Buffer.from(payload, 'base64url').toString('utf8');
      must(endorsed === canonicalize(current), 'over the canonical form of the new key', answer);
    },
  },
];
