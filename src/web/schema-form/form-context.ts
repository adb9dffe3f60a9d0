import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { FieldInputs } from './field.ts';
import { NO_FAULTS, type PlacedFaults } from './place-faults.ts';
import type { Path } from './pointer.ts';

/** What every field of a form works with. */
export interface FormContext {
  readonly values: unknown;
  readonly secrets: unknown;
  readonly inputs: FieldInputs;
  readonly faults: PlacedFaults;
  /** Undefined takes the value away. */
  readonly set: (path: Path, value: unknown) => void;
  readonly setSecret: (path: Path, value: unknown) => void;
  /** A text that cannot be read stands against sending the form; undefined: it can be read again. */
  readonly tellUnreadable: (pointer: string, fault: string | undefined) => void;
}

export const Form = createContext<FormContext>({
  values: undefined,
  secrets: undefined,
  inputs: { root: {} },
  faults: NO_FAULTS,
  set: () => undefined,
  setSecret: () => undefined,
  tellUnreadable: () => undefined,
});

export const useForm = (): FormContext => useContext(Form);
