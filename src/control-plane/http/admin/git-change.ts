import { Type, type Static } from 'typebox';
import { PruneBreaker } from '../../../protocol/agent-config.ts';
import type { Fault } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';
import { gitSettingsOf, GitSettings, RequiredApprovals } from '../../git/git-settings.ts';
import type { ClusterRow } from '../../store/schema.ts';

const oneOf = <const Name extends string>(...names: readonly Name[]) =>
  Type.Optional(Type.Unsafe<Name | null>({ type: ['string', 'null'], enum: [...names, null] }));

/** Those that are left out keep what they are; null is no longer set, so that the default holds. */
export const GitChange = Type.Object(
  {
    review: oneOf('direct', 'proposal'),
    requiredApprovals: Type.Optional(Type.Union([RequiredApprovals, Type.Null()])),
    merge: oneOf('automatic', 'manual'),
    pruneOnRemoval: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    pruneBreaker: Type.Optional(Type.Union([PruneBreaker, Type.Null()])),
    requireSignedCommits: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    outsideEdits: oneOf('report', 'restore'),
  },
  { additionalProperties: false },
);
export type GitChange = Static<typeof GitChange>;

/**
 * `git_settings` after a change, in one order of members, so that equal settings are equal text; null where nothing is set.
 *
 * @throws AppError `constraint_violated` for settings that contradict each other
 */
export function changeGitSettings(before: string | null, change: GitChange): string | null {
  const set = (before === null ? {} : JSON.parse(before)) as Record<string, unknown>;
  const asked: Readonly<Record<string, unknown>> = change;
  const after = Object.fromEntries(
    Object.keys(GitSettings.properties).flatMap((name) => {
      const value = asked[name] === undefined ? set[name] : asked[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
  const text = Object.keys(after).length === 0 ? null : JSON.stringify(after);
  const faults = contradictions(gitSettingsOf({ git_settings: text }));
  if (faults.length > 0) throw refusal(faults);
  return text;
}

/** @throws AppError `constraint_violated` where the cluster reads nothing from Git */
export function refuseWithoutGit({ connectivity_mode: mode }: Pick<ClusterRow, 'connectivity_mode'>): void {
  if (mode === 'gitops') return;
  throw refusal([{ path: '/git', message: `belongs to connectivityMode gitops only; this cluster's is ${mode}` }]);
}

/** For the audit log. */
export function gitSettingsText(text: string | null): string {
  const { review, requiredApprovals, merge, pruneOnRemoval, pruneBreaker, requireSignedCommits, outsideEdits } =
    gitSettingsOf({ git_settings: text });
  const roles = Object.entries(requiredApprovals.roles ?? {}).map(([role, count]) => `${count} of ${role}`);
  return [
    `review ${review}`,
    `${requiredApprovals.count} approvals${roles.length === 0 ? '' : ` (${roles.join(', ')})`}`,
    `merge ${merge}`,
    pruneOnRemoval
      ? `prunes, held above ${pruneBreaker.objects} objects and ${Math.round(pruneBreaker.fraction * 100)} %`
      : 'no prune',
    requireSignedCommits ? 'signed commits only' : 'unsigned commits too',
    outsideEdits === 'restore' ? 'restores what others edit' : 'reports what others edit',
  ].join(', ');
}

function contradictions({ requiredApprovals: { count, roles }, merge, review }: Required<GitSettings>): Fault[] {
  const tooMany = Object.entries(roles ?? {})
    .filter(([, ofRole]) => ofRole > count)
    .map(([role, ofRole]) => ({
      path: `/git/requiredApprovals/roles/${role}`,
      message: `asks for ${ofRole} of the ${count} who approve; raise count or lower this`,
    }));
  if (count > 0 || merge === 'manual' || review === 'direct') return tooMany;
  const message =
    '0 with merge automatic would merge each proposal unseen: ask for an approval, or set merge to manual';
  return [...tooMany, { path: '/git/requiredApprovals/count', message }];
}
