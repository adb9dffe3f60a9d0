import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMasterKey } from '../../src/control-plane/master-key.ts';

describe('openMasterKey', () => {
  let folder = '';
  let file = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'master-key-'));
    file = join(folder, 'master.key');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('makes a key that only its owner can read, and leaves nothing else behind', () => {
    openMasterKey({ file, randomBytes });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['master.key']);
    expect(readFileSync(file, 'utf8')).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
  });

  it('opens what it sealed, after a restart too', async () => {
    const sealed = await openMasterKey({ file, randomBytes }).seal('a private key', 'signing-key/c-1');
    expect(sealed).not.toContain(Buffer.from('a private key').toString('base64url'));
    const opened = await openMasterKey({ file, randomBytes }).open(sealed, 'signing-key/c-1');
    expect(opened.expose()).toBe('a private key');
    expect(String(opened)).toBe('[REDACTED]');
  });

  it('does not open what was sealed for another place, under another key, or altered', async () => {
    const key = openMasterKey({ file, randomBytes });
    const sealed = await key.seal('text', 'signing-key/c-1');
    await expect(key.open(sealed, 'signing-key/c-2')).rejects.toThrow('was sealed for another place');
    const other = openMasterKey({ file: `${file}-2`, randomBytes });
    await expect(other.open(sealed, 'signing-key/c-1')).rejects.toThrow('SERVICE_MASTER_KEY_FILE is not the one');
    const altered = sealed.replace(
      /\.([^.])([^.]*)$/,
      (_, first: string, rest: string) => `.${first === 'A' ? 'B' : 'A'}${rest}`,
    );
    await expect(key.open(altered, 'signing-key/c-1')).rejects.toThrow('does not open');
  });

  it('refuses a key that others can read, and says what to run', () => {
    openMasterKey({ file, randomBytes });
    for (const mode of [0o640, 0o604, 0o660]) {
      chmodSync(file, mode);
      expect(() => openMasterKey({ file, randomBytes })).toThrow(`run: chmod 600 ${file}`);
    }
  });

  it('refuses a file that holds no key instead of making another', () => {
    openMasterKey({ file, randomBytes });
    for (const text of ['', 'short', 'x'.repeat(44)]) {
      writeFileSync(file, text);
      expect(() => openMasterKey({ file, randomBytes })).toThrow('does not hold 32 bytes in base64url');
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
  });

  it('derives keys for other purposes, the same after a restart and different from each other', () => {
    const [first, again] = [openMasterKey({ file, randomBytes }), openMasterKey({ file, randomBytes })];
    expect(first.derive('a')).toEqual(again.derive('a'));
    expect(first.derive('a')).toHaveLength(32);
    expect(first.derive('a')).not.toEqual(first.derive('b'));
    expect(Buffer.from(first.derive('a')).toString('base64url')).not.toBe(readFileSync(file, 'utf8').trim());
  });
});
