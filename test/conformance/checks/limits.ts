import { must, mustBe, mustRefuse, type Check } from '../check.ts';
import { sampleEvent } from '../sample-event.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';

const MIB = 1_048_576;

/** Sizes, depths and waits. */
export const LIMITS: readonly Check[] = [
  {
    id: 'limits.post-size',
    section: DECISIONS.events,
    heading: PAGE.limits,
    sentence: 'a post of events over 1 MiB is 413 payload_too_large',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const body = { cluster_id: cluster.id, events: [], padding: 'x'.repeat(MIB) };
      mustRefuse(await cluster.post('/api/agent/events', body), 413, 'payload_too_large');
    },
  },
  {
    id: 'limits.post-size-below',
    section: DECISIONS.events,
    heading: PAGE.limits,
    sentence: 'a post just under 1 MiB is taken',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const body = { cluster_id: cluster.id, events: [sampleEvent()], padding: 'x'.repeat(MIB - 2000) };
      mustBe(await cluster.post('/api/agent/events', body), 204);
    },
  },
  {
    id: 'limits.wait',
    section: SPEC.limits,
    heading: PAGE.limits,
    sentence: 'wait is 0 to 300 whole seconds, anything else is 400',
    run: async (stage) => {
      const cluster = await stage.cluster();
      for (const wait of ['301', '-1', '1.5', 'long', '']) {
        const answer = await cluster.get(`/api/agent/jobs?cluster=${cluster.id}&wait=${wait}`);
        mustRefuse(answer, 400, 'constraint_violated');
      }
    },
  },
  {
    id: 'limits.wait-is-kept',
    section: SPEC.endpoints,
    heading: PAGE.limits,
    sentence: 'a poll is held until its wait elapses, then answered with an empty list',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.poll(1);
      const { jobs } = mustBe(answer, 200);
      must(Array.isArray(jobs), 'jobs is a list', answer);
      if (jobs.length === 0) must(answer.ms > 800, 'held for the second that was asked for', answer);
    },
  },
  {
    id: 'limits.nesting',
    section: DECISIONS.errors,
    heading: PAGE.limits,
    sentence: 'a body nested without bound is 400 invalid_body, not a failure of the server',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const text = `{"events":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
      mustRefuse(await cluster.send({ path: '/api/agent/events', text }), 400, 'invalid_body');
    },
  },
  {
    id: 'limits.long-event-key',
    section: DECISIONS.events,
    heading: PAGE.limits,
    sentence: 'a member of unbounded length is 400',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const events = [sampleEvent({ eventKey: 'k'.repeat(100_000) })];
      mustRefuse(await cluster.post('/api/agent/events', { events }), 400, 'constraint_violated');
    },
  },
];
