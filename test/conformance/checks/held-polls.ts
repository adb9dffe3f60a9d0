import { setTimeout as sleep } from 'node:timers/promises';
import { must, mustBe, type Check } from '../check.ts';
import { drain, jobsIn, nextJob } from '../next-job.ts';
import { DECISIONS, PAGE } from '../sections.ts';

/** Between two requests of which the first has to be held when the second comes. */
const SETTLED_MS = 150;

/** Several polls of one cluster at a time. */
export const HELD_POLLS: readonly Check[] = [
  {
    id: 'held-polls.a-fourth-ends-the-oldest',
    section: DECISIONS.jobs,
    heading: PAGE.poll,
    sentence: 'three polls of a cluster are held at once; a fourth ends the oldest with an empty list',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const oldest = cluster.poll(8);
      await sleep(SETTLED_MS);
      const others = [];
      for (let number = 0; number < 3; number += 1) {
        others.push(cluster.poll(2));
        await sleep(SETTLED_MS);
      }
      const answer = await oldest;
      must(jobsIn(answer).length === 0, 'no jobs', answer);
      must(answer.ms < 1800, 'an end before its wait of 8 s', answer);
      for (const other of await Promise.all(others)) must(other.ms > 1500, 'the others held for their 2 s', other);
    },
  },
  {
    id: 'held-polls.the-newest-gets-the-job',
    section: DECISIONS.jobs,
    heading: PAGE.poll,
    sentence: 'of several held polls the newest gets the job, and the others end empty when their wait does',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      await nextJob(stage, 'install', 'newest');
      await drain(cluster);
      const older = cluster.poll(3);
      await sleep(SETTLED_MS);
      const newest = cluster.poll(6);
      await sleep(SETTLED_MS);
      await stage.admin.intend(cluster.id, 'update', 'newest');
      const answer = await newest;
      const [next] = jobsIn(answer);
      must(next !== undefined, 'the job at the newest poll', answer);
      mustBe(await cluster.post(`/api/agent/jobs/${String(next['id'])}/ack`), 204);
      const left = await older;
      must(jobsIn(left).length === 0 && left.ms > 2500, 'an empty list after 3 s at the older one', left);
    },
  },
  {
    id: 'held-polls.other-modes',
    section: DECISIONS.register,
    heading: PAGE.poll,
    sentence: 'for a cluster in push mode jobs answers an empty list after its wait',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.newCluster({ connectivityMode: 'push' });
      const answer = await cluster.poll(1);
      must(jobsIn(answer).length === 0 && answer.ms > 800, 'an empty list after a second', answer);
    },
  },
];
