import { useLayoutEffect, useState } from 'preact/hooks';
import { useMe } from './me-context.ts';
import { addressStore } from './router.ts';
import { DRAFT_PREFIX, session } from './session.ts';

interface Draft<T> {
  readonly value: T;
}

/** What was typed into the forms of one address by one person, and is not sent yet. Nothing secret is kept. */
export interface Drafts {
  readonly read: (field: string) => Draft<unknown> | undefined;
  readonly write: (field: string, value: unknown) => void;
  readonly forget: () => void;
}

function draftsAt(key: string): Drafts {
  const all = (): Readonly<Record<string, Draft<unknown>>> => {
    try {
      return JSON.parse(sessionStorage.getItem(key) ?? '{}') as Record<string, Draft<unknown>>;
    } catch {
      return {};
    }
  };
  return {
    read: (field) => all()[field],
    write: (field, value) => {
      try {
        sessionStorage.setItem(key, JSON.stringify({ ...all(), [field]: { value } }));
      } catch {
        // There is no room for it: it is typed all the same.
      }
    },
    forget: () => sessionStorage.removeItem(key),
  };
}

/** The drafts of the address at which the form was opened: they outlive the session, a reload and going elsewhere. */
export function useDrafts(): Drafts {
  const { name } = useMe();
  const [drafts] = useState(() =>
    draftsAt(`${DRAFT_PREFIX}${session.state().organization ?? ''} ${name} ${addressStore.state().whole}`),
  );
  return drafts;
}

/** A state that is kept as a draft from the first change on. */
export function useDraft<T>(drafts: Drafts, field: string, initial: T | (() => T)): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => {
    const draft = drafts.read(field) as Draft<T> | undefined;
    if (draft !== undefined) return draft.value;
    return typeof initial === 'function' ? (initial as () => T)() : initial;
  });
  const change = (next: T): void => {
    setValue(() => next);
    drafts.write(field, next);
  };
  return [value, change];
}

/**
 * Asks before the page is left while something was typed that is kept nowhere, as what is secret. From the first letter on:
 * not after the next paint.
 */
export function useAskBeforeLoss(isLost: boolean): void {
  useLayoutEffect(() => {
    if (!isLost) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isLost]);
}
