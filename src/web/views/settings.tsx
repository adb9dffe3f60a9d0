import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { SCOPES, type Scope } from '../../control-plane/access.ts';
import { request } from '../api/client.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Facts } from '../components/facts.tsx';
import { Field } from '../components/field.tsx';
import { Loaded } from '../components/states.tsx';
import { toast } from '../components/toast.tsx';
import { When } from '../components/when.tsx';
import { useMe } from '../me-context.ts';
import { Page } from '../page.tsx';

interface Organization {
  readonly id: string;
  readonly name: string;
  readonly intervals: Readonly<Record<IntervalName, number>>;
  readonly rotationGraceSeconds: number;
  readonly createdAt: string;
}

const INTERVALS = {
  heartbeatSeconds: ['Heartbeat of an operator', 'seconds'],
  rotateSeconds: ['An operator renews its credential after', 'seconds'],
  eventBatchMs: ['An operator collects events for', 'milliseconds'],
  eventBatchSize: ['Events in one post at the most', 'events'],
} as const;
type IntervalName = keyof typeof INTERVALS;
const NAMES = Object.keys(INTERVALS) as IntervalName[];

/** Who one is here, and what the clusters of the organization follow. */
export function SettingsView(): JSX.Element {
  const organization = useResource<Organization>('/organization', isOf('organization'));
  const [isEditing, setEditing] = useState(false);
  return (
    <Page title="Settings">
      <h2>You</h2>
      <You />
      <div class="heading">
        <h2>Organization</h2>
        <div class="buttons">
          <ActButton scope="organization" onClick={() => setEditing(true)}>
            Change
          </ActButton>
        </div>
      </div>
      <Loaded of={organization}>
        {(data) => (
          <>
            <Facts
              entries={[
                ['Name', data.name],
                ['Id', <Copyable text={data.id} what="id of the organization" />],
                ['Made', <When at={data.createdAt} />],
                ...NAMES.map(
                  (name) => [INTERVALS[name][0], `${data.intervals[name]} (${INTERVALS[name][1]})`] as const,
                ),
                ['An old credential goes on for', valueText(data.rotationGraceSeconds, 'seconds')],
              ]}
            />
            {isEditing ? (
              <EditDialog
                organization={data}
                tag={organization.tag}
                onClose={() => setEditing(false)}
                onDone={organization.reload}
              />
            ) : null}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const UNITS = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
] as const;

/** Whole days, hours or minutes where it is that; else as it is. */
function valueText(value: number, unit: string): string {
  const larger = unit === 'seconds' ? UNITS.find(([, size]) => value >= 2 * size && value % size === 0) : undefined;
  return larger === undefined ? `${value} ${unit}` : `${value / larger[1]} ${larger[0]}`;
}

function You(): JSX.Element {
  const me = useMe();
  return (
    <>
      <Facts
        entries={[
          ['Name', me.displayName === undefined ? me.name : `${me.displayName} (${me.name})`],
          [
            'Came in by',
            me.via === 'oidc' ? 'the identity provider' : me.member ? 'a token of a member' : 'a token of its own',
          ],
          ['Access', me.access.join(', ')],
          ['Approves as', me.roles.join(', ')],
          ['Session ends', me.tokenExpiresAt && <When at={me.tokenExpiresAt} />],
        ]}
      />
      <ul class="scopes">
        {(Object.keys(SCOPES) as Scope[]).map((scope) => {
          const has = me.scopes.includes(scope);
          return (
            <li key={scope}>
              <Badge state={has ? 'enabled' : 'none'} label={scope} />
              <span class="quiet">
                {has ? '' : 'not yours: '}
                {SCOPES[scope]}
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

interface EditProps {
  readonly organization: Organization;
  readonly tag: string | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function EditDialog({ organization, tag, onClose, onDone }: EditProps): JSX.Element {
  const [form, setForm] = useState({
    ...Object.fromEntries(NAMES.map((name) => [name, String(organization.intervals[name])])),
    grace: String(organization.rotationGraceSeconds),
  } as Record<IntervalName | 'grace', string>);
  const set = (name: IntervalName | 'grace') => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  // Only what was changed: what is left alone goes on following the defaults.
  const changed = (name: IntervalName): boolean => form[name] !== String(organization.intervals[name]);
  const save = async (): Promise<void> => {
    const intervals = Object.fromEntries(NAMES.filter(changed).map((name) => [name, numberIn(form[name])]));
    const isGraceChanged = form.grace !== String(organization.rotationGraceSeconds);
    const body = {
      ...(Object.keys(intervals).length === 0 ? {} : { intervals }),
      ...(isGraceChanged ? { rotationGraceSeconds: numberIn(form.grace) } : {}),
    };
    await request('PATCH', '/organization', { body, ifMatch: tag });
    toast('Changed the settings');
    onDone();
  };
  return (
    <ConfirmDialog title={`Settings of ${organization.name}`} action="Save" onClose={onClose} onConfirm={save}>
      <p>Every cluster follows them that has nothing of its own set. An empty field goes back to the default.</p>
      {NAMES.map((name) => (
        <Field
          key={name}
          label={INTERVALS[name][0]}
          hint={INTERVALS[name][1]}
          value={form[name]}
          onChange={set(name)}
        />
      ))}
      <Field label="An old credential goes on for" hint="seconds" value={form.grace} onChange={set('grace')} />
    </ConfirmDialog>
  );
}

const numberIn = (text: string): number | null => (text.trim() === '' ? null : Number(text));
