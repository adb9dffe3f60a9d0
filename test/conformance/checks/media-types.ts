import { gzipSync } from 'node:zlib';
import { must, mustBe, mustRefuse, type Check } from '../check.ts';
import { AGENT_MEDIA_TYPE } from '../cluster-client.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';

const CONFIG = '/api/agent/config?wait=0';
const NOTHING = '/api/agent/events';

/** What a request may accept, and what its body may be. */
export const MEDIA_TYPES: readonly Check[] = [
  {
    id: 'media-types.unknown-version',
    section: DECISIONS.errors,
    heading: PAGE.versions,
    sentence: 'an unknown version in Accept is 406 and names the versions served',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const accept of ['application/vnd.service.agent.v2+json', 'text/html']) {
        const answer = await cluster.get(CONFIG, { accept });
        mustRefuse(answer, 406, 'not_acceptable');
        must(answer.text.includes(AGENT_MEDIA_TYPE), 'the media type that is served', answer);
      }
    },
  },
  {
    id: 'media-types.accept-may-be-absent',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: 'a missing Accept or */* is v1',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const accept of [undefined, '*/*']) {
        const answer = await cluster.get(CONFIG, { accept });
        mustBe(answer, 200);
        must(answer.headers['content-type'] === AGENT_MEDIA_TYPE, `content-type ${AGENT_MEDIA_TYPE}`, answer);
      }
    },
  },
  {
    id: 'media-types.several-in-accept',
    section: SPEC.versioning,
    heading: PAGE.versions,
    sentence: 'a client that accepts two versions is served the one that there is',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const accept = `application/vnd.service.agent.v2+json, ${AGENT_MEDIA_TYPE};q=0.5`;
      const answer = await cluster.get(CONFIG, { accept });
      mustBe(answer, 200);
      must(answer.headers['content-type'] === AGENT_MEDIA_TYPE, `content-type ${AGENT_MEDIA_TYPE}`, answer);
    },
  },
  {
    id: 'media-types.body-types',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: 'a body of the agent media type or application/json is taken, parameters are ignored',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const type of [AGENT_MEDIA_TYPE, 'application/json', `${AGENT_MEDIA_TYPE}; charset=utf-8`]) {
        const body = { cluster_id: cluster.id, events: [] };
        mustBe(await cluster.send({ path: NOTHING, body, headers: { 'content-type': type } }), 204);
      }
    },
  },
  {
    id: 'media-types.other-body-types',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: 'a body of another type is 415',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/vnd.service.agent.v2+json']) {
        const body = { cluster_id: cluster.id, events: [] };
        const answer = await cluster.send({ path: NOTHING, body, headers: { 'content-type': type } });
        mustRefuse(answer, 415, 'unsupported_media_type');
      }
    },
  },
  {
    id: 'media-types.empty-body-has-none',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: 'Content-Type is not looked at on an empty body',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const path = '/api/agent/jobs/no-such-job/ack';
      for (const type of [undefined, 'text/plain', AGENT_MEDIA_TYPE]) {
        const answer = await cluster.send({ path, headers: { 'content-type': type } });
        mustRefuse(answer, 404, 'job_not_found');
      }
    },
  },
  {
    id: 'media-types.compressed-body',
    section: DECISIONS.errors,
    heading: PAGE.every,
    sentence: 'a body under a Content-Encoding is refused and never inflated',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const body = { cluster_id: cluster.id, events: [] };
      const text = gzipSync(JSON.stringify(body));
      const answer = await cluster.send({ path: NOTHING, body, text, headers: { 'content-encoding': 'gzip' } });
      mustRefuse(answer, answer.status === 400 ? 400 : 415, 'unsupported_media_type', 'invalid_body');
    },
  },
];
