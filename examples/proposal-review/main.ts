import { setStage } from '../first-app/stage.ts';
import { runExample } from '../run-example.ts';
import { ProposalReview } from './proposal-review.ts';

const USAGE = `node examples/proposal-review/main.ts [--json]

A control plane, a sandbox cluster and its operator. The cluster's intents wait for approval: an author proposes an upgrade,
a reviewer of role security reads its diff and approves, and it is merged, applied and ready. A second proposal goes stale
before it is approved, and is rendered and approved anew. Everything listens on 127.0.0.1 and is gone at the end.

  --json   print one JSON object and nothing else`;

const CLUSTER = {
  slug: 'prod-eu',
  displayName: 'Production, Europe',
  connectivityMode: 'gitops',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
  intervals: { eventBatchMs: 20 },
  git: { review: 'proposal', requiredApprovals: { count: 1, roles: { security: 1 } } },
} as const;

await runExample({
  name: 'proposal-review',
  usage: USAGE,
  setStage: async (progress) =>
    await setStage({ progress, kubeconfig: undefined, keepFolder: () => false, keepTraces: false, cluster: CLUSTER }),
  play: async (stage, progress) => await new ProposalReview({ stage, progress }).run(),
});
