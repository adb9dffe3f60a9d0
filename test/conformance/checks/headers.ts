import { unknownToken } from '../agent-identity.ts';
import { must, mustBe, mustRefuse, type Check } from '../check.ts';
import { AGENT_MEDIA_TYPE } from '../cluster-client.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';

const CONFIG = '/api/agent/config?wait=0';

/** The bearer token, and the headers of every answer. */
export const HEADERS: readonly Check[] = [
  {
    id: 'headers.missing-token',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'a request without Authorization is 401 missing_token',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustRefuse(await cluster.get(CONFIG, { authorization: undefined }), 401, 'missing_token');
    },
  },
  {
    id: 'headers.malformed-token',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'an Authorization header of another form is 401 invalid_token',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const authorization of [cluster.token, 'Bearer', 'Basic YTpi', `Bearer ${cluster.token.slice(0, -1)}`]) {
        mustRefuse(await cluster.get(CONFIG, { authorization }), 401, 'invalid_token', 'missing_token');
      }
    },
  },
  {
    id: 'headers.unknown-token',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'a credential that was never issued is 401 invalid_token',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const authorization = `Bearer ${unknownToken('svcagt')}`;
      mustRefuse(await cluster.get(CONFIG, { authorization }), 401, 'invalid_token');
    },
  },
  {
    id: 'headers.scheme-in-any-case',
    section: SPEC.headers,
    heading: PAGE.every,
    sentence: 'the scheme of Authorization is read whatever its case (RFC 9110, section 11.1)',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustBe(await cluster.get(CONFIG, { authorization: `bearer ${cluster.token}` }), 200);
    },
  },
  {
    id: 'headers.media-type-of-answers',
    section: SPEC.endpoints,
    heading: PAGE.every,
    sentence: 'answers with a body have the agent media type, errors included',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answers = [
        await stage.registration(),
        await cluster.get(CONFIG),
        await cluster.get(CONFIG, { authorization: undefined }),
        await cluster.get('/api/agent/nothing-here'),
      ];
      for (const answer of answers) {
        must(answer.headers['content-type'] === AGENT_MEDIA_TYPE, `content-type ${AGENT_MEDIA_TYPE}`, answer);
      }
    },
  },
  {
    id: 'headers.request-id',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: 'every answer has Service-Request-Id, 204 included, and an error repeats it as requestId',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const events = await cluster.post('/api/agent/events', { cluster_id: cluster.id, events: [] });
      const config = await cluster.get(CONFIG);
      const refused = await cluster.get(CONFIG, { authorization: undefined });
      const ids = [events, config, refused].map((answer) => {
        const id = answer.headers['service-request-id'];
        must(typeof id === 'string' && id !== '', 'a Service-Request-Id', answer);
        return id;
      });
      must(new Set(ids).size === ids.length, 'an id of its own for each request', refused);
      must(mustRefuse(refused, 401, 'missing_token')['requestId'] === ids[2], 'requestId as in the header', refused);
    },
  },
  {
    id: 'headers.request-id-is-the-servers',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: "a request id is the server's own, whatever the client sends",
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.get(CONFIG, { 'service-request-id': 'mine', 'x-request-id': 'mine' });
      must(answer.headers['service-request-id'] !== 'mine', 'another id than the one sent', answer);
    },
  },
  {
    id: 'headers.config-revision',
    section: DECISIONS.register,
    heading: PAGE.every,
    sentence: 'every agent answer has Service-Config-Revision, 204 and 4xx included',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answers = [
        await stage.registration(),
        await cluster.get(CONFIG),
        await cluster.post('/api/agent/events', { cluster_id: cluster.id, events: [] }),
        await cluster.post('/api/agent/events', { cluster_id: cluster.id, events: 'none' }),
        await cluster.get('/api/agent/nothing-here'),
      ];
      for (const answer of answers) {
        const revision = answer.headers['service-config-revision'];
        must(typeof revision === 'string' && /^\d+$/.test(revision), 'a Service-Config-Revision', answer);
      }
    },
  },
  {
    id: 'headers.no-revision-for-strangers',
    section: SPEC.scope,
    heading: PAGE.every,
    sentence: 'an answer to nobody in particular tells nothing of a cluster',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.get(CONFIG, { authorization: undefined });
      must(answer.headers['service-config-revision'] === undefined, 'no Service-Config-Revision', answer);
    },
  },
  {
    id: 'headers.registers-ends-caching',
    section: 'Specification, Secret handling',
    heading: PAGE.every,
    sentence: 'an answer that holds a credential is not to be stored by what is between (Cache-Control: no-store)',
    run: async (stage) => {
      const answer = await stage.registration();
      must(String(answer.headers['cache-control']).includes('no-store'), 'cache-control: no-store', answer);
    },
  },
];
