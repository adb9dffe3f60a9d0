import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Me, Whoever } from './api/me.ts';
import { OfflineError } from './api/api-error.ts';
import { connection } from './api/connection.ts';
import { isOf, useResource } from './api/use-resource.ts';
import { ErrorBoundary } from './components/error-boundary.tsx';
import { Failure, Skeleton } from './components/states.tsx';
import { Toasts } from './components/toast.tsx';
import { MeContext } from './me-context.ts';
import { Page } from './page.tsx';
import { useAddress } from './router.ts';
import { matchRoute, ROUTES, type Route, type View } from './routes.ts';
import { session } from './session.ts';
import { Shell } from './shell.tsx';
import { useStore } from './use-store.ts';
import { SignInView } from './views/sign-in.tsx';

/** The whole page: sign-in, or the view of the address within the shell. */
export function App({ fault }: { readonly fault: string | undefined }): JSX.Element {
  const { token, organization, ended } = useStore(session);
  return (
    <>
      {token === undefined ? (
        <Shell>
          <SignInView why={ended ?? fault} />
        </Shell>
      ) : (
        <SignedIn key={`${token} ${organization ?? ''}`} />
      )}
      <Toasts />
    </>
  );
}

function SignedIn(): JSX.Element {
  const me = useResource<Whoever>('/me', isOf('members', 'admin-tokens'));
  const { organization, organizations = [] } = me.data ?? {};
  // What is on the page stays of this organization, whatever others the reader comes to belong to.
  const settled =
    organizations.length > 1 && session.state().organization === undefined ? organization?.name : undefined;
  useEffect(() => {
    if (settled !== undefined) session.choose(settled);
  }, [settled]);
  const known: Me | undefined =
    me.data === undefined || organization === undefined ? undefined : { ...me.data, organization };
  // One shell from the first moment on: where somebody is in its bar already stays when it is known who that is.
  return (
    <MeContext.Provider value={known}>
      <Shell {...(known === undefined ? {} : { me: known })}>
        {known !== undefined ? (
          <ErrorBoundary>
            <Routed />
          </ErrorBoundary>
        ) : me.data !== undefined ? (
          <ChooseOrganization from={organizations} />
        ) : me.error !== undefined ? (
          <NotLetIn error={me.error} retry={me.reload} />
        ) : (
          <Skeleton />
        )}
      </Shell>
    </MeContext.Provider>
  );
}

/** Where somebody belongs to several and has not said which: nothing is shown of any before. */
function ChooseOrganization({ from }: { readonly from: Me['organizations'] }): JSX.Element {
  return (
    <Page title="Choose an organization">
      <p>You may be meant in several. Choose one that you know: what you do is done there.</p>
      <ul class="buttons">
        {from.map(({ id, name }) => (
          <li key={id}>
            <button type="button" onClick={() => session.choose(name)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
      <div class="buttons">
        <button type="button" onClick={() => session.close()}>
          Sign in as somebody else
        </button>
      </div>
    </Page>
  );
}

/** A token may be good and its bearer nobody's member. */
function NotLetIn({ error, retry }: { readonly error: Error; readonly retry: () => void }): JSX.Element {
  return (
    <Page title="Not let in">
      <Failure error={error} retry={retry} />
      <div class="buttons">
        <button type="button" onClick={() => session.close()}>
          Sign in as somebody else
        </button>
      </div>
    </Page>
  );
}

/** Views that were loaded once are drawn at once. */
const loaded = new Map<Route, View>();

/** Brings the rest of the page once the first view stands: going on needs no waiting, and works while nothing answers. */
function loadTheRest(): void {
  for (const route of ROUTES) {
    route.load().then(
      (view) => loaded.set(route, view),
      // Said when somebody goes there.
      () => undefined,
    );
  }
}
const REST_MS = 1500;

function Routed(): JSX.Element {
  const { path, parameters } = useAddress();
  const { online } = useStore(connection);
  const match = matchRoute(path);
  const route = match?.route;
  const View = route === undefined ? undefined : loaded.get(route);
  const [failed, setFailed] = useState<{ readonly route: Route; readonly error: Error }>();
  const [, setTurn] = useState(0);

  // By what was drawn: a view that came in between is drawn now. Again once the control plane answers again.
  const isMissing = View === undefined;
  useEffect(() => {
    if (route === undefined || !isMissing) return undefined;
    let isLeft = false;
    route.load().then(
      (view) => {
        loaded.set(route, view);
        if (!isLeft) setTurn((turn) => turn + 1);
      },
      (error: unknown) => {
        if (isLeft) return;
        // Whether nothing answers, or only this file is not there.
        connection.tryNow();
        setFailed({ route, error: error instanceof Error ? error : new Error(String(error)) });
      },
    );
    return () => (isLeft = true);
  }, [route, isMissing, online]);

  useEffect(() => {
    const timer = setTimeout(loadTheRest, REST_MS);
    return () => clearTimeout(timer);
  }, []);

  if (match === undefined || route === undefined) {
    return (
      <Page title="There is no such page">
        <p>
          The address leads nowhere. <a href="#/">Go to the fleet</a>.
        </p>
      </Page>
    );
  }
  if (View !== undefined)
    return <View key={`${route.pattern.source} ${match.parts[0] ?? ''}`} parts={match.parts} parameters={parameters} />;
  if (failed?.route !== route) return <Skeleton />;
  if (!online) return <Failure error={new OfflineError('this part of the page is not loaded yet')} />;
  // Its file is gone where the control plane was upgraded since this tab was opened.
  return (
    <Failure
      error={new Error(`This part of the page could not be loaded (${failed.error.message}). Load the page again.`)}
      retry={() => location.reload()}
    />
  );
}
