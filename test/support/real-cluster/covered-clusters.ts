import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where the worker processes of one run note the clusters that they started; set by the run's setup. */
const FILE = 'SERVICE_TEST_CLUSTERS_FILE';

/** Notes a real cluster that a test started. */
export function recordCovered(cluster: string): void {
  const file = process.env[FILE];
  if (file !== undefined) appendFileSync(file, `${cluster}\n`);
}

/** Collects the notes of one run. */
export function collectCovered(): { readonly read: () => ReadonlyMap<string, number>; readonly end: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'service-clusters-'));
  const file = join(folder, 'covered');
  process.env[FILE] = file;
  return {
    read: () => {
      const counts = new Map<string, number>();
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
      for (const line of lines) if (line !== '') counts.set(line, (counts.get(line) ?? 0) + 1);
      return counts;
    },
    end: () => {
      delete process.env[FILE];
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
