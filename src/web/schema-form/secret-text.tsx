import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Faults } from './labelled.tsx';
import { useYaml } from './use-yaml.ts';

export interface SecretTyped {
  readonly text: string;
  readonly value?: unknown;
  readonly fault?: string;
}

interface SecretTextProps {
  readonly typed: SecretTyped;
  readonly onChange: (typed: SecretTyped) => void;
  /** There may be some already, which stay as they are unless others are given. */
  readonly isKept: boolean;
}

/** Secret values as YAML. They leave the page once, sealed to the cluster's key, and come back nowhere. */
export function SecretText({ typed, onChange, isKept }: SecretTextProps): JSX.Element {
  const id = useId();
  const yaml = useYaml();
  const change = (text: string): void => {
    if (yaml === undefined) return;
    const read = yaml.readYamlObject(text);
    // The text of a fault may quote what was typed.
    onChange('fault' in read ? { text, fault: 'cannot be read as a YAML mapping' } : { text, value: read.value });
  };
  return (
    <details class="secret-values">
      <summary>Secret values</summary>
      <div class="field">
        <label for={id}>Secret values as YAML</label>
        <textarea
          id={id}
          class="code masked"
          rows={4}
          value={typed.text}
          spellcheck={false}
          autocomplete="off"
          disabled={yaml === undefined}
          aria-describedby={`${id}-about`}
          {...(typed.fault === undefined ? {} : { 'aria-invalid': true as const })}
          onInput={(event) => change(event.currentTarget.value)}
        />
        <div id={`${id}-about`}>
          <p class="quiet about">
            Merged over the values, sealed to the cluster's key before anything is stored, and never shown again.
            {isKept && ' Those that there are stay as they are unless you give others, which replace them whole.'}
          </p>
          <Faults faults={typed.fault === undefined ? [] : [typed.fault]} />
        </div>
      </div>
    </details>
  );
}
