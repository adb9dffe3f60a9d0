import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { must } from '../../check.ts';
import { AGENT_MEDIA_TYPE } from '../../cluster-client.ts';
import { DECISIONS, PAGE, SPEC } from '../../sections.ts';
import { firstTimes, gaps, mustEqual, under, type OperatorCheck } from '../operator-check.ts';
import type { OperatorStage } from '../operator-stage.ts';
import { refusal, type Scripted } from '../scripted-control-plane.ts';
import { applyJob } from '../scripted-jobs.ts';

const POLL = /^GET \/api\/agent\/jobs\?/;
const HTML = { 'content-type': 'text/html' };

/** Polls meet an answer some times; then they are served again, and a job goes through. */
async function pollsMeet(stage: OperatorStage, name: string, times: number, answer: Scripted) {
  const fault = firstTimes(times, POLL, answer);
  const from = stage.plane.seen.length;
  await under(stage, fault.script, async () => {
    stage.plane.wake();
    await stage.until(`${times} polls that met it`, () => fault.met.length === times, 40_000);
    await stage.until('a poll after that', () => stage.plane.requests(POLL, from).length > times, 40_000);
  });
  stage.plane.offer(applyJob(name, name, 1));
  mustEqual((await stage.result(name))['outcome'], 'succeeded', 'outcome of a job afterwards');
  // The first poll since then met it: the one that was held began before.
  return { waited: gaps(stage.plane.requests(POLL, from).slice(0, times + 1)) };
}

/** What goes wrong between the two and at the control plane. */
export const RESILIENCE: readonly OperatorCheck[] = [
  {
    id: 'resilience.5xx-on-polls',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: '5xx is retried, never within one second',
    run: async (stage) => {
      const { waited } = await pollsMeet(stage, 'after-500', 2, refusal(500, 'internal'));
      must(
        waited.every((ms) => ms >= 1000),
        `a second between polls, not ${waited.join(', ')} ms`,
      );
    },
  },
  {
    id: 'resilience.5xx-on-results',
    section: SPEC.flow,
    heading: PAGE.result,
    sentence: 'a result that is not taken is kept and sent again, never within one second, until it is; once',
    run: async (stage) => {
      const fault = firstTimes(2, /\/kept\/result$/, refusal(503, 'unavailable', { 'retry-after': '1' }));
      await under(stage, fault.script, async () => {
        stage.plane.offer(applyJob('kept', 'kept', 1));
        await stage.until('a third try', () => stage.plane.results('kept').length === 3, 45_000);
        await sleep(1200);
      });
      const tries = stage.plane.requests(/\/kept\/result$/);
      mustEqual(tries.length, 3, 'tries');
      must(
        gaps(tries).every((ms) => ms >= 1000),
        `a second between tries, not ${gaps(tries).join(', ')} ms`,
      );
    },
  },
  {
    id: 'resilience.ack-is-not-starved',
    section: SPEC.rule(1),
    heading: PAGE.ack,
    sentence: 'a result that cannot be sent does not hold up the ack of another job',
    run: async (stage) => {
      const script = ({ path }: { path: string }) =>
        path.includes('/stuck/result') ? refusal(500, 'internal') : undefined;
      await under(stage, script, async () => {
        stage.plane.offer(applyJob('stuck', 'stuck', 1));
        await stage.result('stuck');
        stage.plane.offer(applyJob('beside', 'beside', 1));
        await stage.until('an ack of the other', () => stage.plane.said('beside').includes('ack'), 3000);
      });
      await stage.until('the result', () => stage.plane.results('stuck').length > 1);
    },
  },
  {
    id: 'resilience.429-in-seconds',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: '429 is not repeated before Retry-After in seconds',
    run: async (stage) => {
      const answer = refusal(429, 'rate_limited', { 'retry-after': '2' });
      const { waited } = await pollsMeet(stage, 'after-429', 1, answer);
      must(
        waited.every((ms) => ms >= 1950),
        `2 s, not ${waited.join(', ')} ms`,
      );
    },
  },
  {
    id: 'resilience.429-as-a-date',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: '429 is not repeated before Retry-After as a date (RFC 9110, section 10.2.3)',
    run: async (stage) => {
      const until = Math.ceil(Date.now() / 1000) * 1000 + 3000;
      const answer = refusal(429, 'rate_limited', { 'retry-after': new Date(until).toUTCString() });
      const from = stage.plane.seen.length;
      await pollsMeet(stage, 'after-date', 1, answer);
      const [, second] = stage.plane.requests(POLL, from);
      must((second?.atMs ?? 0) >= until - 50, 'no poll before that date');
    },
  },
  {
    id: 'resilience.cut',
    section: DECISIONS.jobs,
    heading: PAGE.poll,
    sentence: 'a poll that is cut is made again',
    run: async (stage) => {
      await pollsMeet(stage, 'after-cut', 2, 'cut');
    },
  },
  {
    id: 'resilience.html-401',
    section: DECISIONS.register,
    heading: PAGE.errors,
    sentence: "a proxy's HTML 401 or 403 is treated like a 5xx: nothing is refreshed, nothing stops",
    run: async (stage) => {
      const from = stage.plane.seen.length;
      await pollsMeet(stage, 'after-401', 1, { status: 401, headers: HTML, body: '<h1>Sign in</h1>' });
      await pollsMeet(stage, 'after-403', 1, { status: 403, headers: HTML, body: '<h1>Forbidden</h1>' });
      mustEqual(stage.plane.requests(/credentials/, from).length, 0, 'refreshes');
      mustEqual(await stage.condition('Authenticated'), 'True', 'Authenticated');
    },
  },
  {
    id: 'resilience.unknown-error-code',
    section: DECISIONS.register,
    heading: PAGE.errors,
    sentence: "a 401 with an error code that is not the protocol's is treated like a 5xx",
    run: async (stage) => {
      const from = stage.plane.seen.length;
      await pollsMeet(stage, 'after-code', 1, refusal(401, 'session_lost'));
      mustEqual(stage.plane.requests(/credentials/, from).length, 0, 'refreshes');
    },
  },
  {
    id: 'resilience.other-media-type',
    section: SPEC.endpoints,
    heading: PAGE.every,
    sentence: 'an answer of another media type is no answer of the control plane',
    run: async (stage) => {
      const body = JSON.stringify({ jobs: [applyJob('forged', 'forged', 1)] });
      await pollsMeet(stage, 'after-type', 1, { status: 200, headers: HTML, body });
      mustEqual(stage.plane.said('forged'), [], 'what was said of a job in it');
    },
  },
  {
    id: 'resilience.not-json',
    section: SPEC.endpoints,
    heading: PAGE.every,
    sentence: 'an answer that is cut short or is not JSON is a failure, and the next one is taken',
    run: async (stage) => {
      const headers = { 'content-type': AGENT_MEDIA_TYPE };
      await pollsMeet(stage, 'after-text', 1, { status: 200, headers, body: '{"jobs":[' });
    },
  },
  {
    id: 'resilience.huge-answer',
    section: SPEC.endpoints,
    heading: PAGE.limits,
    sentence: 'an answer without bound is not read to its end',
    run: async (stage) => {
      const headers = { 'content-type': AGENT_MEDIA_TYPE };
      const body = Buffer.alloc(96 * 1_048_576, ' ');
      await pollsMeet(stage, 'after-huge', 1, { status: 200, headers, body });
    },
  },
  {
    id: 'resilience.redirect',
    section: 'Specification, Secret handling',
    heading: PAGE.every,
    sentence: 'a redirect is not followed with the credential',
    run: async (stage) => {
      const followed: (string | undefined)[] = [];
      const other = createServer((request, response) => {
        followed.push(request.headers.authorization);
        response.end();
      });
      await new Promise<void>((resolve) => {
        other.listen(0, '127.0.0.1', resolve);
      });
      try {
        const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
        await pollsMeet(stage, 'after-307', 1, { status: 307, headers: { location } });
        mustEqual(followed, [], 'requests at the other place');
      } finally {
        other.close();
      }
    },
  },
  {
    id: 'resilience.slow-answers',
    section: SPEC.flow,
    heading: PAGE.result,
    sentence: 'slow answers to posts lose nothing and double nothing',
    run: async (stage) => {
      const script = async ({ method }: { method: string }): Promise<undefined> => {
        if (method === 'POST') await sleep(300);
      };
      await under(stage, script, async () => {
        stage.plane.offer(applyJob('slow', 'slow', 1));
        mustEqual((await stage.result('slow'))['outcome'], 'succeeded', 'outcome');
        await sleep(500);
      });
      mustEqual(stage.plane.results('slow').length, 1, 'results');
    },
  },
  {
    id: 'resilience.config-revision',
    section: DECISIONS.register,
    heading: PAGE.every,
    sentence: 'when Service-Config-Revision moves the operator asks for config',
    run: async (stage) => {
      const from = stage.plane.seen.length;
      stage.plane.configure({ operation_templates: ['scale'] });
      await stage.until(
        'a request for config',
        () => stage.plane.requests(/^GET \/api\/agent\/config/, from).length > 0,
      );
      await stage.nextPoll();
      // Going down, as after a restore from a backup, is a difference too.
      stage.plane.revision -= 1;
      const later = stage.plane.seen.length;
      stage.plane.wake();
      await stage.until('another one', () => stage.plane.requests(/^GET \/api\/agent\/config/, later).length > 0);
    },
  },
];
