import { Option, type Command } from 'commander';
import { CHANNEL_CATEGORIES } from '../events/ingest/channel-reasons.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { toneOf } from './colours.ts';
import { printable } from './git-views.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';
import { readInput } from './read-input.ts';

interface Message {
  readonly id: string;
  readonly at: string;
  readonly text: string;
}

interface Webhook {
  readonly name: string;
  readonly host: string;
  readonly waiting: number;
  readonly dropped: number;
  readonly lastSentAt?: string;
  readonly lastError?: string;
  readonly disabledAt?: string;
  readonly disabledReason?: string;
}

interface ListOptions extends ConnectionOptions, OutputOptions {
  readonly cluster?: string;
  readonly category?: string;
  readonly reason?: string;
  readonly limit: string;
}

const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'HOST', value: ({ host }) => host },
  { header: 'STATE', value: stateOf, tone: (webhook) => toneOf(stateOf(webhook)) },
  { header: 'WAITING', value: ({ waiting }) => waiting },
  { header: 'DROPPED', value: ({ dropped }) => dropped },
  { header: 'LAST SENT', value: ({ lastSentAt }) => lastSentAt },
  { header: 'REASON', value: ({ disabledReason, lastError }) => disabledReason ?? lastError },
];

function stateOf({ disabledAt, lastError }: Webhook): string {
  return disabledAt !== undefined ? 'given up' : lastError !== undefined ? 'failing' : 'ok';
}

/** `servicectl channel …`: the organization's discussion channel and the webhooks that it is sent to. */
export function addChannelCommands(program: Command, deps: CliDeps): void {
  const channel = program.command('channel').description('what became of deploys, backups and credentials');

  addOutput(withConnection(channel.command('list')))
    .description('prints the newest messages, the newest first')
    .option('--cluster <cluster>', 'of one cluster alone: slug or id')
    .addOption(new Option('--category <category>', 'of one category alone').choices(CHANNEL_CATEGORIES))
    .option('--reason <reason>', 'with one reason alone, such as HelmReleaseUpgradeFailed')
    .option('--limit <number>', 'how many: 1 to 500', '50')
    .action(async (options: ListOptions) => {
      const query = new URLSearchParams({ limit: options.limit });
      for (const filter of ['cluster', 'category', 'reason'] as const) {
        const value = options[filter];
        if (value !== undefined) query.set(filter, value);
      }
      const { items } = await callControlPlane<{ readonly items: readonly Message[] }>(
        options,
        deps,
        'GET',
        `/channel?${query.toString()}`,
      );
      print(deps, options, { items, columns: messageLines, nameOf: ({ id }) => id });
    });

  const webhooks = channel.command('webhooks').description('where the channel is also sent, such as to Slack');
  addWebhookCommands(webhooks, deps);
}

function addWebhookCommands(webhooks: Command, deps: CliDeps): void {
  addOutput(withConnection(webhooks.command('list')))
    .description('prints the webhooks: host, what waits, what was dropped, and what is wrong')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const { items } = await callControlPlane<{ readonly items: readonly Webhook[] }>(
        options,
        deps,
        'GET',
        '/channel/webhooks',
      );
      print(deps, options, { items, columns: WEBHOOK_COLUMNS, nameOf: ({ name }) => name });
    });

  withConnection(webhooks.command('add'))
    .argument('<name>', "lower-case letters, digits and '-'")
    .description('adds a webhook and prints the key that its messages are signed with, which is shown this once')
    .requiredOption(
      '--url-file <file>',
      'file that holds the https:// address, which is a secret; - reads it from standard input',
    )
    .action(async (name: string, options: ConnectionOptions & { readonly urlFile: string }) => {
      const body = { name, url: await readUrl(options.urlFile) };
      const { secret } = await callControlPlane<{ readonly secret: string }>(
        options,
        deps,
        'POST',
        '/channel/webhooks',
        body,
      );
      deps.out(`${secret}\n`);
    });

  withConnection(webhooks.command('test'))
    .argument('<name>', 'of the webhook')
    .description('sends a test message past the queue and prints what came back')
    .action(async (name: string, options: ConnectionOptions) => {
      const path = `${at(name)}/test`;
      const answer = await callControlPlane<{ readonly taken: boolean; readonly answer: string }>(
        options,
        deps,
        'POST',
        path,
      );
      if (!answer.taken) throw new CliError(EXIT.failed, `the test message was not taken: ${answer.answer}`);
      deps.out(printable(`${answer.answer}\n`));
    });

  withConnection(webhooks.command('enable'))
    .argument('<name>', 'of the webhook')
    .description('takes a webhook up again that was given up')
    .action(async (name: string, options: ConnectionOptions) => {
      await callControlPlane(options, deps, 'POST', `${at(name)}/enable`);
      deps.out(`webhook ${name} is sent to again\n`);
    });

  withConnection(webhooks.command('delete'))
    .argument('<name>', 'of the webhook')
    .description('deletes a webhook with what waits for it')
    .action(async (name: string, options: ConnectionOptions) => {
      await callControlPlane(options, deps, 'DELETE', at(name));
      deps.out(`webhook ${name} is deleted\n`);
    });
}

function at(name: string): string {
  return `/channel/webhooks/${encodeURIComponent(name)}`;
}

/** Never an argument: who knows the address can write into the channel, and everybody on a machine reads its arguments. */
async function readUrl(file: string): Promise<string> {
  return (await readInput(file, `the file ${file}`, 'Put the address alone into it')).trim();
}

function messageLines(items: readonly Message[]): string {
  return items.map(({ at, text }) => printable(`${at}  ${text}\n`)).join('');
}
