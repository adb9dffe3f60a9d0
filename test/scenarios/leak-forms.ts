/** One secret in every form in which a text may hold it. */
export function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    ...base64Within(bytes),
  ];
  return [...new Set([...forms, ...base64Within(bytes).map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))])];
}

/** As base64 of a longer text would hold it, at each of the three places where it can begin: without the ends that mix. */
function base64Within(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    return text.slice(Math.ceil((offset * 8) / 6), -1);
  });
}

/** The forms of the secrets that a text holds, each with whose it is. */
export function leaksIn(text: string | Buffer, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets].flatMap(([name, secret]) =>
    formsOf(secret).flatMap((form) => (text.includes(form) ? [`${name} as ${form.slice(0, 12)}…`] : [])),
  );
}
