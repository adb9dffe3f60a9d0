import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { ClusterChoice } from '../api/cluster-choice.ts';
import type { CatalogEntry } from '../api/catalog.ts';
import { path } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { Loaded } from '../components/states.tsx';
import { useDraft, useDrafts } from '../drafts.ts';
import { Page } from '../page.tsx';
import { href, setParameters } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { ApplicationForm } from './application-form.tsx';
import { ClusterPicker } from './cluster-picker.tsx';

/** The form to install an entry of the catalog; the cluster is in the address. */
export function InstallView({ parts: [name = ''], parameters }: ViewProps): JSX.Element {
  const entry = useResource<CatalogEntry>(path`/catalog/${name}`);
  const slug = parameters.get('cluster') ?? '';
  const cluster = useResource<ClusterChoice>(slug === '' ? undefined : path`/clusters/${slug}`);
  return (
    <Page title={`Install ${name}`} above={<a href={href(path`/catalog/${name}`)}>{name}</a>}>
      <ClusterPicker slug={slug} choose={(cluster) => setParameters({ cluster })} />
      {slug === '' ? (
        <p class="quiet">Choose the cluster first: it says where applications may be installed.</p>
      ) : (
        <Loaded of={cluster}>
          {(chosen) => (
            <Loaded of={entry}>{(data) => <InstallForm key={chosen.id} entry={data} cluster={chosen} />}</Loaded>
          )}
        </Loaded>
      )}
    </Page>
  );
}

interface InstallFormProps {
  readonly entry: CatalogEntry;
  readonly cluster: ClusterChoice;
}

function InstallForm({ entry, cluster }: InstallFormProps): JSX.Element {
  const { allowedNamespaces, allowedCatalogEntries, slug } = cluster;
  const drafts = useDrafts();
  const [namespace, setNamespace] = useDraft(drafts, 'namespace', allowedNamespaces[0] ?? '');
  const [name, setName] = useDraft(drafts, 'name', entry.name);
  const id = useId();
  return (
    <>
      {!allowedCatalogEntries.includes(entry.name) && (
        <p class="note">
          {slug} does not allow {entry.name} yet: it would be refused. Whoever may change clusters allows it{' '}
          <a href={href(path`/clusters/${slug}`)}>on the cluster's page</a>.
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
            {allowedNamespaces.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          {allowedNamespaces.length === 0 && <p class="fault">No namespace of {slug} is allowed for applications.</p>}
        </div>
        <div class="field">
          <label for={`${id}-name`}>Name</label>
          <input
            id={`${id}-name`}
            value={name}
            autocomplete="off"
            spellcheck={false}
            maxLength={53}
            onInput={(event) => setName(event.currentTarget.value.trim())}
          />
        </div>
      </div>
      <ApplicationForm entry={entry} cluster={slug} subject={{ action: 'install', namespace, name }} />
    </>
  );
}
