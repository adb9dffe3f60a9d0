import { parseArgs } from 'node:util';
import { STEPS, type DemoMode } from './progress.ts';

/** What can be shown; each but the first is an example of its own. */
export const SCENARIOS = ['first-app', 'mode-switch', 'operations'] as const;
export type Scenario = (typeof SCENARIOS)[number];

export interface DemoOptions {
  readonly scenario: Scenario;
  readonly json: boolean;
  /** How intent reaches the cluster. */
  readonly mode: DemoMode;
  readonly keep: boolean;
  readonly kubeconfig: string | undefined;
}

export const USAGE = `npm run demo -- [--scenario NAME] [--mode MODE] [--json] [--keep] [--kubeconfig FILE]

  --scenario NAME    first-app (the default); mode-switch: 50 applications on their way through all modes;
                     operations: a backup, a restore with its approval, a restart, a scale, jobs that are ended
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
        scenario: { type: 'string', default: 'first-app' },
        json: { type: 'boolean', default: false },
        mode: { type: 'string', default: 'gitops' },
        keep: { type: 'boolean', default: false },
        kubeconfig: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    const { mode, scenario } = values;
    if (!isScenario(scenario)) throw new Error(`--scenario ${scenario}: must be ${SCENARIOS.join(', ')}`);
    if (scenario !== 'first-app' && args.length > (values.json ? 3 : 2)) {
      throw new Error(`--scenario ${scenario}: takes --json and nothing else`);
    }
    if (!isDemoMode(mode)) throw new Error(`--mode ${mode}: must be ${Object.keys(STEPS).join(' or ')}`);
    return { scenario, mode, json: values.json, keep: values.keep, kubeconfig: values.kubeconfig };
  } catch (fault) {
    throw new Error(`${fault instanceof Error ? fault.message : String(fault)}\n\n${USAGE}`, { cause: fault });
  }
}

function isDemoMode(text: string): text is DemoMode {
  return Object.hasOwn(STEPS, text);
}

function isScenario(text: string): text is Scenario {
  return SCENARIOS.some((one) => one === text);
}
