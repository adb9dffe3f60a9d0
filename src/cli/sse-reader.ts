/** An event of `text/event-stream`. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id?: string;
}

/** Of one event: more is none of a control plane. */
const MAX_EVENT = 1024 * 1024;

/** Text of `text/event-stream` (WHATWG HTML, 9.2.6) as it comes, cut anywhere, as whole events; comments are events too. */
export async function* readServerEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > MAX_EVENT) throw new Error(`an event has more than ${MAX_EVENT} characters`);
    for (const block of blocks) yield eventIn(block);
  }
}

function eventIn(block: string): ServerEvent {
  let event = 'message';
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]+):? ?(.*)$/.exec(line) ?? [];
    if (name === 'event') event = value;
    else if (name === 'id') id = value;
    else if (name === 'data') data.push(value);
  }
  return {
    event: data.length === 0 && event === 'message' ? 'comment' : event,
    data: data.join('\n'),
    ...(id === undefined ? {} : { id }),
  };
}
