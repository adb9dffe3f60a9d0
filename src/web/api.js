const TOKEN_KEY = 'service-admin-token';
const TIMEOUT_MS = 15_000;

/** What the admin API refused, in its own words. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{ readonly message?: string, readonly requestId?: string }} body
   */
  constructor(status, body) {
    super(body.message ?? `the control plane answered ${status}`);
    this.name = 'ApiError';
    this.status = status;
    this.requestId = body.requestId;
  }
}

/** Kept for this tab alone, and gone with it. */
export const session = {
  token: () => sessionStorage.getItem(TOKEN_KEY) ?? undefined,
  /** @param {string} token */
  open: (token) => sessionStorage.setItem(TOKEN_KEY, token),
  close: () => sessionStorage.removeItem(TOKEN_KEY),
};

/**
 * One call of the admin API; `path` is below `/api/v1`.
 *
 * @param {'GET' | 'POST'} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 * @throws {ApiError}
 */
export const call = async (method, path, body) => {
  const answer = await fetch(`/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${session.token() ?? ''}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await answer.text();
  const parsed = text === '' ? {} : JSON.parse(text);
  if (!answer.ok) throw new ApiError(answer.status, parsed);
  return parsed;
};

/**
 * A path with its values escaped: `` path`/proposals/${id}` ``.
 *
 * @param {TemplateStringsArray} parts
 * @param {readonly string[]} values
 */
export const path = (parts, ...values) => String.raw({ raw: parts }, ...values.map(encodeURIComponent));

/** @param {Readonly<Record<string, string | undefined>>} parameters */
export const query = (parameters) => {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
};
