import type { KubeObject } from '../resources/kube-object.ts';

/** One write that the server carried out, as an audit log tells of it. */
export interface AuditedWrite {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: string;
  readonly userAgent: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
  /** The object as it was answered; after a delete with no finalizer left, a `Status`. */
  readonly answer: KubeObject;
}

/** Tells of every write that was carried out, in the order in which they were; of one that was refused nothing. */
export class Audit {
  readonly #listeners = new Set<(write: AuditedWrite) => void>();

  /** Returns what ends it. */
  listen(listener: (write: AuditedWrite) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(write: AuditedWrite): void {
    for (const listener of this.#listeners) listener(write);
  }
}
