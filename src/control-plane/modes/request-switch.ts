import type { Kysely } from 'kysely';
import type { EmbeddedHost } from '../../git/embedded-host/embedded-host.ts';
import { AppError } from '../../protocol/app-error.ts';
import { refusal } from '../../protocol/parse.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { CommitSigning } from '../commit-signing/commit-signing.ts';
import type { MasterKey } from '../master-key.ts';
import { newPushCredential } from '../push/push-access.ts';
import { readKubeconfig } from '../push/read-kubeconfig.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';
import type { Store } from '../store/open-store.ts';
import { findPushCredential, insertPushCredential } from '../store/push-credentials.ts';
import {
  DEFAULT_REPOSITORY,
  EMBEDDED_BRANCH,
  ensureRepositoryRow,
  findRepository,
  findRepositoryById,
  hostedName,
  localName,
  refuseReservedName,
} from '../store/repositories.ts';
import type { ClusterRow, Database, ModeSwitchRow } from '../store/schema.ts';
import { MODES_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { beginSwitch, refuseUnregistered, type BegunSwitch } from './begin-switch.ts';
import { optionsOfAsked, type AskedSwitch } from './plan-switch.ts';
import { openSwitchOf } from './switch-rows.ts';

/** What a person asks for. */
export interface SwitchWish {
  readonly mode: ClusterRow['connectivity_mode'];
  readonly push?: { readonly kubeconfig: string };
  readonly git?: { readonly repository?: string; readonly review?: 'direct' | 'proposal' };
  readonly closeProposals?: boolean;
}

export interface RequestSwitchDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly masterKey: MasterKey;
  readonly host: Pick<EmbeddedHost, 'ensureRepository'>;
  readonly commitSigning: Pick<CommitSigning, 'sign'>;
  readonly baseUrl: () => string;
}

export interface RequestedSwitch {
  readonly row: ModeSwitchRow;
  /** False: it was under way already, and nothing of what is asked for now is used. */
  readonly isNew: boolean;
  /** The name of a repository that was asked for by this name, and was not there. */
  readonly madeRepository?: string;
}

/** The switch to that mode that is under way already: it is answered, whatever else is asked for. */
export async function sameSwitchUnderWay(
  db: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id'>,
  { mode }: SwitchWish,
): Promise<ModeSwitchRow | undefined> {
  const open = await openSwitchOf(db, cluster.id);
  return open?.to_mode === mode && open.state !== 'rolling-back' ? open : undefined;
}

/**
 * Reads a wish, and looks up what it names.
 *
 * @throws AppError `constraint_violated` with the path of what is wrong; `conflict` for a cluster whose operator is shut out
 */
export async function readWish(
  db: Kysely<Database>,
  admin: Pick<AdminIdentity, 'organization'>,
  cluster: ClusterRow,
  wish: SwitchWish,
  now: Date,
): Promise<AskedSwitch> {
  const { mode: to, push, git } = wish;
  refuseOtherModesFields(wish);
  refuseShutOut(cluster);
  const asked = { cluster, to, closeProposals: wish.closeProposals ?? false };
  if (to === 'pull') return asked;
  if (to === 'push') {
    if (push !== undefined) return { ...asked, access: readKubeconfig(push.kubeconfig, { path: KUBECONFIG, now }) };
    if ((await findPushCredential(db, cluster.id)) !== undefined) return asked;
    // Nobody should make a kubeconfig to be told of that then.
    refuseUnregistered(cluster, to);
    const message = `is needed: the control plane has nothing to write to ${cluster.slug} with; servicectl clusters push-access says how to make one`;
    throw refusal([{ path: KUBECONFIG, message }]);
  }
  const known = cluster.repository_id === null ? undefined : await findRepositoryById(db, cluster.repository_id);
  const name = git?.repository ?? (known === undefined ? DEFAULT_REPOSITORY : localName(known));
  refuseReservedName(name);
  const repository = (await findRepository(db, admin.organization, name)) ?? { newName: name };
  return { ...asked, repository, ...(git?.review === undefined ? {} : { review: git.review }) };
}

const KUBECONFIG = '/push/kubeconfig';

function refuseOtherModesFields({ mode, push, git }: SwitchWish): void {
  const faults = [
    ...(push !== undefined && mode !== 'push' ? [{ path: '/push', of: 'push' }] : []),
    ...(git !== undefined && mode !== 'gitops' ? [{ path: '/git', of: 'gitops' }] : []),
  ];
  if (faults.length === 0) return;
  throw refusal(
    faults.map(({ path, of }) => ({ path, message: `belongs to mode ${of} only; this switch is to ${mode}` })),
  );
}

/** A switch needs the operator at each of its steps. That a cluster is disabled or never registered is refused with the rest. */
function refuseShutOut({ slug, revoked_at: revokedAt, status }: ClusterRow): void {
  if (revokedAt === null || status !== 'Active') return;
  throw new AppError(
    'conflict',
    `the credentials of cluster ${slug} were revoked, so its operator cannot be told of a switch: let it in again first (servicectl clusters recovery-command ${slug})`,
  );
}

/** What the rest of the program would say against it, without anything being written. @throws AppError `conflict` */
export async function refuseImpossible(
  deps: Pick<RequestSwitchDeps, 'store' | 'clock' | 'randomBytes'>,
  asked: AskedSwitch,
  requestedBy: string,
): Promise<void> {
  const done = new Error('a dry run writes nothing');
  const options = optionsOfAsked({ ...asked, closeProposals: true }, 'dry-run');
  const request = { clusterId: asked.cluster.id, to: asked.to, options, requestedBy };
  try {
    await deps.store.write(async (trx) => {
      await beginSwitch(trx, deps, request);
      throw done;
    });
  } catch (error) {
    if (error !== done) throw error;
  }
}

/**
 * Stores the wish; the rest is the loop's. A repository of the embedded host is made when it is first named.
 *
 * @throws AppError `conflict`
 */
export async function requestSwitch(
  deps: RequestSwitchDeps,
  admin: AdminIdentity,
  asked: AskedSwitch,
): Promise<RequestedSwitch> {
  const { store, wakeups } = deps;
  const { cluster, to, access, repository } = asked;
  const isMade = repository !== undefined && 'newName' in repository;
  if (isMade || (repository !== undefined && repository.embedded === 1)) {
    const name = isMade ? repository.newName : localName(repository);
    // First, so that a fault here leaves nothing behind that a switch would wait for.
    await deps.host.ensureRepository(hostedName(admin.organization, name), {
      branch: EMBEDDED_BRANCH,
      sign: async (payload) => await deps.commitSigning.sign(admin.organization.id, payload),
    });
  }
  const candidate =
    access === undefined
      ? undefined
      : await newPushCredential(deps, { clusterId: cluster.id, access, createdBy: admin.name });
  const begun = await store.write(async (trx): Promise<BegunSwitch> => {
    const { organization } = admin;
    const used = isMade
      ? await ensureRepositoryRow(trx, organization, repository.newName, { ...deps, baseUrl: deps.baseUrl() })
      : repository;
    const now = await beginSwitch(trx, deps, {
      clusterId: cluster.id,
      to,
      options: optionsOfAsked(asked, used?.id),
      requestedBy: admin.name,
      ...(candidate === undefined ? {} : { pushCredentialId: candidate.id }),
    });
    if (now.isNew && candidate !== undefined) await insertPushCredential(trx, candidate, 'candidate');
    return now;
  });
  wakeups.notify(MODES_TOPIC);
  return { ...begun, ...(isMade ? { madeRepository: repository.newName } : {}) };
}
