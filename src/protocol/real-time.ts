const PARTS = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Whether an RFC 3339 timestamp names a moment that there is (section 5.7): no 30 February, no hour 24, no offset over
 * 23:59. A leap second counts where one can be, in the last minute of a day in UTC.
 */
export function isRealTime(timestamp: string): boolean {
  const match = PARTS.exec(timestamp);
  if (match === null) return false;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offsetHour = Number(match[8] ?? 0);
  const offsetMinute = Number(match[9] ?? 0);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false;
  if (hour > 23 || minute > 59 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const offset = (match[7] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  const minuteOfDay = (hour * 60 + minute - offset + 2880) % 1440;
  return second === 60 && minuteOfDay === 1439;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
