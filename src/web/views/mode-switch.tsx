import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call, path } from '../api/client.ts';
import { phasesOf, type ModeSwitch, type Phase } from '../api/mode-switches.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge, StateShape, type Tone } from '../components/badge.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Facts } from '../components/facts.tsx';
import { Loaded } from '../components/states.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { CredentialTable, LeftTable, ProbeTable } from './mode-tables.tsx';

/** While a switch is under way it is looked at so often, besides what is told of the cluster. */
const LOOK_MS = 2000;

/** A switch of mode, as it goes on. */
export function ModeSwitchView({ parts: [slug = '', id = ''] }: ViewProps): JSX.Element {
  const found = useResource<ModeSwitch>(path`/clusters/${slug}/mode-switches/${id}`, isOf('clusters', 'intents'));
  const { data, reload } = found;
  const isUnderWay = data !== undefined && data.finishedAt === undefined;
  useEffect(() => {
    if (!isUnderWay) return undefined;
    const timer = setInterval(reload, LOOK_MS);
    return () => clearInterval(timer);
  }, [isUnderWay, reload]);
  return <Loaded of={found}>{(one) => <SwitchPage one={one} reload={reload} />}</Loaded>;
}

interface SwitchPageProps {
  readonly one: ModeSwitch;
  readonly reload: () => void;
}

function SwitchPage({ one, reload }: SwitchPageProps): JSX.Element {
  const { clusterSlug: slug, from, to, state, reason, objects, finishedAt } = one;
  const [isAsked, ask] = useState(false);
  const why =
    finishedAt !== undefined ? 'It has ended.' : state === 'rolling-back' ? 'It is going back already.' : undefined;
  return (
    <Page
      title={`${slug}: ${from} → ${to}`}
      above={<a href={href(path`/clusters/${slug}/mode`)}>Mode of {slug}</a>}
      beside={
        <>
          <Badge state={state} />
          <ActButton scope="clusters" look="danger" why={why} onClick={() => ask(true)}>
            Cancel…
          </ActButton>
        </>
      }
    >
      {reason !== undefined && <p class="fault">{reason}</p>}
      <ol class="journey" aria-label="Phases of the switch">
        {phasesOf(one).map((phase, index) => (
          <PhaseItem key={index} phase={phase} />
        ))}
      </ol>
      <Facts
        entries={[
          ['Asked for by', one.requestedBy],
          ['Asked for', <When key="asked" at={one.requestedAt} />],
          ['Delivery epoch', one.epoch === undefined ? undefined : String(one.epoch)],
          ['Objects', `${objects.delivered} of ${objects.total} delivered, ${objects.confirmed} confirmed`],
        ]}
      />
      {objects.refused.length > 0 && (
        <>
          <h2>Refused</h2>
          <LeftTable objects={objects.refused} caption="Refused" />
        </>
      )}
      {objects.left.length > 0 && (
        <>
          <h2>Left as they are</h2>
          <LeftTable objects={objects.left} caption="Left as they are" />
        </>
      )}
      <h2>Probes</h2>
      <ProbeTable probes={one.probes} />
      <h2>Credentials that come and go</h2>
      <CredentialTable credentials={one.credentials} />
      {isAsked && (
        <ConfirmDialog
          title={`Cancel the switch to ${to}?`}
          action="Go back"
          isDangerous
          onConfirm={async () => {
            await call('POST', path`/clusters/${slug}/mode-switches/${one.id}/cancel`, { body: {} });
            reload();
          }}
          onClose={() => ask(false)}
        >
          <p>
            The cluster goes back to {from} mode by the same steps, and applications keep running. A switch that has
            come to its end cannot be cancelled: switch again instead.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

const TONES: Readonly<Record<Phase['look'], Tone>> = {
  done: 'good',
  current: 'busy',
  pending: 'waiting',
  failed: 'bad',
};
const WORDS = { done: 'done', current: 'under way', pending: 'still to come', failed: 'ended so' } as const;

function PhaseItem({ phase: { name, look, at, message } }: { readonly phase: Phase }): JSX.Element {
  return (
    <li class={look} {...(look === 'current' ? { 'aria-current': 'step' as const } : {})}>
      <span class={`journey-mark tone-${TONES[look]}`}>
        <StateShape tone={TONES[look]} />
      </span>
      <div>
        <p class="journey-head">
          <strong>{name}</strong> <span class="hidden">({WORDS[look]})</span>
          {at !== undefined && <When at={at} />}
        </p>
        {message !== undefined && <p>{message}</p>}
      </div>
    </li>
  );
}
