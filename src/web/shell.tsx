import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { connection } from './api/connection.ts';
import { live } from './api/live.ts';
import type { Me } from './api/me.ts';
import { Icon } from './components/icon.tsx';
import { ThemeSwitch } from './components/theme.tsx';
import { useAddress } from './router.ts';
import { matchRoute, ROUTES, type NavGroup } from './routes.ts';
import { SearchBox } from './search-box.tsx';
import { session } from './session.ts';
import { useStore } from './use-store.ts';

const GROUPS: readonly NavGroup[] = ['Run', 'Review', 'Record', 'Set up'];

interface ShellProps {
  /** Nobody is known yet where it is missing: then there is nothing to go to. */
  readonly me?: Me;
  readonly children: ComponentChildren;
}

/** What stands around every view: the bar, the ways to go, and whether what is seen is up to date. */
export function Shell({ me, children }: ShellProps): JSX.Element {
  const { whole } = useAddress();
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => setOpen(false), [whole]);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="bar">
        {me === undefined ? null : (
          <button
            type="button"
            class="bare menu"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="menu" />
            <span class="hidden">Menu</span>
          </button>
        )}
        <a class="brand" href="#/">
          service
        </a>
        {me === undefined ? null : <SearchBox />}
        <div class="bar-end">
          {me === undefined ? null : <LiveMark />}
          <ThemeSwitch />
          {me === undefined ? null : <Account me={me} />}
        </div>
      </header>
      <OfflineBanner />
      <div class={me === undefined ? 'frame alone' : 'frame'}>
        {me === undefined ? null : <Navigation isOpen={isOpen} />}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  );
}

/** The address belongs to the views: a fragment of its own would lead away from the present one. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Navigation({ isOpen }: { readonly isOpen: boolean }): JSX.Element {
  const { path } = useAddress();
  const route = matchRoute(path)?.route;
  const present = route?.nav?.path ?? route?.under;
  return (
    <nav id="navigation" class={isOpen ? 'open' : ''} aria-label="Pages">
      {GROUPS.map((group) => {
        const entries = ROUTES.flatMap(({ nav }) => (nav?.group === group ? [nav] : []));
        return entries.length === 0 ? null : (
          <div key={group}>
            <h2>{group}</h2>
            <ul>
              {entries.map(({ label, path: target }) => (
                <li key={target}>
                  <a href={`#${target}`} {...(target === present ? { 'aria-current': 'page' as const } : {})}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function Account({ me }: { readonly me: Me }): JSX.Element {
  return (
    <div class="account">
      {me.organizations.length > 1 ? (
        <label>
          <span class="hidden">Organization</span>
          <select value={me.organization.name} onChange={(event) => session.choose(event.currentTarget.value)}>
            {me.organizations.map(({ id, name }) => (
              <option key={id} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <a class="who" href="#/settings" title={`${me.displayName ?? me.name}, ${me.organization.name}`}>
        <Icon name="user" />
        <span>{me.displayName ?? me.name}</span>
      </a>
      <button type="button" onClick={() => session.close()}>
        Sign out
      </button>
    </div>
  );
}

const LIVE_WORDS = {
  live: ['Live', 'What you see changes by itself'],
  polling: ['Every 15 s', 'What you see is read again every 15 seconds'],
  connecting: ['…', 'Connecting'],
} as const;

function LiveMark(): JSX.Element {
  const state = useStore(LIVE_STORE);
  const [word, title] = LIVE_WORDS[state];
  return (
    <span class={`live ${state === 'live' ? 'streaming' : ''}`} title={title}>
      {word}
    </span>
  );
}
const LIVE_STORE = { state: live.state, subscribe: live.subscribeState };

function OfflineBanner(): JSX.Element {
  const { online } = useStore(connection);
  return (
    <div class={online ? 'offline-banner gone' : 'offline-banner'} role="status">
      {online ? null : (
        <>
          <Icon name="offline" />
          <span>The control plane does not answer. What you see may be old; it is asked again by itself.</span>
          <button type="button" onClick={() => connection.tryNow()}>
            Try now
          </button>
        </>
      )}
    </div>
  );
}
