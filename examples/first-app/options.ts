import { parseArgs } from 'node:util';

export interface DemoOptions {
  readonly json: boolean;
  readonly keep: boolean;
  readonly kubeconfig: string | undefined;
}

export const USAGE = `npm run demo -- [--json] [--keep] [--kubeconfig FILE]

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
        keep: { type: 'boolean', default: false },
        kubeconfig: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    return { json: values.json, keep: values.keep, kubeconfig: values.kubeconfig };
  } catch (fault) {
    throw new Error(`${fault instanceof Error ? fault.message : String(fault)}\n\n${USAGE}`, { cause: fault });
  }
}
