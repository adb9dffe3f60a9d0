import type { FetchLike } from '../../../../src/git/receive-pack.ts';

export const isPush = (url: string): boolean => url.endsWith('/git-receive-pack');

/** A fetch in front of the real one: `before` may answer in its place, once for each push. */
export function pushesThrough(before: (push: number) => Promise<Response | undefined>): FetchLike {
  let pushes = 0;
  return async (url, init) => {
    if (!isPush(url)) return fetch(url, init);
    pushes += 1;
    return (await before(pushes)) ?? fetch(url, init);
  };
}

/** A host's report that refuses the branch, as it comes over the wire. */
export function report(reason: string, remoteText = ''): Response {
  const pkt = (data: string): string => (Buffer.byteLength(data) + 4).toString(16).padStart(4, '0') + data;
  const inner = `${pkt('unpack ok\n')}${pkt(`ng refs/heads/main ${reason}\n`)}0000`;
  const text = remoteText === '' ? '' : pkt(`\u0002${remoteText}\n`);
  return new Response(`${text}${pkt(`\u0001${inner}`)}0000`, { status: 200 });
}
