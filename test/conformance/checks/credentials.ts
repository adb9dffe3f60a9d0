import { compactDecrypt, importJWK } from 'jose';
import { tokenIsWellFormed, unknownClusterId } from '../agent-identity.ts';
import { isObject, must, mustBe, mustRefuse, NotCheckable, stringIn, timeIn, type Check } from '../check.ts';
import { AGENT_MEDIA_TYPE, type ClusterClient } from '../cluster-client.ts';
import type { Answer } from '../http-client.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';
import type { Stage } from '../stage.ts';

const ROTATE = '/api/agent/credentials/rotate';
const CONFIG = '/api/agent/config?wait=0';

async function configWith(cluster: ClusterClient, token: string): Promise<Answer> {
  return await cluster.get(CONFIG, { authorization: `Bearer ${token}` });
}

async function recover(stage: Stage, clusterId: string): Promise<Answer> {
  return await stage.http.send({
    method: 'POST',
    path: '/api/agent/credentials/recover',
    headers: { accept: AGENT_MEDIA_TYPE, 'content-type': AGENT_MEDIA_TYPE },
    body: JSON.stringify({ cluster_id: clusterId }),
  });
}

async function rotating(stage: Stage): Promise<ClusterClient> {
  return await stage.shared('rotating', async () => await stage.newCluster());
}

/** Rotation and recovery. They end credentials, so they are made on clusters of the suite's own. */
export const CREDENTIALS: readonly Check[] = [
  {
    id: 'credentials.rotate-needs-a-credential',
    section: SPEC.rotation,
    heading: PAGE.rotate,
    sentence: 'rotate is made with the current credential',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.send({ path: ROTATE, headers: { authorization: undefined }, sign: false });
      mustRefuse(answer, 401, 'missing_token');
    },
  },
  {
    id: 'credentials.rotate-checks-a-mac',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence: 'on rotate a MAC is not required, and verified where there is one',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustRefuse(await cluster.send({ path: ROTATE, sign: { target: '/other' } }), 401, 'invalid_signature');
    },
  },
  {
    id: 'credentials.rotate-checks-the-key',
    section: DECISIONS.register,
    heading: PAGE.rotate,
    sentence: 'a public_key that is none is 400, and the credential stays as it is',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.post(ROTATE, { public_key: { kty: 'oct', k: 'AAAA' } });
      mustRefuse(answer, 400, 'constraint_violated');
      mustBe(await cluster.get(CONFIG), 200);
    },
  },
  {
    id: 'credentials.rotate',
    section: SPEC.rotation,
    heading: PAGE.rotate,
    sentence: 'rotate returns a new bearer token and expires_at, and the old credential is still accepted',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await rotating(stage);
      const old = cluster.token;
      const answer = await cluster.send({ path: ROTATE, sign: false });
      const body = mustBe(answer, 200);
      const token = stringIn(body, 'token', answer);
      must(token !== old && tokenIsWellFormed('svcagt', token), 'a new credential', answer);
      must(timeIn(body, 'expires_at', answer) > timeIn(body, 'rotate_after', answer), 'rotate_after first', answer);
      must(String(answer.headers['cache-control']).includes('no-store'), 'cache-control: no-store', answer);
      mustBe(await configWith(cluster, old), 200);
      mustBe(await configWith(cluster, token), 200);
      mustBe(await configWith(cluster, old), 200);
      cluster.token = token;
    },
  },
  {
    id: 'credentials.rotate-twice-with-the-old',
    section: DECISIONS.register,
    heading: PAGE.rotate,
    sentence: 'once a replacement has been used the old credential can no longer rotate: 409 already_rotated',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await rotating(stage);
      const old = cluster.token;
      const answer = await cluster.send({ path: ROTATE });
      cluster.token = stringIn(mustBe(answer, 200), 'token', answer);
      mustBe(await cluster.get(CONFIG), 200);
      const again = await cluster.send({
        path: ROTATE,
        sign: false,
        headers: { authorization: `Bearer ${old}` },
      });
      mustRefuse(again, 409, 'already_rotated');
    },
  },
  {
    id: 'credentials.rotate-again-when-lost',
    section: DECISIONS.register,
    heading: PAGE.rotate,
    sentence: 'a repeated rotate whose answer was lost gives a fresh credential and drops the one that was never used',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await rotating(stage);
      const lost = await cluster.send({ path: ROTATE, sign: false });
      const dropped = stringIn(mustBe(lost, 200), 'token', lost);
      const answer = await cluster.send({ path: ROTATE, sign: false });
      const token = stringIn(mustBe(answer, 200), 'token', answer);
      must(token !== dropped, 'another credential', answer);
      mustBe(await configWith(cluster, token), 200);
      mustRefuse(await configWith(cluster, dropped), 401, 'invalid_token');
      cluster.token = token;
    },
  },
  {
    id: 'credentials.signed-with-the-new',
    section: SPEC.writes,
    heading: PAGE.signing,
    sentence: "the MAC's key rotates with the credential",
    needs: 'admin',
    run: async (stage) => {
      const cluster = await rotating(stage);
      const old = cluster.token;
      const answer = await cluster.send({ path: ROTATE });
      cluster.token = stringIn(mustBe(answer, 200), 'token', answer);
      const body = { cluster_id: cluster.id, events: [] };
      mustBe(await cluster.post('/api/agent/events', body), 204);
      const mixed = await cluster.send({ path: '/api/agent/events', body, sign: { token: old } });
      mustRefuse(mixed, 401, 'invalid_signature');
    },
  },
  {
    id: 'credentials.rotation-on-request',
    section: DECISIONS.register,
    heading: PAGE.config,
    sentence: 'when an admin asks for a rotation, config says so with a rotate_after that has passed',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await rotating(stage);
      const before = await cluster.get(CONFIG);
      mustBe(before, 200);
      await stage.admin.succeed('POST', `/clusters/${cluster.id}/rotate`);
      const answer = await cluster.get(CONFIG);
      const { credential } = mustBe(answer, 200);
      must(isObject(credential), 'credential', answer);
      must(timeIn(credential, 'rotate_after', answer) <= Date.now() + 60_000, 'rotate_after in the past', answer);
      const revision = (of: Answer): number => Number(of.headers['service-config-revision']);
      must(revision(answer) > revision(before), 'a higher Service-Config-Revision', answer);
    },
  },
  {
    id: 'credentials.recover',
    section: DECISIONS.register,
    heading: PAGE.recover,
    sentence: "recover answers a new credential as a JWE that only the cluster's key opens",
    needs: 'admin',
    run: async (stage) => {
      const cluster = await rotating(stage);
      const answer = await recover(stage, cluster.id);
      const jwe = stringIn(mustBe(answer, 200), 'token_jwe', answer);
      const key = await importJWK(stage.key.privateKey, 'ECDH-ES');
      const { plaintext } = await compactDecrypt(jwe, key);
      const token = Buffer.from(plaintext).toString('utf8');
      must(tokenIsWellFormed('svcagt', token), 'a credential in the JWE', answer);
      mustBe(await configWith(cluster, token), 200);
      cluster.token = token;
    },
  },
  {
    id: 'credentials.recover-unknown-cluster',
    section: DECISIONS.register,
    heading: PAGE.recover,
    sentence: 'recover gives nothing for a cluster that there is not',
    run: async (stage) => {
      const answer = await recover(stage, unknownClusterId());
      must(answer.status === 403 || answer.status === 404, 'status 403 or 404', answer);
      mustRefuse(answer, answer.status, 'forbidden', 'not_found', 'cluster_disabled');
    },
  },
  {
    id: 'credentials.recover-is-limited',
    section: DECISIONS.register,
    heading: PAGE.recover,
    sentence: 'recover is limited to 5 an hour for each cluster: 429 with Retry-After',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await rotating(stage);
      for (let sent = 0; sent < 6; sent += 1) {
        const answer = await recover(stage, cluster.id);
        if (answer.status !== 429) continue;
        mustRefuse(answer, 429, 'rate_limited');
        must(/^[1-9]\d*$/.test(answer.headers['retry-after'] ?? ''), 'Retry-After in seconds', answer);
        return;
      }
      throw new NotCheckable('no 429 within 6 recoveries: the limit is set higher');
    },
  },
  {
    id: 'credentials.recover-revoked',
    section: DECISIONS.register,
    heading: PAGE.recover,
    sentence: 'recover is refused (403) for a record that is revoked or disabled',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.shared('ended', async () => await stage.newCluster());
      await stage.admin.succeed('POST', `/clusters/${cluster.id}/revoke`);
      mustRefuse(await recover(stage, cluster.id), 403, 'forbidden');
      await stage.admin.succeed('POST', `/clusters/${cluster.id}/disable`);
      mustRefuse(await recover(stage, cluster.id), 403, 'cluster_disabled', 'forbidden');
    },
  },
];
