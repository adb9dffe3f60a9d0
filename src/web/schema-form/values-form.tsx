import type { JSX } from 'preact';
import { useCallback, useLayoutEffect, useId, useMemo, useState } from 'preact/hooks';
import { fieldOf, type JsonSchema } from './field.ts';
import { FieldInput } from './field-input.tsx';
import { Form } from './form-context.ts';
import { Faults } from './labelled.tsx';
import { placeFaults, shownPlaces, type Fault } from './place-faults.ts';
import { pointerOf, withValueAt } from './pointer.ts';
import { useYaml } from './use-yaml.ts';

export interface Filled {
  readonly values: unknown;
  /** Kept apart, never written out again. */
  readonly secrets: unknown;
  /** Whether all that was typed can be read. */
  readonly isReadable: boolean;
}

interface ValuesFormProps {
  readonly title: string;
  /** Absent: there is no form, only text. */
  readonly schema: JsonSchema | undefined;
  readonly fallbacks?: unknown;
  readonly filled: Filled;
  /** `touched`: where something was changed; what was found wrong there may hold no longer. */
  readonly onChange: (filled: Filled, touched?: string) => void;
  readonly faults: readonly Fault[];
  /** What the values stand below in the request. */
  readonly roots: readonly string[];
}

/** Values of a schema, by a form or as text; both show the same values at any time. */
export function ValuesForm(props: ValuesFormProps): JSX.Element {
  const { title, schema, fallbacks, filled, onChange, faults, roots } = props;
  const [wanted, want] = useState<'form' | 'text'>('form');
  const [unreadable, setUnreadable] = useState<ReadonlyMap<string, string>>(new Map());
  const inputs = useMemo(() => ({ root: schema ?? {}, fallbacks }), [schema, fallbacks]);
  const field = useMemo(() => fieldOf(schema ?? {}, [], inputs), [schema, inputs]);
  const isForm = field.kind === 'object';
  const look = isForm ? wanted : 'text';
  const places = useMemo(
    () => (look === 'form' ? shownPlaces(field, filled.values, inputs) : new Set<string>()),
    [look, field, filled.values, inputs],
  );
  const placed = useMemo(() => placeFaults(faults, places, roots), [faults, places, roots]);

  const tellUnreadable = useCallback((pointer: string, fault: string | undefined): void => {
    setUnreadable((before) => {
      if (before.get(pointer) === fault) return before;
      const next = new Map(before);
      if (fault === undefined) next.delete(pointer);
      else next.set(pointer, fault);
      return next;
    });
  }, []);
  const isReadable = unreadable.size === 0;
  // Before anything more is typed, which would be lost with the older values here.
  useLayoutEffect(() => {
    if (filled.isReadable !== isReadable) onChange({ ...filled, isReadable });
  }, [filled, isReadable, onChange]);

  const context = {
    values: filled.values,
    secrets: filled.secrets,
    inputs,
    faults: placed,
    set: (path: readonly (string | number)[], value: unknown) =>
      onChange({ ...filled, values: withValueAt(filled.values, path, value) }, pointerOf(path)),
    setSecret: (path: readonly (string | number)[], value: unknown) =>
      onChange({ ...filled, secrets: withValueAt(filled.secrets, path, value) }, pointerOf(path)),
    tellUnreadable,
  };
  return (
    <Form.Provider value={context}>
      <div class="values">
        {isForm && (
          <div class="view-choice" role="group" aria-label={`How the ${title.toLowerCase()} are written`}>
            <button type="button" aria-pressed={look === 'form'} disabled={!isReadable} onClick={() => want('form')}>
              Form
            </button>
            <button type="button" aria-pressed={look === 'text'} disabled={!isReadable} onClick={() => want('text')}>
              YAML
            </button>
          </div>
        )}
        {look === 'form' ? (
          <FieldInput field={{ ...field, title }} />
        ) : (
          <WholeText
            title={title}
            values={filled.values}
            faults={placed.at.get('') ?? []}
            onChange={(values, fault) => {
              tellUnreadable('', fault);
              if (fault === undefined) onChange({ ...filled, values, isReadable: true }, '');
            }}
          />
        )}
      </div>
    </Form.Provider>
  );
}

interface WholeTextProps {
  readonly title: string;
  readonly values: unknown;
  readonly faults: readonly string[];
  readonly onChange: (values: unknown, fault: string | undefined) => void;
}

function WholeText({ title, values, faults, onChange }: WholeTextProps): JSX.Element {
  const id = useId();
  const yaml = useYaml();
  const [text, setText] = useState<string>();
  const [fault, setFault] = useState<string>();
  const all = [...(fault === undefined ? [] : [fault]), ...faults];
  const shown = text ?? yaml?.writeYaml(values) ?? '';
  const change = (next: string): void => {
    if (yaml === undefined) return;
    const read = yaml.readYamlObject(next);
    const wrong = 'fault' in read ? read.fault : undefined;
    setText(next);
    setFault(wrong);
    onChange('value' in read ? read.value : undefined, wrong);
  };
  return (
    <div class="field">
      <label for={id}>{title} as YAML</label>
      <textarea
        id={id}
        class="code"
        rows={Math.min(30, Math.max(8, shown.split('\n').length + 1))}
        value={shown}
        spellcheck={false}
        disabled={yaml === undefined}
        {...(all.length === 0 ? {} : { 'aria-invalid': true as const, 'aria-describedby': `${id}-faults` })}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <Faults id={`${id}-faults`} faults={all} />
    </div>
  );
}
