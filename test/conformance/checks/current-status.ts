import { isObject, must, mustBe, type Check } from '../check.ts';
import type { ClusterClient } from '../cluster-client.ts';
import { sampleEvent } from '../sample-event.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';
import type { Stage } from '../stage.ts';

const EVENTS = '/api/agent/events';

/** What is said now of `Ready` of the object with this uid; `nothing` where it is not shown. */
async function readyOf(stage: Stage, cluster: ClusterClient, uid: string): Promise<string> {
  const { items } = await stage.admin.succeed('GET', `/clusters/${cluster.id}/conditions?limit=100`);
  must(Array.isArray(items), 'a list of conditions');
  for (const { resourceRef, conditions } of items.filter(isObject)) {
    if (!isObject(resourceRef) || resourceRef['uid'] !== uid || !Array.isArray(conditions)) continue;
    return String(conditions.filter(isObject).find(({ type }) => type === 'Ready')?.['message']);
  }
  return 'nothing';
}

/** An event of the object `uid` under `name` that says `message` as of so many seconds ago. */
function told(
  name: string,
  uid: string,
  message: string,
  from: {
    readonly secondsAgo: number;
    readonly sequence?: string;
    readonly generation?: number;
    readonly reason?: string;
  },
): Record<string, unknown> {
  const { secondsAgo, sequence, generation = 1, reason = 'HelmReleaseReady' } = from;
  const at = new Date(Date.now() - secondsAgo * 1000).toISOString();
  const { resourceRef } = sampleEvent();
  return sampleEvent({
    eventKey: `condition/apps.service.io/v1alpha1/ApplicationInstance/conformance/${name}/${uid}/Ready/${message}@${generation}`,
    resourceRef: { ...(resourceRef as object), name, uid, generation },
    conditions: [
      { type: 'Ready', status: reason === 'Uninstalled' ? 'False' : 'True', reason, message, lastTransitionTime: at },
    ],
    timestamp: at,
    ...(sequence === undefined ? {} : { sequence }),
  });
}

/** What the control plane makes of events: the status of now, and the discussion channel. */
export const CURRENT_STATUS: readonly Check[] = [
  {
    id: 'current-status.late-event',
    section: DECISIONS.events,
    heading: PAGE.order,
    sentence: 'a late old event never overwrites a newer state: by sequence, and without by generation and time',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const numbered = [
        told('numbered', 'u-1', 'new', { secondsAgo: 60, sequence: '2.7' }),
        // By the clock it is the later one.
        told('numbered', 'u-1', 'old', { secondsAgo: 1, sequence: '2.6' }),
      ];
      const timed = [
        told('timed', 'u-2', 'new', { secondsAgo: 60 }),
        told('timed', 'u-2', 'old', { secondsAgo: 61 }),
        told('generations', 'u-3', 'new', { secondsAgo: 60, generation: 4 }),
        told('generations', 'u-3', 'old', { secondsAgo: 1, generation: 3 }),
      ];
      for (const event of [...numbered, ...timed]) {
        mustBe(await cluster.post(EVENTS, { cluster_id: cluster.id, events: [event] }), 204);
      }
      for (const uid of ['u-1', 'u-2', 'u-3']) {
        const found = await readyOf(stage, cluster, uid);
        must(found === 'new', `${uid} to be what was said last, not ${found}`);
      }
    },
  },
  {
    id: 'current-status.made-anew',
    section: DECISIONS.events,
    heading: PAGE.order,
    sentence: 'status is folded per uid: an object made anew under a name is shown, though its generations begin again',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const post = async (event: unknown): Promise<void> => {
        mustBe(await cluster.post(EVENTS, { cluster_id: cluster.id, events: [event] }), 204);
      };
      await post(told('anew', 'z-old', 'first', { secondsAgo: 60, generation: 7 }));
      await post(told('anew', 'z-old', 'gone', { secondsAgo: 50, generation: 7, reason: 'Uninstalled' }));
      await post(told('anew', 'b-new', 'again', { secondsAgo: 40, generation: 1 }));
      const again = await readyOf(stage, cluster, 'b-new');
      must(again === 'again', `the new object with what was said of it, not ${again}`);
    },
  },
  {
    id: 'current-status.channel',
    section: SPEC.events,
    heading: PAGE.events,
    sentence: 'the discussion channel tells of an outcome once, by its reason, however often its event is posted',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const event = told('outcome', 'u-4', `outcome of ${cluster.id}`, {
        secondsAgo: 1,
        reason: 'HelmReleaseUpgraded',
      });
      const quiet = told('outcome', 'u-5', `quiet in ${cluster.id}`, { secondsAgo: 1, reason: 'Progressing' });
      for (const events of [[event], [event, quiet]]) {
        mustBe(await cluster.post(EVENTS, { cluster_id: cluster.id, events }), 204);
      }
      const { items } = await stage.admin.succeed('GET', `/channel?cluster=${cluster.id}&limit=100`);
      must(Array.isArray(items), 'a list of messages');
      const texts = items.filter(isObject).map(({ text }) => String(text));
      const outcomes = texts.filter((text) => text.includes(`outcome of ${cluster.id}`));
      must(outcomes.length === 1, `one message of the outcome, not ${outcomes.length}`);
      must(!texts.some((text) => text.includes(`quiet in ${cluster.id}`)), 'none of what is no outcome');
    },
  },
];
