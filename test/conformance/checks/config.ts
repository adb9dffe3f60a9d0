import { setTimeout as sleep } from 'node:timers/promises';
import { isObject, must, mustBe, mustRefuse, type Check } from '../check.ts';
import { DECISIONS, PAGE } from '../sections.ts';

const CONFIG = '/api/agent/config';

/** The projection of the identity record, and how a request for it is held. */
export const CONFIG_CHECKS: readonly Check[] = [
  {
    id: 'config.fields',
    section: DECISIONS.register,
    heading: PAGE.config,
    sentence: 'config answers the projection of the identity record, with all its fields',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.get(`${CONFIG}?wait=0`);
      const body = mustBe(answer, 200);
      must(body['cluster_id'] === cluster.id, 'its own cluster_id', answer);
      for (const name of ['allowed_namespaces', 'catalog_entries', 'operation_templates']) {
        must(Array.isArray(body[name]), `${name} is a list`, answer);
      }
      must(['pull', 'push', 'gitops'].includes(String(body['connectivity_mode'])), 'connectivity_mode', answer);
      must(Number.isInteger(body['delivery_epoch']), 'delivery_epoch is an integer', answer);
      const keys = body['signing_public_keys'];
      must(isObject(keys) && Array.isArray(keys['keys']), 'signing_public_keys is a JWK set', answer);
    },
  },
  {
    id: 'config.intervals',
    section: DECISIONS.register,
    heading: PAGE.config,
    sentence: 'intervals has rotate_seconds, heartbeat_seconds, event_batch_ms, event_batch_size',
    run: async (stage) => {
      const answer = await (await stage.cluster()).get(`${CONFIG}?wait=0`);
      const { intervals } = mustBe(answer, 200);
      for (const name of ['rotate_seconds', 'heartbeat_seconds', 'event_batch_ms', 'event_batch_size']) {
        must(isObject(intervals) && Number.isInteger(intervals[name]), `intervals.${name} is an integer`, answer);
      }
    },
  },
  {
    id: 'config.security',
    section: 'Specification, Optional payload signing and encryption',
    heading: PAGE.security,
    sentence: 'security has requireSignedPayloads and requireEncryptedSecretPayloads',
    run: async (stage) => {
      const answer = await (await stage.cluster()).get(`${CONFIG}?wait=0`);
      const { security } = mustBe(answer, 200);
      for (const name of ['requireSignedPayloads', 'requireEncryptedSecretPayloads']) {
        must(isObject(security) && typeof security[name] === 'boolean', `security.${name} is a boolean`, answer);
      }
    },
  },
  {
    id: 'config.same-key-as-registered',
    section: DECISIONS.register,
    heading: PAGE.security,
    sentence: 'the signing key that was pinned at registration is among those that count',
    run: async (stage) => {
      const registered = (await stage.registration()).json as { signing_public_keys: { keys: { kid: string }[] } };
      const answer = await (await stage.cluster()).get(`${CONFIG}?wait=0`);
      const body = mustBe(answer, 200) as { signing_public_keys?: { keys?: { kid: string }[] } };
      const kids = body.signing_public_keys?.keys?.map(({ kid }) => kid) ?? [];
      const pinned = registered.signing_public_keys.keys[0]?.kid;
      must(pinned !== undefined && kids.includes(pinned), `key ${pinned ?? ''}`, answer);
    },
  },
  {
    id: 'config.revision-as-etag',
    section: DECISIONS.register,
    heading: PAGE.config,
    sentence: 'config has an ETag, and If-None-Match with it is 304 once the wait has passed',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.get(`${CONFIG}?wait=0`);
      mustBe(answer, 200);
      const { etag } = answer.headers;
      must(typeof etag === 'string', 'an ETag', answer);
      const again = await cluster.get(`${CONFIG}?wait=1`, { 'if-none-match': etag });
      mustBe(again, 304);
      must(again.ms > 800, 'held for the second that was asked for', again);
      mustBe(await cluster.get(`${CONFIG}?wait=30`, { 'if-none-match': '"another"' }), 200);
    },
  },
  {
    id: 'config.wait-limits',
    section: DECISIONS.register,
    heading: PAGE.config,
    sentence: 'wait is held like a job poll: over 300, below 0 or not an integer is 400',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const wait of ['301', '-1', '1.5', 'long', '']) {
        mustRefuse(await cluster.get(`${CONFIG}?wait=${wait}`), 400, 'constraint_violated');
      }
    },
  },
  {
    id: 'config.wakes-on-change',
    section: DECISIONS.register,
    heading: PAGE.config,
    sentence: 'a change of the identity record ends a held request at once, with a higher revision',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const before = await cluster.get(`${CONFIG}?wait=0`);
      mustBe(before, 200);
      const held = cluster.get(`${CONFIG}?wait=10`, { 'if-none-match': String(before.headers.etag) });
      await sleep(200);
      await stage.admin.succeed('PATCH', `/clusters/${cluster.id}`, { allowedNamespaces: ['conformance', 'second'] });
      const answer = await held;
      must(answer.ms < 5000, 'an answer at once', answer);
      const namespaces = mustBe(answer, 200)['allowed_namespaces'];
      must(Array.isArray(namespaces) && namespaces.includes('second'), 'the namespace that was added', answer);
      const revision = (of: typeof answer): number => Number(of.headers['service-config-revision']);
      must(revision(answer) > revision(before), 'a higher Service-Config-Revision', answer);
    },
  },
];
