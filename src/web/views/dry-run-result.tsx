import type { JSX } from 'preact';
import type { DryRun } from '../api/intents.ts';
import { newFilePatch } from '../yaml-diff/new-file-patch.ts';
import { YamlDiff } from '../yaml-diff/yaml-diff.tsx';

interface DryRunResultProps {
  readonly result: DryRun;
  readonly placedAbove: readonly string[];
}

/** What would become of an intent: what stands against it, who would have to approve it, and what would change. */
export function DryRunResult({ result, placedAbove }: DryRunResultProps): JSX.Element {
  const { violations, warnings = [], approval, manifest, diff } = result;
  const others = violations.filter(({ path }) => !placedAbove.some((place) => path.startsWith(place)));
  const patch = diff ?? (manifest === undefined ? '' : newFilePatch(manifest));
  return (
    <div class="dry-run">
      <p role="status">
        {headOf(result)}
        {violations.length > 0 && (others.length === 0 ? ': see the fields above.' : ':')}
      </p>
      {others.length > 0 && (
        <ul class="fault">
          {others.map(({ path, message, at }) => (
            <li key={`${at} ${path} ${message}`}>
              {path !== '' && <code>{path}</code>} {message}
              {at === 'cluster' && ' (the cluster would refuse it)'}
            </li>
          ))}
        </ul>
      )}
      {warnings.map(({ path, message }) => (
        <p key={path} class="note">
          {message}
        </p>
      ))}
      {approval !== undefined && (
        <p class="note">
          It would wait for {approval.required.count} {approval.required.count === 1 ? 'approval' : 'approvals'}
          {Object.entries(approval.required.roles ?? {}).map(([role, count]) => `, ${count} as ${role}`)}
          {approval.via === 'proposal' ? ', given to its proposal.' : '.'}
        </p>
      )}
      <h2>What would change</h2>
      {patch === '' ? (
        <p class="quiet">Nothing.</p>
      ) : (
        <YamlDiff
          files={[
            {
              path: 'manifest',
              status: patch.includes('\n@@ -0,0 ') || patch.startsWith('@@ -0,0 ') ? 'new' : 'changed',
              patch,
            },
          ]}
        />
      )}
    </div>
  );
}

function headOf({ violations }: DryRun): string {
  if (violations.length === 0) return 'It would be accepted.';
  return violations.length === 1
    ? 'It would be refused, for one reason'
    : `It would be refused, for ${violations.length} reasons`;
}
