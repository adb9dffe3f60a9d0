import type { JSX } from 'preact';
import { CopyButton } from '../components/copyable.tsx';
import { StateShape, type Tone } from '../components/badge.tsx';
import { When } from '../components/when.tsx';
import { STATE_WORDS, stations, type Station, type StationLink } from './stations.ts';
import type { TimelineItem } from './timeline.ts';

const TONES: Readonly<Record<Station['state'], Tone>> = {
  done: 'good',
  current: 'busy',
  pending: 'waiting',
  failed: 'bad',
};

interface JourneyProps {
  readonly items: readonly TimelineItem[];
  /** The words of a step that stand above already: a long error is not said twice. */
  readonly toldAbove?: string | undefined;
}

/** The way of an intent from its request to Ready; what is still to come is told too. */
export function Journey({ items, toldAbove }: JourneyProps): JSX.Element {
  return (
    <ol class="journey" aria-label="Journey of the intent">
      {stations(items).map((station, index) => (
        <li key={index} class={station.state} {...(station.isCurrent ? { 'aria-current': 'step' as const } : {})}>
          <span class={`journey-mark tone-${TONES[station.state]}`}>
            <StateShape tone={TONES[station.state]} />
          </span>
          <div>
            <p class="journey-head">
              <strong>{station.title}</strong> <span class="hidden">({STATE_WORDS[station.state]})</span>
              {station.at !== undefined && <When at={station.at} />}
              {station.took !== undefined && <span class="quiet"> after {station.took}</span>}
            </p>
            <p>
              {station.text === toldAbove ? 'For the reason above.' : station.text}
              {station.by !== undefined && <span class="quiet"> by {station.by}</span>}
              {station.link !== undefined && <Trace link={station.link} />}
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}

function Trace({ link: { label, id, whole, href } }: { readonly link: StationLink }): JSX.Element {
  return (
    <span class="journey-trace copyable">
      <span class="quiet">{label}</span>{' '}
      {href === undefined ? <code title={whole}>{id}</code> : <a href={href}>{id}</a>}
      <CopyButton text={whole} what={`id of the ${label}`} />
    </span>
  );
}
