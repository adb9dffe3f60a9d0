import { must } from '../../check.ts';
import { DECISIONS, PAGE, SPEC } from '../../sections.ts';
import { firstTimes, gaps, mustEqual, under, type OperatorCheck } from '../operator-check.ts';
import { CLUSTER_ID, refusal } from '../scripted-control-plane.ts';
import { applyJob } from '../scripted-jobs.ts';

const POST = /^POST \/api\/agent\/events$/;

interface SentEvent {
  readonly eventKey: string;
  readonly kind: string;
  readonly resourceRef: Record<string, unknown>;
  readonly conditions: { readonly type: string; readonly status: string }[];
  readonly sequence?: string;
}

/** What the operator tells of itself. */
export const EVENTS: readonly OperatorCheck[] = [
  {
    id: 'events.transitions',
    section: SPEC.events,
    heading: PAGE.keys,
    sentence: 'a change of a condition is reported, one event for each, under the key of the specification',
    run: async (stage) => {
      stage.plane.offer(applyJob('reported', 'reported', 1));
      await stage.result('reported');
      const ready = (): SentEvent | undefined =>
        (stage.plane.events('ConditionTransition') as unknown as SentEvent[]).find(
          ({ resourceRef, conditions }) =>
            resourceRef['name'] === 'reported' &&
            conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
        );
      await stage.until('Ready/True of the instance', () => ready() !== undefined);
      const event = ready();
      const { apiVersion, kind, namespace, name, uid, generation } = event?.resourceRef ?? {};
      mustEqual(event?.conditions.length, 1, 'conditions in it');
      const key = [apiVersion, kind, namespace, name, uid].map(String).join('/');
      mustEqual(event?.eventKey, `condition/${key}/Ready/True@${String(generation)}`, 'eventKey');
    },
  },
  {
    id: 'events.batches',
    section: SPEC.rule(7),
    heading: PAGE.limits,
    sentence: 'no post is empty, none is over the batch size, each names the cluster',
    run: async (stage) => {
      const posts = stage.plane.requests(POST).map(({ body }) => body as { cluster_id: string; events: SentEvent[] });
      must(posts.length > 0, 'posts of events');
      for (const { cluster_id: cluster, events } of posts) {
        mustEqual(cluster, CLUSTER_ID, 'cluster_id');
        must(events.length > 0 && events.length <= 100, `1 to 100 events, not ${events.length}`);
      }
    },
  },
  {
    id: 'events.sequence-grows',
    section: DECISIONS.events,
    heading: PAGE.events,
    sentence: 'sequence grows from event to event',
    run: async (stage) => {
      const all = stage.plane.requests(POST).flatMap(({ body }) => (body as { events: SentEvent[] }).events);
      const numbers = all.flatMap(({ sequence }) => (sequence === undefined ? [] : [Number(sequence.split('.')[1])]));
      must(
        numbers.every((number, index) => index === 0 || number >= (numbers[index - 1] ?? 0)),
        numbers.join(' ≤ '),
      );
    },
  },
  {
    id: 'events.sent-again',
    section: SPEC.events,
    heading: PAGE.keys,
    sentence: 'a post that failed is sent again with the same events, never within one second',
    run: async (stage) => {
      const fault = firstTimes(2, POST, refusal(503, 'unavailable'));
      const from = stage.plane.seen.length;
      await under(stage, fault.script, async () => {
        stage.plane.offer(applyJob('again', 'again', 1));
        await stage.until('a third post', () => stage.plane.requests(POST, from).length > 2);
      });
      const posts = stage.plane.requests(POST, from).slice(0, 3);
      const keys = posts.map(({ body }) => (body as { events: SentEvent[] }).events.map(({ eventKey }) => eventKey));
      const [first = [], , third = []] = keys;
      must(
        first.every((key) => third.includes(key)),
        'the events of the first post in the third',
      );
      must(
        gaps(posts).every((ms) => ms >= 1000),
        `a second between posts, not ${gaps(posts).join(', ')} ms`,
      );
    },
  },
  {
    id: 'events.bad-one-is-dropped',
    section: DECISIONS.events,
    heading: PAGE.errors,
    sentence: 'of a batch that is refused for one event the others are sent again, without it',
    run: async (stage) => {
      const isBad = ({ resourceRef }: SentEvent): boolean => resourceRef['name'] === 'refused';
      const taken: SentEvent[] = [];
      let refusals = 0;
      const script = ({ method, path, body }: { method: string; path: string; body: unknown }) => {
        if (!POST.test(`${method} ${path}`)) return undefined;
        const { events } = body as { events: SentEvent[] };
        const index = events.findIndex(isBad);
        if (index === -1) {
          taken.push(...events);
          return undefined;
        }
        refusals += 1;
        const answer = refusal(400, 'constraint_violated');
        if (answer === 'cut') return answer;
        const refused = { error: 'constraint_violated', message: `/events/${index}/kind: no`, requestId: 'r' };
        return {
          ...answer,
          body: JSON.stringify({ ...refused, faults: [{ path: `/events/${index}/kind`, message: 'no' }] }),
        };
      };
      await under(stage, script, async () => {
        stage.plane.offer(applyJob('refused', 'refused', 1), applyJob('taken', 'taken', 1));
        const arrived = (): boolean =>
          taken.some(
            ({ resourceRef, conditions }) => resourceRef['name'] === 'taken' && conditions[0]?.type === 'Ready',
          );
        await stage.until('the events of the other object', arrived);
      });
      must(refusals > 0, 'a post that was refused');
    },
  },
];
