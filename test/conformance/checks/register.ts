import { tokenIsWellFormed, unknownToken } from '../agent-identity.ts';
import { isObject, must, mustBe, mustRefuse, stringIn, timeIn, type Check } from '../check.ts';
import { HttpClient } from '../http-client.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';

const DAY_MS = 86_400_000;

/** The first call of a cluster: a one-time token for a credential. */
export const REGISTER: readonly Check[] = [
  {
    id: 'register.answers-a-credential',
    section: SPEC.endpoints,
    heading: PAGE.register,
    sentence: 'register returns a long-lived bearer token, over the same connection',
    run: async (stage) => {
      const answer = await stage.registration();
      stringIn(mustBe(answer, 200), 'token', answer);
    },
  },
  {
    id: 'register.answers-all-fields',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence:
      'the answer has cluster_id, token, expires_at, rotate_after, connectivity_mode, signing_public_keys, ca_certificate',
    run: async (stage) => {
      const answer = await stage.registration();
      const body = mustBe(answer, 200);
      for (const name of ['cluster_id', 'token', 'expires_at', 'rotate_after']) stringIn(body, name, answer);
      const mode = String(body['connectivity_mode']);
      must(['pull', 'push', 'gitops'].includes(mode), 'connectivity_mode is pull, push or gitops', answer);
      must(typeof body['ca_certificate'] === 'string', 'ca_certificate is a string', answer);
    },
  },
  {
    id: 'register.ca-certificate',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: "ca_certificate is empty or holds PEM roots, and then the server's certificate ends at one of them",
    run: async (stage) => {
      const answer = await stage.registration();
      const pem = String(mustBe(answer, 200)['ca_certificate']);
      if (pem === '') return;
      must(/^-----BEGIN CERTIFICATE-----\n[\s\S]+-----END CERTIFICATE-----\s*$/.test(pem), 'PEM text', answer);
      must(stage.http.base.protocol === 'https:', 'no roots without TLS', answer);
      using trusting = new HttpClient(stage.target.url, pem);
      const again = await trusting.send({ method: 'GET', path: '/api/agent/config' });
      must(again.status === 401, 'an answer over a connection that trusts them alone', again);
    },
  },
  {
    id: 'register.cluster-id-form',
    section: DECISIONS.names,
    heading: PAGE.register,
    sentence: 'cluster_id is c- and 16 characters of lower-case Crockford base32',
    run: async (stage) => {
      const answer = await stage.registration();
      const id = stringIn(mustBe(answer, 200), 'cluster_id', answer);
      must(/^c-[0-9a-hjkmnp-tv-z]{16}$/.test(id), 'that form', answer);
    },
  },
  {
    id: 'register.token-form',
    section: DECISIONS.names,
    heading: PAGE.every,
    sentence: 'the credential is svcagt_, 43 base64url characters and 6 base62 digits of their CRC-32',
    run: async (stage) => {
      const answer = await stage.registration();
      must(tokenIsWellFormed('svcagt', stringIn(mustBe(answer, 200), 'token', answer)), 'that form', answer);
    },
  },
  {
    id: 'register.lifetime',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'a credential lives 30 days, and rotate_after lies well before its end',
    run: async (stage) => {
      const answer = await stage.registration();
      const body = mustBe(answer, 200);
      const expiresAt = timeIn(body, 'expires_at', answer);
      const rotateAfter = timeIn(body, 'rotate_after', answer);
      const days = (expiresAt - Date.now()) / DAY_MS;
      must(days > 29.9 && days < 30.1, 'expires_at in 30 days', answer);
      must(rotateAfter > Date.now() - 60_000 && rotateAfter < expiresAt - DAY_MS, 'rotate_after between', answer);
    },
  },
  {
    id: 'register.signing-keys',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'signing_public_keys is a JWK set of public keys',
    run: async (stage) => {
      const answer = await stage.registration();
      const set = mustBe(answer, 200)['signing_public_keys'];
      must(isObject(set) && Array.isArray(set['keys']) && set['keys'].length > 0, 'at least one key', answer);
      for (const key of set['keys']) {
        must(isObject(key) && typeof key['kty'] === 'string' && typeof key['kid'] === 'string', 'kty and kid', answer);
        must(!Object.hasOwn(key, 'd'), 'no private member', answer);
      }
    },
  },
  {
    id: 'register.credential-works-at-once',
    section: SPEC.registration,
    heading: PAGE.register,
    sentence: 'the record is Active and the credential good for the next call',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustBe(await cluster.get('/api/agent/config?wait=0'), 200);
    },
  },
  {
    id: 'register.used-token',
    section: SPEC.registration,
    heading: PAGE.register,
    sentence: 'the registration token is never accepted again',
    run: async (stage) => {
      await stage.registration();
      const again = { token: stage.target.registrationToken, cluster_uid: stage.clusterUid };
      mustRefuse(await stage.register(again), 401, 'registration_token_used');
    },
  },
  {
    id: 'register.used-token-is-audited',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'a registration token that is used again leaves an entry in the audit of its cluster',
    needs: 'admin',
    run: async (stage) => {
      const { id, registrationToken: token } = await stage.admin.newCluster();
      mustBe(await stage.register({ token, cluster_uid: 'conformance-audit' }), 200);
      const entries = async (): Promise<unknown[]> => {
        const { items } = await stage.admin.succeed('GET', `/audit?cluster=${id}&source=agent&limit=100`);
        must(Array.isArray(items), 'a list of audit entries');
        return items;
      };
      const before = await entries();
      mustRefuse(await stage.register({ token, cluster_uid: 'conformance-audit' }), 401, 'registration_token_used');
      must((await entries()).length > before.length, 'an entry more than before');
    },
  },
  {
    id: 'register.unknown-token',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'a registration token that was never issued is 401 invalid_token',
    run: async (stage) => {
      mustRefuse(await stage.register({ token: unknownToken('svcreg') }), 401, 'invalid_token');
    },
  },
  {
    id: 'register.foreign-token',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'an agent credential does not register anything',
    run: async (stage) => {
      const { token } = await stage.cluster();
      mustRefuse(await stage.register({ token }), 401, 'invalid_token');
    },
  },
  {
    id: 'register.missing-token',
    section: SPEC.errors,
    heading: PAGE.register,
    sentence: 'a registration without any token is 401 missing_token',
    run: async (stage) => {
      mustRefuse(await stage.register({ cluster_uid: stage.clusterUid }), 401, 'missing_token');
    },
  },
  {
    id: 'register.token-is-good-for-nothing-else',
    section: SPEC.scope,
    heading: PAGE.every,
    sentence: 'a registration token is no bearer credential',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.get('/api/agent/config?wait=0', {
        authorization: `Bearer ${stage.target.registrationToken}`,
      });
      mustRefuse(answer, 401, 'invalid_token');
    },
  },
  {
    id: 'register.token-in-header',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'the registration token may come as Authorization: Bearer instead',
    needs: 'admin',
    run: async (stage) => {
      const { id, registrationToken } = await stage.admin.newCluster();
      const answer = await stage.register({}, { authorization: `Bearer ${registrationToken}` });
      must(mustBe(answer, 200)['cluster_id'] === id, "the token's cluster", answer);
    },
  },
  {
    id: 'register.race',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'of two clusters that race with one token exactly one wins',
    needs: 'admin',
    run: async (stage) => {
      const { registrationToken: token } = await stage.admin.newCluster();
      const answers = await Promise.all(['one', 'two'].map((uid) => stage.register({ token, cluster_uid: uid })));
      const [winner, loser] = answers.toSorted((a, b) => a.status - b.status);
      must(winner !== undefined && loser !== undefined, 'two answers');
      mustBe(winner, 200);
      mustRefuse(loser, 401, 'registration_token_used');
    },
  },
  {
    id: 'register.bound-to-a-cluster',
    section: DECISIONS.register,
    heading: PAGE.register,
    sentence: 'a record bound to a cluster_uid refuses another one, and the token stays usable',
    needs: 'admin',
    run: async (stage) => {
      const { id, registrationToken } = await stage.admin.newCluster();
      const first = await stage.register({ token: registrationToken, cluster_uid: 'conformance-1' });
      const earlier = stringIn(mustBe(first, 200), 'token', first);
      const token = await stage.admin.newRegistrationToken(id);
      mustRefuse(await stage.register({ token, cluster_uid: 'conformance-2' }), 403, 'cluster_mismatch');
      const symmetric = { kty: 'oct', k: 'AAAA' };
      const badKey = await stage.register({ token, cluster_uid: 'conformance-1', public_key: symmetric });
      mustRefuse(badKey, 400, 'constraint_violated');
      mustBe(await stage.register({ token, cluster_uid: 'conformance-1' }), 200);
      const cluster = await stage.cluster();
      const answer = await cluster.get('/api/agent/config?wait=0', { authorization: `Bearer ${earlier}` });
      mustRefuse(answer, 401, 'invalid_token');
    },
  },
];
