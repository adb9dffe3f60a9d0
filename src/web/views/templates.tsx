import type { JSX } from 'preact';
import { path, query, type Page as PageOf } from '../api/client.ts';
import type { OperationTemplate } from '../api/operations.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Pager } from '../components/pager.tsx';
import { Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';

const COLUMNS: readonly Column<OperationTemplate>[] = [
  { head: 'Template', cell: ({ name }) => <a href={href(path`/templates/${name}/run`)}>{name}</a> },
  { head: 'What it does', look: 'fill', cell: ({ description }) => description },
  { head: 'Works on', cell: ({ targets }) => targets.join(', ') },
  { head: 'Made', cell: ({ isBuiltIn, runs }) => (isBuiltIn ? 'built in' : `here, runs ${runs}`) },
  {
    head: 'Approval',
    cell: ({ approval }) => (approval === undefined ? 'not needed' : `by ${approval.count}`),
  },
];

/** What can be run on a cluster. */
export function TemplatesView({ parameters }: ViewProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<PageOf<OperationTemplate>>(
    `/operation-templates${query({ cursor })}`,
    isOf('operation-templates'),
  );
  return (
    <Page title="Operation templates">
      <Loaded of={list}>
        {({ items, nextCursor }) => (
          <>
            <Table caption="Operation templates" columns={COLUMNS} rows={items} rowKey={({ name }) => name} />
            <Pager next={nextCursor} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
