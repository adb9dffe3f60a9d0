import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

let known: string | undefined;

/**
 * Names the machine's present life (Linux): what was written in it is still there, synced or not, as long as it lasts.
 * Elsewhere this process's own life stands for it.
 */
export function bootId(): string {
  known ??= readBootId();
  return known;
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return randomUUID();
  }
}
