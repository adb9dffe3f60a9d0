import { NAMESPACE } from './admin-client.ts';
import { isObject, must, mustBe } from './check.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { Answer } from './http-client.ts';
import type { Stage } from './stage.ts';

/** The jobs of a poll's answer. */
export function jobsIn(answer: Answer): Record<string, unknown>[] {
  const { jobs } = mustBe(answer, 200);
  must(Array.isArray(jobs), 'jobs is a list', answer);
  return jobs.map((job) => {
    must(isObject(job), 'each job is an object', answer);
    return job;
  });
}

/** Makes an intent for the suite's own cluster and polls until its job is there. Acknowledged unless it is said otherwise. */
export async function nextJob(
  stage: Stage,
  action: 'install' | 'update' | 'uninstall',
  name: string,
  options: { readonly acknowledge?: boolean; readonly cluster?: ClusterClient } = {},
): Promise<{ readonly job: Record<string, unknown>; readonly answer: Answer; readonly cluster: ClusterClient }> {
  const cluster = options.cluster ?? (await stage.other());
  await stage.admin.intend(cluster.id, action, name);
  const deadline = Date.now() + 10_000;
  const prefix = `applicationinstance/${NAMESPACE}/${name}@`;
  let answer = await cluster.poll(5);
  for (;;) {
    // Of several for one object the newest.
    const job = jobsIn(answer).findLast(({ idempotencyKey }) => String(idempotencyKey).startsWith(prefix));
    if (job !== undefined) {
      if (options.acknowledge !== false) mustBe(await cluster.post(`/api/agent/jobs/${String(job['id'])}/ack`), 204);
      return { job, answer, cluster };
    }
    must(Date.now() < deadline, `a job for ${prefix}… within 10 s of its intent`, answer);
    // Others that wait to be acknowledged end a poll at once: only what is acknowledged lets the next one be held.
    for (const { id } of jobsIn(answer)) await cluster.post(`/api/agent/jobs/${String(id)}/ack`);
    answer = await cluster.poll(5);
  }
}

/** Acknowledges all that waits, so that the next poll is held. */
export async function drain(cluster: ClusterClient): Promise<void> {
  for (;;) {
    const jobs = jobsIn(await cluster.poll(0));
    if (jobs.length === 0) return;
    for (const { id } of jobs) mustBe(await cluster.post(`/api/agent/jobs/${String(id)}/ack`), 204);
  }
}
