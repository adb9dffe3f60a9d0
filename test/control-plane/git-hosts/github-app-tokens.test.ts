import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { GithubAppTokens } from '../../../src/control-plane/git-hosts/github-app-tokens.ts';
import type { FetchLike } from '../../../src/git/receive-pack.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const NEVER = new AbortController().signal;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const KEY = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
const HOUR_MS = 3_600_000;

/** GitHub's answers one after the other; then tokens of an hour. */
class Github {
  readonly asked: { readonly url: string; readonly body: { readonly permissions: Record<string, string> } }[] = [];
  readonly answers: (() => Response | Error)[] = [];
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  readonly fetchLike: FetchLike = async (url, init) => {
    this.asked.push({ url, body: JSON.parse(init.body as string) });
    const answer = this.answers.shift()?.() ?? this.token();
    if (answer instanceof Error) throw answer;
    return answer;
  };

  token(): Response {
    const expires_at = new Date(this.#now().getTime() + HOUR_MS).toISOString();
    return Response.json({ token: `ghs_${this.asked.length}`, expires_at, permissions: {} }, { status: 201 });
  }
}

/** Whoever sleeps has slept at once. */
class HastyClock extends ManualClock {
  override async sleep(ms: number): Promise<void> {
    this.advance(ms);
  }
}

function stage(random = 0.5, clock: ManualClock = new HastyClock()) {
  const github = new Github(() => clock.now());
  const credential = { kind: 'github-app', appId: '7', installationId: '42', privateKey: KEY } as const;
  const { fetchLike } = github;
  const deps = { apiUrl: 'https://api.github.com', repository: 'fleet', credential, fetchLike, clock };
  return { clock, github, tokens: new GithubAppTokens({ ...deps, random: () => random }) };
}

const refused = (status: number, message: string) => () => Response.json({ message }, { status });

describe('tokens of a GitHub App', () => {
  it('are asked for once by all who wait, and kept until shortly before their end', async () => {
    const clock = new ManualClock();
    const { github, tokens } = stage(0.5, clock);
    const [one, two] = await Promise.all([tokens.token(NEVER), tokens.token(NEVER)]);
    expect([one.token.expose(), two.token.expose()]).toEqual(['ghs_1', 'ghs_1']);
    // Five minutes before the end, and half of the five more by which renewals are spread.
    clock.advance(HOUR_MS - 7.5 * 60_000 - 1);
    expect((await tokens.token(NEVER)).token.expose()).toBe('ghs_1');
    clock.advance(1);
    expect((await tokens.token(NEVER)).token.expose()).toBe('ghs_2');
    expect(github.asked[0]?.url).toBe('https://api.github.com/app/installations/42/access_tokens');
  });

  it('are not read from an answer that does not end', async () => {
    const { github, tokens } = stage();
    const long = 'x'.repeat(1024 * 1024);
    for (let attempt = 1; attempt <= 4; attempt += 1) github.answers.push(() => new Response(long, { status: 201 }));
    await expect(tokens.token(NEVER)).rejects.toThrow('GitHub answers with more than 65536 bytes');
  });

  it('are asked for without the right to pull requests where the App has none', async () => {
    const { github, tokens } = stage();
    github.answers.push(refused(422, 'The permissions requested are not granted to this installation.'));
    expect((await tokens.token(NEVER)).token.expose()).toBe('ghs_2');
    expect(github.asked.map(({ body }) => Object.keys(body.permissions))).toEqual([
      ['contents', 'metadata', 'pull_requests'],
      ['contents', 'metadata'],
    ]);
  });

  it('are asked for again when GitHub is in trouble; the one before serves while it lasts', async () => {
    const clock = new HastyClock();
    const { github, tokens } = stage(0, clock);
    const outage = [() => new Error('socket hang up'), ...Array.from({ length: 3 }, () => refused(502, 'Bad gateway'))];
    github.answers.push(...outage.slice(0, 2));
    expect((await tokens.token(NEVER)).token.expose()).toBe('ghs_3');
    clock.advance(HOUR_MS - 4 * 60_000);
    github.answers.push(...outage);
    expect((await tokens.token(NEVER)).token.expose()).toBe('ghs_3');
    clock.advance(4 * 60_000);
    github.answers.push(...outage);
    await expect(tokens.token(NEVER)).rejects.toMatchObject({
      isLasting: false,
      message: 'GitHub answered 502 for a token (Bad gateway)',
    });
  });

  it.for([
    [401, 'A JSON web token could not be decoded', /does not take the App's key .*appId and privateKey/],
    [404, 'Not Found', /no such installation/],
    [403, 'This installation has been suspended', /refuses a token/],
  ] as const)('are asked for once where GitHub says no: %i', async ([status, message, words]) => {
    const { github, tokens } = stage();
    github.answers.push(refused(status, message));
    await expect(tokens.token(NEVER)).rejects.toMatchObject({ isLasting: true, message: expect.stringMatching(words) });
    expect(github.asked).toHaveLength(1);
  });
});
