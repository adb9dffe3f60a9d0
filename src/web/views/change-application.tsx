import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { messageOf } from '../api/api-error.ts';
import type { Application } from '../api/applications.ts';
import type { CatalogEntry } from '../api/catalog.ts';
import { call, path } from '../api/client.ts';
import type { DryRun } from '../api/intents.ts';
import { useResource } from '../api/use-resource.ts';
import { Loaded, Skeleton } from '../components/states.tsx';
import { useWhyNot } from '../me-context.ts';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';
import { valueAt } from '../schema-form/pointer.ts';
import { useYaml } from '../schema-form/use-yaml.ts';
import { withoutDefaults } from '../schema-form/without-defaults.ts';
import { ApplicationForm } from './application-form.tsx';
import { applicationHref } from './application-href.ts';

/** The form to upgrade an application or to change its values; it begins with what stands. */
export function ChangeApplicationView({ parts, parameters }: ViewProps): JSX.Element {
  const [cluster = '', namespace = '', name = ''] = parts;
  const application = useResource<Application>(path`/clusters/${cluster}/applications/${namespace}/${name}`);
  const entryName = application.data?.catalogEntry;
  const entry = useResource<CatalogEntry>(entryName === undefined ? undefined : path`/catalog/${entryName}`);
  return (
    <Page
      title={`Change ${namespace}/${name}`}
      above={
        <a href={applicationHref(cluster, namespace, name)}>
          {namespace}/{name} on {cluster}
        </a>
      }
    >
      <Loaded of={application}>
        {(data) => (
          <Loaded of={entry}>
            {(ofEntry) => (
              <ChangeForm application={data} entry={ofEntry} wantedVersion={parameters.get('version') ?? undefined} />
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}

interface ChangeFormProps {
  readonly application: Application;
  readonly entry: CatalogEntry;
  readonly wantedVersion: string | undefined;
}

function ChangeForm({ application, entry, wantedVersion }: ChangeFormProps): JSX.Element {
  const { clusterSlug, namespace, name, generation, version } = application;
  const whyNot = useWhyNot('deploy');
  const manifest = useStandingManifest(application, whyNot === undefined);
  const yaml = useYaml();
  const subject = useMemo(
    () => ({ action: 'update' as const, namespace, name, expectedGeneration: generation }),
    [namespace, name, generation],
  );
  const standing = useMemo(() => {
    if (yaml === undefined || manifest === undefined) return undefined;
    const read = yaml.readYaml(manifest.text);
    const values = 'value' in read ? valueAt(read.value, ['spec', 'values']) : undefined;
    return { version, values: withoutDefaults(values, entry.defaultValues) };
  }, [yaml, manifest, version, entry.defaultValues]);
  if (whyNot !== undefined) return <p class="note">{whyNot}</p>;
  if (standing === undefined) return <Skeleton />;
  return (
    <>
      {manifest?.fault !== undefined && (
        <p class="note">
          The values that stand cannot be read: {manifest.fault}. Values that you give replace them whole.
        </p>
      )}
      <ApplicationForm
        entry={entry}
        cluster={clusterSlug}
        subject={subject}
        standing={standing}
        wantedVersion={wantedVersion}
      />
    </>
  );
}

interface Manifest {
  readonly text: string;
  readonly fault?: string;
}

/** What an update of nothing would deliver: the manifest with the values that stand. No list of the API shows values. */
function useStandingManifest(application: Application, mayAsk: boolean): Manifest | undefined {
  const { clusterSlug, namespace, name } = application;
  const [manifest, setManifest] = useState<Manifest>();
  useEffect(() => {
    if (!mayAsk) return undefined;
    const leave = new AbortController();
    call<DryRun>('POST', path`/clusters/${clusterSlug}/intents`, {
      body: { action: 'update', namespace, name, dryRun: true },
      signal: leave.signal,
    }).then(
      ({ manifest: text = '' }) =>
        setManifest({ text, ...(text === '' ? { fault: 'it cannot be rendered now' } : {}) }),
      (error: unknown) => {
        if (!leave.signal.aborted) setManifest({ text: '', fault: messageOf(error) });
      },
    );
    return () => leave.abort();
  }, [clusterSlug, namespace, name, mayAsk]);
  return manifest;
}
