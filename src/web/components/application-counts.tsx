import type { JSX } from 'preact';
import type { ClusterStanding } from '../api/clusters.ts';
import { StateShape, type Tone } from './badge.tsx';

const PARTS = [
  ['ready', 'good', 'ready'],
  ['progressing', 'busy', 'progressing'],
  ['failed', 'bad', 'failed'],
] as const satisfies readonly (readonly [string, Tone, string])[];

/** How many applications are ready, on their way and failed. */
export function ApplicationCounts({ counts }: { readonly counts: ClusterStanding['applications'] }): JSX.Element {
  if (counts.total === 0) return <span class="quiet">none</span>;
  return (
    <span class="counts">
      {PARTS.map(([key, tone, word]) =>
        counts[key] === 0 ? null : (
          <span key={key} class={`tone-${tone}`} title={`${counts[key]} ${word}`}>
            <StateShape tone={tone} />
            {counts[key]}
            <span class="hidden"> {word}</span>
          </span>
        ),
      )}
    </span>
  );
}
