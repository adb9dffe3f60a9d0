import type { JSX } from 'preact';
import { query } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';

interface Found {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
  readonly subtitle?: string;
  readonly clusterSlug?: string;
  /** An address of this page, from `#` on. */
  readonly href: string;
}

const KINDS = {
  cluster: 'Clusters',
  application: 'Applications',
  intent: 'Intents',
  proposal: 'Proposals',
  operation: 'Operations',
  catalog: 'Catalog',
  template: 'Templates',
  repository: 'Repositories',
  member: 'Members',
  commit: 'Commits',
} as const;
type Kind = keyof typeof KINDS;

/** What was found for a word, by kind. */
export function SearchView({ parameters }: ViewProps): JSX.Element {
  const q = parameters.get('q') ?? '';
  const kind = parameters.get('kind') ?? undefined;
  const found = useResource<{ readonly items: readonly Found[] }>(
    q === '' ? undefined : `/search${query({ q, kind })}`,
  );
  return (
    <Page title={q === '' ? 'Search' : `Search for ${q}`}>
      <Tabs
        label="Kind"
        tabs={[
          { label: 'Everything', href: href('/search', { q }), isCurrent: kind === undefined },
          ...(Object.keys(KINDS) as Kind[]).map((name) => ({
            label: KINDS[name],
            href: href('/search', { q, kind: name }),
            isCurrent: kind === name,
          })),
        ]}
      />
      {q === '' ? (
        <Empty title="Type what you look for into the field above.">
          Press <kbd>/</kbd> to get there from anywhere. Ids, names and beginnings of names are found.
        </Empty>
      ) : (
        <Loaded of={found}>{({ items }) => <Results items={items} q={q} />}</Loaded>
      )}
    </Page>
  );
}

function Results({ items, q }: { readonly items: readonly Found[]; readonly q: string }): JSX.Element {
  if (items.length === 0) {
    return <Empty title={`Nothing begins with ${q}.`}>Look at how it is written, or try its beginning alone.</Empty>;
  }
  return (
    <>
      <p class="hidden" role="status">
        {items.length} found
      </p>
      {(Object.keys(KINDS) as Kind[]).map((kind) => {
        const ofKind = items.filter((item) => item.kind === kind);
        return ofKind.length === 0 ? null : (
          <section key={kind} class="results">
            <h2>
              {KINDS[kind]} <span class="count">{ofKind.length}</span>
            </h2>
            <ul>
              {ofKind.map((item) => (
                <li key={item.id}>
                  <a href={item.href}>{item.title}</a>
                  <span class="quiet">
                    {[item.clusterSlug, item.subtitle]
                      .filter((text) => text !== undefined && text !== item.title)
                      .join(' · ')}
                  </span>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </>
  );
}
