import type { JSX } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string;
  readonly isRequired?: boolean;
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly isLong?: boolean;
}

/** A labelled field of a form, with what belongs into it below. */
export function Field(props: FieldProps): JSX.Element {
  const { label, value, onChange, hint, isRequired = false, options, isLong = false } = props;
  const id = useId();
  const described = hint === undefined ? {} : { 'aria-describedby': `${id}-hint` };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options === undefined ? null : (
        <select id={id} value={value} {...described} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
      {options === undefined && isLong ? (
        <textarea
          id={id}
          rows={3}
          value={value}
          spellcheck={false}
          required={isRequired}
          {...described}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      ) : null}
      {options === undefined && !isLong ? (
        <input
          id={id}
          value={value}
          autocomplete="off"
          spellcheck={false}
          required={isRequired}
          {...described}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      ) : null}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} class="quiet hint">
          {hint}
        </p>
      )}
    </div>
  );
}

/** `a, b c` as a list. */
export function wordsIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))];
}

/** `env=prod, team=shop` as labels; a word without a sign is a label with an empty value. */
export function labelsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    wordsIn(text).map((word): [string, string] => {
      const [name = '', value = ''] = word.split('=', 2);
      return [name, value];
    }),
  );
}

export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}
