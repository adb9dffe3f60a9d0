import { Type } from 'typebox';
import type { ChartSource } from '../../protocol/chart.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { Secret } from '../../runtime/secret.ts';
import { orderVersions, type ChartVersions } from './chart-versions.ts';
import { readChallenges } from './challenge.ts';
import { OciAuthorization } from './oci-authorization.ts';
import { isLoopback, ociAddress } from './registry-address.ts';
import { readText, type RegistryAnswer, type RegistryClient } from './registry-client.ts';
import { RegistryFault } from './registry-fault.ts';

const PAGE = 1000;
const MAX_PAGES = 200;
const MAX_TAGS = 20_000;
/** Of one page: a thousand tags of the longest name there may be (128) and their quotes, and what a registry adds. */
const MAX_PAGE_BYTES = 1024 * 1024;
/** A registry that gives each page another token is not asked for ever. */
const MAX_LOGINS = 5;

/** Answer of `GET /v2/<name>/tags/list` (OCI distribution specification, "Listing Tags"). Some say null for none. */
const parseTags = compileParser(
  Type.Object({ tags: Type.Optional(Type.Union([Type.Null(), Type.Array(Type.String({ maxLength: 256 }))])) }),
);

export interface AskContext {
  readonly client: Pick<RegistryClient, 'get'>;
  /** Value of `Authorization: Basic`, for who asks for it. */
  readonly basic: Secret | undefined;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/**
 * The versions of a chart in an OCI registry: its tags, page by page. Registries on this machine may speak plain HTTP, as
 * other clients hold it too; all others are asked by TLS alone.
 *
 * @throws RegistryFault
 */
export async function listOciVersions(chart: ChartSource, context: AskContext): Promise<ChartVersions> {
  const address = ociAddress(chart);
  if (address === undefined) {
    throw new RegistryFault('unusable', `${chart.url} names no repository: it must be oci://host/path/chart`);
  }
  const { base, repository } = address;
  try {
    return versionsOf(await listTags(base, repository, context));
  } catch (error) {
    if (!isLoopback(base) || !(error instanceof RegistryFault && error.speaksNoTls)) throw error;
    const plain = new URL(base.href.replace(/^https:/, 'http:'));
    return versionsOf(await listTags(plain, repository, context));
  }
}

/** Helm writes the `+` of a version as `_`, which no tag may hold otherwise than so. */
function versionsOf(tags: readonly string[]): ChartVersions {
  return orderVersions(tags.map((tag) => ({ version: tag.replaceAll('_', '+') })));
}

async function listTags(base: URL, repository: string, context: AskContext): Promise<readonly string[]> {
  const authorization = new OciAuthorization({ ...context, base, repository });
  const tags: string[] = [];
  const seen = new Set<string>();
  let next: URL | undefined = new URL(`/v2/${repository}/tags/list?n=${PAGE}`, base);
  while (next !== undefined) {
    if (seen.has(next.href) || seen.size === MAX_PAGES) {
      throw new RegistryFault('unusable', `${base.host} has no end of pages: more than ${seen.size}`);
    }
    seen.add(next.href);
    const page: Page = await readPage(next, repository, authorization, context);
    if (tags.length + page.tags.length > MAX_TAGS) {
      throw new RegistryFault('unusable', `${repository} has more than ${MAX_TAGS} tags, which are not listed`);
    }
    tags.push(...page.tags);
    next = page.next;
  }
  return tags;
}

interface Page {
  readonly tags: readonly string[];
  readonly next: URL | undefined;
}

/** Logs in where the registry asks for it: before the first page, and again where a token ends between two pages. */
async function readPage(
  url: URL,
  repository: string,
  authorization: OciAuthorization,
  { client, signal }: AskContext,
): Promise<Page> {
  for (let isRepeat = false; ; isRepeat = true) {
    const outcome = await client.get(
      url,
      { accept: 'application/json', authorization: authorization.current() },
      async (answer) => await readTags(answer, repository),
      signal,
    );
    if (!('challenges' in outcome)) return outcome;
    if (isRepeat || authorization.logins === MAX_LOGINS) {
      throw new RegistryFault('refused', authorization.refused(url.host));
    }
    await authorization.logIn(readChallenges(outcome.challenges));
  }
}

async function readTags(answer: RegistryAnswer, repository: string): Promise<Page | { readonly challenges: string }> {
  const { status, url } = answer;
  if (status === 401) return { challenges: answer.header('www-authenticate') ?? '' };
  if (status === 404) throw new RegistryFault('refused', `${url.host} has no repository ${repository} (404)`);
  if (status === 403) throw new RegistryFault('refused', `${url.host} does not let ${repository} be read (403)`);
  if (status !== 200) throw new RegistryFault('unusable', `${url.host} answered ${status} to a list of tags`);
  const text = await readText(answer, MAX_PAGE_BYTES);
  try {
    return { tags: parseTags(JSON.parse(text)).tags ?? [], next: nextPage(answer.header('link'), url) };
  } catch (error) {
    if (error instanceof RegistryFault) throw error;
    throw new RegistryFault('unusable', `${url.host} answers with something that is not a list of tags`);
  }
}

/** `Link: <address>; rel="next"` (RFC 8288), relative or absolute: of this very registry, as the credential goes along. */
function nextPage(header: string | undefined, url: URL): URL | undefined {
  const links = [...(header ?? '').slice(0, 8192).matchAll(/<([^>]*)>([^,<]*)/g)];
  const target = links.find(([, , parameters = '']) => /;\s*rel\s*=\s*"?next"?\s*(;|$)/i.test(parameters))?.[1];
  if (target === undefined) return undefined;
  const next = URL.canParse(target, url.href) ? new URL(target, url) : undefined;
  if (next === undefined || next.origin !== url.origin || !next.pathname.startsWith('/v2/')) {
    throw new RegistryFault('unusable', `${url.host} names a next page that is not its own`);
  }
  return next;
}
