import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { path } from '../api/client.ts';
import type { Cluster } from '../api/clusters.ts';
import type { Condition } from '../api/conditions.ts';
import { ActButton } from '../components/act-button.tsx';
import { ApplicationCounts } from '../components/application-counts.tsx';
import { Badge, type Tone } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { Facts } from '../components/facts.tsx';
import { TextWithTimes } from '../components/text-with-times.tsx';
import { When } from '../components/when.tsx';
import { href } from '../router.ts';
import type { ClusterTabProps } from './cluster.tsx';
import { EditClusterDialog } from './edit-cluster.tsx';
import { EXPLAINED, toneOfCondition } from './explained-conditions.ts';

/** What one wants to know first: does it answer, what does it wait for, what does it say of itself. */
export function ClusterOverview({ cluster, reload }: ClusterTabProps): JSX.Element {
  const [isEditing, setEditing] = useState(false);
  const { slug, waitingFor, applications, lastContactAt, credential, push } = cluster;
  const isPush = cluster.connectivityMode === 'push';
  return (
    <>
      <Waiting cluster={cluster} />
      <Facts
        entries={[
          ['Last contact', lastContactAt === undefined ? 'never' : <When at={lastContactAt} />],
          [
            'Applications',
            applications && (
              <a href={href(path`/clusters/${slug}/applications`)}>
                <ApplicationCounts counts={applications} />
              </a>
            ),
          ],
          [
            'Waiting',
            waitingFor === undefined ? (
              'nothing'
            ) : (
              <a
                href={href(path`/clusters/${slug}/intents`)}
              >{`${waitingFor.count} ${waitingFor.count === 1 ? 'intent' : 'intents'}`}</a>
            ),
          ],
          ['Operator', operatorText(cluster)],
          [
            'Operator’s credential',
            credential === undefined ? (
              'none yet'
            ) : (
              <>
                ends <When at={credential.expiresAt} />, renewed <When at={credential.rotateAfter} />
              </>
            ),
          ],
          [
            'Push credential',
            isPush ? (
              <>
                <Badge state={push?.state ?? 'missing'} />
                {push?.expiresAt === undefined ? null : (
                  <>
                    {' '}
                    ends <When at={push.expiresAt} />
                  </>
                )}
              </>
            ) : undefined,
          ],
          [
            'Source',
            cluster.git && (
              <>
                <code>{cluster.git.path}</code> in{' '}
                <a href={href(path`/history/${cluster.git.repository}`, { cluster: slug })}>{cluster.git.repository}</a>
              </>
            ),
          ],
          [
            'Applied',
            cluster.appliedRevision && (
              <Copyable text={cluster.appliedRevision} what="revision that is applied" shown={10} />
            ),
          ],
          [
            'Desired',
            cluster.desiredRevision && (
              <Copyable text={cluster.desiredRevision} what="revision that is desired" shown={10} />
            ),
          ],
        ]}
      />
      <h2>Conditions</h2>
      <ConditionCards conditions={cluster.conditions} />
      <div class="heading">
        <h2>Settings</h2>
        <div class="buttons">
          <ActButton scope="clusters" onClick={() => setEditing(true)}>
            Change
          </ActButton>
          <a class="button" href={href(path`/clusters/${slug}/mode`)}>
            Switch mode
          </a>
        </div>
      </div>
      <Facts
        entries={[
          ['Mode', cluster.connectivityMode],
          ['Namespaces', listText(cluster.allowedNamespaces)],
          ['Catalog entries', listText(cluster.allowedCatalogEntries)],
          ['Operation templates', listText(cluster.allowedOperationTemplates)],
          ['Namespaces with approvals', listText(cluster.approvalNamespaces)],
          ['Reviews of its Git changes', cluster.git?.review],
          ['Client certificate', cluster.requireClientCertificate ? 'required' : 'not required'],
          ['Id', <Copyable text={cluster.id} what="id of the cluster" />],
          [
            'Bound to',
            cluster.clusterUid && <Copyable text={cluster.clusterUid} what="UID of the cluster" shown={13} />,
          ],
          ['Made', <When at={cluster.createdAt} />],
          ['Registered', cluster.registeredAt && <When at={cluster.registeredAt} />],
        ]}
      />
      {isEditing ? <EditClusterDialog cluster={cluster} onClose={() => setEditing(false)} onDone={reload} /> : null}
    </>
  );
}

const listText = (list: readonly string[]): string => (list.length === 0 ? 'none' : list.join(', '));

function operatorText({ operatorVersion, desiredOperatorVersion, operatorSupport }: Cluster): JSX.Element | string {
  if (operatorVersion === undefined) return 'has not said';
  const wanted = desiredOperatorVersion === undefined || desiredOperatorVersion === operatorVersion;
  return (
    <>
      {operatorVersion}
      {wanted ? null : `, to be ${desiredOperatorVersion}`}
      {operatorSupport === undefined ? null : (
        <>
          {' '}
          <Badge state={operatorSupport} tone={operatorSupport === 'supported' ? 'good' : 'warning'} />
        </>
      )}
    </>
  );
}

/** What somebody should do or know now, above everything else. */
function Waiting({ cluster }: { readonly cluster: Cluster }): JSX.Element | null {
  const { slug, status, disabledAt, modeSwitch, waitingFor } = cluster;
  const notices: JSX.Element[] = [];
  if (disabledAt !== undefined) {
    notices.push(
      <>
        It was disabled <When at={disabledAt} />: its operator is refused, and nothing is taken for it. What is
        installed runs on. <a href={href(path`/clusters/${slug}/credentials`)}>Enable it</a>
      </>,
    );
  } else if (status === 'Pending') {
    notices.push(
      <>
        No operator has registered yet. <a href={href(path`/clusters/${slug}/install`)}>Run the install command</a>{' '}
        where the cluster is.
      </>,
    );
  }
  if (modeSwitch !== undefined) {
    notices.push(
      <>
        A switch to {modeSwitch.to} is under way: {modeSwitch.state}.{' '}
        <a href={href(path`/clusters/${slug}/mode`)}>See how it stands</a>
      </>,
    );
  }
  if (waitingFor !== undefined) {
    notices.push(
      <>
        {waitingFor.intentId === undefined ? (
          'The oldest intent'
        ) : (
          <a href={href(path`/intents/${waitingFor.intentId}`)}>The oldest intent</a>
        )}{' '}
        {waitingFor.text}, since <When at={waitingFor.since} />.
      </>,
    );
  }
  if (notices.length === 0) return null;
  return (
    <ul class="notices">
      {notices.map((notice, index) => (
        <li key={index}>{notice}</li>
      ))}
    </ul>
  );
}

function ConditionCards({ conditions }: { readonly conditions: readonly Condition[] }): JSX.Element {
  if (conditions.length === 0) return <p class="quiet">Nothing is known of it before its operator has registered.</p>;
  const order: readonly Tone[] = ['bad', 'warning', 'waiting', 'good'];
  // `Disconnected` says the same as `Connected`, the other way round.
  const told = conditions.filter(({ type }) => type !== 'Disconnected');
  const sorted = told.sort((a, b) => order.indexOf(toneOfCondition(a)) - order.indexOf(toneOfCondition(b)));
  return (
    <ul class="condition-cards">
      {sorted.map((condition) => (
        <ConditionCard key={condition.type} condition={condition} />
      ))}
    </ul>
  );
}

function ConditionCard({ condition }: { readonly condition: Condition }): JSX.Element {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const tone = toneOfCondition(condition);
  return (
    <li class={`tone-edge-${tone}`}>
      <p class="condition-head">
        <Badge state={status} tone={tone} label={`${type}: ${status}`} />
        {reason === undefined ? null : <code>{reason}</code>}
        <When at={lastTransitionTime} />
      </p>
      {message === undefined ? null : (
        <p>
          <TextWithTimes text={message} />
        </p>
      )}
      {EXPLAINED[type] === undefined ? null : <p class="quiet">{EXPLAINED[type]}</p>}
    </li>
  );
}
