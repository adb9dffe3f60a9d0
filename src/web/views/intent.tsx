import type { JSX } from 'preact';
import { path } from '../api/client.ts';
import type { Intent } from '../api/intent.ts';
import { isOf, useResource } from '../api/use-resource.ts';
import { Badge } from '../components/badge.tsx';
import { Copyable } from '../components/copyable.tsx';
import { Facts } from '../components/facts.tsx';
import { CommitLink } from '../components/links.tsx';
import { Loaded } from '../components/states.tsx';
import { When } from '../components/when.tsx';
import { Page } from '../page.tsx';
import { href } from '../router.ts';
import type { ViewProps } from '../routes.ts';

/** From an intent to its commit or proposal, and how far it got. */
export function IntentView({ parts: [id = ''] }: ViewProps): JSX.Element {
  const intent = useResource<Intent>(path`/intents/${id}`, isOf('intents', 'proposals', 'events'));
  return (
    <Loaded of={intent}>
      {(data) => (
        <Page title={`${data.action} ${data.namespace}/${data.name}`} beside={<Badge state={data.state} />}>
          {data.reason === undefined ? null : <p>{data.reason}</p>}
          {data.requestReason === undefined ? null : <p class="note">{data.requestReason}</p>}
          <Facts entries={factsOf(data)} />
        </Page>
      )}
    </Loaded>
  );
}

function factsOf({
  proposal,
  receipt,
  ...intent
}: Intent): readonly (readonly [string, JSX.Element | string | undefined])[] {
  return [
    ['Intent', <Copyable text={intent.id} what="id of the intent" />],
    ['Generation', String(intent.generation)],
    ['Asked for by', intent.requestedBy],
    [
      'Proposal',
      proposal === undefined ? undefined : <a href={href(path`/proposals/${proposal.id}`)}>{proposal.state}</a>,
    ],
    [
      'Commit',
      receipt?.commit === undefined ? undefined : (
        <CommitLink repository={repositoryIn(receipt.link)} commit={receipt.commit} />
      ),
    ],
    ['Job', receipt?.jobId],
    ...(['acceptedAt', 'deliveredAt', 'appliedAt', 'readyAt'] as const).map(
      (step) =>
        [
          `${step.charAt(0).toUpperCase()}${step.slice(1, -2)}`,
          intent[step] === undefined ? undefined : <When at={intent[step]} />,
        ] as const,
    ),
  ];
}

/** Of the link of a commit in the API. */
function repositoryIn(link = ''): string | undefined {
  const name = /\/repositories\/([^/]+)\//.exec(link)?.[1];
  return name === undefined ? undefined : decodeURIComponent(name);
}
