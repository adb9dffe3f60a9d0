import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { issuePrivateChain } from '../support/private-authority.ts';
import { AdminClient } from './admin-client.ts';
import { CHECKS } from './checks.ts';
import { HttpClient } from './http-client.ts';
import { printFinding } from './print-report.ts';
import { runChecks } from './run-checks.ts';

describe('a control plane with a certificate of a private CA', () => {
  it('keeps the rules, and tells the root that its certificate ends at', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'conformance-tls-'));
    try {
      const { root, intermediate, leaf, key } = await issuePrivateChain('conformance');
      writeFileSync(join(folder, 'cert.pem'), leaf + intermediate + root);
      writeFileSync(join(folder, 'key.pem'), key);
      const env = { SERVICE_TLS_CERT: join(folder, 'cert.pem'), SERVICE_TLS_KEY: join(folder, 'key.pem') };
      await using plane = await RunningControlPlane.start(undefined, env);
      using http = new HttpClient(plane.url, root);
      const { id, registrationToken } = await new AdminClient(http, plane.token).newCluster();
      expect(id).toMatch(/^c-/);
      const checks = CHECKS.filter((check) => check.needs === undefined && !check.id.startsWith('rate-limits'));
      const { findings } = await runChecks({ url: plane.url, registrationToken, ca: root }, checks);
      expect(findings.filter(({ verdict }) => verdict !== 'pass').map(printFinding)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
