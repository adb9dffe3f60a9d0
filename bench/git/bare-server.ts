import { pino } from 'pino';
import { ExpiredTombstones } from '../../src/delivery/gitops/write/expired-tombstones.ts';
import type { RepositoryLayout } from '../../src/delivery/gitops/layout.ts';
import { planChain } from '../../src/delivery/gitops/write/plan-chain.ts';
import { runGit } from '../../src/git/git-process.ts';
import { Mirror } from '../../src/git/mirror.ts';
import { writePack } from '../../src/git/pack.ts';
import { FLUSH_PKT, pktLine } from '../../src/git/pkt-line.ts';
import type { Rendered } from '../../src/intent/rendered.ts';
import { IDENTITY } from './peers.ts';

/** `git receive-pack` on a bare repository, without HTTP and without our checks: no writer can be faster than it. */
export class BareServer implements AsyncDisposable {
  readonly path: string;
  readonly #layout: RepositoryLayout;
  readonly #mirror: Mirror;

  constructor(path: string, layout: RepositoryLayout) {
    this.path = path;
    this.#layout = layout;
    this.#mirror = new Mirror({
      path,
      url: 'http://127.0.0.1:1/',
      branch: 'main',
      logger: pino({ level: 'silent' }),
    });
  }

  /** What a client would send for these intents, made by our own code from the server's own objects. */
  async plan(batch: readonly Rendered[]): Promise<Buffer> {
    const commit = (await this.#mirror.tip()) ?? '';
    const tip = { commit, root: await this.#mirror.readTreeOfCommit(commit) };
    const deps = {
      reader: this.#mirror,
      layout: this.#layout,
      committer: IDENTITY,
      tombstones: new ExpiredTombstones(),
      now: new Date(),
    };
    const plan = await planChain(deps, tip, batch);
    const objects = plan.commits.flatMap((planned) => planned.objects);
    const pack = await writePack(objects, { thin: true });
    const command = `${commit} ${plan.tip.commit ?? ''} refs/heads/main\0 report-status`;
    return Buffer.concat([pktLine(command), FLUSH_PKT, pack]);
  }

  async receive(push: Buffer): Promise<void> {
    const output = await runGit(['receive-pack', '--stateless-rpc', this.path], {
      input: push,
      env: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'receive.autogc', GIT_CONFIG_VALUE_0: 'false' },
    });
    if (!output.includes('ok refs/heads/main')) throw new Error(`receive-pack: ${output.toString('utf8')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mirror[Symbol.asyncDispose]();
  }
}
