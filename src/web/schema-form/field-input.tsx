import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ArrayField, ChoiceField, Field, NumberField, ObjectField, TextField } from './field.ts';
import { useForm } from './form-context.ts';
import { Faults, Labelled, titleOf, useFaultsAt } from './labelled.tsx';
import { withNote } from './with-note.ts';
import { readNumber } from './number-text.ts';
import { emptyItem, itemFields } from './place-faults.ts';
import { pointerOf, valueAt } from './pointer.ts';
import { YamlInput } from './yaml-input.tsx';

/** The input of a field, by its kind. */
export function FieldInput({ field }: { readonly field: Field }): JSX.Element {
  switch (field.kind) {
    case 'object':
      return <ObjectInput field={field} />;
    case 'array':
      return <ListInput field={field} />;
    case 'text':
      return field.isSecret ? <SecretInput field={field} /> : <TextInput field={field} />;
    case 'number':
      return <NumberInput field={field} />;
    case 'choice':
      return <ChoiceInput field={field} />;
    case 'yaml':
      return <YamlInput field={field} />;
  }
}

function ObjectInput({ field }: { readonly field: ObjectField }): JSX.Element {
  const faults = useFaultsAt(field);
  return (
    <fieldset class="field-group">
      <legend>{titleOf(field)}</legend>
      {field.description !== undefined && <p class="quiet about">{field.description}</p>}
      <Faults faults={faults} />
      {field.fields.map((one) => (
        <FieldInput key={pointerOf(one.path)} field={one} />
      ))}
      {field.takesMore && <MoreNote field={field} />}
    </fieldset>
  );
}

/** What the schema has no field for, but the chart may take, is written in the text view. */
function MoreNote({ field }: { readonly field: ObjectField }): JSX.Element | null {
  const { values } = useForm();
  const given = valueAt(values, field.path);
  const known = new Set(field.fields.map(({ path }) => String(path.at(-1))));
  const others = Object.keys(given ?? {}).filter((name) => !known.has(name));
  if (others.length === 0) return null;
  return <p class="quiet">Also given, see the text view: {others.join(', ')}</p>;
}

function ListInput({ field }: { readonly field: ArrayField }): JSX.Element {
  const { values, inputs, set } = useForm();
  const faults = useFaultsAt(field);
  const items = itemFields(field, values, inputs);
  const isFull = field.maxItems !== undefined && items.length >= field.maxItems;
  return (
    <fieldset class="field-group">
      <legend>{titleOf(field)}</legend>
      {field.description !== undefined && <p class="quiet about">{field.description}</p>}
      <Faults faults={faults} />
      {items.map((item, index) => (
        <div key={index} class="list-item">
          <FieldInput field={item} />
          <button type="button" onClick={() => set([...field.path, index], undefined)}>
            Remove <span class="hidden">{`${titleOf(field)} ${index + 1}`}</span>
          </button>
        </div>
      ))}
      {items.length === 0 && Array.isArray(field.fallback) && (
        <p class="quiet">Nothing given: the default holds ({field.fallback.length}).</p>
      )}
      <button
        type="button"
        disabled={isFull}
        onClick={() => set([...field.path, items.length], emptyItem(field, inputs))}
      >
        Add <span class="hidden">to {titleOf(field)}</span>
      </button>
    </fieldset>
  );
}

function TextInput({ field }: { readonly field: TextField }): JSX.Element {
  const { values, set } = useForm();
  const value = valueAt(values, field.path);
  const shown = typeof value === 'string' ? value : '';
  // Nothing typed takes the value away; whoever wants an empty text writes it in the text view.
  const change = (text: string): void => set(field.path, text === '' ? emptyOf(field) : text);
  return (
    <Labelled field={field}>
      {(ties) => (
        <input
          {...ties}
          type="text"
          value={shown}
          autocomplete="off"
          spellcheck={false}
          placeholder={typeof field.fallback === 'string' ? field.fallback : ''}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

/** An item of a list stays, empty; a member of an object goes. */
function emptyOf({ path }: TextField): '' | undefined {
  return typeof path.at(-1) === 'number' ? '' : undefined;
}

/** What is typed is sent and forgotten: nothing shows it again. */
function SecretInput({ field }: { readonly field: TextField }): JSX.Element {
  const { secrets, setSecret } = useForm();
  const value = valueAt(secrets, field.path);
  const { fallback: _fallback, ...shown } = field;
  return (
    <Labelled field={{ ...shown, description: withNote(field.description, "secret: sealed to the cluster's key") }}>
      {(ties) => (
        <input
          {...ties}
          type="password"
          value={typeof value === 'string' ? value : ''}
          autocomplete="new-password"
          spellcheck={false}
          onInput={(event) => setSecret(field.path, event.currentTarget.value || undefined)}
        />
      )}
    </Labelled>
  );
}

function NumberInput({ field }: { readonly field: NumberField }): JSX.Element {
  const { values, set, tellUnreadable } = useForm();
  const value = valueAt(values, field.path);
  const [typed, setTyped] = useState<string>();
  const [fault, setFault] = useState<string>();
  const pointer = pointerOf(field.path);
  // An item that is taken out of its list takes its fault with it.
  useEffect(() => () => tellUnreadable(pointer, undefined), [tellUnreadable, pointer]);
  // As it is typed, until it can be read: the form may be drawn again in between.
  const shown = typed ?? (typeof value === 'number' ? String(value) : '');
  const change = (text: string): void => {
    const read = readNumber(text, field);
    const wrong = 'fault' in read ? read.fault : undefined;
    setTyped(wrong === undefined ? undefined : text);
    setFault(wrong);
    tellUnreadable(pointer, wrong);
    if ('value' in read) set(field.path, read.value);
  };
  return (
    <Labelled field={field} fault={fault}>
      {(ties) => (
        <input
          {...ties}
          type="text"
          inputMode={field.isInteger ? 'numeric' : 'decimal'}
          value={shown}
          autocomplete="off"
          placeholder={typeof field.fallback === 'number' ? String(field.fallback) : ''}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onChange={(event) => change(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

/** With a way to give nothing, unless something must be given. */
function ChoiceInput({ field }: { readonly field: ChoiceField }): JSX.Element {
  const { values, set } = useForm();
  const value = valueAt(values, field.path);
  const at = field.choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value));
  const unset = field.fallback === undefined ? 'not set' : `default: ${wordOf(field.fallback)}`;
  return (
    <Labelled field={field}>
      {(ties) => (
        <select
          {...ties}
          value={at === -1 ? '' : String(at)}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            set(field.path, chosen === '' ? undefined : field.choices[Number(chosen)]);
          }}
        >
          <option value="">{unset}</option>
          {field.choices.map((choice, index) => (
            <option key={index} value={String(index)}>
              {wordOf(choice)}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
