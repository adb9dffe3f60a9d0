import type { JSX } from 'preact';

interface ChoicesProps<T extends string> {
  readonly legend: string;
  readonly options: readonly (readonly [value: T, explanation: string])[];
  readonly chosen: readonly T[];
  readonly onChange: (chosen: readonly T[]) => void;
}

/** Some of a few, each with what it means. */
export function Choices<T extends string>({ legend, options, chosen, onChange }: ChoicesProps<T>): JSX.Element {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      {options.map(([value, explanation]) => (
        <label key={value} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
            }
          />
          <span>
            {value} <span class="quiet">{explanation}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
