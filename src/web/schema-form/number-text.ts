import type { NumberField } from './field.ts';

/** What a person typed into a field of numbers. Empty: not given. */
export function readNumber(
  text: string,
  field: Pick<NumberField, 'isInteger' | 'minimum' | 'maximum'>,
): { readonly value: number | undefined } | { readonly fault: string } {
  const trimmed = text.trim();
  if (trimmed === '') return { value: undefined };
  const value = Number(trimmed);
  if (!Number.isFinite(value)) return { fault: 'must be a number' };
  if (field.isInteger && !Number.isInteger(value)) return { fault: 'must be a whole number' };
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return { fault: 'is too large for an exact number' };
  if (field.minimum !== undefined && value < field.minimum) return { fault: `must be ${field.minimum} or more` };
  if (field.maximum !== undefined && value > field.maximum) return { fault: `must be ${field.maximum} or less` };
  return { value };
}
