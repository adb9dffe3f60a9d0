import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseStrictJson } from '../../src/protocol/strict-json.ts';

const run = promisify(execFile);
const LOGGER = join(import.meta.dirname, '../../src/runtime/logger.ts');

describe('a line of the log', () => {
  it('has each key once, whatever it names', async () => {
    const script = `
      const { createLogger } = await import(${JSON.stringify(LOGGER)});
      createLogger('service-operator', 'info').info({ name: 'podinfo', namespace: 'shop' }, 'said');`;
    const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', script]);
    // Refuses an object with a key twice.
    expect(parseStrictJson(Buffer.from(stderr.trim()))).toEqual({
      level: 30,
      time: expect.any(Number),
      program: 'service-operator',
      name: 'podinfo',
      namespace: 'shop',
      msg: 'said',
    });
  });
});
