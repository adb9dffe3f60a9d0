import { listHelmVersions } from '../../../src/control-plane/catalog/helm-index.ts';
import { listOciVersions } from '../../../src/control-plane/catalog/oci-registry.ts';
import { RegistryClient } from '../../../src/control-plane/catalog/registry-client.ts';
import { RegistryFault } from '../../../src/control-plane/catalog/registry-fault.ts';
import type { ChartSource } from '../../../src/protocol/chart.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';

/** Waits that pass at once, and what they would have been. */
export class HurriedClock implements Clock {
  readonly slept: number[] = [];
  #now = Date.parse('2026-03-01T10:00:00.000Z');

  now(): Date {
    return new Date(this.#now);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.#now += ms;
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

export interface AskOptions {
  readonly credential?: { readonly username: string; readonly password: string };
  readonly etag?: string;
  readonly clock?: Clock;
  readonly allowPrivate?: boolean;
  readonly caCertificate?: string | undefined;
  readonly signal?: AbortSignal;
}

/** What is made of a registry's answers; a fault as `kind: message`. */
export async function askRegistry(chart: ChartSource, options: AskOptions = {}): Promise<unknown> {
  const { credential, etag, clock = new HurriedClock(), allowPrivate = true, caCertificate } = options;
  const ca = caCertificate === undefined ? {} : { caCertificate };
  await using client = new RegistryClient({ clock, random: () => 0.5, allowPrivate, ...ca });
  const { username, password } = credential ?? {};
  const context = {
    client,
    basic: credential && new Secret(`Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`),
    now: () => clock.now(),
    signal: options.signal ?? AbortSignal.timeout(20_000),
  };
  try {
    if (chart.type === 'oci') return await listOciVersions(chart, context);
    return await listHelmVersions(chart, { ...context, etag });
  } catch (error) {
    if (error instanceof RegistryFault) return `${error.kind}: ${error.message}`;
    throw error;
  }
}
