import type { Response } from 'undici';

/** Another address was named instead of an answer. */
export class RedirectError extends Error {
  readonly location: string;

  constructor(location: string) {
    super(`a redirect to ${location}`);
    this.name = 'RedirectError';
    this.location = location;
  }
}

/**
 * Every call is made with `redirect: 'manual'`: what is sent may hold a kubeconfig or secret values, which go to the address
 * that a person gave, and to no other that its answer names.
 *
 * @throws RedirectError
 */
export async function refuseRedirect(answer: Response): Promise<void> {
  if (answer.status < 300 || answer.status > 399 || answer.status === 304) return;
  await answer.body?.cancel();
  throw new RedirectError(answer.headers.get('location') ?? 'nowhere');
}
