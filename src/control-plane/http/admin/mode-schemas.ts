import { Type, type Static } from 'typebox';
import { ConnectivityMode } from '../../../protocol/connectivity-mode.ts';
import { EntryName } from '../../../protocol/names.ts';

const strict = { additionalProperties: false } as const;

/** Body of `POST /clusters/{id}/mode`. `push` and `git` belong to the mode that it is to. */
export const SwitchMode = Type.Object(
  {
    mode: ConnectivityMode,
    dryRun: Type.Optional(Type.Boolean({ description: 'probes and answers what would be done; nothing is changed' })),
    push: Type.Optional(Type.Object({ kubeconfig: Type.String({ minLength: 1 }) }, strict)),
    git: Type.Optional(
      Type.Object(
        {
          repository: Type.Optional(EntryName),
          review: Type.Optional(Type.Union([Type.Literal('direct'), Type.Literal('proposal')])),
        },
        strict,
      ),
    ),
    closeProposals: Type.Optional(
      Type.Boolean({ description: 'whether open proposals are closed, with their intents, rather than in the way' }),
    ),
  },
  strict,
);
export type SwitchMode = Static<typeof SwitchMode>;
