import type { RouteOptions } from 'fastify';

/** What a server offers for learning its routes. */
export interface RouteSource {
  addHook(name: 'onRoute', hook: (route: RouteOptions) => void): unknown;
}

/** Which methods a path takes, for the `Allow` of an answer to one that it does not take. */
export class AllowedMethods {
  readonly #routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];

  constructor(app: RouteSource) {
    app.addHook('onRoute', (route) => {
      this.#routes.push({ pattern: asPattern(route.url), methods: [route.method].flat() });
    });
  }

  /** @param url path with or without its query */
  at(url: string): readonly string[] {
    const [path = ''] = url.split('?', 1);
    const methods = this.#routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods);
    return [...new Set(methods)].sort();
  }
}

/** A route's URL with `:name` and `*` in it. */
function asPattern(url: string): RegExp {
  const source = url
    .split(/(:[A-Za-z0-9_]+|\*)/)
    .map((part) => (part === '*' ? '.*' : part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('');
  return new RegExp(`^${source}$`);
}
