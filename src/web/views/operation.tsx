import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call, path } from '../api/client.ts';
import { hasEnded, type Operation } from '../api/operations.ts';
import { useOfCluster } from '../api/of-cluster.ts';
import { ActButton } from '../components/act-button.tsx';
import { Badge } from '../components/badge.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Facts } from '../components/facts.tsx';
import { ClusterLink, IntentLink } from '../components/links.tsx';
import { Loaded } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { When } from '../components/when.tsx';
import { YamlBlock } from '../components/yaml-block.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';
import { useYaml } from '../schema-form/use-yaml.ts';
import { ConditionTable } from './condition-table.tsx';

/** One operation: what was asked for, how it stands, and what it said when it ended. */
export function OperationView({ parts: [id = ''] }: ViewProps): JSX.Element {
  const operation = useOfCluster<Operation>(path`/operations/${id}`, 'operations', 'intents', 'events', 'approvals');
  return <Loaded of={operation}>{(data) => <OperationPage operation={data} reload={operation.reload} />}</Loaded>;
}

interface OperationPageProps {
  readonly operation: Operation;
  readonly reload: () => void;
}

function OperationPage({ operation, reload }: OperationPageProps): JSX.Element {
  const yaml = useYaml();
  const [isAsked, ask] = useState(false);
  const { template, namespace, name, phase, targetRef, intents, parameters = {} } = operation;
  const why = hasEnded(operation)
    ? 'It has ended.'
    : intents.some(({ cancel }) => cancel === true)
      ? 'It is being cancelled.'
      : undefined;
  return (
    <Page
      title={`${template} ${namespace}/${name}`}
      above={<a href="#/operations">Operations</a>}
      beside={
        <>
          <Badge state={phase} />
          <ActButton scope="deploy" look="danger" why={why} onClick={() => ask(true)}>
            Cancel…
          </ActButton>
          <a
            class="button"
            href={href(path`/templates/${template}/run`, { cluster: operation.clusterSlug, namespace })}
          >
            Run again
          </a>
        </>
      }
    >
      {operation.requestReason !== undefined && <p class="note">{operation.requestReason}</p>}
      <Facts
        entries={[
          ['Cluster', <ClusterLink key="cluster" slug={operation.clusterSlug} />],
          ['Target', targetRef && `${targetRef.kind} ${targetRef.namespace ?? namespace}/${targetRef.name}`],
          ['Asked for by', operation.requestedBy],
          ['Asked for', <When key="asked" at={operation.requestedAt} />],
          ['Started', operation.startedAt && <When at={operation.startedAt} />],
          ['Ended', operation.finishedAt && <When at={operation.finishedAt} />],
        ]}
      />
      <h2>How it stands</h2>
      <ConditionTable
        conditions={operation.conditions}
        ifNone={
          phase === 'Failed'
            ? 'It never reached the cluster: its intent says why'
            : 'Its cluster has reported nothing yet'
        }
      />
      <h2>Intents</h2>
      <Table
        caption="Intents of the operation"
        columns={[
          { head: 'Intent', cell: (one) => <IntentLink id={one.id} />, look: 'fill' },
          { head: 'For', cell: (one) => (one.cancel === true ? 'cancelling it' : 'running it') },
          { head: 'State', cell: (one) => <Badge state={one.state} /> },
          { head: 'Why', cell: (one) => one.reason },
          { head: 'By', cell: (one) => one.requestedBy },
        ]}
        rows={intents}
        rowKey={(one) => one.id}
      />
      <h2>Parameters</h2>
      {Object.keys(parameters).length === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        yaml !== undefined && <YamlBlock text={yaml.writeYaml(parameters)} label="Parameters" />
      )}
      {isAsked && (
        <ConfirmDialog
          title={`Cancel ${namespace}/${name}?`}
          action="Cancel it"
          isDangerous
          onConfirm={async () => {
            await call('POST', path`/intents/${operation.id}/cancel`, { body: {} });
            reload();
          }}
          onClose={() => ask(false)}
        >
          <p>
            Where it has not left the control plane it never will. Where it runs the cluster is told to stop it; what it
            has done already is not undone.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  );
}
