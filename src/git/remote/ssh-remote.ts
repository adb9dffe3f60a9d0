import { spawn } from 'node:child_process';
import { isSshCredential, type GitCredential, type SshCredential } from '../git-credential.ts';
import { gitConfigEnvironment, gitEnvironment } from '../git-process.ts';
import { FLUSH_PKT } from '../pkt-line.ts';
import { pushRequest, readAdvertisement, readReport, unavailable } from '../receive-pack.ts';
import type { Advertisement, Answered, PackPush } from '../receive-pack.ts';
import { NATIVE_SETTINGS, type GitRemote, type NativeAccess } from './git-remote.ts';
import type { NativeLink } from './native-link.ts';
import { sshAddressOf, sshArguments, sshCommandEnvironment, writeSshFiles, type SshAddress } from './ssh-process.ts';
import { sshFaultOf } from './ssh-fault.ts';

const CONVERSATION_TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_STDERR = 16 * 1024;

interface Conversation {
  readonly advertised: Buffer;
  readonly report: Buffer;
}

/**
 * A repository over SSH with a deploy key. The machine's own ssh connects and native git fetches by it; a push is the same
 * exchange as over HTTP, on one connection: the host's `git-receive-pack` says where its branches are, and takes one command
 * with both ids and a pack. So it is a compare-and-swap here too, which `git push` without force cannot promise.
 */
export class SshRemote implements GitRemote {
  readonly url: string;
  readonly #address: SshAddress;
  readonly #link: NativeLink;

  constructor(deps: { readonly url: string; readonly link?: NativeLink }) {
    this.url = deps.url;
    this.#address = sshAddressOf(deps.url);
    this.#link = deps.link ?? {};
  }

  async advertise(credential: GitCredential, signal: AbortSignal): Promise<Answered<Advertisement>> {
    const answer = await this.#converse(requireSsh(credential), signal, () => FLUSH_PKT);
    return answer.state === 'rejected' ? answer : readAdvertisement(answer.value.advertised);
  }

  async push(push: PackPush, credential: GitCredential, signal: AbortSignal): Promise<Answered<undefined>> {
    let moved = false;
    let current = push;
    const answer = await this.#converse(requireSsh(credential), signal, (advertised) => {
      const known = readAdvertisement(advertised);
      if (known.state === 'rejected') return FLUSH_PKT;
      moved = known.value.refs.get(push.ref) !== push.oldId;
      current = { ...push, capabilities: known.value.capabilities };
      return moved ? FLUSH_PKT : pushRequest(current);
    });
    if (answer.state === 'rejected') return answer;
    if (moved) {
      return { state: 'rejected', rejection: 'moved', message: `${push.ref} is not at ${push.oldId ?? 'nothing'}` };
    }
    return readReport(answer.value.report, current);
  }

  async native(credential: GitCredential): Promise<NativeAccess> {
    const files = await writeSshFiles(this.#address, requireSsh(credential), this.#link);
    return {
      environment: {
        ...gitConfigEnvironment(NATIVE_SETTINGS),
        GIT_ALLOW_PROTOCOL: 'ssh',
        ...sshCommandEnvironment(files),
      },
      [Symbol.asyncDispose]: async () => await files[Symbol.asyncDispose](),
    };
  }

  /** One run of `git-receive-pack` at the host: its advertisement, what `reply` makes of it, and the rest of its words. */
  async #converse(
    credential: SshCredential,
    signal: AbortSignal,
    reply: (advertised: Buffer) => Buffer,
  ): Promise<Answered<Conversation>> {
    signal.throwIfAborted();
    await using stack = new AsyncDisposableStack();
    let files;
    try {
      files = stack.use(await writeSshFiles(this.#address, credential, this.#link));
    } catch (error) {
      return unavailable(`the Git host cannot be reached: ${error instanceof Error ? error.message : 'unknown'}`);
    }
    const timeout = AbortSignal.timeout(CONVERSATION_TIMEOUT_MS);
    const command = `git-receive-pack '${this.#address.path}'`;
    const child = spawn('ssh', [...sshArguments(files, this.#address), command], {
      env: gitEnvironment(),
      stdio: ['pipe', 'pipe', 'pipe'],
      signal: AbortSignal.any([signal, timeout]),
      killSignal: 'SIGKILL',
    });
    let bytes = Buffer.alloc(0);
    let end: number | undefined;
    let stderr = '';
    let failure: string | undefined;
    const { promise, resolve } = Promise.withResolvers<number | null>();
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => {
      failure = timeout.aborted ? `no answer within ${CONVERSATION_TIMEOUT_MS / 1000} s` : error.message;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < MAX_STDERR) stderr += chunk.toString('utf8');
    });
    child.stdout.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length > MAX_OUTPUT_BYTES) child.kill('SIGKILL');
      if (end !== undefined) return;
      end = endOfAdvertisement(bytes);
      if (end !== undefined) child.stdin.end(reply(bytes.subarray(0, end)));
    });
    child.on('close', (code) => resolve(code));
    // One that could not be started never closes its streams by itself.
    child.on('error', () => resolve(null));
    const code = await promise;
    signal.throwIfAborted();
    if (end !== undefined && code === 0) {
      return { state: 'ok', value: { advertised: bytes.subarray(0, end), report: bytes.subarray(end) } };
    }
    return sshFaultOf(failure ?? stderr, code);
  }
}

/** Behind the first flush; undefined where it has not come yet. Not packets at all: the whole of it, to be looked at. */
function endOfAdvertisement(bytes: Buffer): number | undefined {
  let at = 0;
  while (at + 4 <= bytes.length) {
    const digits = bytes.toString('latin1', at, at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) return bytes.length;
    const length = Number.parseInt(digits, 16);
    if (length === 0) return at + 4;
    at += Math.max(length, 4);
  }
  return undefined;
}

function requireSsh(credential: GitCredential): SshCredential {
  if (!isSshCredential(credential)) throw new Error('a token is for an https address; this one is over SSH');
  return credential;
}
