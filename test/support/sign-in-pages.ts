/** A person's browser before the pages of an identity provider: follows redirects, keeps cookies, fills in forms. */
export class SignInPages {
  readonly #cookies = new Map<string, string>();
  readonly #login: string;
  readonly #isRefusing: boolean;

  /** @param login what is typed as a name; `isRefusing`: whatever is asked for after that is refused */
  constructor(login: string, { isRefusing = false }: { readonly isRefusing?: boolean } = {}) {
    this.#login = login;
    this.#isRefusing = isRefusing;
  }

  /**
   * Goes from `start` on, until nothing is asked any more, or it is sent away to another place: an application's.
   *
   * @returns where that is, or the last page's own address, and its text
   */
  async follow(start: string): Promise<{ readonly url: string; readonly text: string }> {
    const { origin } = new URL(start);
    let [url, form]: [string, URLSearchParams | undefined] = [start, undefined];
    let hasRefused = false;
    for (let step = 0; step < 20; step += 1) {
      const answer = await this.#fetch(url, form);
      const location = answer.headers.get('location');
      if (location !== null) {
        const next = new URL(location, url);
        if (next.origin !== origin) return { url: next.href, text: '' };
        [url, form] = [next.href, undefined];
        continue;
      }
      const text = await answer.text();
      const abort = /href="([^"]*\/abort)"/.exec(text)?.[1];
      if (hasRefused) return { url, text };
      if (this.#isRefusing && abort !== undefined) {
        [url, form, hasRefused] = [new URL(abort, url).href, undefined, true];
        continue;
      }
      const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
      if (action === undefined) return { url, text };
      [url, form] = [new URL(action.replaceAll('&amp;', '&'), url).href, this.#filled(text)];
    }
    throw new Error(`the pages of ${origin} come to no end`);
  }

  async #fetch(url: string, form: URLSearchParams | undefined): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { cookie },
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
      ...(form === undefined ? {} : { body: form }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return answer;
  }

  #filled(text: string): URLSearchParams {
    const form = new URLSearchParams();
    for (const [input] of text.matchAll(/<input[^>]*>/g)) {
      const name = / name="([^"]+)"/.exec(input)?.[1];
      if (name === undefined) continue;
      const typed = name === 'login' ? this.#login : name === 'password' ? 'any' : undefined;
      form.set(name, typed ?? / value="([^"]*)"/.exec(input)?.[1] ?? '');
    }
    return form;
  }
}
