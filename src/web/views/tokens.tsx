import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call, path, query, type Page as ListPage } from '../api/client.ts';
import type { AdminToken } from '../api/people.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge } from '../components/badge.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { OnceDialog } from '../components/once.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { toast } from '../components/toast.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';
import { TokenDialog, type MadeToken } from './token-dialog.tsx';

/** The tokens with which people and programs come in. */
export function TokensView({ parameters }: ViewProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<ListPage<AdminToken>>(`/admin-tokens${query({ cursor })}`, isOf('admin-tokens', 'members'));
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<MadeToken>();
  const [deleted, setDeleted] = useState<AdminToken>();
  return (
    <Page
      title="Tokens"
      beside={
        <div class="buttons">
          <ActButton scope="organization" look="main" onClick={() => setMaking(true)}>
            New token
          </ActButton>
        </div>
      }
    >
      <Loaded of={list}>
        {({ items, nextCursor }) => (
          <>
            {items.length > 0 ? (
              <Table caption="Tokens" columns={columnsOf(setDeleted)} rows={items} rowKey={({ name }) => name} />
            ) : (
              <Empty title="There is no token." />
            )}
            <Pager next={nextCursor} />
          </>
        )}
      </Loaded>
      {isMaking ? (
        <TokenDialog
          onClose={() => setMaking(false)}
          onDone={(token) => {
            setMade(token);
            list.reload();
          }}
        />
      ) : null}
      {made === undefined ? null : (
        <OnceDialog title={`Token ${made.name}`} what="token" secret={made.token} onClose={() => setMade(undefined)} />
      )}
      {deleted === undefined ? null : (
        <ConfirmDialog
          title={`Delete the token ${deleted.name}?`}
          action="Delete"
          isDangerous
          onClose={() => setDeleted(undefined)}
          onConfirm={async () => {
            await call('DELETE', path`/admin-tokens/${deleted.name}`);
            toast(`Deleted the token ${deleted.name}`);
            list.reload();
          }}
        >
          <p>
            Whoever uses it is refused at once
            {deleted.member === undefined ? ', and what it approved and is still open no longer counts' : ''}. It cannot
            be taken back.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function columnsOf(remove: (token: AdminToken) => void): readonly Column<AdminToken>[] {
  return [
    { head: 'Token', look: 'fill', cell: ({ name }) => <strong>{name}</strong> },
    { head: 'Of', cell: ({ member }) => member ?? <span class="quiet">itself</span> },
    { head: 'May', cell: ({ access, scopes }) => (scopes ?? access ?? []).join(', ') },
    { head: 'Approves as', cell: ({ roles }) => roles.join(', ') },
    {
      head: 'Ends',
      look: 'tight',
      cell: ({ expiresAt, expired }) =>
        expired ? (
          <Badge state="expired" />
        ) : expiresAt === undefined ? (
          <span class="quiet">never</span>
        ) : (
          <When at={expiresAt} />
        ),
    },
    {
      head: 'Last used',
      look: 'tight',
      cell: ({ lastUsedAt }) =>
        lastUsedAt === undefined ? <span class="quiet">not yet</span> : <When at={lastUsedAt} />,
    },
    { head: 'Made', look: 'tight', cell: ({ createdAt }) => <When at={createdAt} /> },
    {
      head: 'Acts',
      look: 'tight',
      cell: (token) => (
        <ActButton scope="organization" look="danger" onClick={() => remove(token)}>
          Delete<span class="hidden"> {token.name}</span>
        </ActButton>
      ),
    },
  ];
}
