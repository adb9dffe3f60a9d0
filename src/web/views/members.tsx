import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call, path, query, type Page as ListPage } from '../api/client.ts';
import type { Member } from '../api/people.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge } from '../components/badge.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { toast } from '../components/toast.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import type { ViewProps } from '../routes.ts';
import { MemberDialog } from './member-dialog.tsx';

interface Asked {
  readonly what: 'change' | 'disable' | 'delete';
  readonly member: Member;
}

/** Who belongs to the organization, and what each of them may do. */
export function MembersView({ parameters }: ViewProps): JSX.Element {
  const cursor = parameters.get('cursor') ?? undefined;
  const list = useResource<ListPage<Member>>(`/members${query({ cursor })}`, isOf('members'));
  const [isAdding, setAdding] = useState(false);
  const [asked, setAsked] = useState<Asked>();
  return (
    <Page
      title="Members"
      beside={
        <div class="buttons">
          <ActButton scope="organization" look="main" onClick={() => setAdding(true)}>
            Add a member
          </ActButton>
        </div>
      }
    >
      <Loaded of={list}>
        {({ items, nextCursor }) => (
          <>
            {items.length > 0 ? (
              <Table caption="Members" columns={columnsOf(setAsked)} rows={items} rowKey={({ name }) => name} />
            ) : (
              <Empty title="There is no member yet.">
                Until there are, people come in by tokens alone: every token is a person of its own.
              </Empty>
            )}
            <Pager next={nextCursor} />
          </>
        )}
      </Loaded>
      {isAdding ? <MemberDialog onClose={() => setAdding(false)} onDone={list.reload} /> : null}
      {asked === undefined ? null : (
        <AskedDialog asked={asked} onClose={() => setAsked(undefined)} onDone={list.reload} />
      )}
    </Page>
  );
}

function columnsOf(ask: (asked: Asked) => void): readonly Column<Member>[] {
  return [
    {
      head: 'Member',
      look: 'fill',
      cell: ({ name, displayName, email }) => (
        <>
          <strong>{displayName ?? name}</strong>{' '}
          <span class="quiet">{[displayName === undefined ? undefined : name, email].filter(Boolean).join(' · ')}</span>
        </>
      ),
    },
    { head: 'May', cell: ({ access }) => access.join(', ') },
    { head: 'Approves as', cell: ({ roles }) => roles.join(', ') },
    {
      head: 'State',
      cell: ({ disabledAt, oidc }) => (
        <Badge
          state={disabledAt === undefined ? 'active' : 'disabled'}
          label={disabledAt !== undefined ? 'disabled' : oidc === undefined ? 'active' : 'active, signed in by OIDC'}
        />
      ),
    },
    { head: 'Last seen', look: 'tight', cell: ({ lastSeenAt }) => <When at={lastSeenAt} /> },
    {
      head: 'Acts',
      look: 'tight',
      cell: (member) => (
        <div class="row-acts">
          <ActButton scope="organization" onClick={() => ask({ what: 'change', member })}>
            Change<span class="hidden"> {member.name}</span>
          </ActButton>
          <ActButton scope="organization" onClick={() => ask({ what: 'disable', member })}>
            {member.disabledAt === undefined ? 'Disable' : 'Enable'}
            <span class="hidden"> {member.name}</span>
          </ActButton>
          <ActButton scope="organization" look="danger" onClick={() => ask({ what: 'delete', member })}>
            Remove<span class="hidden"> {member.name}</span>
          </ActButton>
        </div>
      ),
    },
  ];
}

interface AskedProps {
  readonly asked: Asked;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function AskedDialog({ asked: { what, member }, onClose, onDone }: AskedProps): JSX.Element {
  const { name, disabledAt } = member;
  if (what === 'change') return <MemberDialog member={member} onClose={onClose} onDone={onDone} />;
  if (what === 'delete') {
    return (
      <ConfirmDialog
        title={`Remove ${name}?`}
        action="Remove"
        isDangerous
        onClose={onClose}
        onConfirm={async () => {
          await call('DELETE', path`/members/${name}`);
          toast(`Removed ${name}`);
          onDone();
        }}
      >
        <p>
          {name} can no longer come in, by a token or by the identity provider. The tokens of {name} are void at once;
          what {name} did stays in the audit, and what {name} approved and is still open no longer counts.
        </p>
      </ConfirmDialog>
    );
  }
  const isDisabled = disabledAt !== undefined;
  return (
    <ConfirmDialog
      title={isDisabled ? `Enable ${name}?` : `Disable ${name}?`}
      action={isDisabled ? 'Enable' : 'Disable'}
      isDangerous={!isDisabled}
      onClose={onClose}
      onConfirm={async () => {
        await call('PATCH', path`/members/${name}`, { body: { disabled: !isDisabled } });
        toast(`${isDisabled ? 'Enabled' : 'Disabled'} ${name}`);
        onDone();
      }}
    >
      <p>
        {isDisabled
          ? `${name} comes in again, with the same tokens as before.`
          : `${name} is refused from now on, whichever way ${name} comes in, until enabled again. Tokens are kept.`}
      </p>
    </ConfirmDialog>
  );
}
