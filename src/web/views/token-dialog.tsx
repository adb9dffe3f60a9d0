import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AccessRole, Scope } from '../../control-plane/access.ts';
import { call, type Page } from '../api/client.ts';
import type { Member } from '../api/people.ts';
import { useResource } from '../api/use-resource.ts';
import { Choices } from '../components/choices.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Field, wordsIn } from '../components/field.tsx';
import { ACCESS_OPTIONS, SCOPE_OPTIONS } from './access-words.ts';

export interface MadeToken {
  readonly name: string;
  readonly token: string;
}

const LIFETIMES = [
  ['86400', 'a day'],
  ['2592000', '30 days'],
  ['7776000', '90 days'],
  ['31536000', 'a year'],
  ['', 'until it is deleted'],
] as const;

interface TokenDialogProps {
  readonly onClose: () => void;
  readonly onDone: (made: MadeToken) => void;
}

/** A token of a member acts in the member's name and never above the member; another one is a person of its own. */
export function TokenDialog({ onClose, onDone }: TokenDialogProps): JSX.Element {
  const members = useResource<Page<Member>>('/members?limit=500');
  const [name, setName] = useState('');
  const [member, setMember] = useState('');
  const [access, setAccess] = useState<readonly AccessRole[]>(['viewer']);
  const [scopes, setScopes] = useState<readonly Scope[]>([]);
  const [roles, setRoles] = useState('');
  const [lifetime, setLifetime] = useState('7776000');
  const create = async (): Promise<void> => {
    const body = {
      name: name.trim(),
      ...(member === '' ? { access, ...(roles.trim() === '' ? {} : { roles: wordsIn(roles) }) } : { member }),
      ...(scopes.length === 0 ? {} : { scopes }),
      ...(lifetime === '' ? {} : { expiresInSeconds: Number(lifetime) }),
    };
    // Without an idempotency key: the token is in the answer, and should be kept nowhere.
    onDone(await call<MadeToken>('POST', '/admin-tokens', { body }));
  };
  const people = members.data?.items ?? [];
  return (
    <ConfirmDialog title="New token" action="Make the token" onClose={onClose} onConfirm={create}>
      <Field
        label="Name"
        value={name}
        onChange={setName}
        isRequired
        hint="Of a token of nobody’s, it stands in the audit."
      />
      <Field
        label="Of"
        value={member}
        onChange={setMember}
        options={[
          ['', 'nobody: a program or person of its own'],
          ...people.map((one) => [one.name, one.name] as const),
        ]}
      />
      {member === '' ? <Choices legend="May" options={ACCESS_OPTIONS} chosen={access} onChange={setAccess} /> : null}
      <Choices
        legend="Only these scopes of it (none: all)"
        options={SCOPE_OPTIONS}
        chosen={scopes}
        onChange={setScopes}
      />
      {member === '' ? (
        <Field label="Approves as" value={roles} onChange={setRoles} hint="Roles, such as platform." />
      ) : null}
      <Field label="Good for" value={lifetime} onChange={setLifetime} options={LIFETIMES} />
    </ConfirmDialog>
  );
}
