import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ApiError, OfflineError } from '../api/api-error.ts';
import { connection } from '../api/connection.ts';
import type { Resource } from '../api/use-resource.ts';
import { useStore } from '../use-store.ts';
import { contentShown } from './content-shown.ts';
import { Copyable } from './copyable.tsx';
import { Icon, type IconName } from './icon.tsx';

interface PanelProps {
  readonly icon: IconName;
  readonly title: string;
  readonly role?: 'alert' | 'status';
  readonly children?: ComponentChildren;
}

function Panel({ icon, title, role, children }: PanelProps): JSX.Element {
  return (
    <div class="state-panel" {...(role === undefined ? {} : { role })}>
      <Icon name={icon} />
      <div>
        <p class="state-title">{title}</p>
        {children}
      </div>
    </div>
  );
}

/** Grey lines where text will be. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">Loading…</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="bone" />
      ))}
    </div>
  );
}

/** There is nothing, and why that may be or what to do about it. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <Panel icon="empty" title={title}>
      {children === undefined ? null : <div class="quiet">{children}</div>}
    </Panel>
  );
}

function Offline({ why }: { readonly why: string }): JSX.Element {
  const { online } = useStore(connection);
  return (
    <Panel icon="offline" title="The control plane does not answer" role="alert">
      <p>
        {why[0]?.toUpperCase()}
        {why.slice(1)}.{' '}
        {online ? 'Reading again…' : 'It is asked again by itself; what you see here comes back when it answers.'}
      </p>
      <button type="button" onClick={() => connection.tryNow()}>
        <Icon name="retry" /> Try now
      </button>
    </Panel>
  );
}

/** 403: which scope is missing is in the control plane's own words. */
function NoPermission({ error }: { readonly error: ApiError }): JSX.Element {
  return (
    <Panel icon="lock" title="You may not see or do this" role="alert">
      <p>{error.message}</p>
      <p class="quiet">
        What you may do is under <a href="#/settings">Settings</a>. An admin of your organization can give you more.
      </p>
    </Panel>
  );
}

export function Failure({ error, retry }: { readonly error: Error; readonly retry?: () => void }): JSX.Element {
  if (error instanceof OfflineError) return <Offline why={error.message} />;
  if (error instanceof ApiError && error.status === 403) return <NoPermission error={error} />;
  const isMissing = error instanceof ApiError && error.status === 404;
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Panel icon="warning" title={isMissing ? 'There is no such thing' : 'This cannot be shown'} role="alert">
      <p class="fault">{error.message}</p>
      {requestId === undefined ? null : (
        <p class="quiet">
          Request <Copyable text={requestId} what="id of the request" />: the log has more under it.
        </p>
      )}
      {retry === undefined ? null : (
        <button type="button" onClick={retry}>
          <Icon name="retry" /> Try again
        </button>
      )}
    </Panel>
  );
}

interface LoadedProps<T> {
  readonly of: Resource<T>;
  readonly lines?: number;
  readonly children: (data: T) => ComponentChildren;
}

/** What a resource holds, or the state that it is in instead. What was read once stays while nothing answers. */
export function Loaded<T>({ of, lines, children }: LoadedProps<T>): JSX.Element {
  const isShown = of.data !== undefined;
  useEffect(() => {
    if (isShown) contentShown();
  }, [isShown]);
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error !== undefined) return <Failure error={of.error} retry={of.reload} />;
  return <Skeleton {...(lines === undefined ? {} : { lines })} />;
}
