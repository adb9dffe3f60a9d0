import { authorizationOf, isSshCredential, type GitCredential, type HttpCredential } from '../git-credential.ts';
import { gitConfigEnvironment } from '../git-process.ts';
import { advertise, pushPack } from '../receive-pack.ts';
import type { Advertisement, Answered, FetchLike, PackPush, ReceivePackDeps } from '../receive-pack.ts';
import { NATIVE_SETTINGS, type GitRemote, type NativeAccess } from './git-remote.ts';
import type { NativeLink } from './native-link.ts';
import { PrivateFiles } from './private-files.ts';

const EXCHANGE_TIMEOUT_MS = 60_000;

/** A repository over HTTP(S): this process pushes by itself, native git fetches. */
export class HttpRemote implements GitRemote {
  readonly url: string;
  readonly #link: NativeLink;
  readonly #exchange: ReceivePackDeps;

  constructor(deps: { readonly url: string; readonly fetchLike?: FetchLike; readonly link?: NativeLink }) {
    this.url = deps.url;
    this.#link = deps.link ?? {};
    const fetchLike = deps.fetchLike ?? globalThis.fetch;
    this.#exchange = { url: deps.url, fetchLike, timeoutMs: EXCHANGE_TIMEOUT_MS };
  }

  async advertise(credential: GitCredential, signal: AbortSignal): Promise<Answered<Advertisement>> {
    return await advertise(this.#exchange, requireHttp(credential), signal);
  }

  async push(push: PackPush, credential: GitCredential, signal: AbortSignal): Promise<Answered<undefined>> {
    return await pushPack(this.#exchange, push, requireHttp(credential), signal);
  }

  async native(credential: GitCredential): Promise<NativeAccess> {
    const { caCertificate, proxyUrl, resolve } = this.#link;
    const { hostname, port, protocol } = new URL(this.url);
    const settings: (readonly [string, string])[] = [
      ...NATIVE_SETTINGS,
      ['http.extraHeader', `Authorization: ${authorizationOf(requireHttp(credential)).expose()}`],
      ['http.followRedirects', 'false'],
      ['http.sslVerify', 'true'],
      // An empty one means none, whatever a variable of the surroundings says.
      ['http.proxy', proxyUrl?.expose() ?? ''],
      // At once, as this process's own connections do: else curl is turned away first on each of its own.
      ['http.proxyAuthMethod', 'basic'],
    ];
    const address = await resolve?.(hostname.replace(/^\[(.*)\]$/, '$1'));
    if (address !== undefined) {
      const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
      const literal = address.includes(':') ? `[${address}]` : address;
      settings.push(['http.curloptResolve', `${hostname}:${number}:${literal}`]);
    }
    const files = caCertificate === undefined ? undefined : await PrivateFiles.make();
    if (files !== undefined) settings.push(['http.sslCAInfo', await files.write('ca.pem', caCertificate ?? '')]);
    return {
      environment: { ...gitConfigEnvironment(settings), GIT_ALLOW_PROTOCOL: 'http:https' },
      [Symbol.asyncDispose]: async () => await files?.[Symbol.asyncDispose](),
    };
  }
}

function requireHttp(credential: GitCredential): HttpCredential {
  if (isSshCredential(credential)) throw new Error('a deploy key is for an ssh address; this one is over HTTPS');
  return credential;
}
