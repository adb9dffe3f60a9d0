import { setTimeout as sleep } from 'node:timers/promises';
import { must, mustBe, mustRefuse, NotCheckable, type Check } from '../check.ts';
import { PAGE, SPEC } from '../sections.ts';

/** Requests that are tried before a limit counts as out of reach; the defaults are 60 polls and 100 posts in 10 s. */
const MOST = 240;

/** Only on a credential of our own: no other client of this control plane is held up by it. */
export const RATE_LIMITS: readonly Check[] = [
  {
    id: 'rate-limits.polls',
    section: SPEC.errors,
    heading: PAGE.limits,
    sentence: 'over the rate limit a poll is 429 rate_limited with Retry-After in seconds, and served again after that',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const path = '/api/agent/config?wait=0';
      for (let sent = 0; sent < MOST; sent += 1) {
        const answer = await cluster.send({ method: 'GET', path, impatient: true });
        if (answer.status !== 429) {
          mustBe(answer, 200);
          continue;
        }
        mustRefuse(answer, 429, 'rate_limited');
        const seconds = answer.headers['retry-after'];
        must(/^[1-9]\d*$/.test(seconds ?? '') && Number(seconds) <= 60, 'Retry-After of at least 1 second', answer);
        await sleep(Number(seconds) * 1000);
        mustBe(await cluster.send({ method: 'GET', path, impatient: true }), 200);
        return;
      }
      throw new NotCheckable(`no 429 within ${MOST} polls: the limit is set higher`);
    },
  },
  {
    id: 'rate-limits.events',
    section: SPEC.errors,
    heading: PAGE.limits,
    sentence: 'over the rate limit a post of events is 429 rate_limited with Retry-After in seconds',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const body = { cluster_id: cluster.id, events: [] };
      for (let sent = 0; sent < MOST; sent += 1) {
        const answer = await cluster.send({ path: '/api/agent/events', body, impatient: true });
        if (answer.status !== 429) {
          mustBe(answer, 204);
          continue;
        }
        mustRefuse(answer, 429, 'rate_limited');
        const seconds = answer.headers['retry-after'];
        must(/^[1-9]\d*$/.test(seconds ?? '') && Number(seconds) <= 60, 'Retry-After of at least 1 second', answer);
        return;
      }
      throw new NotCheckable(`no 429 within ${MOST} posts: the limit is set higher`);
    },
  },
];
