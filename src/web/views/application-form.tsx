import type { JSX } from 'preact';
import { useId, useMemo, useState } from 'preact/hooks';
import type { CatalogEntry, ChartVersions } from '../api/catalog.ts';
import { path } from '../api/client.ts';
import type { IntentBody } from '../api/intents.ts';
import { useAskBeforeLoss, useDraft, useDrafts } from '../drafts.ts';
import { useResource } from '../api/use-resource.ts';
import { stillFound, type Fault } from '../schema-form/place-faults.ts';
import { isObject } from '../schema-form/pointer.ts';
import { SecretText, type SecretTyped } from '../schema-form/secret-text.tsx';
import { ValuesForm, type Filled } from '../schema-form/values-form.tsx';
import { CheckedIntent } from './checked-intent.tsx';
import { VersionChoice } from './version-choice.tsx';

interface ApplicationFormProps {
  readonly entry: CatalogEntry;
  readonly cluster: string;
  readonly subject: {
    readonly action: 'install' | 'update';
    readonly namespace: string;
    readonly name: string;
    readonly expectedGeneration?: number;
  };
  /** What stands, of an update: the version, and the values that are not the entry's defaults. */
  readonly standing?: { readonly version: string | undefined; readonly values: unknown };
  readonly wantedVersion?: string | undefined;
}

const VALUE_ROOTS = ['/values', '/secretValues'];
const PLACED = [...VALUE_ROOTS, '/chartVersion'];

/** Version, values, secret values and the reason of an install or update; then its check, then the act. */
export function ApplicationForm(props: ApplicationFormProps): JSX.Element {
  const { entry, cluster, subject, standing, wantedVersion } = props;
  const id = useId();
  const versions = useResource<ChartVersions>(path`/catalog/${entry.name}/versions`);
  const drafts = useDrafts();
  const [version, setVersion] = useDraft(drafts, 'version', wantedVersion ?? standing?.version ?? '');
  // Values that were typed over others than those that stand now would undo what somebody did meanwhile.
  const valuesDraft = `values of generation ${subject.expectedGeneration ?? 0}`;
  const [filled, fill] = useState<Filled>(() => {
    const draft = drafts.read(valuesDraft);
    return { values: draft === undefined ? standing?.values : draft.value, secrets: undefined, isReadable: true };
  });
  const [secret, setSecret] = useState<SecretTyped>({ text: '' });
  const [reason, setReason] = useDraft(drafts, 'reason', '');
  const [faults, setFaults] = useState<readonly Fault[]>([]);

  useAskBeforeLoss(secret.text !== '' || filled.secrets !== undefined);
  const newest = versions.data?.versions.find(({ isAllowed }) => isAllowed)?.version ?? '';
  const chosen = version === '' ? newest : version;
  const body = useMemo<IntentBody>(() => {
    const secrets = mergedSecrets(filled.secrets, secret.value);
    return {
      ...subject,
      ...(subject.action === 'install' ? { catalogEntry: entry.name } : {}),
      chartVersion: chosen,
      ...(filled.values === standing?.values ? {} : { values: filled.values ?? {} }),
      ...(secrets === undefined ? {} : { secretValues: secrets }),
      ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
    };
  }, [subject, entry.name, chosen, filled, standing?.values, secret.value, reason]);

  const why =
    chosen === ''
      ? 'Choose a version first.'
      : subject.namespace === '' || subject.name === ''
        ? 'Choose a namespace and a name first.'
        : filled.isReadable && secret.fault === undefined
          ? undefined
          : 'Something that was typed cannot be read: see the fields.';
  return (
    <form class="application-form" onSubmit={(event) => event.preventDefault()}>
      <VersionChoice
        versions={versions.data?.versions ?? []}
        value={chosen}
        standing={standing?.version}
        onChange={setVersion}
        faults={faults.filter((one) => one.path === '/chartVersion').map(({ message }) => message)}
      />
      <ValuesForm
        title="Values"
        schema={entry.valuesSchema}
        fallbacks={entry.defaultValues}
        filled={filled}
        onChange={(next, touched) => {
          fill(next);
          if (next.values !== filled.values) drafts.write(valuesDraft, next.values);
          setFaults((before) => stillFound(before, touched, VALUE_ROOTS));
        }}
        faults={faults.filter((one) => one.path !== '/chartVersion')}
        roots={VALUE_ROOTS}
      />
      <SecretText typed={secret} onChange={setSecret} isKept={standing !== undefined} />
      <div class="field">
        <label for={id}>Reason</label>
        <input
          id={id}
          value={reason}
          maxLength={1000}
          autocomplete="off"
          placeholder="stands in the commit, the proposal and the audit"
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </div>
      <CheckedIntent
        cluster={cluster}
        body={body}
        why={why}
        action={subject.action === 'install' ? 'Install' : 'Upgrade'}
        onFaults={setFaults}
        placedAbove={PLACED}
      />
    </form>
  );
}

function mergedSecrets(fromForm: unknown, fromText: unknown): unknown {
  if (fromForm === undefined || fromText === undefined) return fromText ?? fromForm;
  return merged(fromForm, fromText);
}

function merged(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  const names = [...new Set([...Object.keys(base), ...Object.keys(over)])];
  return Object.fromEntries(
    names.map((name) => [name, Object.hasOwn(over, name) ? merged(base[name], over[name]) : base[name]]),
  );
}
