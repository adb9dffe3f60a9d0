import { must, mustBe, mustRefuse, timeIn, type Check } from '../check.ts';
import type { AgentCall, ClusterClient } from '../cluster-client.ts';
import type { Answer } from '../http-client.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';

const PATH = '/api/agent/events';

async function write(cluster: ClusterClient, changes: Partial<AgentCall> = {}): Promise<Answer> {
  return await cluster.send({ path: PATH, body: { cluster_id: cluster.id, events: [] }, ...changes });
}

/** The MAC that writes carry without mTLS. */
export const HMAC: readonly Check[] = [
  {
    id: 'hmac.taken',
    section: SPEC.writes,
    heading: PAGE.signing,
    sentence: 'a write with a MAC over its canonical body is taken, whatever the spacing and order of its JSON',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustBe(await write(cluster), 204);
      const text = ` {\n "events" : [ ] , "x": 1E2, "cluster_id":"${cluster.id}" } `;
      mustBe(await write(cluster, { body: { cluster_id: cluster.id, events: [], x: 100 }, text }), 204);
    },
  },
  {
    id: 'hmac.canonical-form',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence: 'the body is hashed in its RFC 8785 form: member order by UTF-16, numbers and strings as there',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const body = {
        cluster_id: cluster.id,
        events: [],
        '\u20ac': [333_333_333.333_333_3, 1e30, 4.5, 2e-3, 1e-27, 0],
        '\ufb33': 'Hebrew letter dalet with dagesh',
        '\u{1f600}': 'Emoji',
        'control\u0007': '\u000f\n"\\/\u007f',
      };
      mustBe(await write(cluster, { body }), 204);
      const text = JSON.stringify(body).replace(/,0\]/, ',-0.0]');
      must(text.includes('-0.0'), 'a negative zero to send');
      mustBe(await write(cluster, { body, text }), 204);
    },
  },
  {
    id: 'hmac.missing',
    section: SPEC.writes,
    heading: PAGE.signing,
    sentence: 'a write without a MAC is 401 invalid_signature',
    run: async (stage) => {
      mustRefuse(await write(await stage.cluster(), { sign: false }), 401, 'invalid_signature');
    },
  },
  {
    id: 'hmac.missing-on-job-posts',
    section: SPEC.writes,
    heading: PAGE.signing,
    sentence: 'ack, status and result without a MAC are 401 invalid_signature, the job unknown or not',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const posts: AgentCall[] = [
        { path: '/api/agent/jobs/no-such-job/ack' },
        { path: '/api/agent/jobs/no-such-job/status', body: { phase: 'Applying' } },
        { path: '/api/agent/jobs/no-such-job/result', body: { outcome: 'succeeded' } },
      ];
      for (const post of posts) mustRefuse(await cluster.send({ ...post, sign: false }), 401, 'invalid_signature');
    },
  },
  {
    id: 'hmac.malformed',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence: 'a Service-Signature of another form is 401 invalid_signature',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const t = Math.floor(Date.now() / 1000);
      for (const header of [
        '',
        'v2,t=1,mac=AAAA',
        `v1,t=${t}`,
        `v1,t=${t},mac=AAAA`,
        `v1,mac=${'A'.repeat(43)},t=${t}`,
      ]) {
        mustRefuse(await write(cluster, { headers: { 'service-signature': header } }), 401, 'invalid_signature');
      }
    },
  },
  {
    id: 'hmac.binds-body',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence: 'a MAC over another body is 401 invalid_signature',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const text = JSON.stringify({ cluster_id: cluster.id, events: [], more: true });
      mustRefuse(await write(cluster, { text }), 401, 'invalid_signature');
    },
  },
  {
    id: 'hmac.binds-path-and-method',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence: 'a MAC over another path, query or method is 401 invalid_signature',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const sign of [{ target: `${PATH}?x=1` }, { target: '/api/agent/jobs/x/ack' }, { method: 'PUT' }]) {
        mustRefuse(await write(cluster, { sign }), 401, 'invalid_signature');
      }
    },
  },
  {
    id: 'hmac.binds-query',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence: 'the query is part of what is signed',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustBe(await write(cluster, { path: `${PATH}?x=1` }), 204);
      mustRefuse(await write(cluster, { path: `${PATH}?x=1`, sign: { target: PATH } }), 401, 'invalid_signature');
    },
  },
  {
    id: 'hmac.key-of-the-token',
    section: SPEC.writes,
    heading: PAGE.signing,
    sentence: 'the key is derived from the credential that the request presents',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const sign = { token: stage.target.registrationToken };
      mustRefuse(await write(cluster, { sign }), 401, 'invalid_signature');
    },
  },
  {
    id: 'hmac.clock-skew',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence: 'a MAC made more than 300 s away is 401 clock_skew, and serverTime says what time it is',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const shiftSeconds of [-320, 320]) {
        const answer = await write(cluster, { sign: { shiftSeconds } });
        const at = timeIn(mustRefuse(answer, 401, 'clock_skew'), 'serverTime', answer);
        must(Math.abs(at - Date.now()) < 300_000, 'serverTime near the time of this machine', answer);
      }
      for (const shiftSeconds of [-280, 280]) mustBe(await write(cluster, { sign: { shiftSeconds } }), 204);
    },
  },
  {
    id: 'hmac.body-first',
    section: DECISIONS.hmac,
    heading: PAGE.signing,
    sentence:
      'duplicate keys, lone surrogates, overflowing numbers and integers beyond ±(2^53−1) are 400 before any MAC is looked at',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const texts = [
        '{"a":1,"a":1}',
        '{"a":"\\ud800"}',
        '{"a":1e999}',
        '{"a":9007199254740992}',
        '{"a":',
        '[1,]',
        'nope',
      ];
      for (const text of texts) mustRefuse(await write(cluster, { text, sign: false }), 400, 'invalid_body');
    },
  },
  {
    id: 'hmac.not-on-polls',
    section: SPEC.writes,
    heading: PAGE.signing,
    sentence: 'the bearer token alone authenticates a read',
    run: async (stage) => {
      mustBe(await (await stage.cluster()).get('/api/agent/config?wait=0'), 200);
    },
  },
];
