import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { ClusterChoice } from '../api/cluster-choice.ts';
import { query, type Page as PageOf } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';

interface ClusterPickerProps {
  readonly slug: string;
  readonly choose: (slug: string) => void;
}

/** The cluster by its slug; what is typed is looked up, so that it works with ten thousand of them. */
export function ClusterPicker({ slug, choose }: ClusterPickerProps): JSX.Element {
  const id = useId();
  const [typed, setTyped] = useState(slug);
  const found = useResource<PageOf<Pick<ClusterChoice, 'id' | 'slug' | 'displayName'>>>(
    `/clusters${query({ q: typed, fields: 'summary', limit: '20' })}`,
  );
  return (
    <form
      class="picker"
      onSubmit={(event) => {
        event.preventDefault();
        choose(typed.trim());
      }}
    >
      <label for={id}>Cluster</label>
      <div class="pick">
        <input
          id={id}
          list={`${id}-found`}
          value={typed}
          autocomplete="off"
          spellcheck={false}
          placeholder="slug"
          onInput={(event) => setTyped(event.currentTarget.value)}
          onChange={(event) => {
            const chosen = event.currentTarget.value.trim();
            if (found.data?.items.some((one) => one.slug === chosen) === true) choose(chosen);
          }}
        />
        <button type="submit">Choose</button>
      </div>
      <datalist id={`${id}-found`}>
        {found.data?.items.map((one) => (
          <option key={one.id} value={one.slug}>
            {one.displayName}
          </option>
        ))}
      </datalist>
    </form>
  );
}
