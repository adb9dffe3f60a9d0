import { X509Certificate } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import type { Store } from '../store/open-store.ts';
import type { Measuring } from './control-plane-metrics.ts';

/** What this process has of its own: its queue of writes, and the end of the certificate that it shows. */
export function measureProcess(
  metrics: Pick<Measuring, 'read'>,
  {
    store,
    certificate,
    clock,
  }: { readonly store: Store; readonly certificate: string | undefined; readonly clock: Clock },
): void {
  metrics.read('service_database_writes_waiting', () => store.writesWaiting?.() ?? 0);
  if (certificate === undefined) return;
  const end = new X509Certificate(certificate).validToDate.getTime();
  metrics.read('service_tls_certificate_expiry_seconds', () => (end - clock.now().getTime()) / 1000);
}
