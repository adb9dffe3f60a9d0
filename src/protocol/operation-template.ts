import { Type, type Static } from 'typebox';
import { EntryName } from './names.ts';

const strict = { additionalProperties: false } as const;

/** What an admin-made template runs: a built-in one, with parameters in which `{$value: name}` stands for one of its own. */
export const TemplateRun = Type.Object(
  {
    template: Type.String({ ...EntryName, description: 'The built-in template that does the work.' }),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Its parameters; a mapping whose only member is $value is replaced by the parameter of that name, and one whose only member is $optional likewise, or left out where that is not given.',
      }),
    ),
  },
  strict,
);

/**
 * What an admin wrote of an operation template, as the operator gets it too: a template of their own, or, under the name of
 * a built-in one and without `run` and `parameters`, what holds for that one here. It gives the operator no right that it
 * did not have: all work is done by a built-in template.
 */
export const OperationTemplateDefinition = Type.Object(
  {
    name: EntryName,
    description: Type.Optional(Type.String({ maxLength: 500, description: 'What it does, for people.' })),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'JSON schema of its parameters, of type object (default: it takes none).',
      }),
    ),
    run: Type.Optional(TemplateRun),
    deadlineSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 604_800,
        description: 'An operation that has not finished so many seconds after its start fails.',
      }),
    ),
    retries: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 10,
        description: 'Further tries after the first one failed, where what it runs allows that (default: 0).',
      }),
    ),
  },
  strict,
);
export type OperationTemplateDefinition = Static<typeof OperationTemplateDefinition>;
