import { Type } from 'typebox';
import { label, subdomain } from '../../resources/spec-parts.ts';
import type { BuiltInTemplate } from './built-in-template.ts';

const strict = { additionalProperties: false } as const;
const Words = (description: string) => Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 100, description });

export const RunJobParameters = Type.Object(
  {
    cronJob: Type.Optional(subdomain('Name of the CronJob whose job is run once.')),
    image: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Image of the one container.' })),
    command: Type.Optional(Words('Entry point in place of that of the image.')),
    args: Type.Optional(Words('Arguments.')),
    env: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 4096 }), {
        maxProperties: 100,
        description: 'Environment variables by name. Nothing secret belongs here.',
      }),
    ),
    secretEnv: Type.Optional(
      Type.Array(subdomain('Name of a Secret.'), {
        maxItems: 20,
        description: 'Secrets of the namespace whose keys become environment variables.',
      }),
    ),
    container: Type.Optional(label('Name of the container (default: job).')),
  },
  strict,
);

export const runJob: BuiltInTemplate = {
  description: 'Run a Job from a named CronJob or template once.',
  parameters: RunJobParameters,
  deadlineSeconds: 3600,
  isRetryable: true,
  isCancellable: true,
  targets: [],
  faults: ({ cronJob, ...inline }) => {
    if (cronJob === undefined) {
      return inline['image'] === undefined ? [{ path: '/image', message: 'is required, or a cronJob' }] : [];
    }
    return Object.keys(inline).map((name) => ({
      path: `/${name}`,
      message: 'does not go with cronJob, whose job is run as it is',
    }));
  },
};
