import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, messageOf } from '../api/api-error.ts';
import { call } from '../api/client.ts';
import { beginSignIn, canSignInByOidc, type OidcProvider } from '../oidc.ts';
import { Page } from '../page.tsx';
import { session } from '../session.ts';

interface LoginOffer {
  readonly token: boolean;
  readonly oidc?: OidcProvider;
  /** Why nobody can sign in by the identity provider now. */
  readonly oidcFault?: string;
}

/** Sign in by a token, or at the identity provider where there is one. Who was on the way somewhere comes there. */
export function SignInView({ why }: { readonly why: string | undefined }): JSX.Element {
  const [offer, setOffer] = useState<LoginOffer>();
  const [fault, setFault] = useState(why);
  const [token, setToken] = useState('');
  useEffect(() => {
    const leave = new AbortController();
    call<LoginOffer>('GET', '/login', { signal: leave.signal, token: '' }).then(setOffer, (error: unknown) => {
      if (!leave.signal.aborted && !(error instanceof ApiError)) setFault(messageOf(error));
    });
    return () => leave.abort();
  }, []);
  useLayoutEffect(() => setFault(why), [why]);
  const submit = (event: Event): void => {
    event.preventDefault();
    session.open(token.trim());
  };
  return (
    <Page title="Sign in">
      <div class="sign-in">
        <p class="fault" role="alert">
          {fault}
        </p>
        {offer?.oidcFault === undefined ? null : <p class="note">{offer.oidcFault}</p>}
        {offer?.oidc === undefined ? null : <Provider provider={offer.oidc} onFault={setFault} />}
        <form onSubmit={submit}>
          <label for="token">Admin token</label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            required
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
          <p class="quiet">It stays in this tab and is gone when the tab is closed.</p>
          <button type="submit" class="main">
            Sign in
          </button>
        </form>
      </div>
    </Page>
  );
}

interface ProviderProps {
  readonly provider: OidcProvider;
  readonly onFault: (text: string) => void;
}

function Provider({ provider, onFault }: ProviderProps): JSX.Element {
  if (!canSignInByOidc()) {
    return (
      <p class="note">
        Signing in at {hostOf(provider.issuer)} works where this page is opened over https (or on this machine itself).
      </p>
    );
  }
  return (
    <div class="provider">
      <button
        type="button"
        class="main"
        onClick={() => void beginSignIn(provider).catch((error: unknown) => onFault(messageOf(error)))}
      >
        Sign in at {hostOf(provider.issuer)}
      </button>
      <p class="or quiet">or with a token</p>
    </div>
  );
}

const hostOf = (issuer: string): string => URL.parse(issuer)?.host ?? issuer;
