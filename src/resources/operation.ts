import { Type, type Static } from 'typebox';
import { EntryName } from '../protocol/names.ts';
import type { KubeObject } from './kube-object.ts';
import { Conditions, freeForm, label, ObservedGeneration, oneOf, StatusSource, subdomain } from './spec-parts.ts';

const strict = { additionalProperties: false } as const;

export const OPERATION_PHASES = ['Accepted', 'Blocked', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type OperationPhase = (typeof OPERATION_PHASES)[number];

export const OperationSpec = Type.Object(
  {
    template: Type.String({ ...EntryName, description: 'The operation template that is run.' }),
    parameters: Type.Optional(freeForm("The template's parameters.")),
    targetRef: Type.Optional(
      Type.Object(
        {
          apiVersion: Type.Optional(
            Type.String({ minLength: 1, maxLength: 316, description: 'API group and version.' }),
          ),
          kind: Type.String({ minLength: 1, maxLength: 63, description: 'Kind.' }),
          name: subdomain('Name.'),
          namespace: Type.Optional(label("Namespace (default: the operation's own).")),
        },
        { ...strict, description: 'What the operation is about.' },
      ),
    ),
    deadlineSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 604_800,
        description: 'Fails when it has not finished this long after its start.',
      }),
    ),
    cancel: Type.Optional(Type.Boolean({ description: 'Stop it where its template can be stopped.' })),
    ttlSecondsAfterFinished: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Delete the object this long after it finished.' }),
    ),
    approval: Type.Optional(
      Type.Object(
        {
          required: Type.Boolean({ description: 'Blocked until an approval is there.' }),
          statement: Type.Optional(
            Type.String({ maxLength: 8192, description: "The control plane's signed approval (compact JWS)." }),
          ),
        },
        { ...strict, description: 'Whether a person must approve, and the proof that one did.' },
      ),
    ),
  },
  { ...strict, description: 'The operation that should be run once.' },
);
export type OperationSpec = Static<typeof OperationSpec>;

export const OperationStatus = Type.Object(
  {
    observedGeneration: Type.Optional(ObservedGeneration),
    phase: Type.Optional(oneOf(OPERATION_PHASES, { description: 'Where it stands.' })),
    conditions: Type.Optional(Conditions),
    source: Type.Optional(StatusSource),
    startedAt: Type.Optional(Type.String({ maxLength: 64, description: 'RFC 3339.' })),
    finishedAt: Type.Optional(Type.String({ maxLength: 64, description: 'RFC 3339.' })),
    outputRef: Type.Optional(
      Type.Object(
        {
          apiVersion: Type.Optional(Type.String({ maxLength: 316, description: 'API group and version.' })),
          kind: Type.String({ maxLength: 63, description: 'Kind.' }),
          name: Type.String({ maxLength: 253, description: 'Name.' }),
          namespace: Type.Optional(Type.String({ maxLength: 63, description: 'Namespace.' })),
        },
        { description: 'The object that holds what the operation made.' },
      ),
    ),
  },
  { description: 'What was last observed.' },
);
export type OperationStatus = Static<typeof OperationStatus>;

export interface Operation extends KubeObject {
  spec: OperationSpec;
  status?: OperationStatus;
}

export const OPERATION_KIND = 'Operation';
