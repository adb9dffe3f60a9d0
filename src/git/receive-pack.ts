import { readBounded } from '../runtime/read-bounded.ts';
import { authorizationOf, isFresh, type HttpCredential } from './git-credential.ts';
import { isObjectId, ZERO_ID } from './git-object.ts';
import { FLUSH_PKT, pktLine, readPktLines } from './pkt-line.ts';
import { classifyRejection, classifyStatus, type Rejection } from './rejection.ts';

export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** What a host says before a push: its branches and what it can do. */
export interface Advertisement {
  readonly refs: ReadonlyMap<string, string>;
  readonly capabilities: ReadonlySet<string>;
}

export type Answered<Value> =
  | { readonly state: 'ok'; readonly value: Value }
  | { readonly state: 'rejected'; readonly rejection: Rejection; readonly message: string };

export interface ReceivePackDeps {
  readonly url: string;
  readonly fetchLike: FetchLike;
  /** One exchange, in milliseconds. */
  readonly timeoutMs: number;
}

/** What one exchange sends, beside the credential. */
interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly body?: Buffer<ArrayBuffer>;
  readonly contentType?: string;
}

/** Of a token that was issued seconds ago: no conclusion is drawn from what the host answers to it. */
export const NOT_ACTIVE_YET = 'the credential is not active yet';

const AGENT = 'service-control-plane/0.1';
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_REPORT_BYTES = 1024 * 1024;

/** Asks for branches and capabilities (`info/refs?service=git-receive-pack`). Also tells whether a credential may write. */
export async function advertise(
  deps: ReceivePackDeps,
  credential: HttpCredential,
  signal: AbortSignal,
): Promise<Answered<Advertisement>> {
  const answer = await exchange(deps, 'info/refs?service=git-receive-pack', { method: 'GET' }, credential, signal);
  return answer.state === 'rejected' ? answer : readAdvertisement(answer.value);
}

/** What a host sent before a push, by whatever way it came. */
export function readAdvertisement(bytes: Buffer): Answered<Advertisement> {
  try {
    const refs = new Map<string, string>();
    let capabilities: ReadonlySet<string> | undefined;
    for (const packet of readPktLines(bytes)) {
      if (packet === undefined || packet[0] === 0x23) continue;
      const [line = '', features] = packet.toString('utf8').replace(/\n$/, '').split('\0');
      capabilities ??= new Set((features ?? '').split(' '));
      const [id = '', name = ''] = line.split(' ');
      if (isObjectId(id) && id !== ZERO_ID) refs.set(name, id);
    }
    if (capabilities === undefined) return unavailable('the Git host advertised nothing');
    return { state: 'ok', value: { refs, capabilities } };
  } catch (error) {
    return unavailable(`the address does not answer as a Git host: ${textOf(error)}`);
  }
}

/** One branch to be moved. */
export interface PackPush {
  readonly ref: string;
  readonly oldId: string | undefined;
  readonly newId: string;
  readonly pack: Buffer;
  readonly capabilities: ReadonlySet<string>;
}

/**
 * Moves `ref` from `oldId` to `newId` with one POST: the host does it only if the branch still is at `oldId`, so this
 * is a compare-and-swap and can never rewrite anything. `unavailable` leaves open whether it happened.
 */
export async function pushPack(
  deps: ReceivePackDeps,
  push: PackPush,
  credential: HttpCredential,
  signal: AbortSignal,
): Promise<Answered<undefined>> {
  const outgoing: Outgoing = {
    method: 'POST',
    body: pushRequest(push),
    contentType: 'application/x-git-receive-pack-request',
  };
  const answer = await exchange(deps, 'git-receive-pack', outgoing, credential, signal);
  return answer.state === 'rejected' ? answer : readReport(answer.value, push);
}

/** The command and the pack, as a host takes them by whatever way. */
export function pushRequest(push: PackPush): Buffer<ArrayBuffer> {
  const wanted = ['report-status', 'side-band-64k'].filter((name) => push.capabilities.has(name));
  const command = `${push.oldId ?? ZERO_ID} ${push.newId} ${push.ref}\0 ${wanted.join(' ')} agent=${AGENT}`;
  return Buffer.concat([pktLine(command), FLUSH_PKT, push.pack]);
}

/** What a host reported of a push. */
export function readReport(bytes: Buffer, push: Pick<PackPush, 'ref' | 'capabilities'>): Answered<undefined> {
  try {
    return readStatus(bytes, push.ref, push.capabilities.has('side-band-64k'));
  } catch (error) {
    return unavailable(`the Git host's report could not be read: ${textOf(error)}`);
  }
}

function readStatus(bytes: Buffer, ref: string, sideBand: boolean): Answered<undefined> {
  let report = bytes;
  let remoteText = '';
  if (sideBand) {
    const main: Buffer[] = [];
    for (const packet of readPktLines(bytes)) {
      if (packet?.[0] === 1) main.push(packet.subarray(1));
      else if (packet !== undefined) remoteText += packet.subarray(1).toString('utf8');
    }
    report = Buffer.concat(main);
  }
  remoteText = remoteText.slice(0, 64 * 1024).trim();
  let unpacked = false;
  for (const packet of readPktLines(report)) {
    const line = packet?.toString('utf8').trimEnd() ?? '';
    if (line.startsWith('unpack ')) {
      unpacked = line === 'unpack ok';
      if (!unpacked) return rejected(line.slice('unpack '.length), remoteText);
    } else if (line.startsWith(`ng ${ref} `)) {
      return rejected(line.slice(`ng ${ref} `.length), remoteText);
    } else if (line === `ok ${ref}` && unpacked) {
      return { state: 'ok', value: undefined };
    }
  }
  return unavailable(`the Git host did not say what became of the push${remoteText === '' ? '' : `: ${remoteText}`}`);
}

function rejected(reason: string, remoteText: string): Answered<never> {
  const message = remoteText === '' ? reason : `${reason}: ${remoteText}`;
  return { state: 'rejected', rejection: classifyRejection(reason, remoteText), message };
}

async function exchange(
  deps: ReceivePackDeps,
  path: string,
  outgoing: Outgoing,
  credential: HttpCredential,
  signal: AbortSignal,
): Promise<Answered<Buffer>> {
  const timeout = AbortSignal.timeout(deps.timeoutMs);
  try {
    const response = await deps.fetchLike(`${deps.url.replace(/\/$/, '')}/${path}`, {
      method: outgoing.method,
      ...(outgoing.body === undefined ? {} : { body: outgoing.body }),
      // A redirect would take the credential elsewhere.
      redirect: 'manual',
      headers: {
        authorization: authorizationOf(credential).expose(),
        'user-agent': AGENT,
        ...(outgoing.contentType === undefined ? {} : { 'content-type': outgoing.contentType }),
      },
      signal: AbortSignal.any([signal, timeout]),
    });
    const body = await readBounded(response, response.ok ? MAX_ANSWER_BYTES : MAX_REPORT_BYTES);
    if (response.ok) return { state: 'ok', value: body };
    if (response.status >= 300 && response.status < 400) {
      return unavailable(`the Git host redirects (${response.status}): set the repository's new URL`);
    }
    const text = (response.headers.get('content-type') ?? '').startsWith('text/plain')
      ? body.toString('utf8').trim()
      : '';
    const answered = `the Git host answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 500)}`}`;
    const rejection = classifyStatus(response.status);
    const isNotActive = rejection === 'auth' && isFresh(credential);
    return { state: 'rejected', rejection, message: isNotActive ? `${NOT_ACTIVE_YET}: ${answered}` : answered };
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted) return unavailable(`the Git host did not answer within ${deps.timeoutMs} ms`);
    return unavailable(`the Git host cannot be reached: ${textOf(error)}`);
  }
}

export function unavailable(message: string): Answered<never> {
  return { state: 'rejected', rejection: 'unavailable', message };
}

/** The outer words and the innermost: a failed fetch says why at the bottom of its causes. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  let inner = error;
  for (let depth = 0; depth < 5 && inner.cause instanceof Error && inner.cause.message !== ''; depth += 1) {
    inner = inner.cause;
  }
  return inner === error ? error.message : `${error.message}: ${inner.message}`;
}
