import type { JSX } from 'preact';
import type { Condition } from '../api/conditions.ts';
import { Badge } from '../components/badge.tsx';
import { Empty } from '../components/states.tsx';
import { Table, type Column } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { toneOfCondition } from './explained-conditions.ts';

const COLUMNS: readonly Column<Condition>[] = [
  { head: 'Condition', cell: ({ type }) => type },
  { head: 'Status', cell: (one) => <Badge state={one.status} tone={toneOfCondition(one)} /> },
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
