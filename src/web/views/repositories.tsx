import type { JSX } from 'preact';
import { path, type Page as ListPage } from '../api/client.ts';
import type { Repository } from '../api/history.ts';
import { useResource } from '../api/use-resource.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';

const COLUMNS: readonly Column<Repository>[] = [
  { head: 'Name', cell: ({ name }) => <a href={href(path`/history/${name}`)}>{name}</a> },
  { head: 'Address', look: 'fill', cell: ({ url }) => <code>{url}</code> },
  { head: 'Branch', cell: ({ branch }) => branch },
  { head: 'Layout', cell: ({ layout }) => layout },
];

/** The repositories, each with its history behind it. */
export function RepositoriesView(): JSX.Element {
  const list = useResource<ListPage<Repository>>('/repositories');
  return (
    <Page title="Repositories">
      <Loaded of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is no repository yet." />
          ) : (
            <Table caption="Repositories" columns={COLUMNS} rows={items} rowKey={({ name }) => name} />
          )
        }
      </Loaded>
    </Page>
  );
}
