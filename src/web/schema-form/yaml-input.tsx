import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { YamlField } from './field.ts';
import { useForm } from './form-context.ts';
import { Labelled } from './labelled.tsx';
import { pointerOf, valueAt } from './pointer.ts';
import { useYaml } from './use-yaml.ts';
import { withNote } from './with-note.ts';

/** A value that a form has no field for, as text. */
export function YamlInput({ field }: { readonly field: YamlField }): JSX.Element {
  const { values, set, tellUnreadable } = useForm();
  const yaml = useYaml();
  const value = valueAt(values, field.path);
  const [text, setText] = useState<string>();
  const [fault, setFault] = useState<string>();

  // Changed elsewhere: what was typed here is no longer what stands.
  useLayoutEffect(() => {
    if (yaml === undefined || text === undefined || fault !== undefined) return;
    const read = yaml.readYaml(text);
    if ('value' in read && JSON.stringify(read.value) !== JSON.stringify(value)) setText(undefined);
  }, [value, yaml, text, fault]);

  const pointer = pointerOf(field.path);
  // An item that is taken out of its list takes its fault with it.
  useLayoutEffect(() => () => tellUnreadable(pointer, undefined), [tellUnreadable, pointer]);
  const shown = text ?? yaml?.writeYaml(value) ?? '';
  const change = (next: string): void => {
    if (yaml === undefined) return;
    setText(next);
    const read = yaml.readYaml(next);
    const wrong = 'fault' in read ? read.fault : undefined;
    setFault(wrong);
    tellUnreadable(pointer, wrong);
    if ('value' in read) set(field.path, read.value);
  };
  return (
    <Labelled field={{ ...field, description: withNote(field.description, 'as YAML') }} fault={fault}>
      {(ties) => (
        <textarea
          {...ties}
          class="code"
          rows={Math.min(12, Math.max(2, shown.split('\n').length))}
          value={shown}
          spellcheck={false}
          disabled={yaml === undefined}
          placeholder={yaml !== undefined && field.fallback !== undefined ? yaml.writeYaml(field.fallback) : ''}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}
