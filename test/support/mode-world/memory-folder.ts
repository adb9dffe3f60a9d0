import { statfsSync } from 'node:fs';
import { vi } from 'vitest';

const MEMORY = '/dev/shm';
/** A world takes a few MiB. */
const ROOM_BYTES = 1024 ** 3;

/**
 * Has what is temporary in this process kept in memory where the machine has a file system for that. Nobody here takes the
 * power away: programs end within the process, and what they wrote is there, synced to a disk or not.
 */
export function keepInMemory(): void {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize >= ROOM_BYTES) vi.stubEnv('TMPDIR', MEMORY);
  } catch {
    // There is none.
  }
}
