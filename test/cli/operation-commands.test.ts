import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { CANCELLED, OperationStage, RUNNING, SUCCEEDED } from '../control-plane/operations/operation-stage.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

const folder = mkdtempSync(join(tmpdir(), 'operation-commands-'));
const tokenFile = join(folder, 'token');
let plane: RunningControlPlane;
let stage: OperationStage;

const TEMPLATES = `# Two of them.
name: migrate
description: Migrates the database of the shop.
parameters:
  type: object
  properties:
    target: { type: string, description: Version to migrate to. }
    steps: { type: integer, minimum: 1, default: 1 }
    tables: { type: array, items: { type: string } }
    env: { type: object, additionalProperties: { type: string } }
  required: [target]
  additionalProperties: false
run:
  template: run-job
  parameters:
    image: shop/migrate:7
    args: { $optional: tables }
    command: [migrate, { $value: target }]
    env: { $optional: env }
---
name: scale
deadlineSeconds: 60
`;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  writeFileSync(tokenFile, plane.token);
  const allowedOperationTemplates = ['run-job', 'scale', 'migrate'];
  stage = await OperationStage.create(plane, 'prod-eu', { connectivityMode: 'pull', allowedOperationTemplates });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** One command; answers the exit status and what was printed, on whichever of the two. */
async function run(...args: string[]): Promise<[number, string]> {
  let text = '';
  const write = (part: string): void => void (text += part);
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: tokenFile };
  const randomBytes = (n: number) => new Uint8Array(n).fill(0xab);
  return [await servicectl(args, { out: write, err: write, env, randomBytes }), text];
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe('servicectl templates', () => {
  it('puts each document of a file, and prints what can be put again', async () => {
    const bad = await run('templates', 'put', '-f', file('two.yaml', TEMPLATES));
    expect(bad).toEqual([1, expect.stringContaining('two.yaml:8: /parameters/properties/steps is used nowhere')]);
    const good = TEMPLATES.replace(/ {4}steps.*\n/, '');
    expect(await run('templates', 'put', '-f', file('two.yaml', good))).toEqual([
      0,
      'migrate: put, runs run-job\nscale: set\n',
    ]);
    const [, shown] = await run('templates', 'show', 'migrate', '-o', 'yaml');
    expect(await run('templates', 'put', '-f', file('again.yaml', shown))).toEqual([0, 'migrate: put, runs run-job\n']);
    const audit = await plane.call('GET', '/audit?kind=OperationTemplateUpdated');
    expect(audit.body['items']).toHaveLength(3);
    expect((await run('templates', 'list'))[1]).toMatch(/^migrate +run-job +1h +0 +- +Migrates/m);
    expect((await run('templates', 'list'))[1]).toMatch(/^scale +built in +1m/m);
    expect((await run('templates', 'show', 'migrate'))[1]).toMatch(/^ {2}target +string +required +Version/m);
  });

  it('names the line of every fault, and puts nothing of a file in which a name is missing', async () => {
    const text = 'name: other\nrun:\n  template: run-jobb\nretries: 99\n';
    expect(await run('templates', 'put', '-f', file('bad.yaml', text))).toEqual([
      1,
      expect.stringMatching(
        /bad\.yaml:4: \/retries must be from 0 to 10\n.*bad\.yaml:3: \/run\/template must be .*\n$/,
      ),
    ]);
    const next = text.replace('99', '0');
    expect((await run('templates', 'put', '-f', file('bad.yaml', next)))[1]).toMatch(
      /bad\.yaml:3: \/run\/template must be/,
    );
    const twice = 'name: a\nrun: { template: run-job }\n---\ndescription: b\n---\nname: a\n';
    expect(await run('templates', 'put', '-f', file('names.yaml', twice))).toEqual([
      2,
      expect.stringMatching(/names\.yaml:1: \/name is required.*\n.*names\.yaml:6: \/name a is in this file twice/),
    ]);
    expect(await run('templates', 'put', '-f', file('empty.yaml', '# nothing\n'))).toEqual([
      2,
      expect.stringContaining('holds no document'),
    ]);
  });

  it('deletes what no cluster lists, when that is meant', async () => {
    expect(await run('templates', 'delete', 'migrate')).toEqual([2, expect.stringContaining('--yes')]);
    expect(await run('templates', 'delete', 'migrate', '--yes')).toEqual([1, expect.stringContaining('of prod-eu')]);
    expect(await run('templates', 'delete', 'scale', '--yes')).toEqual([0, 'scale: deleted\n']);
    expect(await run('templates', 'show', 'nothing')).toEqual([
      1,
      expect.stringContaining('servicectl templates list'),
    ]);
  });
});

describe('servicectl operations', () => {
  it('runs one with parameters read by the types of its template, under a name of its own', async () => {
    const args = ['operations', 'run', 'prod-eu', 'migrate', '-n', 'shop'];
    const values = ['-p', 'target=7', '-p', 'tables=a', '-p', 'tables=b', '-p', 'env.A=x=y', '-p', 'env.B=2'];
    const [status, text] = await run(...args, ...values, '--deadline', '30m', '--ttl', '24h', '--reason', 'now');
    expect([status, text]).toEqual([
      0,
      expect.stringMatching(
        /^int-\S+: shop\/migrate-abababab is asked for\nTo follow it: servicectl operations show int-/,
      ),
    ]);
    const id = text.split(':')[0] ?? '';
    const { body } = await plane.call('GET', `/operations/${id}`);
    expect(body).toMatchObject({
      parameters: { target: '7', tables: ['a', 'b'], env: { A: 'x=y', B: '2' } },
      deadlineSeconds: 1800,
      ttlSecondsAfterFinished: 86_400,
      requestReason: 'now',
    });
    await stage.until(id, 'delivered');
    const [job] = (await stage.jobs()).filter(({ intentId }) => intentId === id);
    expect(job?.spec).toMatchObject({
      template: 'migrate',
      templateHash: expect.stringMatching(/^sha256-/),
      deadlineSeconds: 1800,
    });
    expect((await run('operations', 'list'))[1]).toMatch(
      new RegExp(`^${id} +prod-eu +shop/migrate-abababab +migrate +Pending +admin`, 'm'),
    );
    // The same name again.
    expect(await run(...args, ...values)).toEqual([
      1,
      expect.stringContaining('choose another name, such as migrate-abababab-2'),
    ]);
  });

  it('adds the members of a mapping to those of the parameters file, and takes a kind as kubectl writes it', async () => {
    const parameters = file('env.yaml', 'target: "7"\nenv: { A: of the file, B: of the file }\n');
    const values = ['--name', 'merged', '--params-file', parameters, '-p', 'env.B=given'];
    const [, text] = await run('operations', 'run', 'prod-eu', 'migrate', '-n', 'shop', ...values);
    const { body } = await plane.call('GET', `/operations/${text.split(':')[0]}`);
    expect(body['parameters']).toEqual({ target: '7', env: { A: 'of the file', B: 'given' } });
    const target = ['--target', 'deploy/web', '-p', 'replicas=2', '--dry-run'];
    expect(await run('operations', 'run', 'prod-eu', 'scale', '-n', 'shop', ...target)).toEqual([
      0,
      expect.stringContaining('kind: Deployment'),
    ]);
  });

  it('names every value that is not of its type, and every fault with its place', async () => {
    const scale = ['operations', 'run', 'prod-eu', 'scale', '-n', 'shop'];
    expect(await run(...scale, '-p', 'replicas=two')).toEqual([
      2,
      'servicectl: --param replicas: scale takes an integer there, not "two"\nSee what it takes: servicectl templates show scale\n',
    ]);
    expect(await run(...scale, '-p', 'replicas=-1', '-p', 'nme=web')).toEqual([
      1,
      expect.stringMatching(
        /\/parameters\/nme is not known.*\n\/parameters\/replicas must be from 0.*\n.*\/parameters\/name is required, or a targetRef\nSee what it takes/,
      ),
    ]);
    const params = file('params.yaml', '# of the scale\nname: web\nreplicas: many\n');
    expect((await run(...scale, '--params-file', params))[1]).toMatch(
      /params\.yaml:3: \/parameters\/replicas must be an integer/,
    );
    expect(await run(...scale, '--deadline', 'soon')).toEqual([2, expect.stringContaining('30m')]);
    expect(await run(...scale, '--target', 'web')).toEqual([2, expect.stringContaining('Deployment/web')]);
    expect((await run('operations', 'run', 'prod-eu', 'run-job', '-n', 'kube-system'))[1]).toContain(
      '/namespace namespace kube-system is not allowed',
    );
  });

  it('says in a dry run what would be refused, or what would be delivered', async () => {
    const scale = ['operations', 'run', 'prod-eu', 'scale', '-n', 'shop', '--dry-run', '--name', 'dry'];
    expect(await run(...scale, '-p', 'replicas=1')).toEqual([
      1,
      expect.stringContaining('/parameters/name: is required'),
    ]);
    const [status, text] = await run(...scale, '-p', 'replicas=1', '--target', 'Deployment/web');
    expect([status, text]).toEqual([0, expect.stringMatching(/kind: Operation[^]*targetRef:/)]);
    expect(plane.query("SELECT id FROM intents WHERE name = 'dry'")).toEqual([]);
  });

  it('waits for the end, and fails where it is not what was asked for', async () => {
    const begin = async (name: string): Promise<readonly [Promise<[number, string]>, string]> => {
      const args = ['operations', 'run', 'prod-eu', 'run-job', '-n', 'shop', '--name', name, '-p', 'image=a', '--wait'];
      const running = run(...args, '--timeout', '30s');
      const id = await stage.idOf(name);
      await stage.until(id, 'delivered');
      await stage.tell(name, id, [RUNNING]);
      return [running, id];
    };
    const [good, first] = await begin('good');
    await stage.tell('good', first, [SUCCEEDED]);
    expect(await good).toEqual([
      0,
      expect.stringMatching(/Succeeded: OperationSucceeded: as told\nint-\S+: Succeeded\n$/),
    ]);
    const [bad, second] = await begin('bad');
    const [, said] = await run('operations', 'cancel', second, '--reason', 'stop it');
    expect(said).toMatch(
      new RegExp(
        `^${second}: int-\\S+ cancels it \\(accepted\\)\nTo follow it: servicectl operations show ${second}\n$`,
      ),
    );
    await stage.tell('bad', second, [CANCELLED]);
    expect(await bad).toEqual([
      1,
      expect.stringContaining(
        `${second} ended as Cancelled: as told\nTo see all of it: servicectl operations show ${second}`,
      ),
    ]);
    expect(await run('operations', 'cancel', first)).toEqual([1, expect.stringContaining('has ended: Succeeded')]);
    const [, shown] = await run('operations', 'show', second);
    expect(shown).toMatch(/^phase +Cancelled$/m);
    expect(shown).toMatch(/^ {2}Cancelled=True +OperationCancelled/m);
    expect(shown).toMatch(/cancels, admin +ready/);
    expect(JSON.parse((await run('operations', 'show', second, '-o', 'json'))[1])).toMatchObject({ id: second });
    expect(await run('operations', 'show', 'int-nobody')).toEqual([
      1,
      expect.stringContaining('servicectl operations list'),
    ]);
  });
});
