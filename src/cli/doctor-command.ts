import type { Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import { configFile, readConfig } from './cli-config.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { ShownCluster } from './cluster-table.ts';
import type { Tone } from './colours.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { checkCluster } from './doctor-cluster.ts';
import {
  checkPermissions,
  checkPrograms,
  checkServer,
  checkTls,
  checkToken,
  checkVersion,
  type Finding,
} from './doctor-checks.ts';
import { printable } from './git-views.ts';
import type { Me } from './me-text.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';
import { resolveConnection, type Connection } from './resolve-connection.ts';
import { serverVersion } from './server-version.ts';

const TONES: Readonly<Record<Finding['state'], Tone>> = {
  ok: 'good',
  warning: 'warning',
  failed: 'bad',
  skipped: 'dim',
};

const COLUMNS: readonly Column<Finding>[] = [
  { header: 'CHECK', value: ({ check }) => check },
  { header: 'RESULT', value: ({ state }) => state, tone: ({ state }) => TONES[state] },
  { header: 'MESSAGE', value: ({ message }) => message },
];

/** `servicectl doctor` */
export function addDoctorCommand(program: Command, deps: CliDeps): void {
  addOutput(withConnection(program.command('doctor')))
    .argument('[cluster]', 'also this one: slug or id')
    .description('looks whether everything is as it must be and says what to do; exits with 1 where something is not')
    .action(async (cluster: string | undefined, options: ConnectionOptions & OutputOptions) => {
      const items = await findings(cluster, options, deps);
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ check }) => check });
      const open = items.filter(({ state }) => state === 'failed' || state === 'warning');
      const isTable = options.output === 'table' || options.output === 'wide';
      const toDo = open.flatMap(({ check, next }) => (next === undefined ? [] : [`  ${check}: ${next}\n`]));
      if (isTable && toDo.length > 0) deps.out(printable(`\nTo do\n${toDo.join('')}`));
      const failed = items.filter(({ state }) => state === 'failed').map(({ check }) => check);
      if (failed.length > 0) throw new CliError(EXIT.failed, `not as it must be: ${failed.join(', ')}`);
    });
}

async function findings(cluster: string | undefined, options: ConnectionOptions, deps: CliDeps): Promise<Finding[]> {
  const clock = deps.clock ?? systemClock;
  const now = (): Date => clock.now();
  const programs = await checkPrograms(deps.env);
  let connection: Connection;
  try {
    connection = resolveConnection(options, deps);
    readConfig(deps);
  } catch (error) {
    return [asFinding('configuration', error), ...programs];
  }
  const { baseUrl } = connection;
  const found: Finding[] = [
    {
      check: 'configuration',
      state: 'ok',
      message: `${baseUrl}, ${configFile(deps) ?? 'without a configuration file'}`,
    },
    ...(await checkServer(baseUrl, now)),
    await checkTls(baseUrl, now()),
  ];
  if (found.some(({ check, state }) => check === 'connection' && state === 'failed')) return [...found, ...programs];
  found.push(checkVersion(await serverVersion(baseUrl)));
  const once = { ...options, requestTimeout: 10 };
  try {
    const me = await callControlPlane<Me>(once, deps, 'GET', '/me');
    found.push(checkToken(me, now()), ...checkPermissions(me));
  } catch (error) {
    return [...found, asFinding('token', error), ...programs];
  }
  found.push(...programs);
  if (cluster === undefined) return found;
  try {
    const path = `/clusters/${encodeURIComponent(cluster)}`;
    return [...found, ...checkCluster(await callControlPlane<ShownCluster>(once, deps, 'GET', path), now())];
  } catch (error) {
    return [...found, asFinding(cluster, error)];
  }
}

function asFinding(check: string, error: unknown): Finding {
  if (!(error instanceof CliError)) throw error;
  return { check, state: 'failed', message: error.message, ...(error.next === undefined ? {} : { next: error.next }) };
}
