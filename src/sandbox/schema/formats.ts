import { isIP, isIPv4, isIPv6 } from 'node:net';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/;
const HOSTNAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;
const EMAIL = /^(?:[^<>@]*<)?[^\s<>@,;:\\"()[\]]+@[^\s<>@,;:\\"()]+>?$/;
const MAC = /^(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4})$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const GO_DURATION = /^[+-]?(?:\d+(?:\.\d*)?(?:ns|us|µs|μs|ms|s|m|h))+$/;
const WORDY_DURATION = /(\d+)\s*([A-Za-zµ]+)/g;
const WORDS = [
  ['ns', 'nano'],
  ['us', 'µs', 'micro'],
  ['ms', 'milli'],
  ['s', 'sec'],
  ['m', 'min'],
  ['h', 'hr', 'hour'],
  ['d', 'day'],
  ['w', 'wk', 'week'],
];

function isDate(text: string): boolean {
  const [, year = '', month = '', day = ''] = DATE.exec(text) ?? [];
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return year !== '' && date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  const [, hours = '', minutes = '', seconds = ''] = TIME.exec(time) ?? [];
  return isDate(date) && hours !== '' && hours <= '23' && minutes <= '59' && seconds <= '59';
}

function isDuration(text: string): boolean {
  if (text === '0' || GO_DURATION.test(text)) return true;
  return [...text.matchAll(WORDY_DURATION)].some(([, , unit = '']) =>
    WORDS.some((variants) =>
      variants.some(
        (variant, index) =>
          variant === unit.toLowerCase() || (index === variants.length - 1 && unit.toLowerCase().startsWith(variant)),
      ),
    ),
  );
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/');
  const family = isIP(address);
  return more.length === 0 && family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

function isUri(text: string): boolean {
  return text.startsWith('/') ? !/\s/.test(text) : /^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text);
}

function uuid(version: string, variant: string): (text: string) => boolean {
  const pattern = new RegExp(
    `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`,
    'i',
  );
  return (text) => pattern.test(text);
}

function matches(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text);
}

/** The formats that are enforced, by their name without dashes; every other name is a comment. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: matches(/^[0-9a-f]{24}$/i),
  byte: matches(BASE64),
  cidr: isCidr,
  date: isDate,
  datetime: isDateTime,
  duration: isDuration,
  email: matches(EMAIL),
  hexcolor: matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  hostname: (text) => text.length <= 255 && HOSTNAME.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
  mac: matches(MAC),
  password: () => true,
  ssn: matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  uri: isUri,
  uuid: uuid('[0-9a-f]', '[0-9a-f]'),
  uuid3: uuid('3', '[0-9a-f]'),
  uuid4: uuid('4', '[89ab]'),
  uuid5: uuid('5', '[89ab]'),
};

/** What a format takes; `undefined` for one that is not enforced (`int32`, `date-of-birth`). */
export function formatCheck(name: string): ((text: string) => boolean) | undefined {
  const key = name.replaceAll('-', '');
  return Object.hasOwn(formats, key) ? formats[key] : undefined;
}
