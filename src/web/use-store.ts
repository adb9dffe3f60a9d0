import { useEffect, useState } from 'preact/hooks';

interface ReadableStore<T> {
  readonly state: () => T;
  readonly subscribe: (listener: () => void) => () => void;
}

/** The present state of a store outside the components, and again whenever it changes. */
export function useStore<T>(store: ReadableStore<T>): T {
  const [state, setState] = useState(store.state());
  useEffect(() => {
    const look = (): void => setState(() => store.state());
    // It may have changed between the first look and now.
    look();
    return store.subscribe(look);
  }, [store]);
  return state;
}
