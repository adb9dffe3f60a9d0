/** Rows of a fleet that is the same every time, for `seed-fleet.ts`. */
import { DEFAULT_SECURITY } from '../../src/control-plane/cluster-settings.ts';

export type Row = Readonly<Record<string, string | number | null>>;

export interface FleetSize {
  readonly organizationId: string;
  readonly organization: string;
  readonly clusters: number;
  readonly intents: number;
  /** When the newest intent was asked for: RFC 3339 UTC with milliseconds. */
  readonly at: string;
}

interface Rows {
  readonly table: string;
  readonly rows: readonly Row[];
}

const ENVIRONMENTS = ['prod', 'stage', 'dev'] as const;
const REGIONS = ['eu', 'us', 'ap', 'sa'] as const;
const ENTRIES = ['podinfo', 'redis', 'grafana', 'nginx', 'postgres'] as const;
const VERSIONS = ['6.5.0', '6.5.4'] as const;
const PEOPLE = ['anna', 'ben', 'carla', 'dmitri'] as const;
const TEAMS = 20;
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

export function clusterRows({ organizationId, organization, clusters, at }: FleetSize): Rows[] {
  const all = Array.from({ length: clusters }, (_, place) => place);
  const labels = (place: number): Readonly<Record<string, string>> => ({
    env: of(ENVIRONMENTS, place),
    region: of(REGIONS, Math.floor(place / 3)),
    team: `team-${place % TEAMS}`,
  });
  const rows = all.map((place): Row => {
    const isPending = place % 100 === 99;
    const isSilent = place % 100 === 50;
    return {
      id: clusterId(organization, place),
      organization_id: organizationId,
      slug: slugOf(place),
      display_name: `Cluster ${place} of ${of(REGIONS, Math.floor(place / 3)).toUpperCase()}`,
      labels: JSON.stringify(labels(place)),
      status: isPending ? 'Pending' : 'Active',
      disabled_at: place % 200 === 75 ? at : null,
      connectivity_mode: of(['pull', 'gitops', 'push'], place),
      delivery_epoch: 1,
      delivery_held: 0,
      config_revision: 1,
      allowed_namespaces: '["shop","web"]',
      allowed_catalog_entries: JSON.stringify(ENTRIES),
      allowed_operation_templates: '["rollout-restart"]',
      security: JSON.stringify(DEFAULT_SECURITY),
      intervals: '{"rotate_seconds":604800,"heartbeat_seconds":60,"event_batch_ms":1000,"event_batch_size":100}',
      operator_version: isPending ? null : '0.1.0',
      last_contact_at: isPending ? null : at,
      disconnected_at: isSilent ? at : null,
      registered_at: isPending ? null : at,
      deliver_intents: 0,
      require_client_certificate: 0,
      created_at: at,
    };
  });
  const labelled = all.flatMap((place) =>
    Object.entries(labels(place)).map(([name, value]): Row => ({
      organization_id: organizationId,
      cluster_id: clusterId(organization, place),
      name,
      value,
    })),
  );
  return [
    { table: 'clusters', rows },
    { table: 'cluster_labels', rows: labelled },
  ];
}

/** Of each cluster in turn: an application's intents in two generations, and now and then an operation. */
export function intentRows(size: FleetSize): Rows[] {
  const { organizationId, organization, clusters, intents, at } = size;
  const rows: Row[] = [];
  const receipts: Row[] = [];
  const conditions: Row[] = [];
  for (let place = 0; place < intents; place += 1) {
    const cluster = place % clusters;
    const round = Math.floor(place / clusters);
    const isOperation = round % 10 === 9;
    const entry = of(ENTRIES, Math.floor(round / 2));
    const generation = isOperation ? 1 : 1 + (round % 2) + 2 * Math.floor(round / 10);
    const name = isOperation ? `restart-${round}` : `${entry}-${Math.floor((round % 10) / 2)}`;
    const state = stateOf(place, round);
    const asked = new Date(Date.parse(at) - (intents - place) * 1000).toISOString();
    const id = `int-${base32(place, 12)}${organization}`;
    const about = { namespace: of(['shop', 'web'], cluster), name };
    rows.push({
      id,
      organization_id: organizationId,
      cluster_id: clusterId(organization, cluster),
      target_kind: isOperation ? 'Operation' : 'ApplicationInstance',
      ...about,
      generation,
      action: isOperation ? 'operate' : generation === 1 ? 'install' : 'update',
      record: JSON.stringify({ intentVersion: 'v1alpha1', id, ...about, generation, requestedBy: 'anna' }),
      idempotency_key: id,
      state,
      reason: state === 'failed' ? 'HelmReleaseUpgradeFailed: the chart did not come up' : null,
      requested_by: of(PEOPLE, place),
      catalog_entry: isOperation ? null : entry,
      chart_version: isOperation ? null : of(VERSIONS, generation),
      operation_template: isOperation ? 'rollout-restart' : null,
      accepted_at: asked,
      delivered_at: state === 'accepted' ? null : asked,
      applied_at: state === 'accepted' || state === 'delivered' ? null : asked,
      ready_at: state === 'ready' ? asked : null,
    });
    if (state !== 'accepted') {
      receipts.push({ intent_id: id, mode: 'gitops', commit_id: commitOf(place), at: asked });
    }
    if (!isOperation && generation === 1) conditions.push(readyOf(size, cluster, about, asked));
  }
  return [
    { table: 'intents', rows },
    { table: 'receipts', rows: receipts },
    { table: 'resource_conditions', rows: conditions },
  ];
}

export function otherRows({ organizationId, organization, clusters, intents, at }: FleetSize): Rows[] {
  const jobs = Array.from({ length: Math.min(clusters, intents) }, (_, place): Row => {
    const asked = new Date(Date.parse(at) - (clusters - place) * 1000).toISOString();
    return {
      id: `job-${base32(place, 12)}${organization}`,
      organization_id: organizationId,
      cluster_id: clusterId(organization, place),
      intent_id: `int-${base32(place, 12)}${organization}`,
      kind: 'apply',
      target_kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo-0',
      generation: 1,
      delivery_epoch: 1,
      idempotency_key: `key-${place}`,
      payload: '{}',
      state: place % 50 === 0 ? 'pending' : 'closed',
      outcome: place % 50 === 0 ? null : 'succeeded',
      created_at: asked,
      expires_at: '2099-01-01T00:00:00.000Z',
    };
  });
  const entries = ENTRIES.map((name): Row => ({
    organization_id: organizationId,
    name,
    chart: JSON.stringify({ type: 'oci', url: `oci://charts.example/${name}`, name }),
    versions: '>=6.5.0 <7',
    updated_at: at,
  }));
  return [
    { table: 'jobs', rows: jobs },
    { table: 'catalog_entries', rows: entries },
  ];
}

export function slugOf(place: number): string {
  return `${of(ENVIRONMENTS, place)}-${of(REGIONS, Math.floor(place / 3))}-${String(place).padStart(5, '0')}`;
}

/** The same place in another organization is another cluster. */
export function clusterId(organization: string, place: number): string {
  const salt = Array.from(organization).reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 32_768, 7);
  return `c-${base32(salt, 4)}${base32(place, 12)}`;
}

export function commitOf(place: number): string {
  return (place * 2_654_435_761).toString(16).padStart(40, '0').split('').reverse().join('').slice(0, 40);
}

/** Most are ready; of the newest some stand where somebody waits. */
function stateOf(place: number, round: number): string {
  if (round % 2 === 0) return 'ready';
  if (place % 37 === 0) return 'failed';
  if (place % 41 === 0) return 'delivered';
  return place % 97 === 0 ? 'accepted' : 'ready';
}

function readyOf(
  { organization }: FleetSize,
  cluster: number,
  about: { readonly namespace: string; readonly name: string },
  at: string,
): Row {
  return {
    cluster_id: clusterId(organization, cluster),
    uid: `uid-${cluster}-${about.name}`,
    type: 'Ready',
    api_version: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    ...about,
    status: 'True',
    reason: 'HelmReleaseReady',
    last_transition_time: at,
    generation: 1,
    order_key: `0|${'1'.padStart(16, '0')}|${at.padEnd(30, '0')}|${at.padEnd(30, '0')}`,
    updated_at: at,
  };
}

function base32(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = `${DIGITS[rest % 32] ?? ''}${text}`;
  return text;
}

function of<T>(list: readonly T[], place: number): T {
  return list[place % list.length] as T;
}
