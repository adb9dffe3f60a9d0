import { must, mustBe, type Check } from '../check.ts';
import { AGENT_MEDIA_TYPE } from '../cluster-client.ts';
import { sampleEvent } from '../sample-event.ts';
import { PAGE, SPEC } from '../sections.ts';

/** What later clients of v1 may send. */
export const VERSIONING: readonly Check[] = [
  {
    id: 'versioning.v1-is-served',
    section: SPEC.versioning,
    heading: PAGE.versions,
    sentence: 'v1 of the media type is served',
    run: async (stage) => {
      const answer = await (await stage.cluster()).get('/api/agent/config?wait=0', { accept: AGENT_MEDIA_TYPE });
      mustBe(answer, 200);
      must(answer.headers['content-type'] === AGENT_MEDIA_TYPE, `content-type ${AGENT_MEDIA_TYPE}`, answer);
    },
  },
  {
    id: 'versioning.extra-request-fields',
    section: SPEC.rule(8),
    heading: PAGE.versions,
    sentence: 'additional fields in requests are tolerated, at every depth',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const event = sampleEvent({ later: { deep: [1] } });
      const resourceRef = { ...(event['resourceRef'] as object), later: true };
      const conditions = (event['conditions'] as object[]).map((condition) => ({ ...condition, later: 'x' }));
      const body = { cluster_id: cluster.id, later: null, events: [{ ...event, resourceRef, conditions }] };
      mustBe(await cluster.post('/api/agent/events', body), 204);
    },
  },
  {
    id: 'versioning.extra-query',
    section: SPEC.rule(8),
    heading: PAGE.versions,
    sentence: 'unknown query parameters are tolerated',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustBe(await cluster.get('/api/agent/config?wait=0&later=1'), 200);
      mustBe(await cluster.get(`/api/agent/jobs?cluster=${cluster.id}&wait=0&later=1&later=2`), 200);
    },
  },
  {
    id: 'versioning.extra-headers',
    section: SPEC.versioning,
    heading: PAGE.versions,
    sentence: 'unknown headers are tolerated',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustBe(await cluster.get('/api/agent/config?wait=0', { 'service-later': 'x', 'user-agent': 'other/1' }), 200);
    },
  },
];
