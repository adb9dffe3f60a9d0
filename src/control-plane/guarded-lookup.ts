import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isPrivateAddress } from './channel/receiver-address.ts';

export type Lookup = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface LookupRules {
  /** Whether the network that this control plane stands in may be called. */
  readonly allowPrivate: boolean;
  /** Default: the system's. */
  readonly lookup?: Lookup;
}

/**
 * Resolves a name to addresses that may be called; one that may not refuses the name as a whole. A connection that is made
 * with it goes to the very addresses that were looked at. One to an address, without a name, never asks it.
 */
export function guardedLookup({ lookup = systemLookup, allowPrivate }: LookupRules) {
  return (
    hostname: string,
    options: LookupOptions,
    done: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) {
        done(error ?? new Error('the name has no address'), []);
        return;
      }
      if (!allowPrivate && addresses.some(({ address }) => isPrivateAddress(address))) {
        done(new Error('the name resolves to an address outside of the public network'), []);
        return;
      }
      if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}
