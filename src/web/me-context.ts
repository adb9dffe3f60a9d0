import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Scope } from '../control-plane/access.ts';
import { whyNot, type Me } from './api/me.ts';

export const MeContext = createContext<Me | undefined>(undefined);

/** Who is signed in. Every view is drawn below somebody who is. */
export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error('nobody is signed in');
  return me;
}

/** Why the reader may not use what needs this scope; undefined: he may. */
export function useWhyNot(scope: Scope): string | undefined {
  return whyNot(useMe(), scope);
}
