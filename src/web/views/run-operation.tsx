import type { JSX } from 'preact';
import { useId, useMemo, useState } from 'preact/hooks';
import type { ClusterChoice } from '../api/cluster-choice.ts';
import { path } from '../api/client.ts';
import type { IntentBody } from '../api/intents.ts';
import type { OperationTemplate } from '../api/operations.ts';
import { useResource } from '../api/use-resource.ts';
import { Loaded } from '../components/states.tsx';
import { useDraft, useDrafts } from '../drafts.ts';
import { Page } from '../page.tsx';
import { href, setParameters } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { stillFound, type Fault } from '../schema-form/place-faults.ts';
import { ValuesForm, type Filled } from '../schema-form/values-form.tsx';
import { CheckedIntent } from './checked-intent.tsx';
import { ClusterPicker } from './cluster-picker.tsx';

/** The form to run a template: its parameters by their schema. Cluster, namespace and application may be in the address. */
export function RunOperationView({ parts: [name = ''], parameters }: ViewProps): JSX.Element {
  const template = useResource<OperationTemplate>(path`/operation-templates/${name}`);
  const slug = parameters.get('cluster') ?? '';
  const cluster = useResource<ClusterChoice>(slug === '' ? undefined : path`/clusters/${slug}`);
  return (
    <Page title={`Run ${name}`} above={<a href="#/templates">Operation templates</a>}>
      <ClusterPicker slug={slug} choose={(chosen) => setParameters({ cluster: chosen })} />
      {slug !== '' && (
        <Loaded of={cluster}>
          {(chosen) => (
            <Loaded of={template}>
              {(data) => <RunForm key={chosen.id} template={data} cluster={chosen} parameters={parameters} />}
            </Loaded>
          )}
        </Loaded>
      )}
    </Page>
  );
}

interface RunFormProps {
  readonly template: OperationTemplate;
  readonly cluster: ClusterChoice;
  readonly parameters: URLSearchParams;
}

const ROOTS = ['/parameters'];
const PLACED = ROOTS;

function RunForm({ template, cluster, parameters }: RunFormProps): JSX.Element {
  const id = useId();
  const application = parameters.get('application');
  const drafts = useDrafts();
  const [namespace, setNamespace] = useDraft(
    drafts,
    'namespace',
    parameters.get('namespace') ?? cluster.allowedNamespaces[0] ?? '',
  );
  const [name, setName] = useDraft(drafts, 'name', () => `${template.name}-${stamp(new Date())}`.slice(0, 63));
  const [target, setTarget] = useDraft(drafts, 'target', '');
  const [filled, fill] = useState<Filled>(() => ({
    values: (drafts.read('values') ?? { value: application === null ? undefined : { application } }).value,
    secrets: undefined,
    isReadable: true,
  }));
  const [reason, setReason] = useDraft(drafts, 'reason', '');
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [kind = ''] = template.targets;
  const [targetKind, setTargetKind] = useDraft(drafts, 'kind', kind);
  const body = useMemo<IntentBody>(
    () => ({
      action: 'operate',
      namespace,
      name,
      operationTemplate: template.name,
      ...(filled.values === undefined ? {} : { parameters: filled.values }),
      ...(target === '' ? {} : { targetRef: { kind: targetKind, name: target } }),
      ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
    }),
    [namespace, name, template.name, filled.values, target, targetKind, reason],
  );
  const otherWays = targetParameters(template);
  const isAllowed = cluster.allowedOperationTemplates.includes(template.name);
  return (
    <form class="application-form" onSubmit={(event) => event.preventDefault()}>
      <p>{template.description}</p>
      {!isAllowed && (
        <p class="note">
          {cluster.slug} does not allow {template.name} yet: it would be refused. Whoever may change clusters allows it{' '}
          <a href={href(path`/clusters/${cluster.slug}`)}>on the cluster's page</a>.
        </p>
      )}
      <div class="pair">
        <div class="field">
          <label for={`${id}-namespace`}>Namespace</label>
          <select
            id={`${id}-namespace`}
            value={namespace}
            onChange={(event) => setNamespace(event.currentTarget.value)}
          >
            {cluster.allowedNamespaces.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for={`${id}-name`}>Name of the operation</label>
          <input
            id={`${id}-name`}
            value={name}
            autocomplete="off"
            spellcheck={false}
            maxLength={63}
            onInput={(event) => setName(event.currentTarget.value.trim())}
          />
        </div>
      </div>
      {template.targets.length > 0 && (
        <div class="pair">
          <div class="field">
            <label for={`${id}-kind`}>Kind of the target</label>
            <select id={`${id}-kind`} value={targetKind} onChange={(event) => setTargetKind(event.currentTarget.value)}>
              {template.targets.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for={`${id}-target`}>Name of the target</label>
            <input
              id={`${id}-target`}
              value={target}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setTarget(event.currentTarget.value.trim())}
              {...(otherWays.length === 0 ? {} : { 'aria-describedby': `${id}-target-about` })}
            />
            {otherWays.length > 0 && (
              <p id={`${id}-target-about`} class="quiet about">
                Name it here or by the parameter {otherWays.join(' or ')} below, not by both.
              </p>
            )}
          </div>
        </div>
      )}
      <ValuesForm
        title="Parameters"
        schema={template.parameters}
        filled={filled}
        onChange={(next, touched) => {
          fill(next);
          if (next.values !== filled.values) drafts.write('values', next.values);
          setFaults((before) => stillFound(before, touched, ROOTS));
        }}
        faults={faults}
        roots={ROOTS}
      />
      <div class="field">
        <label for={`${id}-reason`}>Reason</label>
        <input
          id={`${id}-reason`}
          value={reason}
          maxLength={1000}
          autocomplete="off"
          placeholder="stands in the commit and the audit"
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </div>
      <CheckedIntent
        cluster={cluster.slug}
        body={body}
        why={filled.isReadable ? undefined : 'Something that was typed cannot be read: see the fields.'}
        action="Run it"
        onFaults={setFaults}
        placedAbove={PLACED}
      />
    </form>
  );
}

/** Parameters of the template that name its target too. The control plane takes one of the two, and refuses both. */
function targetParameters({ parameters }: OperationTemplate): readonly string[] {
  const { properties } = parameters as { readonly properties?: unknown };
  return ['name', 'application'].filter((name) => Object.hasOwn(properties ?? {}, name));
}

/** `20261129-001530`, in UTC. */
function stamp(at: Date): string {
  return at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
}
