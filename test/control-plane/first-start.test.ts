import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetch } from 'undici';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/control-plane/config.ts';
import { startControlPlane, type ControlPlane } from '../../src/control-plane/start-control-plane.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'first-start-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function start(port: number, env: Readonly<Record<string, string>> = {}): Promise<ControlPlane> {
  const config = readConfig({
    SERVICE_LISTEN: `127.0.0.1:${port}`,
    SERVICE_DATA_DIR: folder,
    SERVICE_LOG_LEVEL: 'silent',
    ...env,
  });
  const logger = createLogger('test', 'silent');
  return await startControlPlane(config, { clock: systemClock, randomBytes, random: Math.random, logger });
}

it('makes the first admin token at the first start that can show it', async () => {
  await using taken = createServer();
  await once(taken.listen(0, '127.0.0.1'), 'listening');
  await expect(start((taken.address() as AddressInfo).port)).rejects.toThrow(/EADDRINUSE/);

  await using plane = await start(0);
  const headers = { authorization: `Bearer ${plane.adminToken?.expose() ?? ''}` };
  expect((await fetch(`${plane.url}/api/v1/clusters`, { headers })).status).toBe(200);
});

it("does not start with a person's token in SERVICE_ADMIN_TOKEN, who would go by two names then", async () => {
  let token = '';
  {
    await using plane = await start(0);
    token = plane.adminToken?.expose() ?? '';
  }
  const wrong = start(0, { SERVICE_ADMIN_TOKEN: token });
  await expect(wrong).rejects.toThrow('SERVICE_ADMIN_TOKEN is the token of first-admin; choose one that nobody has');
  await using plane = await start(0);
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${plane.url}/api/v1/clusters`, { headers })).status).toBe(200);
});
