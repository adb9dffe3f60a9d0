import { createHash } from 'node:crypto';
import type { GitAccess } from './git-access.ts';
import type { SmartRequest } from './git-request.ts';
import { ProcessSlots } from './process-slots.ts';

/**
 * Who may come in and who may have a process. No credential, and no cluster, takes it all: of the processes a quarter is
 * kept for pushes, and what reads for one of them has at most three eighths.
 */
export class Admission {
  /** Requests that are open: their bodies come in, they wait, or they run. */
  readonly open: ProcessSlots;
  readonly processes: ProcessSlots;

  constructor(maxProcesses: number) {
    this.open = new ProcessSlots({
      limit: maxProcesses * 32,
      maxWaiting: 0,
      reserved: maxProcesses * 8,
      perKey: maxProcesses * 2,
    });
    this.processes = new ProcessSlots({
      limit: maxProcesses,
      maxWaiting: maxProcesses * 8,
      reserved: Math.floor(maxProcesses / 4),
      perKey: Math.ceil((maxProcesses * 3) / 8),
    });
  }
}

/** Whose a request is: a cluster's, whichever of its credentials it shows; else its credential's. */
export function claimOf(
  asked: SmartRequest,
  access: GitAccess,
  token: string,
): { readonly urgent: boolean; readonly key: string } {
  const isOwn = access.access === 'read' && access.projection !== undefined;
  return {
    urgent: asked.service === 'git-receive-pack',
    key: isOwn ? asked.repository : createHash('sha256').update(token).digest('hex'),
  };
}
