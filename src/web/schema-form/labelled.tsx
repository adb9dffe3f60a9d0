import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Field } from './field.ts';
import { useForm } from './form-context.ts';
import { pointerOf } from './pointer.ts';

/** Attributes that tie an input to its label, description and faults. */
export interface InputTies {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
  readonly 'aria-required'?: true;
}

interface LabelledProps {
  readonly field: Field;
  /** What the field itself finds wrong with what was typed. */
  readonly fault?: string | undefined;
  readonly children: (ties: InputTies) => ComponentChildren;
}

/** One input with its name, what it is for, and what is wrong with it. */
export function Labelled({ field, fault, children }: LabelledProps): JSX.Element {
  const id = useId();
  const faults = [...(fault === undefined ? [] : [fault]), ...useFaultsAt(field)];
  const note = noteOf(field);
  const described = [
    ...(field.description === undefined && note === '' ? [] : [`${id}-about`]),
    ...(faults.length === 0 ? [] : [`${id}-faults`]),
  ];
  return (
    <div class="field">
      <label for={id}>
        {titleOf(field)}
        {field.isRequired && field.fallback === undefined && <span class="required"> (required)</span>}
      </label>
      {children({
        id,
        ...(described.length === 0 ? {} : { 'aria-describedby': described.join(' ') }),
        ...(faults.length === 0 ? {} : { 'aria-invalid': true as const }),
        ...(field.isRequired && field.fallback === undefined ? { 'aria-required': true as const } : {}),
      })}
      {(field.description !== undefined || note !== '') && (
        <p id={`${id}-about`} class="quiet about">
          {[field.description, note].filter((text) => (text ?? '') !== '').join(' · ')}
        </p>
      )}
      <Faults id={`${id}-faults`} faults={faults} />
    </div>
  );
}

/** A property may have the empty text as its name. */
export function titleOf({ title }: Field): string {
  return title === '' ? '"" (no name)' : title;
}

export function useFaultsAt(field: Field): readonly string[] {
  return useForm().faults.at.get(pointerOf(field.path)) ?? [];
}

export function Faults({
  id,
  faults,
}: {
  readonly id?: string;
  readonly faults: readonly string[];
}): JSX.Element | null {
  if (faults.length === 0) return null;
  return (
    <ul class="fault field-faults" {...(id === undefined ? {} : { id })}>
      {faults.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

/** Bounds and the default, in words. */
function noteOf(field: Field): string {
  const parts: string[] = [];
  if (field.kind === 'number') {
    const { minimum, maximum } = field;
    if (minimum !== undefined && maximum !== undefined) parts.push(`${minimum} to ${maximum}`);
    else if (minimum !== undefined) parts.push(`${minimum} or more`);
    else if (maximum !== undefined) parts.push(`${maximum} or less`);
  }
  if (field.kind === 'text' && field.hint !== undefined) parts.push(field.hint);
  if (field.kind !== 'choice' && field.fallback !== undefined && typeof field.fallback !== 'object')
    parts.push(`default: ${JSON.stringify(field.fallback)}`);
  return parts.join(' · ');
}
