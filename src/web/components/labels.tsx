import type { JSX } from 'preact';
import { href } from '../router.ts';

interface LabelsProps {
  readonly labels: Readonly<Record<string, string>>;
  /** So many at the most; how many more there are is said. */
  readonly most?: number;
}

/** Labels of a cluster; each leads to the clusters that have it too. */
export function Labels({ labels, most = Infinity }: LabelsProps): JSX.Element | null {
  const entries = Object.entries(labels);
  if (entries.length === 0) return null;
  return (
    <span class="labels">
      {entries.slice(0, most).map(([name, value]) => (
        <a key={name} class="label" href={href('/clusters', { label: `${name}=${value}` })}>
          {name}={value}
        </a>
      ))}
      {entries.length > most ? <span class="quiet">+{entries.length - most}</span> : null}
    </span>
  );
}
