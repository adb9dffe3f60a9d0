import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { connectCluster } from '../kube/connect-cluster.ts';
import { isWellFormedToken } from '../protocol/token.ts';
import type { Clock } from '../runtime/clock.ts';
import type { OperatorConfig } from './config.ts';
import { handOverToken, type HandOverDeps } from './hand-over-token.ts';
import { USER_AGENT } from './operator-version.ts';

export interface RegisterCommandDeps {
  readonly config: OperatorConfig;
  readonly clock: Clock;
  readonly random: () => number;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly stdin: AsyncIterable<Buffer | string>;
}

/** Exit statuses of `service-operator register`. */
export const REGISTER_EXIT = {
  registered: 0,
  /** Refused, or the cluster cannot be reached; the text says what to do. */
  failed: 1,
  usage: 2,
  /** The operator has not taken the token yet; it lies ready for it. */
  waiting: 3,
} as const;

export const REGISTER_HELP = `Gives a one-time registration token to the operator that runs in this cluster, and waits for what becomes of it.

Usage: service-operator register --token-file=<file> [--timeout=<seconds>]
       service-operator register --token=<token> [--timeout=<seconds>]

  --token-file=<file>  file with the token; - reads it from standard input
  --token=<token>      the token itself, which then shows in process lists and in the shell's history; - as above
  --timeout=<seconds>  how long to wait (default 120)

It needs a kubeconfig (SERVICE_OPERATOR_KUBECONFIG) of someone who may make Secrets in the operator's namespace
(SERVICE_OPERATOR_NAMESPACE), or runs in the operator's own pod:
  servicectl clusters registration-token <cluster> | kubectl -n service-system exec -i deploy/service-operator -- service-operator register --token-file=-

Exit status: 0 registered, 1 refused or failed, 2 usage, 3 not taken yet: the token lies ready for the operator.
`;

const MAX_TOKEN_BYTES = 4096;
const DEFAULT_TIMEOUT_SECONDS = 120;

/** Runs `service-operator register …`; answers the exit status. Never throws for what a person can mend. */
export async function registerCommand(args: readonly string[], deps: RegisterCommandDeps): Promise<number> {
  const { config, clock, random, out, err } = deps;
  let asked: Asked;
  try {
    asked = await readArguments(args, deps);
  } catch (error) {
    err(`service-operator register: ${(error as Error).message}\n`);
    return REGISTER_EXIT.usage;
  }
  if (asked === 'help') {
    out(REGISTER_HELP);
    return REGISTER_EXIT.registered;
  }
  if (asked.isInArguments) {
    err('hint: arguments show in process lists and in the history of the shell; --token-file=- reads standard input\n');
  }
  try {
    await using api = connectCluster({ kubeconfig: config.kubeconfig, userAgent: USER_AGENT, clock, random });
    const { token, timeoutMs } = asked;
    return await handOver({ api, namespace: config.namespace, clock }, { token, timeoutMs }, deps);
  } catch (error) {
    err(`service-operator register: ${(error as Error).message}\n`);
    return REGISTER_EXIT.failed;
  }
}

async function handOver(
  deps: HandOverDeps,
  given: { readonly token: string; readonly timeoutMs: number },
  { out, err }: Pick<RegisterCommandDeps, 'out' | 'err'>,
): Promise<number> {
  const outcome = await handOverToken(deps, given);
  switch (outcome.state) {
    case 'registered':
      out(`${outcome.message}\n`);
      return REGISTER_EXIT.registered;
    case 'refused':
      err(`service-operator register: ${outcome.message}\n`);
      return REGISTER_EXIT.failed;
    case 'waiting':
      err(`service-operator register: ${outcome.message}\n`);
      return REGISTER_EXIT.waiting;
  }
}

type Asked = 'help' | { readonly token: string; readonly timeoutMs: number; readonly isInArguments: boolean };

/** @throws Error whose message says what is wrong with the command line or the token, without the token */
async function readArguments(args: readonly string[], deps: Pick<RegisterCommandDeps, 'stdin'>): Promise<Asked> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      token: { type: 'string' },
      'token-file': { type: 'string' },
      timeout: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: false,
  });
  if (values.help === true) return 'help';
  const { token: inArguments, 'token-file': file, timeout = String(DEFAULT_TIMEOUT_SECONDS) } = values;
  if ((inArguments === undefined) === (file === undefined)) {
    throw new Error(
      'give the token by --token-file=<file>, - for standard input, or by --token=<token>; --help says more',
    );
  }
  if (!/^\d{1,5}$/.test(timeout)) throw new Error('--timeout takes whole seconds, at most 99999');
  const fromInput = inArguments === '-' || file === '-';
  const text = fromInput ? await readAll(deps.stdin) : (inArguments ?? (await readFile(file ?? '', 'utf8')));
  const token = text.trim();
  refuseLookalikes(token);
  return { token, timeoutMs: Number(timeout) * 1000, isInArguments: inArguments !== undefined && !fromInput };
}

/** A token of another control plane may look like anything; one that begins like ours is ours. */
function refuseLookalikes(token: string): void {
  if (token === '') throw new Error('there is no token in what was given');
  if (/\s/.test(token) || token.length > 256) {
    throw new Error('this is no token: it has white space inside, or more than 256 characters');
  }
  if (/^svc(?:agt|adm|git)_/.test(token)) {
    throw new Error('this is another kind of token; a registration token begins with svcreg_');
  }
  if (token.startsWith('svcreg_') && !isWellFormedToken('svcreg', token)) {
    throw new Error('the token was not copied whole, or a character of it changed; copy it again');
  }
}

async function readAll(stdin: AsyncIterable<Buffer | string>): Promise<string> {
  let text = '';
  for await (const part of stdin) {
    text += part.toString();
    if (text.length > MAX_TOKEN_BYTES) throw new Error('standard input holds more than a token');
  }
  return text;
}
