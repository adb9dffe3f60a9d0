import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call, path } from '../api/client.ts';
import { Badge } from '../components/badge.tsx';
import { ActButton } from '../components/act-button.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Facts } from '../components/facts.tsx';
import { OnceDialog } from '../components/once.tsx';
import { toast } from '../components/toast.tsx';
import { When } from '../components/when.tsx';
import { go, href } from '../router.ts';
import { CLUSTER_ACTS, type ClusterAct } from './cluster-acts.tsx';
import type { ClusterTabProps } from './cluster.tsx';

interface Issued {
  readonly registrationToken: string;
  readonly registrationTokenExpiresAt: string;
}

/** With what a cluster comes in, how long that lasts, and how it is taken away. */
export function ClusterCredentials({ cluster, reload }: ClusterTabProps): JSX.Element {
  const [asked, setAsked] = useState<ClusterAct>();
  const [issued, setIssued] = useState<Issued>();
  const { slug, credential, push } = cluster;
  const act = async ({ verb, done }: ClusterAct): Promise<void> => {
    if (verb === 'delete') {
      await call('DELETE', path`/clusters/${cluster.id}`);
      toast(`Deleted ${slug}`);
      go('/clusters');
      return;
    }
    const answer = await call<Partial<Issued>>('POST', `${path`/clusters/${cluster.id}`}/${verb}`, { body: {} });
    if (answer.registrationToken !== undefined) setIssued(answer as Issued);
    toast(done(slug));
    reload();
  };
  return (
    <>
      <h2>The operator’s credential</h2>
      {credential === undefined ? (
        <p>
          There is none: no operator has registered, or it was revoked.{' '}
          <a href={href(path`/clusters/${slug}/install`)}>How an operator registers</a>
        </p>
      ) : (
        <Facts
          entries={[
            ['Ends', <When at={credential.expiresAt} />],
            ['Renewed by the operator', <When at={credential.rotateAfter} />],
            ['With a client certificate', credential.certified ? 'yes' : 'not seen yet'],
          ]}
        />
      )}
      {push === undefined ? null : (
        <>
          <h2>The credential for push mode</h2>
          <Facts
            entries={[
              ['State', <Badge state={push.state} />],
              ['API server', push.server && <code>{push.server}</code>],
              ['User', push.user],
              [
                'Given',
                push.setAt && (
                  <>
                    <When at={push.setAt} /> by {push.setBy}
                  </>
                ),
              ],
              ['Ends', push.expiresAt && <When at={push.expiresAt} />],
              [
                'Renews itself',
                push.renewable === true ? (
                  <>
                    yes, <When at={push.renewAt} />
                  </>
                ) : (
                  'no'
                ),
              ],
              ['Last renewal failed', push.renewalFault],
            ]}
          />
          <p class="quiet">
            Another is given by <code>servicectl clusters push-credential {slug} --kubeconfig FILE</code>.
          </p>
        </>
      )}
      <h2>What can be done</h2>
      <ul class="acts">
        {CLUSTER_ACTS.filter(({ isOffered }) => isOffered(cluster)).map((one) => (
          <li key={one.verb}>
            <div>
              <strong>{one.title}</strong>
              <p class="quiet">{one.short}</p>
            </div>
            <ActButton
              scope="clusters"
              onClick={() => setAsked(one)}
              why={one.whyNot?.(cluster)}
              {...(one.isDangerous ? { look: 'danger' as const } : {})}
            >
              {one.action}
            </ActButton>
          </li>
        ))}
      </ul>
      {asked === undefined ? null : (
        <ConfirmDialog
          title={`${asked.title}: ${slug}`}
          action={asked.action}
          isDangerous={asked.isDangerous}
          {...(asked.isDangerous ? { typed: slug } : {})}
          onClose={() => setAsked(undefined)}
          onConfirm={async () => await act(asked)}
        >
          {asked.explain(cluster)}
        </ConfirmDialog>
      )}
      {issued === undefined ? null : (
        <OnceDialog
          title={`Registration token of ${slug}`}
          what="registration token"
          secret={issued.registrationToken}
          onClose={() => setIssued(undefined)}
        >
          <p>
            It is of use once, and ends <When at={issued.registrationTokenExpiresAt} />.
          </p>
        </OnceDialog>
      )}
    </>
  );
}
