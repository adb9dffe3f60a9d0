import { Type, type Static } from 'typebox';
import { EntryName } from '../protocol/names.ts';
import type { KubeObject } from './kube-object.ts';
import { Conditions, freeForm, label, ObservedGeneration, oneOf, StatusSource, subdomain, time } from './spec-parts.ts';

const strict = { additionalProperties: false } as const;

export const OPERATION_PHASES = ['Accepted', 'Blocked', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type OperationPhase = (typeof OPERATION_PHASES)[number];

/** What whoever asks for an operation says of it besides the template and its parameters. */
export const OPERATION_OPTIONS = {
  targetRef: Type.Optional(
    Type.Object(
      {
        apiVersion: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 316,
            description: 'API group and version of the object, such as apps/v1.',
          }),
        ),
        kind: Type.String({ minLength: 1, maxLength: 63, description: 'Kind of the object, such as Deployment.' }),
        name: subdomain('Name of the object that is worked on.'),
        namespace: Type.Optional(label('Namespace of the object (default: that of the operation).')),
      },
      {
        ...strict,
        description:
          'The object that the operation works on, where its template needs one. It cannot be changed later.',
      },
    ),
  ),
  deadlineSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 604_800,
      description:
        'The operation fails when it has not finished so many seconds after its start (default: that of its template).',
    }),
  ),
  ttlSecondsAfterFinished: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 31_536_000,
      description: 'Delete this object so many seconds after it finished (default: keep it).',
    }),
  ),
} as const;
export const OPERATION_OPTION_NAMES = Object.keys(OPERATION_OPTIONS) as readonly (keyof typeof OPERATION_OPTIONS)[];

export const OperationSpec = Type.Object(
  {
    template: Type.String({
      ...EntryName,
      description: 'Name of the operation template that is run, such as velero-backup. It cannot be changed later.',
    }),
    parameters: Type.Optional(
      freeForm('Parameters of the template; which there are, the template says. They cannot be changed later.'),
    ),
    templateHash: Type.Optional(
      Type.String({
        pattern: '^sha256-[A-Za-z0-9_-]{43}$',
        maxLength: 50,
        description:
          'What an admin-made template did when the operation was asked for; where it does something else now, the operation is not run. It cannot be changed later.',
      }),
    ),
    ...OPERATION_OPTIONS,
    cancel: Type.Optional(
      Type.Boolean({
        description: 'Ask a running operation to stop, where its template can be stopped; there is no way back.',
      }),
    ),
    approval: Type.Optional(
      Type.Object(
        {
          required: Type.Boolean({
            description: 'Whether the operation stays Blocked until a valid approval is there.',
          }),
          statement: Type.Optional(
            Type.String({
              maxLength: 8192,
              description: 'Approval signed by the control plane for exactly this operation (compact JWS).',
            }),
          ),
        },
        { ...strict, description: 'Whether a person must approve, and the proof that one did.' },
      ),
    ),
  },
  { ...strict, description: 'The operation that should be run, once: which template, with which parameters, on what.' },
);
export type OperationSpec = Static<typeof OperationSpec>;

export const OperationStatus = Type.Object(
  {
    observedGeneration: Type.Optional(ObservedGeneration),
    phase: Type.Optional(
      oneOf(OPERATION_PHASES, { description: 'Where the operation stands, in one word; the conditions say why.' }),
    ),
    reason: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'Why it stands there, in one word: that of the condition of the phase.',
      }),
    ),
    conditions: Type.Optional(Conditions),
    source: Type.Optional(StatusSource),
    attempts: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'How often it was tried; more than once where its template allows retries.',
      }),
    ),
    begun: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'The last try whose work is known to have begun; one more of attempts is begun if nothing of it is found.',
      }),
    ),
    stopping: Type.Optional(
      oneOf(['Cancelled', 'Failed'], { description: 'What is running is being stopped, and this is how that ends.' }),
    ),
    nextTryAt: Type.Optional(time('When it is tried again, after a try that failed.')),
    run: Type.Optional(
      Type.Object(
        {
          template: Type.String({ maxLength: 63, description: 'The built-in template that does the work.' }),
          parameters: freeForm('Parameters of that built-in template, with those of the operation filled in.'),
          deadlineSeconds: Type.Integer({
            minimum: 1,
            description: 'Within so many seconds of its start it must end.',
          }),
          retries: Type.Integer({ minimum: 0, description: 'Further tries after the first one failed.' }),
        },
        {
          description:
            'What runs, as its template stood at the start: a template that is changed later changes nothing.',
        },
      ),
    ),
    seal: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'Proof that the operator itself wrote down what runs; without it nothing goes on by that.',
      }),
    ),
    progress: Type.Optional(
      Type.String({ maxLength: 1024, description: 'How the present try stands, in one line; it is in no event.' }),
    ),
    startedAt: Type.Optional(time('When the operation began to run.')),
    finishedAt: Type.Optional(time('When the operation succeeded, failed or was cancelled.')),
    outputRef: Type.Optional(
      Type.Object(
        {
          apiVersion: Type.Optional(
            Type.String({ maxLength: 316, description: 'API group and version of the object that was made.' }),
          ),
          kind: Type.String({ maxLength: 63, description: 'Kind of the object that was made, such as Backup.' }),
          name: Type.String({ maxLength: 253, description: 'Name of the object that was made.' }),
          namespace: Type.Optional(
            Type.String({ maxLength: 63, description: 'Namespace of the object that was made, where it has one.' }),
          ),
        },
        { description: 'The object that holds what the operation made.' },
      ),
    ),
  },
  { description: 'What was last observed of the operation; written by the operator alone.' },
);
export type OperationStatus = Static<typeof OperationStatus>;

export interface Operation extends KubeObject {
  spec: OperationSpec;
  status?: OperationStatus;
}

export const OPERATION_KIND = 'Operation';
