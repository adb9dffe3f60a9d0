import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/protocol/agent-config.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import { GitHttp } from '../delivery/gitops/read/git-http.ts';
import { GitRemote } from '../delivery/gitops/read/git-remote.ts';
import { anInstance, type InstanceOptions } from '../reconcile/manifests.ts';
import { applyJob, deleteJob } from './jobs/job-stage.ts';
import { ModeStage } from './mode-stage.ts';

const DIRECTORY = 'clusters/eu';
const wait = { timeout: 15_000, interval: 10 };

let remote: GitRemote;
let host: GitHttp;
let stage: ModeStage;

function files(...all: readonly InstanceOptions[]): Record<string, string> {
  return Object.fromEntries(
    all.map((options) => [
      `${DIRECTORY}/apps/shop/${options.name ?? 'podinfo'}.yaml`,
      JSON.stringify(anInstance(options)),
    ]),
  );
}

function inGit(delivery_epoch: number): Partial<AgentConfig> {
  const desired_revision = remote.treeOf(DIRECTORY);
  const git = { url: host.url, branch: 'main', path: DIRECTORY, desired_revision, prune_on_removal: true };
  return { connectivity_mode: 'gitops', delivery_epoch, git };
}

async function untilApplied(): Promise<string> {
  const revision = remote.treeOf(DIRECTORY);
  await expect.poll(async () => (await stage.jobs.world.read()).status?.appliedRevision, wait).toBe(revision);
  return (await stage.jobs.world.until('Synced', 'True', 'Applied')).message ?? '';
}

/** Of the events about the Cluster, those that name a revision: `<epoch> <revision>`. */
function revisionsTold(): readonly string[] {
  const about = stage.jobs.plane.events.filter(({ resourceRef }) => resourceRef.kind === 'Cluster');
  return [
    ...new Set(
      about.flatMap(({ source }) => (source?.revision === undefined ? [] : [`${source.epoch} ${source.revision}`])),
    ),
  ];
}

beforeEach(async () => {
  remote = new GitRemote();
  host = await GitHttp.start(remote.folder);
  remote.push(files({}, { name: 'left' }, { name: 'gone' }));
  stage = await ModeStage.start({ withReleases: true, config: inGit(1) });
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
  remote[Symbol.dispose]();
});

describe('a cluster that leaves gitops mode and comes back', () => {
  it('keeps every object, prunes nothing of the stay before, and confirms its directory at the new epoch', async () => {
    await untilApplied();
    const first = remote.treeOf(DIRECTORY);
    const uid = (await stage.jobs.instance())?.metadata.uid;
    await stage.change('pull', 2);
    const { status } = await stage.jobs.world.read();
    expect([status?.appliedRevision, findCondition(status?.conditions, 'Synced')?.message]).toEqual([
      undefined,
      'every job that came is applied or answered',
    ]);
    stage.jobs.plane.queue.put(
      applyJob('j1', { source: '2.1' }),
      deleteJob('j2', 4, { deliveryEpoch: 2, payload: { ...reference('gone'), source: '2.4' } }),
    );
    expect([await stage.jobs.result('j1'), await stage.jobs.result('j2')]).toEqual(['succeeded', 'succeeded']);

    // Away for the switch: what it goes by at its start is the projection of before.
    await stage.jobs.stop();
    remote.push({ ...files({ source: '3.1' }), [`${DIRECTORY}/apps/shop/left.yaml`]: null });
    stage.jobs.plane.configure(inGit(3));
    stage.timeline.length = 0;
    await stage.jobs.begin();
    expect(await untilApplied()).toMatch(/\(2 files, 1 of an earlier delivery epoch, which change nothing\)$/);
    expect(stage.timeline).toEqual(['told 3', 'write podinfo 3.1']);
    expect((await stage.jobs.instance())?.metadata.uid).toBe(uid);
    expect((await stage.jobs.instance('left'))?.metadata.deletionTimestamp).toBeUndefined();
    await stage.jobs.world.until('RemovedWithoutTombstone', 'False', 'AllFilesPresent');
    expect(await stage.jobs.instance('gone')).toBeUndefined();
    expect(revisionsTold()).toEqual([`1 ${first}`, `3 ${remote.treeOf(DIRECTORY)}`]);
  });

  it('reads a directory that has not changed once more, in the same process, and corrects hand edits only then', async () => {
    await untilApplied();
    await stage.change('push', 2);
    await stage.jobs.world.until('RemovedWithoutTombstone', 'Unknown', 'NoSourceHere');
    const { api } = stage.jobs.world.cluster;
    await api.delete(reference('gone'));
    await expect.poll(async () => await stage.jobs.instance('gone'), wait).toBeUndefined();
    stage.jobs.plane.configure(inGit(3));
    expect(await untilApplied()).toMatch(/\(3 files, 1 of an earlier delivery epoch, which change nothing\)$/);
    expect(await stage.jobs.instance('gone')).toBeUndefined();
    remote.push(files({ name: 'gone', source: '3.1' }));
    stage.jobs.plane.configure(inGit(3));
    await untilApplied();
    await api.delete(reference('gone'));
    await expect.poll(() => stage.timeline.filter((text) => text === 'write gone 3.1').length, wait).toBe(2);
  });
});

function reference(name: string) {
  return { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name };
}
