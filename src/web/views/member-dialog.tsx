import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AccessRole } from '../../control-plane/access.ts';
import { call, path } from '../api/client.ts';
import type { Member } from '../api/people.ts';
import { Choices } from '../components/choices.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Field, wordsIn } from '../components/field.tsx';
import { toast } from '../components/toast.tsx';
import { ACCESS_OPTIONS } from './access-words.ts';

interface MemberDialogProps {
  /** Missing: somebody new. */
  readonly member?: Member;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function MemberDialog({ member, onClose, onDone }: MemberDialogProps): JSX.Element {
  const [name, setName] = useState(member?.name ?? '');
  const [displayName, setDisplayName] = useState(member?.displayName ?? '');
  const [email, setEmail] = useState(member?.email ?? '');
  const [roles, setRoles] = useState(member?.roles.join(', ') ?? '');
  const [access, setAccess] = useState<readonly AccessRole[]>(member?.access ?? ['viewer']);
  const save = async (): Promise<void> => {
    const given = (text: string): string | null | undefined => text.trim() || (member === undefined ? undefined : null);
    const body = { displayName: given(displayName), email: given(email), access, roles: wordsIn(roles) };
    if (member === undefined) await call('POST', '/members', { body: { name: name.trim(), ...body } });
    else await call('PATCH', path`/members/${member.name}`, { body });
    toast(member === undefined ? `Added ${name.trim()}` : `Changed ${member.name}`);
    onDone();
  };
  const title = member === undefined ? 'Add a member' : `Change ${member.name}`;
  return (
    <ConfirmDialog title={title} action={member === undefined ? 'Add' : 'Save'} onClose={onClose} onConfirm={save}>
      {member === undefined ? (
        <Field
          label="Name"
          value={name}
          onChange={setName}
          isRequired
          hint="Stands in the audit and in commits. It stays."
        />
      ) : null}
      <Field label="Display name" value={displayName} onChange={setDisplayName} />
      <Field
        label="E-mail"
        value={email}
        onChange={setEmail}
        hint="Whoever signs in at the identity provider with this verified address is this member."
      />
      <Choices legend="May" options={ACCESS_OPTIONS} chosen={access} onChange={setAccess} />
      <Field
        label="Approves as"
        value={roles}
        onChange={setRoles}
        hint="Roles that approvals ask for, such as platform, security."
      />
    </ConfirmDialog>
  );
}
