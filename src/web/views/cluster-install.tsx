import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { messageOf } from '../api/api-error.ts';
import { call, path } from '../api/client.ts';
import { ActButton } from '../components/act-button.tsx';
import { CopyButton } from '../components/copyable.tsx';
import { OnceDialog } from '../components/once.tsx';
import { When } from '../components/when.tsx';
import type { ClusterTabProps } from './cluster.tsx';

interface InstallLink {
  readonly commands: readonly string[];
  readonly expiresAt: string;
}

const STEPS = [
  'The namespace and the custom resource definitions',
  'The registration token: paste it when the command waits, then press Enter',
  'The operator',
  'Wait until it has registered',
];

/** The commands that install the operator, with links that are good for a short time. */
export function ClusterInstall({ cluster }: ClusterTabProps): JSX.Element {
  const [link, setLink] = useState<InstallLink>();
  const [token, setToken] = useState<string>();
  const [fault, setFault] = useState<string>();
  const run = async (act: () => Promise<void>): Promise<void> => {
    setFault(undefined);
    await act().catch((error: unknown) => setFault(messageOf(error)));
  };
  const makeLink = async (): Promise<void> =>
    setLink(await call<InstallLink>('POST', path`/clusters/${cluster.id}/install-link`, { body: {} }));
  const makeToken = async (): Promise<void> => {
    const issued = await call<{ readonly registrationToken: string }>(
      'POST',
      path`/clusters/${cluster.id}/registration-token`,
      { body: {} },
    );
    setToken(issued.registrationToken);
  };
  return (
    <>
      <p>
        {cluster.registeredAt === undefined ? (
          'No operator has registered yet.'
        ) : (
          <>
            An operator registered <When at={cluster.registeredAt} />. Running the commands again brings it up to date.
          </>
        )}{' '}
        Run the commands with <code>kubectl</code> of the cluster; they hold nothing secret, and their links end soon.
      </p>
      <div class="buttons">
        <ActButton scope="clusters" look="main" onClick={() => void run(makeLink)}>
          {link === undefined ? 'Make the commands' : 'Make them anew'}
        </ActButton>
        <ActButton scope="clusters" onClick={() => void run(makeToken)}>
          New registration token
        </ActButton>
      </div>
      <p class="fault" role="alert">
        {fault}
      </p>
      {link === undefined ? null : (
        <>
          <p class="quiet after-buttons">
            The links end <When at={link.expiresAt} />.
          </p>
          <ol class="commands">
            {link.commands.map((command, index) => (
              <li key={command}>
                <p>{STEPS[index]}</p>
                <div class="command">
                  <pre tabIndex={0} role="region" aria-label={`Command ${index + 1}`}>
                    {command}
                  </pre>
                  <CopyButton text={command} what={`command ${index + 1}`} />
                </div>
              </li>
            ))}
          </ol>
        </>
      )}
      {token === undefined ? null : (
        <OnceDialog
          title={`Registration token of ${cluster.slug}`}
          what="registration token"
          secret={token}
          onClose={() => setToken(undefined)}
        />
      )}
    </>
  );
}
