import type { Answer } from './http-client.ts';

/** Characters of a body that a report shows. */
const MAX_BODY = 600;

/** A request and its answer as text, without the credentials in them. */
export function describeExchange({ call, status, headers, text, ms }: Answer): {
  readonly sent: string;
  readonly received: string;
} {
  const sent = [
    `${call.method} ${call.path}`,
    ...Object.entries(call.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...(call.body === undefined ? [] : ['', cut(call.body.toString('utf8'))]),
  ];
  const received = [
    `${status} after ${Math.round(ms)} ms`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`),
    ...(text === '' ? [] : ['', cut(text)]),
  ];
  return { sent: redact(sent.join('\n')), received: redact(received.join('\n')) };
}

/** A report is pasted into tickets: no token of any kind, and no MAC, may be in it. */
function redact(text: string): string {
  return text
    .replace(/svc(reg|agt|adm|git)_[A-Za-z0-9_-]+/g, 'svc$1_[REDACTED]')
    .replace(/^(authorization: \S+ )(?!svc(?:reg|agt|adm)_\[)\S.*$/gm, '$1[REDACTED]')
    .replace(/(mac=)[A-Za-z0-9_-]+/g, '$1[REDACTED]')
    .replace(/("token_jwe":")[^"]+/g, '$1[REDACTED]');
}

function cut(text: string): string {
  return text.length <= MAX_BODY ? text : `${text.slice(0, MAX_BODY).toWellFormed()}… (${text.length} characters)`;
}
