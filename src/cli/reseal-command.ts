import type { Command } from 'commander';
import { decodeProtectedHeader } from 'jose';
import { decryptWith, encryptTo, JweError } from '../protocol/jwe.ts';
import type { PublicJwk } from '../protocol/register.ts';
import { sealedAudience } from '../resources/sealed-audience.ts';
import type { Secret } from '../runtime/secret.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { printable } from './git-views.ts';
import { readRecoveryKey } from './recovery-key-file.ts';
import { cursorAfter } from './unexpected-answer.ts';

interface ResealOptions extends ConnectionOptions {
  readonly recoveryKey: readonly string[];
  readonly dryRun?: boolean;
}

/** `GET /clusters/{id}/recovery-values` */
interface RecoveryPage {
  readonly clusterId: string;
  readonly publicKey: PublicJwk | null;
  readonly recoveryKey: PublicJwk | null;
  readonly items: readonly Recoverable[];
  readonly nextCursor?: string;
}
interface Recoverable {
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly sealedValues: string;
  readonly recoveryValues?: string;
}

/** `servicectl reseal CLUSTER --recovery-key FILE` */
export function addResealCommand(program: Command, deps: CliDeps): void {
  withConnection(program.command('reseal'))
    .argument('<cluster>', 'slug or id')
    .requiredOption('--recovery-key <file...>', 'private recovery keys, the present one and earlier ones')
    .option('--dry-run', 'opens everything, and changes nothing')
    .description(
      'seals the secret values of a cluster to its present key, after it got a new one; they are opened here',
    )
    .action(async (cluster: string, options: ResealOptions) => await reseal(cluster, options, deps));
}

async function reseal(cluster: string, options: ResealOptions, deps: CliDeps): Promise<void> {
  const ring = options.recoveryKey.map(readRecoveryKey);
  const path = `/clusters/${encodeURIComponent(cluster)}`;
  let failed = 0;
  let count = 0;
  for await (const { page, item } of recoverables(path, options, deps)) {
    const { clusterId, publicKey, recoveryKey } = page;
    if (publicKey === null) {
      throw new CliError(EXIT.failed, `cluster ${cluster} has no key to seal to`, 'Register its operator first');
    }
    count += 1;
    const what = `${item.namespace}/${item.name}`;
    if (kidOf(item.sealedValues) === publicKey.kid) {
      deps.out(`${what}: is sealed to the present key already\n`);
      continue;
    }
    const aud = sealedAudience(clusterId, item.namespace, item.name);
    const values = await open(item, ring, aud);
    if (typeof values === 'string') {
      failed += 1;
      deps.err(printable(`${what}: ${values}\n`));
      continue;
    }
    if (options.dryRun === true) {
      deps.out(`${what}: would be sealed to ${publicKey.kid ?? 'the present key'}\n`);
      continue;
    }
    const { namespace, name, generation } = item;
    const body = {
      action: 'update',
      namespace,
      name,
      expectedGeneration: generation,
      sealedValues: await encryptTo(publicKey, values, { aud }),
      ...(recoveryKey === null ? {} : { recoveryValues: await encryptTo(recoveryKey, values, { aud }) }),
      reason: "sealed to the cluster's present key",
    };
    try {
      const intent = await callControlPlane<{ readonly id: string }>(options, deps, 'POST', `${path}/intents`, body);
      deps.out(`${what}: sealed to ${publicKey.kid ?? 'the present key'} (intent ${intent.id})\n`);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failed += 1;
      deps.err(printable(`${what}: ${error.message}\n`));
    }
  }
  if (count === 0) deps.out('no application of this cluster has secret values\n');
  if (failed > 0) {
    const next = 'Send their values again: an update intent with secretValues';
    throw new CliError(EXIT.failed, `${failed} of ${count} applications are not sealed anew`, next);
  }
}

async function* recoverables(
  path: string,
  options: ConnectionOptions,
  deps: CliDeps,
): AsyncIterable<{ readonly page: RecoveryPage; readonly item: Recoverable }> {
  let query = '';
  const seen = new Set<string>();
  for (;;) {
    const page = await callControlPlane<RecoveryPage>(options, deps, 'GET', `${path}/recovery-values${query}`);
    const next = cursorAfter(page, seen);
    for (const item of page.items) yield { page, item };
    if (next === undefined) return;
    query = `?cursor=${encodeURIComponent(next)}`;
  }
}

/** The values, or why they cannot be opened. */
async function open(item: Recoverable, ring: readonly Secret[], audience: string): Promise<Secret | string> {
  if (item.recoveryValues === undefined) return 'has no copy for a recovery key: there was none when it was accepted';
  try {
    return await decryptWith(ring, item.recoveryValues, { audience });
  } catch (error) {
    if (error instanceof JweError) return error.message;
    throw error;
  }
}

function kidOf(jwe: string): unknown {
  try {
    return decodeProtectedHeader(jwe).kid;
  } catch {
    return undefined;
  }
}
