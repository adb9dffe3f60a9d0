import { resolve } from 'node:path';
import type { BranchCopy, Fetched } from './branch-copy.ts';
import type { NewObject } from './git-object.ts';
import { GitTree } from './git-tree.ts';
import { RepositoryReader } from './repository-reader.ts';

/**
 * A branch of a repository that lies on this machine (the embedded host's): it is read where it is, so there is nothing
 * to fetch and nothing to keep twice. Writing still goes through the host, with a credential.
 */
export class BranchInPlace implements BranchCopy {
  readonly #reader: RepositoryReader;
  readonly #ref: string;

  constructor(deps: { readonly path: string; readonly branch: string }) {
    this.#reader = new RepositoryReader({ path: resolve(deps.path) });
    this.#ref = `refs/heads/${deps.branch}`;
  }

  async readTree(id: string): Promise<GitTree> {
    return this.#reader.readTree(id);
  }

  addTree(id: string, tree: GitTree): void {
    this.#reader.addTree(id, tree);
  }

  async readBlob(id: string): Promise<Buffer> {
    return this.#reader.read(id, 'blob');
  }

  async readTreeOfCommit(id: string): Promise<string> {
    return this.#reader.readTreeOfCommit(id);
  }

  keep(objects: readonly NewObject[]): void {
    for (const { type, id, bytes } of objects) if (type === 'tree') this.addTree(id, new GitTree(bytes));
  }

  async fetch(): Promise<Fetched> {
    return { state: 'ok', tip: await this.tip() };
  }

  async fetchBranch(branch: string): Promise<Fetched> {
    return { state: 'ok', tip: await this.#reader.tip(`refs/heads/${branch}`) };
  }

  async tip(): Promise<string | undefined> {
    return this.#reader.tip(this.#ref);
  }

  async query(args: readonly string[], signal: AbortSignal, input?: string): Promise<string> {
    return (await this.#reader.git(args, signal, input)).toString('utf8');
  }

  noteRewritten(): void {
    // The host keeps its own repository, and drops nothing that a push may name.
  }

  async maintain(): Promise<void> {
    // The host does it.
  }

  async reset(): Promise<void> {
    this.#reader[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader[Symbol.dispose]();
  }
}
