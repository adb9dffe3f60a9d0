import { Type, type Static } from 'typebox';

/** One thing that was looked at before a transport is relied upon. */
export const SwitchProbe = Type.Object({
  /** Stable, kebab-case: `reachable`, `same-cluster`, `rights`, … */
  name: Type.String(),
  ok: Type.Boolean(),
  /** What was found, and what to do where it is not ok. Nothing secret. */
  message: Type.String(),
  /** It is ok, and somebody should know this. */
  warning: Type.Optional(Type.String()),
});
export type SwitchProbe = Static<typeof SwitchProbe>;
