import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, messageOf, type Fault } from '../api/api-error.ts';
import { call, path } from '../api/client.ts';
import type { ClusterChoice } from '../api/cluster-choice.ts';
import type { ModeSwitch, SwitchPlan } from '../api/mode-switches.ts';
import { newKey } from '../api/new-key.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge } from '../components/badge.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Loaded } from '../components/states.tsx';
import { Page } from '../page.tsx';
import { go, href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { ModeNeeds } from './mode-needs.tsx';
import { ModePlan } from './mode-plan.tsx';
import { ModeSwitches } from './mode-switches.tsx';
import { wishOf, whyNotWished, NO_WISH, type ModeWish } from './mode-wish.ts';

/** Another mode for a cluster: which, what it needs, what would be done, and then the switch. */
export function ModeWizardView({ parts: [slug = ''] }: ViewProps): JSX.Element {
  const cluster = useResource<ClusterChoice>(path`/clusters/${slug}`, isOf('clusters'));
  return (
    <Page title={`Mode of ${slug}`} above={<a href={href(path`/clusters/${slug}`)}>{slug}</a>}>
      <Loaded of={cluster}>
        {(data) => (
          <>
            <p>
              It is in <strong>{data.connectivityMode}</strong> mode.{' '}
              {data.modeSwitch !== undefined && (
                <>
                  A switch to {data.modeSwitch.to} is under way:{' '}
                  <a href={href(path`/clusters/${slug}/mode/${data.modeSwitch.id}`)}>follow it</a>{' '}
                  <Badge state={data.modeSwitch.state} tone="busy" />
                </>
              )}
            </p>
            {data.modeSwitch === undefined && <Wizard cluster={data} />}
            <ModeSwitches cluster={slug} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface Planned {
  readonly of: string;
  readonly plan: SwitchPlan;
  readonly warnings: readonly string[];
  readonly key: string;
}

function Wizard({ cluster }: { readonly cluster: ClusterChoice }): JSX.Element {
  const { slug, connectivityMode: from } = cluster;
  const [wish, setWish] = useState<ModeWish>(NO_WISH);
  const [planned, setPlanned] = useState<Planned>();
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [isAsked, ask] = useState(false);
  const body = wishOf(wish);
  const text = JSON.stringify(body);
  const isPlanned = planned?.of === text;
  const why = isBusy ? 'The probes are running.' : whyNotWished(wish, from);

  const tryOut = async (): Promise<void> => {
    setBusy(true);
    setFault('');
    setFaults([]);
    try {
      const answer = await call<{ readonly switch: SwitchPlan; readonly warnings?: readonly string[] }>(
        'POST',
        path`/clusters/${slug}/mode`,
        { body: { ...body, dryRun: true } },
      );
      setPlanned({ of: text, plan: answer.switch, warnings: answer.warnings ?? [], key: newKey() });
    } catch (error) {
      if (error instanceof ApiError) setFaults(error.faults);
      setFault(messageOf(error));
      setPlanned(undefined);
    }
    setBusy(false);
  };
  const begin = async (): Promise<void> => {
    const answer = await call<{ readonly switch: ModeSwitch }>('POST', path`/clusters/${slug}/mode`, {
      body,
      ...(planned === undefined ? {} : { idempotencyKey: planned.key }),
    });
    // The kubeconfig is stored sealed now, and has no business in this tab any more.
    setWish(NO_WISH);
    go(path`/clusters/${slug}/mode/${answer.switch.id}`);
  };
  const whyNotBegun = !isPlanned
    ? 'Try it out first: you see what would be done, and nothing is.'
    : planned.plan.plan.wouldStart
      ? undefined
      : 'It would not start: see what is in the way.';

  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <ModeNeeds cluster={cluster} wish={wish} onChange={setWish} faults={faults} />
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="buttons">
        <ActButton scope="clusters" why={why} onClick={() => void tryOut()}>
          Try it out
        </ActButton>
        <ActButton scope="clusters" look="main" why={why ?? whyNotBegun} onClick={() => ask(true)}>
          Switch…
        </ActButton>
      </div>
      {isBusy && <p role="status">Trying the new way. This takes up to half a minute.</p>}
      {planned !== undefined && !isPlanned && <p class="quiet">What was tried out below has been changed since.</p>}
      {planned !== undefined && <ModePlan plan={planned.plan} warnings={planned.warnings} />}
      {isAsked && planned !== undefined && (
        <ConfirmDialog
          title={`Switch ${slug} to ${planned.plan.to} mode?`}
          action="Switch"
          onConfirm={begin}
          onClose={() => ask(false)}
        >
          <p>
            {planned.plan.from} mode is fenced off, then {planned.plan.plan.objects.total} of its objects are handed
            over to {planned.plan.to} mode under delivery epoch {planned.plan.plan.epoch}. Applications keep running. A
            switch that does not succeed goes back by itself, and you can cancel it.
          </p>
          {wish.closeProposals && planned.plan.plan.proposals.open > 0 && (
            <p>{planned.plan.plan.proposals.open} open proposals are closed, and their intents end.</p>
          )}
        </ConfirmDialog>
      )}
    </form>
  );
}
