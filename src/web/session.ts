const TOKEN_KEY = 'service-admin-token';
const ORGANIZATION_KEY = 'service-organization';
/** What was typed and not sent yet is kept under keys that begin so (drafts.ts). */
export const DRAFT_PREFIX = 'service-draft ';

/** Who looks: kept for this tab alone, and gone with it. */
export interface SessionState {
  readonly token?: string;
  /** Chosen by somebody who belongs to several. */
  readonly organization?: string;
  /** Why the session before this one ended. */
  readonly ended?: string;
}

const listeners = new Set<() => void>();

function read(): SessionState {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const organization = sessionStorage.getItem(ORGANIZATION_KEY);
  return { ...(token === null ? {} : { token }), ...(organization === null ? {} : { organization }) };
}

let state: SessionState = read();

function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFT_PREFIX)) sessionStorage.removeItem(key);
}

function change(next: SessionState): void {
  state = next;
  for (const listener of listeners) listener();
}

export const session = {
  state: (): SessionState => state,

  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },

  open: (token: string): void => {
    sessionStorage.setItem(TOKEN_KEY, token);
    sessionStorage.removeItem(ORGANIZATION_KEY);
    change({ token });
  },

  choose: (organization: string): void => {
    sessionStorage.setItem(ORGANIZATION_KEY, organization);
    change({ ...state, organization });
  },

  /** What an older token was answered does not end the session of a newer one. */
  close: (ended?: string, token = state.token): void => {
    if (token !== state.token) return;
    sessionStorage.removeItem(TOKEN_KEY);
    sessionStorage.removeItem(ORGANIZATION_KEY);
    // Who signs out leaves nothing behind; a session that ends is gone on with.
    if (ended === undefined) forgetDrafts();
    change(ended === undefined ? {} : { ended });
  },
};
