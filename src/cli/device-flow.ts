import type { Clock } from '../runtime/clock.ts';
import { CliError, EXIT } from './cli-error.ts';
import { askIssuer, refusalOf, textIn, type IssuerAnswer } from './issuer-client.ts';

/** What a control plane says about logging in (`GET /api/v1/login`), as far as the device flow needs it. */
export interface IssuerInfo {
  readonly issuer: string;
  readonly clientId: string;
  /** Whom the token that is presented must be for. */
  readonly audience: string;
  readonly scopes: readonly string[];
  readonly deviceAuthorizationEndpoint?: string;
  readonly tokenEndpoint?: string;
}

export interface DeviceFlowDeps {
  readonly clock: Clock;
  /** Shows the person where to go, and what to enter there. */
  readonly tell: (text: string) => void;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** RFC 8628, section 3.2: where the issuer names none. */
const DEFAULT_INTERVAL_S = 5;
/** RFC 8628, section 3.5: what `slow_down` adds, for this and all later polls. */
const SLOWER_S = 5;
const MAX_INTERVAL_S = 60;
const MAX_WAIT_S = 1800;

/**
 * Logs a person in who does so with a browser anywhere (RFC 8628).
 *
 * @returns the token endpoint's answer, and where that is
 * @throws CliError
 */
export async function logInByDevice(
  info: IssuerInfo,
  deps: DeviceFlowDeps,
): Promise<{ readonly answer: IssuerAnswer; readonly tokenEndpoint: string }> {
  const { device, token: tokenEndpoint } = await endpointsOf(info);
  const scope = info.scopes.join(' ');
  const asked = await ask(info, device, { client_id: info.clientId, scope, ...resourceOf(info) });
  const deviceCode = textIn(asked.body, 'device_code');
  const userCode = textIn(asked.body, 'user_code');
  const address = textIn(asked.body, 'verification_uri');
  if (asked.status !== 200 || deviceCode === undefined || userCode === undefined || address === undefined) {
    throw refused(info, asked);
  }
  const complete = textIn(asked.body, 'verification_uri_complete');
  deps.tell(`Open ${address} and enter ${userCode}\n${complete === undefined ? '' : `or open ${complete}\n`}`);
  const form = { grant_type: DEVICE_GRANT, device_code: deviceCode, client_id: info.clientId };
  const answer = await poll(info, { url: tokenEndpoint, form, asked }, deps.clock);
  return { answer, tokenEndpoint };
}

async function poll(
  info: IssuerInfo,
  call: { readonly url: string; readonly form: Readonly<Record<string, string>>; readonly asked: IssuerAnswer },
  clock: Clock,
): Promise<IssuerAnswer> {
  const { url, form, asked } = call;
  let interval = numberIn(asked.body['interval']) ?? DEFAULT_INTERVAL_S;
  const seconds = Math.min(numberIn(asked.body['expires_in']) ?? MAX_WAIT_S, MAX_WAIT_S);
  const endAt = clock.now().getTime() + seconds * 1000;
  for (;;) {
    await clock.sleep(interval * 1000);
    const answer = await askIssuer(url, form).catch((error: unknown) => error);
    if (isAnswer(answer)) {
      if (answer.status === 200) return answer;
      const code = textIn(answer.body, 'error');
      if (code === 'slow_down') interval = Math.min(interval + SLOWER_S, MAX_INTERVAL_S);
      else if (code !== 'authorization_pending' && answer.status < 500) throw refused(info, answer);
    } else {
      // RFC 8628, section 3.5: an issuer that does not answer is asked less often.
      interval = Math.min(interval * 2, MAX_INTERVAL_S);
    }
    if (clock.now().getTime() >= endAt) {
      throw new CliError(EXIT.failed, `nobody entered the code within ${seconds} s`, 'Begin anew: servicectl login');
    }
  }
}

/** RFC 8707: an access token is for whom it is asked for. An ID token is for the client. */
function resourceOf({ audience, clientId }: IssuerInfo): { readonly resource?: string } {
  return audience === clientId || !URL.canParse(audience) ? {} : { resource: audience };
}

/** Those that the control plane names, else those of the issuer's own document (RFC 8414, section 3). */
async function endpointsOf(info: IssuerInfo): Promise<{ readonly device: string; readonly token: string }> {
  const { issuer, deviceAuthorizationEndpoint, tokenEndpoint } = info;
  if (deviceAuthorizationEndpoint !== undefined && tokenEndpoint !== undefined) {
    return { device: deviceAuthorizationEndpoint, token: tokenEndpoint };
  }
  const { body } = await ask(info, `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`);
  const device = deviceAuthorizationEndpoint ?? textIn(body, 'device_authorization_endpoint');
  const token = tokenEndpoint ?? textIn(body, 'token_endpoint');
  if (textIn(body, 'issuer') !== issuer) {
    throw new CliError(
      EXIT.failed,
      `the document of ${issuer} is of another issuer: ${textIn(body, 'issuer') ?? 'none'}`,
    );
  }
  if (device === undefined || token === undefined) {
    const next = 'Log in with a token: servicectl login URL --token-file FILE';
    throw new CliError(EXIT.failed, `${issuer} lets nobody log in from a command line: it has no device flow`, next);
  }
  return { device, token };
}

async function ask(
  { issuer }: IssuerInfo,
  url: string,
  form?: Readonly<Record<string, string>>,
): Promise<IssuerAnswer> {
  try {
    return await askIssuer(url, form);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message : 'unknown error';
    const next = `See whether it is there: curl ${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
    throw new CliError(EXIT.failed, `${issuer} does not answer (${why})`, next, { cause: error });
  }
}

function refused({ issuer }: IssuerInfo, answer: IssuerAnswer): CliError {
  const code = textIn(answer.body, 'error');
  if (code === 'access_denied') return new CliError(EXIT.failed, 'the login was refused in the browser');
  if (code === 'expired_token') {
    return new CliError(EXIT.failed, 'nobody entered the code in time', 'Begin anew: servicectl login');
  }
  return new CliError(EXIT.failed, `${issuer} does not log you in: ${refusalOf(answer)}`);
}

function isAnswer(value: unknown): value is IssuerAnswer {
  return typeof value === 'object' && value !== null && 'status' in value && 'body' in value;
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;
}
