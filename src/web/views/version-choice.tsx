import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { ChartVersions } from '../api/catalog.ts';
import { Faults } from '../schema-form/labelled.tsx';

interface VersionChoiceProps {
  readonly versions: ChartVersions['versions'];
  readonly value: string;
  /** The one that is asked for now. */
  readonly standing: string | undefined;
  readonly onChange: (version: string) => void;
  readonly faults: readonly string[];
}

/** A version that the catalog allows, out of those that the registry told of; any other can be typed. */
export function VersionChoice({ versions, value, standing, onChange, faults }: VersionChoiceProps): JSX.Element {
  const id = useId();
  const allowed = versions.filter(({ isAllowed }) => isAllowed);
  return (
    <div class="field">
      <label for={id}>Chart version</label>
      <input
        id={id}
        list={`${id}-list`}
        value={value}
        autocomplete="off"
        spellcheck={false}
        {...(faults.length === 0 ? {} : { 'aria-invalid': true as const })}
        aria-describedby={`${id}-about`}
        onInput={(event) => onChange(event.currentTarget.value.trim())}
      />
      <datalist id={`${id}-list`}>
        {allowed.map(({ version }) => (
          <option key={version} value={version} />
        ))}
      </datalist>
      <div id={`${id}-about`}>
        <p class="quiet about">
          {allowed.length === 0
            ? 'The registry has told of no version that is allowed yet.'
            : `Newest that is allowed: ${allowed[0]?.version}.`}
          {standing !== undefined && ` Now: ${standing}.`}
        </p>
        <Faults faults={faults} />
      </div>
    </div>
  );
}
