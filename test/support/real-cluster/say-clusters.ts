import { collectCovered } from './covered-clusters.ts';
import { realClusterSource } from './cluster-source.ts';

/** vitest's global setup: the last line of a run says which clusters its tests ran on. */
export function setup(): () => void {
  const covered = collectCovered();
  return () => {
    const real = [...covered.read()].map(([cluster, count]) => `${cluster}, started ${count} times`);
    covered.end();
    const none =
      realClusterSource() === undefined
        ? 'sandbox only; for a real one run test/kube/build.sh, set KUBEBUILDER_ASSETS, or start Docker'
        : 'sandbox only, as none of these tests needs a real one';
    process.stdout.write(`clusters: ${real.length === 0 ? none : ['sandbox', ...real].join('; ')}\n`);
  };
}
