import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Fault } from '../api/api-error.ts';
import type { Page as PageOf } from '../api/client.ts';
import type { ClusterChoice } from '../api/cluster-choice.ts';
import type { Repository } from '../api/history.ts';
import { MODES, type Mode } from '../api/mode-switches.ts';
import { useResource } from '../api/use-resource.ts';
import { Faults } from '../schema-form/labelled.tsx';
import type { ModeWish } from './mode-wish.ts';

const ABOUT: Readonly<Record<Mode, string>> = {
  pull: 'The operator asks the control plane for jobs. Needs nothing but the way out that it has already.',
  gitops: 'The operator reads a Git repository. Changes are commits, and can be reviewed before they land.',
  push: 'The control plane writes to the API server itself. Needs its address reachable, and a kubeconfig.',
};

interface ModeNeedsProps {
  readonly cluster: ClusterChoice;
  readonly wish: ModeWish;
  readonly onChange: (wish: ModeWish) => void;
  readonly faults: readonly Fault[];
}

/** Which mode, and what it needs. */
export function ModeNeeds({ cluster, wish, onChange, faults }: ModeNeedsProps): JSX.Element {
  const id = useId();
  const set = (changes: Partial<ModeWish>): void => onChange({ ...wish, ...changes });
  const { connectivityMode: from } = cluster;
  return (
    <>
      <fieldset class="modes">
        <legend>To which mode</legend>
        {MODES.map((mode) => (
          <label key={mode} class="mode">
            <input
              type="radio"
              name="mode"
              checked={wish.mode === mode}
              disabled={mode === from}
              aria-labelledby={`${id}-${mode}`}
              aria-describedby={`${id}-${mode}-about`}
              onChange={() => set({ mode })}
            />
            <span>
              <span id={`${id}-${mode}`}>
                <strong>{mode}</strong> {mode === from && <span class="quiet">(as it is now)</span>}
              </span>
              <span id={`${id}-${mode}-about`} class="quiet about">
                {ABOUT[mode]}
              </span>
            </span>
          </label>
        ))}
      </fieldset>
      {wish.mode === 'gitops' && <GitNeeds id={id} wish={wish} set={set} faults={faults} />}
      {wish.mode === 'push' && <PushNeeds id={id} cluster={cluster} wish={wish} set={set} faults={faults} />}
      {wish.mode !== undefined && from === 'gitops' && (
        <label class="check">
          <input
            type="checkbox"
            checked={wish.closeProposals}
            onChange={(event) => set({ closeProposals: event.currentTarget.checked })}
          />
          <span>Close open proposals: their intents end. Without it they stand against the switch.</span>
        </label>
      )}
    </>
  );
}

interface PartProps {
  readonly id: string;
  readonly wish: ModeWish;
  readonly set: (changes: Partial<ModeWish>) => void;
  readonly faults: readonly Fault[];
}

function GitNeeds({ id, wish, set, faults }: PartProps): JSX.Element {
  const repositories = useResource<PageOf<Repository>>('/repositories?limit=100');
  return (
    <div class="pair">
      <div class="field">
        <label for={`${id}-repository`}>Repository</label>
        <input
          id={`${id}-repository`}
          list={`${id}-repositories`}
          value={wish.repository}
          autocomplete="off"
          spellcheck={false}
          aria-describedby={`${id}-repository-about`}
          onInput={(event) => set({ repository: event.currentTarget.value.trim() })}
        />
        <datalist id={`${id}-repositories`}>
          {repositories.data?.items.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <div id={`${id}-repository-about`}>
          <p class="quiet about">Left empty: the one that it read before, else fleet. A new name is made here.</p>
          <Faults faults={messagesAt(faults, '/git/repository', '/git')} />
        </div>
      </div>
      <div class="field">
        <label for={`${id}-review`}>Review</label>
        <select
          id={`${id}-review`}
          value={wish.review}
          onChange={(event) => set({ review: event.currentTarget.value as ModeWish['review'] })}
        >
          <option value="">as it was before, else direct</option>
          <option value="direct">direct: changes are committed at once</option>
          <option value="proposal">proposal: changes wait for a review</option>
        </select>
      </div>
    </div>
  );
}

function PushNeeds({ id, cluster, wish, set, faults }: PartProps & { readonly cluster: ClusterChoice }): JSX.Element {
  return (
    <div class="field">
      <label for={`${id}-kubeconfig`}>Kubeconfig</label>
      <textarea
        id={`${id}-kubeconfig`}
        class="code masked"
        rows={6}
        value={wish.kubeconfig}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`${id}-kubeconfig-about`}
        onInput={(event) => set({ kubeconfig: event.currentTarget.value })}
      />
      <div id={`${id}-kubeconfig-about`}>
        <p class="quiet about">
          Of the account that <code>servicectl clusters push-access {cluster.slug}</code> sets up. It is stored sealed,
          never shown again, and refused where it may do more than it needs.
        </p>
        <Faults faults={messagesAt(faults, '/push/kubeconfig', '/push')} />
      </div>
    </div>
  );
}

function messagesAt(faults: readonly Fault[], ...paths: readonly string[]): readonly string[] {
  return faults.flatMap(({ path, message }) => (paths.includes(path) ? [message] : []));
}
