import { execFile } from 'node:child_process';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { Agent, fetch } from 'undici';
import { operatorSupport } from '../protocol/version-skew.ts';
import { HTTP_1 } from '../runtime/http-1.ts';
import { PROJECT_VERSION } from '../runtime/project-version.ts';
import { readBounded } from '../runtime/read-bounded.ts';
import { reasonOf } from './connection-error.ts';
import type { Me } from './me-text.ts';
import { refuseRedirect } from './no-redirect.ts';

/** What was looked at, what was found, and what to do. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  readonly next?: string;
}

export const DAY_MS = 86_400_000;
const TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;
/** RFC 9110's Date has whole seconds. */
const SKEW_NOTICED_MS = 5000;
/** What the control plane forgives a token's times. */
const SKEW_MAX_MS = 60_000;
const SOON_DAYS = 14;
const run = promisify(execFile);
const dispatcher = new Agent(HTTP_1);

/** Whether the server is there, and how far its clock is from this one. */
export async function checkServer(baseUrl: string, now: () => Date): Promise<readonly Finding[]> {
  const began = now();
  try {
    const answer = await fetch(`${baseUrl}/healthz`, {
      dispatcher,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await refuseRedirect(answer);
    await readBounded(answer, MAX_BYTES);
    const ms = now().getTime() - began.getTime();
    const check = 'connection';
    if (answer.status !== 200) {
      const next = 'Look at its log, and at the proxy before it';
      return [{ check, state: 'failed', message: `${baseUrl}/healthz answers ${answer.status}`, next }];
    }
    const date = Date.parse(answer.headers.get('date') ?? '');
    return [
      { check, state: 'ok', message: `${baseUrl} answers within ${ms} ms` },
      checkClock(date - (began.getTime() + ms / 2)),
    ];
  } catch (error) {
    const message = `${baseUrl} does not answer (${reasonOf(error)})`;
    const next = `See whether it runs and the address is right: curl ${baseUrl}/healthz`;
    return [{ check: 'connection', state: 'failed', message, next }];
  }
}

/** @param skewMs of the control plane's clock against this one */
export function checkClock(skewMs: number): Finding {
  const check = 'clock';
  if (Number.isNaN(skewMs)) return { check, state: 'skipped', message: 'the answer has no Date' };
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const message = `this machine's clock is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the control plane's`;
  if (Math.abs(skewMs) <= SKEW_NOTICED_MS) return { check, state: 'ok', message: "agrees with the control plane's" };
  const state = Math.abs(skewMs) > SKEW_MAX_MS ? 'failed' : 'warning';
  return { check, state, message, next: 'Set it by NTP: timedatectl set-ntp true' };
}

/** The certificate that the server shows; plain HTTP is for one machine alone. */
export async function checkTls(baseUrl: string, now: Date): Promise<Finding> {
  const check = 'tls';
  const { protocol, hostname, port } = new URL(baseUrl);
  if (protocol === 'http:') {
    if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
      return { check, state: 'ok', message: 'plain HTTP on this machine' };
    }
    return {
      check,
      state: 'warning',
      message: 'plain HTTP: everybody on the way can read the token',
      next: 'Serve it by HTTPS',
    };
  }
  try {
    const end = await certificateEnd(hostname.replace(/^\[|\]$/g, ''), port === '' ? 443 : Number(port));
    const left = Math.floor((end.getTime() - now.getTime()) / DAY_MS);
    const message = `its certificate is good until ${end.toISOString()}`;
    if (left >= SOON_DAYS) return { check, state: 'ok', message };
    return { check, state: 'warning', message: `${message}, ${left} days`, next: 'Renew it' };
  } catch (error) {
    const next = 'Give Node the authority: NODE_EXTRA_CA_CERTS=FILE servicectl doctor';
    return { check, state: 'failed', message: `its certificate is not trusted (${reasonOf(error)})`, next };
  }
}

/** @param server what the control plane says it is; undefined for one that does not say */
export function checkVersion(server: string | undefined): Finding {
  const check = 'version';
  if (server === undefined) return { check, state: 'skipped', message: 'the control plane does not say its version' };
  const message = `servicectl ${PROJECT_VERSION}, control plane ${server}`;
  const support = operatorSupport(server, PROJECT_VERSION);
  if (support === 'supported' || support === undefined) return { check, state: 'ok', message };
  const next =
    support === 'newer' ? 'Use the servicectl of that version, or upgrade the control plane' : 'Upgrade servicectl';
  return { check, state: 'warning', message, next };
}

export function checkToken(me: Me, now: Date): Finding {
  const check = 'token';
  if (me.organization === undefined) {
    const names = me.organizations.map(({ name }) => name).join(', ');
    const message = `it is not said which organization is meant: ${names}`;
    return { check, state: 'failed', message, next: 'Choose one: --organization NAME' };
  }
  const who = `${me.name} of ${me.organization.name}, by ${me.via === 'oidc' ? 'an identity provider' : 'a token'}`;
  if (me.tokenExpiresAt === undefined) return { check, state: 'ok', message: `${who} that does not expire` };
  const left = Date.parse(me.tokenExpiresAt) - now.getTime();
  const message = `${who} that ends at ${me.tokenExpiresAt}`;
  // Those of an identity provider are short, and are renewed.
  if (me.via === 'oidc' || left > SOON_DAYS * DAY_MS) return { check, state: 'ok', message };
  return { check, state: 'warning', message, next: 'Make another: servicectl admin-tokens create NAME' };
}

/** The commands that change something, by the scope that they need. */
const GROUPS: readonly (readonly [scope: string, commands: string])[] = [
  ['read', 'list, show and diff of everything'],
  ['deploy', 'apps install|upgrade|uninstall, operations run|cancel'],
  ['approve', 'proposals and operations approve|reject'],
  ['clusters', 'clusters create|update|mode|rotate|revoke|disable|delete'],
  ['catalog', 'catalog put|delete|login, templates put|delete'],
  ['repositories', 'repositories set|credentials|delete, commit-signing-keys'],
  ['organization', 'members, admin-tokens, channel webhooks, recovery-key'],
];

/** What may be done is no fault where it may not: whoever looks only is as he should be. */
export function checkPermissions({ scopes, organization }: Me): readonly Finding[] {
  return GROUPS.map(([scope, commands]): Finding => {
    const check = `may ${scope}`;
    if (scopes.includes(scope)) return { check, state: 'ok', message: commands };
    const next = `An admin of ${organization?.name ?? 'the organization'} can give it`;
    return { check, state: 'skipped', message: `not with this login: ${commands}`, next };
  });
}

/** Programs that printed scripts are run with. */
export async function checkPrograms(env: Readonly<Record<string, string | undefined>>): Promise<readonly Finding[]> {
  const programs = [
    ['git', ['--version'], 'to look at a repository as it is'],
    ['kubectl', ['version', '--client'], 'for what clusters install-command prints'],
  ] as const;
  return await Promise.all(
    programs.map(async ([program, args, why]): Promise<Finding> => {
      try {
        const { stdout } = await run(program, args, { timeout: TIMEOUT_MS, env: { PATH: env['PATH'] ?? '' } });
        return { check: program, state: 'ok', message: stdout.split('\n', 1)[0]?.trim() ?? '' };
      } catch {
        return {
          check: program,
          state: 'warning',
          message: `is not in PATH; it is needed ${why}`,
          next: `Install ${program}`,
        };
      }
    }),
  );
}

async function certificateEnd(host: string, port: number): Promise<Date> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername: /[a-z]/i.test(host) ? host : '', timeout: TIMEOUT_MS }, () => {
      resolve(new Date(socket.getPeerCertificate().valid_to));
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('timeout', () => socket.destroy(new Error('no answer')));
  });
}
