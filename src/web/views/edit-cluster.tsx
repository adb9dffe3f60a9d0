import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { path, request } from '../api/client.ts';
import type { Cluster } from '../api/clusters.ts';
import { useResource } from '../api/use-resource.ts';
import { ConfirmDialog, Dialog } from '../components/dialog.tsx';
import { Field, labelsIn, labelsText, wordsIn } from '../components/field.tsx';
import { Failure, Skeleton } from '../components/states.tsx';
import { toast } from '../components/toast.tsx';

interface EditProps {
  readonly cluster: Cluster;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Changes what is allowed on a cluster. What somebody else changed meanwhile is not written over: it is read with its tag first. */
export function EditClusterDialog({ cluster, onClose, onDone }: EditProps): JSX.Element {
  const fresh = useResource<Cluster>(path`/clusters/${cluster.id}`);
  if (fresh.data === undefined) {
    return (
      <Dialog title={`Change ${cluster.slug}`} onClose={onClose}>
        <div>{fresh.error === undefined ? <Skeleton /> : <Failure error={fresh.error} retry={fresh.reload} />}</div>
      </Dialog>
    );
  }
  return <EditForm cluster={fresh.data} tag={fresh.tag} onClose={onClose} onDone={onDone} />;
}

function EditForm({ cluster, tag, onClose, onDone }: EditProps & { readonly tag: string | undefined }): JSX.Element {
  const [form, setForm] = useState({
    displayName: cluster.displayName,
    namespaces: cluster.allowedNamespaces.join(', '),
    entries: cluster.allowedCatalogEntries.join(', '),
    templates: cluster.allowedOperationTemplates.join(', '),
    approvals: cluster.approvalNamespaces.join(', '),
    labels: labelsText(cluster.labels ?? {}),
  });
  const set = (name: keyof typeof form) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const save = async (): Promise<void> => {
    const body = {
      displayName: form.displayName.trim(),
      allowedNamespaces: wordsIn(form.namespaces),
      allowedCatalogEntries: wordsIn(form.entries),
      allowedOperationTemplates: wordsIn(form.templates),
      approvalNamespaces: wordsIn(form.approvals),
      labels: labelsIn(form.labels),
    };
    await request('PATCH', path`/clusters/${cluster.id}`, { body, ifMatch: tag });
    toast(`Changed ${cluster.slug}`);
    onDone();
  };
  return (
    <ConfirmDialog title={`Change ${cluster.slug}`} action="Save" onClose={onClose} onConfirm={save}>
      <Field label="Display name" value={form.displayName} onChange={set('displayName')} isRequired />
      <Field label="Labels" value={form.labels} onChange={set('labels')} hint="Such as env=prod, team=shop." />
      <Field
        label="Namespaces that may be installed into"
        value={form.namespaces}
        onChange={set('namespaces')}
        isLong
      />
      <Field label="Catalog entries that may be installed" value={form.entries} onChange={set('entries')} isLong />
      <Field label="Operation templates that may be run" value={form.templates} onChange={set('templates')} isLong />
      <Field
        label="Namespaces in which everything needs an approval"
        value={form.approvals}
        onChange={set('approvals')}
        isLong
      />
    </ConfirmDialog>
  );
}
