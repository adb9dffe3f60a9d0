import { parseArgs } from 'node:util';
import { STEPS, type DemoMode } from './progress.ts';

export interface DemoOptions {
  readonly json: boolean;
  /** How intent reaches the cluster. */
  readonly mode: DemoMode;
  readonly keep: boolean;
  readonly kubeconfig: string | undefined;
}

export const USAGE = `npm run demo -- [--mode MODE] [--json] [--keep] [--kubeconfig FILE]

  --mode MODE        how intent reaches the cluster: gitops (the default) or pull
  --json             print one JSON object and nothing else
  --keep             leave everything running; print URLs, an admin token and a kubeconfig
  --kubeconfig FILE  use that cluster instead of the sandbox`;

/** @throws Error with the usage when an argument is not known */
export function parseOptions(args: readonly string[]): DemoOptions | 'help' {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: 'boolean', default: false },
        mode: { type: 'string', default: 'gitops' },
        keep: { type: 'boolean', default: false },
        kubeconfig: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    const { mode } = values;
    if (!isDemoMode(mode)) throw new Error(`--mode ${mode}: must be ${Object.keys(STEPS).join(' or ')}`);
    return { mode, json: values.json, keep: values.keep, kubeconfig: values.kubeconfig };
  } catch (fault) {
    throw new Error(`${fault instanceof Error ? fault.message : String(fault)}\n\n${USAGE}`, { cause: fault });
  }
}

function isDemoMode(text: string): text is DemoMode {
  return Object.hasOwn(STEPS, text);
}
