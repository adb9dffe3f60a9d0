import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import type { Json } from './kube-http.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const missing = spawnSync('kubectl', ['version', '--client']).error !== undefined;
if (missing) process.stderr.write('the contract’s kubectl part is skipped: there is no kubectl on the PATH\n');

/** What a person with kubectl gets to see. */
export function describeKubectl(context: () => ContractContext): void {
  describe.skipIf(missing)('by hand', { timeout: 90_000 }, () => {
    let folder: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'contract-kubectl-'));
      await writeFile(join(folder, 'kubeconfig'), context().cluster.kubeconfig, { mode: 0o600 });
    });
    afterAll(async () => {
      await rm(folder, { recursive: true, force: true });
    });

    async function kubectl(...args: string[]): Promise<Run> {
      const all = ['--namespace', context().namespace, ...args];
      const env = { ...process.env, KUBECONFIG: join(folder, 'kubeconfig'), HOME: folder };
      return new Promise((resolve) => {
        execFile('kubectl', all, { env, timeout: 60_000 }, (error, out, err) => {
          resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err });
        });
      });
    }

    async function file(object: Json): Promise<string> {
      const path = join(folder, `${String(object['metadata']['name'])}.json`);
      await writeFile(path, JSON.stringify(object));
      return path;
    }

    it('applies, says what it did, and changes nothing the second time', async () => {
      const { widget } = context();
      const words: string[] = [];
      for (const size of [1, 1, 2]) {
        words.push((await kubectl('apply', '-f', await file(widget('hand', { spec: { size } })))).out);
      }
      expect(words).toEqual([
        'widget.contract.example.com/hand created\n',
        'widget.contract.example.com/hand unchanged\n',
        'widget.contract.example.com/hand configured\n',
      ]);
      const tried = await kubectl('apply', '--dry-run=server', '-f', await file(widget('dry')));
      expect(tried.out).toBe('widget.contract.example.com/dry created (server dry run)\n');
      expect((await kubectl('get', 'widget', 'dry')).code).toBe(1);
    });

    it('shows the manager and the field of a conflict', async () => {
      const { http, widgets, widget } = context();
      await http.apply(widgets('owned-field'), 'other', widget('owned-field', { spec: { size: 1 } }));
      const path = await file(widget('owned-field', { spec: { size: 2 } }));
      const { code, err } = await kubectl('apply', '--server-side', '--field-manager=hand', '-f', path);
      expect(code).toBe(1);
      expect(err).toContain('Apply failed with 1 conflict: conflict with "other": .spec.size');
      const forced = await kubectl('apply', '--server-side', '--force-conflicts', '--field-manager=hand', '-f', path);
      expect([forced.code, forced.out]).toEqual([0, 'widget.contract.example.com/owned-field serverside-applied\n']);
    });

    it('prints the definition’s columns, the less important ones when asked to', async () => {
      const { http, widgets, widget } = context();
      await http.post(widgets(), widget('shown', { spec: { size: 7, color: 'red' } }));
      const heading = async (...args: string[]): Promise<string[]> => {
        const { out } = await kubectl('get', 'wd', 'shown', ...args);
        return out.split('\n').map((line) =>
          line
            .trim()
            .replaceAll(/ +/g, ' ')
            .replace(/ \d+s$/, ' now'),
        );
      };
      expect(await heading()).toEqual(['NAME SIZE READY AGE', 'shown 7 now', '']);
      expect(await heading('-o', 'wide')).toEqual(['NAME SIZE READY COLOR AGE', 'shown 7 red now', '']);
    });

    it('explains the fields of a definition', async () => {
      let run = await kubectl('explain', 'widget.spec');
      // The document of all schemas is made anew a moment after a definition is there.
      for (let tries = 0; tries < 60 && run.code !== 0; tries += 1) {
        await delay(500);
        run = await kubectl('explain', 'widget.spec');
      }
      expect(run.out).toMatch(/size\s+<integer>/);
      expect(run.out).toMatch(/color\s+<string>/);
      expect((await kubectl('explain', 'widget.spec.nothing')).code).toBe(1);
    });

    it('puts refusals in the words of the server', async () => {
      const { widget } = context();
      const absent = await kubectl('get', 'widget', 'absent');
      expect([absent.code, absent.err]).toEqual([
        1,
        'Error from server (NotFound): widgets.contract.example.com "absent" not found\n',
      ]);
      const named = await kubectl('create', '-f', await file(widget('Bad_Name')));
      expect(named.err).toMatch(/^The Widget "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": a /);
      const taken = await kubectl('create', 'configmap', 'taken');
      const again = await kubectl('create', 'configmap', 'taken');
      expect([taken.code, again.code]).toEqual([0, 1]);
      expect(again.err).toMatch(/configmaps "taken" already exists\n$/);
      const gone = await kubectl('delete', 'configmap', 'taken');
      expect(gone.out).toMatch(/^configmap "taken" deleted/);
      expect((await kubectl('delete', 'configmap', 'taken', '--ignore-not-found')).code).toBe(0);
    });
  });
}
