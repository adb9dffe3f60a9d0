import { setStage, type Stage } from '../first-app/stage.ts';
import type { Example } from '../run-example.ts';
import { RoundTrip, type Told } from './round-trip.ts';

const USAGE = `npm run demo -- --scenario mode-switch [--json]

A control plane, a sandbox cluster and its operator, each a process of its own. A cluster with 50 applications goes round
pull → push → gitops → pull; each switch begins with jobs in flight and a delete pending. Printed of each: UIDs kept,
deletes, writes, how long each phase took, and what became of the credentials. Everything listens on 127.0.0.1 and is gone
at the end.

  --json   print one JSON object and nothing else`;

const CLUSTER = {
  slug: 'demo',
  displayName: 'Demo cluster',
  connectivityMode: 'pull',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
  intervals: { eventBatchMs: 20 },
} as const;

export const MODE_SWITCH: Example<Stage, Told> = {
  name: 'mode-switch',
  usage: USAGE,
  setStage: async (progress) =>
    await setStage({ progress, kubeconfig: undefined, keepFolder: () => false, keepTraces: false, cluster: CLUSTER }),
  play: async (stage, progress) => await new RoundTrip({ stage, progress }).run(),
};
