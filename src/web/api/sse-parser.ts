export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id?: string;
}

/** Text of `text/event-stream` (WHATWG HTML, 9.2.6) as it comes, cut anywhere, as whole events. */
export class SseParser {
  #rest = '';

  push(text: string): ServerEvent[] {
    const blocks = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const event = eventIn(block);
      return event === undefined ? [] : [event];
    });
  }
}

function eventIn(block: string): ServerEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    // A comment keeps the connection alive.
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, '');
    fields.set(name, name === 'data' && fields.has(name) ? `${fields.get(name)}\n${value}` : value);
  }
  const id = fields.get('id');
  if (fields.size === 0) return undefined;
  return {
    event: fields.get('event') ?? 'message',
    data: fields.get('data') ?? '',
    ...(id === undefined ? {} : { id }),
  };
}
