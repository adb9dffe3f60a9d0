import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { parse, stringify, YAMLParseError } from 'yaml';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';

const strict = { additionalProperties: false } as const;
const Text = Type.String({ minLength: 1, maxLength: 16_384 });

/** What a login by OIDC left: tokens, and where new ones come from. */
const OidcLogin = Type.Object(
  {
    issuer: Text,
    clientId: Text,
    tokenEndpoint: Text,
    /** Which of the issuer's tokens the control plane takes. */
    use: Type.Union([Type.Literal('id_token'), Type.Literal('access_token')]),
    token: Text,
    refreshToken: Type.Optional(Text),
    /** RFC 3339. */
    expiresAt: Type.Optional(Text),
  },
  strict,
);
export type OidcLogin = Static<typeof OidcLogin>;

/** A control plane, and who calls it: one of `tokenFile`, `token` and `oidc`; none after a logout. */
const Context = Type.Object(
  {
    server: Text,
    organization: Type.Optional(Text),
    tokenFile: Type.Optional(Text),
    token: Type.Optional(Text),
    oidc: Type.Optional(OidcLogin),
  },
  strict,
);
export type Context = Static<typeof Context>;

const Config = Type.Object(
  { currentContext: Type.Optional(Text), contexts: Type.Record(Type.String(), Context) },
  strict,
);
export type Config = Static<typeof Config>;

/** `$XDG_CONFIG_HOME/servicectl/config.yaml`, by default in `~/.config`; undefined where there is no home. */
export function configFile({ env }: Pick<CliDeps, 'env'>): string | undefined {
  const { XDG_CONFIG_HOME: xdg = '', HOME: home = '' } = env;
  if (xdg.startsWith('/')) return join(xdg, 'servicectl', 'config.yaml');
  return home === '' ? undefined : join(home, '.config', 'servicectl', 'config.yaml');
}

/** @throws CliError for a file that cannot be read; one that is not there holds nothing */
export function readConfig(deps: Pick<CliDeps, 'env'>): Config {
  const file = configFile(deps);
  if (file === undefined) return { contexts: {} };
  let value: unknown;
  try {
    value = parse(readFileSync(file, 'utf8')) ?? { contexts: {} };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code === 'ENOENT') return { contexts: {} };
    // The parser's own words quote the text, which holds secrets.
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
    const where = line === undefined ? file : `${file}:${line}`;
    throw new CliError(EXIT.usage, `${where} cannot be read (${code})`, `Repair it, or move it away and log in again`);
  }
  if (Value.Check(Config, value)) return value;
  const [fault] = Value.Errors(Config, value);
  throw new CliError(
    EXIT.usage,
    `${file} is not a configuration of servicectl: ${fault?.instancePath ?? '/'} ${fault?.message ?? ''}`,
    'Repair it, or move it away and log in again: servicectl login URL',
  );
}

/** Whole or not at all, and for its owner alone. Call it with the lock held (`withConfigLock`). */
export function writeConfig(deps: Pick<CliDeps, 'env'>, config: Config): void {
  // A link, as of files that are kept elsewhere, stays one.
  const file = realFile(requireConfigFile(deps));
  const next = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(next, stringify(config, { lineWidth: 0 }), { mode: 0o600, flush: true });
    chmodSync(next, 0o600);
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CliError(EXIT.failed, `${file} cannot be written (${code})`, undefined, { cause: error });
  }
}

function realFile(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** With its folder there. @throws CliError where there is no home */
export function requireConfigFile(deps: Pick<CliDeps, 'env'>): string {
  const file = configFile(deps);
  if (file === undefined) {
    throw new CliError(EXIT.usage, 'there is no place for the configuration', 'Set HOME or XDG_CONFIG_HOME');
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return file;
}
