import type { JSX } from 'preact';
import type { Condition } from '../api/conditions.ts';
import { Badge, type Tone } from '../components/badge.tsx';
import { Empty } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';

/** Conditions that are good news where they are `False`. */
const BAD_IF_TRUE: readonly string[] = ['Blocked', 'Failed', 'Cancelled', 'TimedOut', 'Stalled', 'Degraded', 'Drifted'];

function toneOf({ type, status }: Condition): Tone {
  if (status === 'Unknown') return 'waiting';
  if (BAD_IF_TRUE.includes(type)) return status === 'True' ? 'bad' : 'good';
  return status === 'True' ? 'good' : 'warning';
}

const COLUMNS: readonly Column<Condition>[] = [
  { head: 'Condition', cell: ({ type }) => type },
  { head: 'Status', cell: (one) => <Badge state={one.status} tone={toneOf(one)} /> },
  { head: 'Reason', cell: ({ reason }) => reason },
  { head: 'Message', cell: ({ message }) => message, look: 'fill' },
  { head: 'Since', cell: ({ lastTransitionTime }) => <When at={lastTransitionTime} />, look: 'tight' },
];

interface ConditionTableProps {
  readonly conditions: readonly Condition[];
  readonly ifNone: string;
}

export function ConditionTable({ conditions, ifNone }: ConditionTableProps): JSX.Element {
  if (conditions.length === 0) return <Empty title={ifNone} />;
  return <Table caption="Conditions" columns={COLUMNS} rows={conditions} rowKey={({ type }) => type} />;
}
