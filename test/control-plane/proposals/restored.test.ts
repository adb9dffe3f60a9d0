import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { RunningControlPlane } from '../running-control-plane.ts';
import { ReviewedCluster } from './reviewed-cluster.ts';

const databaseFiles = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.startsWith('control-plane.db'));

// The backup is a copy of the database's file.
it(
  'finds merged what landed after the backup that it was restored from, and goes on with what did not',
  { timeout: 90_000 },
  async () => {
    await using plane = await RunningControlPlane.start();
    const cluster = await ReviewedCluster.create(plane, 'prod-eu');
    const [landed, waiting] = [await cluster.propose({ name: 'a' }), await cluster.propose({ name: 'b' })];
    await cluster.token('anna');
    await plane.stop();
    const backup = mkdtempSync(join(tmpdir(), 'backup-'));
    for (const file of databaseFiles(plane.folder)) cpSync(join(plane.folder, file), join(backup, file));

    await plane.startAgain();
    await cluster.act(landed['id'], 'approve');
    const merged = await cluster.until(landed['id'], 'merged');
    await plane.stop();
    for (const file of databaseFiles(plane.folder)) rmSync(join(plane.folder, file));
    for (const file of databaseFiles(backup)) cpSync(join(backup, file), join(plane.folder, file));

    await plane.startAgain();
    const found = await cluster.until(landed['id'], 'merged');
    expect(found).toMatchObject({ mergedCommit: merged['mergedCommit'], reviews: [] });
    expect((await plane.until(landed['intentId'], 'delivered'))['receipt'].commit).toBe(merged['mergedCommit']);
    await cluster.act(waiting['id'], 'approve');
    await cluster.until(waiting['id'], 'merged');
    const log = await plane.git('log', '--format=%(trailers:key=Intent-Id,valueonly)', 'main');
    expect(log.split('\n').filter(Boolean)).toEqual([waiting['intentId'], landed['intentId']]);
    await vi.waitFor(async () => expect(await plane.git('branch', '--list', 'proposals/*')).toBe(''), {
      timeout: 10_000,
      interval: 20,
    });
  },
);
