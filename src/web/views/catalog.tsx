import type { JSX } from 'preact';
import type { CatalogEntry } from '../api/catalog.ts';
import { path, query, type Page as PageOf } from '../api/client.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';

const COLUMNS: readonly Column<CatalogEntry>[] = [
  {
    head: 'Entry',
    cell: ({ name, deprecation }) => (
      <>
        <a href={href(path`/catalog/${name}`)}>{name}</a>{' '}
        {deprecation !== undefined && <Badge state="outdated" label="deprecated" />}
      </>
    ),
  },
  { head: 'Chart', look: 'fill', cell: ({ chart }) => <code class="long">{chart.url}</code> },
  { head: 'Versions', cell: ({ versions }) => <code>{versions}</code> },
  { head: 'Approval', cell: ({ approval }) => (approval === undefined ? 'not needed' : `by ${approval.count}`) },
  { head: 'Changed', look: 'tight', cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

/** What can be installed. */
export function CatalogView({ parameters }: ViewProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<PageOf<CatalogEntry>>(`/catalog${query({ cursor })}`, isOf('catalog'));
  return (
    <Page title="Catalog">
      <Loaded of={list}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="The catalog is empty">
              <code>servicectl catalog put</code> makes an entry of a chart and the versions that may be installed.
            </Empty>
          ) : (
            <>
              <Table caption="Catalog" columns={COLUMNS} rows={items} rowKey={({ name }) => name} />
              <Pager next={nextCursor} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}
