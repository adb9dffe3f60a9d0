import type { JSX } from 'preact';
import type { CredentialChange, ObjectLeft, Probe } from '../api/mode-switches.ts';
import { Badge, type Tone } from '../components/badge.tsx';
import { Table } from '../components/table.tsx';
import { When } from '../components/when.tsx';

const TONES: Readonly<Record<CredentialChange['change'], Tone>> = {
  created: 'good',
  kept: 'idle',
  revoked: 'warning',
  withdrawn: 'warning',
};

export function ProbeTable({ probes }: { readonly probes: readonly Probe[] }): JSX.Element {
  if (probes.length === 0) return <p class="quiet">None yet.</p>;
  return (
    <Table
      caption="Probes"
      columns={[
        { head: 'Probe', cell: (one) => one.name },
        {
          head: 'Result',
          cell: (one) => <Badge state={one.ok ? 'ready' : 'failed'} label={one.ok ? 'ok' : 'failed'} />,
        },
        {
          head: 'Found',
          look: 'fill',
          cell: (one) => (
            <>
              {one.message}
              {one.warning !== undefined && <p class="note">{one.warning}</p>}
            </>
          ),
        },
      ]}
      rows={probes}
      rowKey={({ name }) => name}
    />
  );
}

export function CredentialTable({ credentials }: { readonly credentials: readonly CredentialChange[] }): JSX.Element {
  if (credentials.length === 0) return <p class="quiet">None.</p>;
  return (
    <Table
      caption="Credentials that come and go"
      columns={[
        { head: 'Kind', cell: (one) => one.kind },
        { head: 'Credential', cell: (one) => one.name },
        {
          head: 'What becomes of it',
          cell: (one) => (
            <>
              <Badge state={one.change} tone={TONES[one.change]} /> {one.at !== undefined && <When at={one.at} />}
            </>
          ),
        },
        { head: 'Why', cell: (one) => one.message, look: 'fill' },
      ]}
      rows={credentials}
      rowKey={({ kind, name, change }) => `${kind} ${name} ${change}`}
    />
  );
}

interface LeftTableProps {
  readonly objects: readonly ObjectLeft[];
  readonly caption: string;
}

export function LeftTable({ objects, caption }: LeftTableProps): JSX.Element {
  return (
    <Table
      caption={caption}
      columns={[
        { head: 'Object', cell: (one) => `${one.kind} ${one.namespace}/${one.name}` },
        { head: 'Why', cell: (one) => one.reason, look: 'fill' },
      ]}
      rows={objects}
      rowKey={({ kind, namespace, name }) => `${kind} ${namespace}/${name}`}
    />
  );
}
