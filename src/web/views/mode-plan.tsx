import type { JSX } from 'preact';
import type { SwitchPlan } from '../api/mode-switches.ts';
import { Badge } from '../components/badge.tsx';
import { Facts } from '../components/facts.tsx';
import { Table } from '../components/table.tsx';
import { CredentialTable, LeftTable, ProbeTable } from './mode-tables.tsx';

interface ModePlanProps {
  readonly plan: SwitchPlan;
  readonly warnings: readonly string[];
}

function counted(number: number, what: string): string {
  return `${number} ${number === 1 ? what : `${what}s`}`;
}

/** What a switch would do; by the code that it goes by, and nothing is changed. */
export function ModePlan({ plan: { from, to, plan, probes, credentials }, warnings }: ModePlanProps): JSX.Element {
  const { objects, config, blockers, toDo, jobs, proposals, waitingIntents } = plan;
  return (
    <section aria-label="What would be done">
      <h2>
        {from} → {to}: what would be done
      </h2>
      <p role="status">
        {plan.wouldStart ? (
          <Badge state="ready" label="Nothing is in the way" />
        ) : (
          <Badge state="failed" label="It would not start" />
        )}
      </p>
      {blockers.length > 0 && (
        <ul class="fault">
          {blockers.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {warnings.map((text) => (
        <p key={text} class="note">
          {text}
        </p>
      ))}
      <Facts
        entries={[
          ['Operator', plan.operator],
          ['Delivery epoch', String(plan.epoch)],
          ['Handed over', counted(objects.total, 'object')],
          ['Jobs', `${jobs.open} open, ${jobs.acknowledged} of them waited for`],
          ['Waiting intents', `${waitingIntents} to go by the new way`],
          ['Proposals', `${proposals.open} open`],
        ]}
      />
      {toDo.length > 0 && (
        <>
          <h3>For you to do</h3>
          <ul>
            {toDo.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
      <h3>Probes</h3>
      <ProbeTable probes={probes} />
      <h3>Credentials that come and go</h3>
      <CredentialTable credentials={credentials} />
      <h3>What changes for the operator</h3>
      <Table
        caption="What changes for the operator"
        columns={[
          { head: 'Setting', cell: (one) => <code>{one.field}</code>, look: 'fill' },
          { head: 'From', cell: (one) => one.from },
          { head: 'To', cell: (one) => one.to },
        ]}
        rows={config}
        rowKey={({ field }) => field}
      />
      {objects.items.length > 0 && (
        <>
          <h3>Handed over</h3>
          <Table
            caption="Handed over"
            columns={[
              { head: 'Kind', cell: (one) => one.kind },
              { head: 'Object', cell: (one) => `${one.namespace}/${one.name}`, look: 'fill' },
              { head: 'By', cell: (one) => one.action },
              { head: 'Generation', cell: (one) => String(one.generation), look: 'number' },
            ]}
            rows={objects.items}
            rowKey={(one) => `${one.kind} ${one.namespace}/${one.name}`}
          />
          {objects.total > objects.items.length && <p class="quiet">and {objects.total - objects.items.length} more</p>}
        </>
      )}
      {objects.left.length > 0 && (
        <>
          <h3>Left as they are</h3>
          <LeftTable objects={objects.left} caption="Left as they are" />
        </>
      )}
    </section>
  );
}
