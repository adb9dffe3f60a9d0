import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { call, path, query, type Page } from '../api/client.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { useMe } from '../me-context.ts';
import { go, useAddress } from '../router.ts';
import { ConfirmDialog } from './dialog.tsx';
import { Icon } from './icon.tsx';
import { toast } from './toast.tsx';

interface SavedFilter {
  readonly name: string;
  /** As it stands in the address. */
  readonly query: string;
  readonly shared: boolean;
  readonly owner: string;
}

/** Filters of a list that somebody keeps under a name, for himself or for all. */
export function SavedFilters({ list }: { readonly list: string }): JSX.Element {
  const me = useMe();
  const { path: place, parameters } = useAddress();
  const saved = useResource<Page<SavedFilter>>(`/saved-filters${query({ list, limit: '100' })}`, isOf('saved-filters'));
  const [asked, setAsked] = useState<'save' | 'delete'>();
  const filters = saved.data?.items ?? [];
  const present = queryOf(parameters);
  const current = filters.find((filter) => filter.query === present);
  return (
    <>
      {filters.length === 0 ? null : (
        <label class="saved">
          <span class="hidden">Saved filters</span>
          <select
            value={current === undefined ? '' : keyOf(current)}
            onChange={(event) => {
              const chosen = filters.find((filter) => keyOf(filter) === event.currentTarget.value);
              if (chosen !== undefined) go(place, Object.fromEntries(new URLSearchParams(chosen.query)));
            }}
          >
            <option value="">Saved filters…</option>
            {filters.map((filter) => (
              <option key={keyOf(filter)} value={keyOf(filter)}>
                {filter.owner === me.name ? filter.name : `${filter.name} (${filter.owner})`}
              </option>
            ))}
          </select>
        </label>
      )}
      {present === '' || current !== undefined ? null : (
        <button type="button" onClick={() => setAsked('save')}>
          <Icon name="check" /> Save filter
        </button>
      )}
      {current?.owner === me.name ? (
        <button type="button" onClick={() => setAsked('delete')}>
          <Icon name="close" /> Delete “{current.name}”
        </button>
      ) : null}
      {asked === 'save' ? (
        <SaveDialog list={list} text={present} onClose={() => setAsked(undefined)} onDone={saved.reload} />
      ) : null}
      {asked === 'delete' && current !== undefined ? (
        <ConfirmDialog
          title={`Delete the filter ${current.name}?`}
          action="Delete"
          isDangerous
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            await call('DELETE', path`/saved-filters/${current.name}`);
            saved.reload();
          }}
        >
          <p>{current.shared ? 'Nobody of the organization finds it any more.' : 'Nobody else sees it.'}</p>
        </ConfirmDialog>
      ) : null}
    </>
  );
}

const keyOf = ({ owner, name }: SavedFilter): string => `${owner}/${name}`;

function queryOf(parameters: URLSearchParams): string {
  const kept = [...parameters].filter(([name]) => name !== 'cursor').sort(([a], [b]) => a.localeCompare(b));
  return new URLSearchParams(kept).toString();
}

interface SaveDialogProps {
  readonly list: string;
  readonly text: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function SaveDialog({ list, text, onClose, onDone }: SaveDialogProps): JSX.Element {
  const [name, setName] = useState('');
  const [isShared, setShared] = useState(false);
  const id = useId();
  return (
    <ConfirmDialog
      title="Save this filter"
      action="Save"
      onClose={onClose}
      onConfirm={async () => {
        await call('PUT', path`/saved-filters/${name.trim()}`, { body: { list, query: text, shared: isShared } });
        toast(`Saved the filter ${name.trim()}`);
        onDone();
      }}
    >
      <p>
        <code>{text}</code>
      </p>
      <label for={id}>Name (lower-case letters, digits and dashes)</label>
      <input id={id} value={name} required autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
      <label class="check">
        <input type="checkbox" checked={isShared} onChange={(event) => setShared(event.currentTarget.checked)} />
        Everybody of the organization sees it
      </label>
    </ConfirmDialog>
  );
}
