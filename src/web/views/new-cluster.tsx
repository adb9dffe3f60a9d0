import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call, path } from '../api/client.ts';
import { MODES, type Cluster } from '../api/clusters.ts';
import { newKey } from '../api/new-key.ts';
import { ActButton } from '../components/act-button.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Field, labelsIn, wordsIn } from '../components/field.tsx';
import { OnceDialog } from '../components/once.tsx';
import { go } from '../router.ts';

const MODE_WORDS: Readonly<Record<(typeof MODES)[number], string>> = {
  gitops: 'gitops: the operator reads a Git repository',
  pull: 'pull: the operator fetches jobs',
  push: 'push: this control plane writes to the cluster',
};

interface Created {
  readonly cluster: Cluster;
  readonly registrationToken: string;
}

const EMPTY = { slug: '', displayName: '', mode: 'gitops', namespaces: '', entries: '', templates: '', labels: '' };

/** Makes a cluster's record, shows its registration token once, and leads to the install command. */
export function NewClusterButton(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [created, setCreated] = useState<Created>();
  return (
    <div class="buttons">
      <ActButton scope="clusters" look="main" onClick={() => setOpen(true)}>
        New cluster
      </ActButton>
      {isOpen ? <NewClusterDialog onClose={() => setOpen(false)} onDone={setCreated} /> : null}
      {created === undefined ? null : (
        <OnceDialog
          title={`Registration token of ${created.cluster.slug}`}
          what="registration token"
          secret={created.registrationToken}
          onClose={() => go(path`/clusters/${created.cluster.slug}/install`)}
        >
          <p>The commands on the next page read it from standard input.</p>
        </OnceDialog>
      )}
    </div>
  );
}

interface DialogProps {
  readonly onClose: () => void;
  readonly onDone: (created: Created) => void;
}

function NewClusterDialog({ onClose, onDone }: DialogProps): JSX.Element {
  const [form, setForm] = useState(EMPTY);
  const set = (name: keyof typeof EMPTY) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const create = async (): Promise<void> => {
    const slug = form.slug.trim();
    const labels = labelsIn(form.labels);
    const body = {
      slug,
      displayName: form.displayName.trim() === '' ? slug : form.displayName.trim(),
      connectivityMode: form.mode,
      allowedNamespaces: wordsIn(form.namespaces),
      allowedCatalogEntries: wordsIn(form.entries),
      allowedOperationTemplates: wordsIn(form.templates),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    };
    onDone(await call<Created>('POST', '/clusters', { body, idempotencyKey: newKey() }));
  };
  return (
    <ConfirmDialog title="New cluster" action="Make the cluster" onClose={onClose} onConfirm={create}>
      <Field
        label="Slug"
        value={form.slug}
        onChange={set('slug')}
        isRequired
        hint="Its name in commands and addresses: lower-case letters, digits and dashes. It stays."
      />
      <Field
        label="Display name"
        value={form.displayName}
        onChange={set('displayName')}
        hint="The slug, where it is left empty."
      />
      <Field
        label="Mode"
        value={form.mode}
        onChange={set('mode')}
        options={MODES.map((mode) => [mode, MODE_WORDS[mode]] as const)}
        hint="Can be switched later."
      />
      <Field
        label="Namespaces that may be installed into"
        value={form.namespaces}
        onChange={set('namespaces')}
        hint="Separated by commas. Nothing is allowed that is not named."
      />
      <Field label="Catalog entries that may be installed" value={form.entries} onChange={set('entries')} />
      <Field label="Operation templates that may be run" value={form.templates} onChange={set('templates')} />
      <Field
        label="Labels"
        value={form.labels}
        onChange={set('labels')}
        hint="Such as env=prod, team=shop: the fleet is filtered and grouped by them."
      />
    </ConfirmDialog>
  );
}
