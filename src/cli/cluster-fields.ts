import { InvalidArgumentError, Option, type Command } from 'commander';
import { CliError, EXIT } from './cli-error.ts';
import { durationIn } from './operation-parameters.ts';

/** What `clusters create` and `clusters update` take of a cluster's settings. */
export interface ClusterFields {
  readonly displayName?: string;
  readonly namespace?: readonly string[];
  readonly catalogEntry?: readonly string[];
  readonly operationTemplate?: readonly string[];
  readonly rotateEvery?: number;
  readonly heartbeatEvery?: number;
  readonly eventBatchMs?: number;
  readonly eventBatchSize?: number;
  readonly requireSignedPayloads?: boolean;
  readonly requireEncryptedSecretPayloads?: boolean;
  readonly review?: string;
  readonly requiredApprovals?: number;
  readonly approvalRole?: Readonly<Record<string, number>>;
  readonly merge?: string;
  readonly prune?: boolean;
  readonly pruneBreaker?: { readonly objects: number; readonly fraction: number };
  readonly requireSignedCommits?: boolean;
  readonly outsideEdits?: string;
}

export function withClusterFields(command: Command): Command {
  return command
    .option('--display-name <text>', 'what people call it')
    .addOption(list('--namespace <names>', 'namespaces that may be delivered to'))
    .addOption(list('--catalog-entry <names>', 'catalog entries that may be installed'))
    .addOption(list('--operation-template <names>', 'operation templates that may be run'))
    .addOption(new Option('--rotate-every <time>', 'of its credential, such as 24h').argParser(durationIn))
    .addOption(new Option('--heartbeat-every <time>', 'such as 60s').argParser(durationIn))
    .addOption(new Option('--event-batch-ms <number>', 'how long events are gathered').argParser(wholeNumber))
    .addOption(new Option('--event-batch-size <number>', 'how many events are sent at once').argParser(wholeNumber))
    .option('--require-signed-payloads', 'applies nothing that this control plane has not signed')
    .option('--no-require-signed-payloads', 'also what is not signed')
    .option('--require-encrypted-secret-payloads', 'takes secret values sealed alone')
    .option('--no-require-encrypted-secret-payloads', 'also those that are not sealed')
    .addOption(new Option('--review <kind>', 'gitops: how intents get into Git').choices(['direct', 'proposal']))
    .addOption(new Option('--required-approvals <number>', 'gitops: of a proposal').argParser(wholeNumber))
    .addOption(
      new Option('--approval-role <role=number>', 'gitops: of these, how many of a role; again for more').argParser(
        roleCount,
      ),
    )
    .addOption(new Option('--merge <kind>', 'gitops: of an approved proposal').choices(['automatic', 'manual']))
    .option('--prune', 'gitops: deletes what Git no longer has')
    .option('--no-prune', 'gitops: leaves it')
    .addOption(
      new Option('--prune-breaker <objects,fraction>', 'gitops: holds removals above both, such as 5,0.3').argParser(
        breaker,
      ),
    )
    .option('--require-signed-commits', 'gitops: reads nothing that rests on an unsigned commit')
    .option('--no-require-signed-commits', 'gitops: unsigned commits too')
    .addOption(new Option('--outside-edits <what>', 'gitops: by others').choices(['report', 'restore']));
}

/** What was said of the settings, as the API takes it; nothing of what was not said. */
export function bodyOfFields(fields: ClusterFields): Record<string, unknown> {
  const { approvalRole: roles, requiredApprovals: count } = fields;
  if (roles !== undefined && count === undefined) {
    throw new CliError(EXIT.usage, '--approval-role says of which approvals: add --required-approvals NUMBER');
  }
  return said({
    displayName: fields.displayName,
    allowedNamespaces: fields.namespace,
    allowedCatalogEntries: fields.catalogEntry,
    allowedOperationTemplates: fields.operationTemplate,
    intervals: orNothing({
      rotateSeconds: fields.rotateEvery,
      heartbeatSeconds: fields.heartbeatEvery,
      eventBatchMs: fields.eventBatchMs,
      eventBatchSize: fields.eventBatchSize,
    }),
    security: orNothing({
      requireSignedPayloads: fields.requireSignedPayloads,
      requireEncryptedSecretPayloads: fields.requireEncryptedSecretPayloads,
    }),
    git: orNothing({
      review: fields.review,
      requiredApprovals: count === undefined ? undefined : { count, ...(roles === undefined ? {} : { roles }) },
      merge: fields.merge,
      pruneOnRemoval: fields.prune,
      pruneBreaker: fields.pruneBreaker,
      requireSignedCommits: fields.requireSignedCommits,
      outsideEdits: fields.outsideEdits,
    }),
  });
}

/** An option with names, several with commas or given several times. */
export function list(flags: string, description: string): Option {
  return new Option(flags, `${description}; several with commas`).argParser(
    (text: string, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...text.split(',').filter((name) => name !== ''),
    ],
  );
}

/** `--label name=value`, given again for more. */
export function labelIn(text: string, before: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const [name = '', ...value] = text.split('=');
  if (name === '' || value.length === 0) throw new InvalidArgumentError('It is name=value, such as team=shop.');
  return { ...before, [name]: value.join('=') };
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return Number(text);
}

function roleCount(text: string, before: Readonly<Record<string, number>> | undefined): Record<string, number> {
  const [, role = '', count = ''] = /^([^=]+)=(\d{1,4})$/.exec(text) ?? [];
  if (role === '') throw new InvalidArgumentError('It is role=number, such as dba=1.');
  return { ...before, [role]: Number(count) };
}

function breaker(text: string): { objects: number; fraction: number } {
  const [, objects = '', fraction = ''] = /^(\d{1,6}),(0(?:\.\d{1,6})?|1(?:\.0+)?)$/.exec(text) ?? [];
  if (objects === '') throw new InvalidArgumentError('It is objects,fraction, such as 5,0.3.');
  return { objects: Number(objects), fraction: Number(fraction) };
}

function said(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function orNothing(members: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const left = said(members);
  return Object.keys(left).length === 0 ? undefined : left;
}
