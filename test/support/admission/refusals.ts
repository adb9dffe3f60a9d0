import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateSigningKey } from '../../../src/protocol/signing-key.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import type { OperationSpec } from '../../../src/resources/operation.ts';
import { anInstance, CHART_URL, CLUSTER_ID } from '../../reconcile/manifests.ts';
import { anOperation, claimsFor, controlPlaneKey, sign } from '../../policy/signed-approval.ts';
import { START_TIMEOUT_MS } from '../real-cluster/real-cluster.ts';
import type { AdmissionCluster } from './admission-cluster.ts';
import { AdmissionWorld, byHand, hasKubectl, type Run } from './admission-world.ts';

const AT = `/api/v1/clusters/${CLUSTER_ID}`;
const adds = (field: string): string => `an admin of the control plane adds to ${field} with: PATCH ${AT}`;
const NAMESPACES = 'allowed: shop, narrow, bare, brief';
const ASK = `ask for it anew with an intent and have that approved: POST ${AT}/intents`;
const PARAMETERS: Readonly<Record<string, Record<string, unknown>>> = {
  scale: { name: 'web', replicas: 2 },
  'rollout-restart': { name: 'web' },
  'velero-backup': {},
};
const INSTANCES = 'applicationinstances';
const OPERATIONS = 'operations';

function instance(name: string, spec: Parameters<typeof anInstance>[0] = {}, namespace = 'shop'): KubeObject {
  return byHand(anInstance({ ...spec, name, namespace }));
}
function operation(name: string, spec: Partial<OperationSpec>, namespace = 'shop'): ReturnType<typeof anOperation> {
  const { template = 'scale' } = spec;
  return byHand(anOperation({ template, parameters: PARAMETERS[template] ?? {}, ...spec }, { name, namespace }));
}
/** What kubectl does when the webhook refuses what is created, for these reasons. */
function denied(resource: string, ...lines: readonly string[]): Run {
  const why = `admission webhook "${resource}.admission.service.io" denied the request: ${lines.join('\n')}`;
  return { code: 1, out: '', err: `Error from server (Forbidden): error when creating "STDIN": ${why}\n` };
}
/** An hour around now: the API servers and the operator live in real time. */
function lifetime(change: { readonly iat?: number; readonly exp?: number } = {}): { iat: number; exp: number } {
  const now = Math.floor(Date.now() / 1000);
  return { iat: now - 60 + (change.iat ?? 0), exp: now + 3600 + (change.exp ?? 0) };
}

/** What the user of kubectl is told of each refusal that docs/admission.md lists, to the letter. */
export function admissionRefusals(start: () => Promise<AdmissionCluster>): void {
  describe.skipIf(!hasKubectl)('what kubectl prints of a refusal', { timeout: 60_000 }, () => {
    let world: AdmissionWorld;

    beforeAll(async () => {
      world = await AdmissionWorld.start(start);
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    });

    it('NamespaceNotAllowed: of the namespace, where it goes to, and what it works on', async () => {
      const rest = (what: string): string =>
        `${what} is not allowed for this cluster; ${NAMESPACES}; ${adds('allowedNamespaces')}`;
      expect(await world.create(instance('a', {}, 'closed'))).toEqual(denied(INSTANCES, rest('namespace closed')));
      expect(await world.create(instance('a', { spec: { targetNamespace: 'closed' } }))).toEqual(
        denied(INSTANCES, rest('targetNamespace closed')),
      );
      const targetRef = { kind: 'Deployment', name: 'web', namespace: 'kube-system' };
      expect(await world.create(operation('o', { targetRef, parameters: { replicas: 2 } }))).toEqual(
        denied(
          OPERATIONS,
          rest('targetRef.namespace kube-system'),
          'namespace kube-system is not labelled for the operator; a cluster admin runs: kubectl label namespace kube-system managed-by=service',
        ),
      );
    });

    it('NamespaceNotLabelled', async () => {
      const words =
        'namespace bare is not labelled for the operator; a cluster admin runs: kubectl label namespace bare managed-by=service';
      expect(await world.create(instance('a', {}, 'bare'))).toEqual(denied(INSTANCES, words));
    });

    it('ChartNotAllowed: of the entry, the version and the chart, each with what would be taken', async () => {
      expect(await world.create(instance('a', { spec: { catalogEntry: 'nginx' } }))).toEqual(
        denied(
          INSTANCES,
          `catalog entry nginx is not allowed for this cluster; allowed: podinfo; ${adds('allowedCatalogEntries')}`,
        ),
      );
      const chart = { type: 'oci' as const, url: 'oci://elsewhere.test/podinfo', name: 'podinfo', version: '7.0.0' };
      expect(await world.create(instance('a', { spec: { chart } }))).toEqual(
        denied(
          INSTANCES,
          `spec.chart.url is oci://elsewhere.test/podinfo; catalog entry podinfo says ${CHART_URL}; set it with: ` +
            `kubectl patch applicationinstance a -n shop --type=merge -p '{"spec":{"chart":{"url":"${CHART_URL}"}}}'`,
          'spec.chart.version 7.0.0 is outside >=6.5.0 <7, which catalog entry podinfo allows; take a version of that ' +
            'range, or an admin of the control plane widens it with: PUT /api/v1/catalog/podinfo',
        ),
      );
    });

    it('TemplateNotAllowed: on the cluster, and by the list of the namespace', async () => {
      expect(await world.create(operation('o', { template: 'velero-backup' }))).toEqual(
        denied(
          OPERATIONS,
          'operation template velero-backup is not allowed on this cluster; allowed: scale, rollout-restart; ' +
            adds('allowedOperationTemplates'),
        ),
      );
      expect(await world.create(operation('o', {}, 'narrow'))).toEqual(
        denied(
          OPERATIONS,
          'operation template scale is not allowed in namespace narrow; allowed: rollout-restart; a cluster admin runs: ' +
            'kubectl annotate --overwrite namespace narrow ops.service.io/allowed-operations=rollout-restart,scale',
        ),
      );
      const allowed = await world.create(operation('o', { template: 'rollout-restart' }, 'narrow'));
      expect(allowed).toEqual({ code: 0, out: 'operation.ops.service.io/o created\n', err: '' });
    });

    it('the printed commands let in what was refused', async () => {
      const list = 'ops.service.io/allowed-operations=rollout-restart,scale';
      const annotated = await world.kubectl(['annotate', '--overwrite', 'namespace', 'narrow', list]);
      const labelled = await world.kubectl(['label', 'namespace', 'bare', 'managed-by=service']);
      expect([annotated.code, labelled.code]).toEqual([0, 0]);
      // The operator sees a namespace's change a moment later.
      await expect
        .poll(async () => (await world.create(operation('now', {}, 'narrow'))).code, { timeout: 10_000 })
        .toBe(0);
      await expect
        .poll(async () => (await world.create(instance('now', {}, 'bare'))).code, { timeout: 10_000 })
        .toBe(0);
      await world.kubectl(['label', 'namespace', 'bare', 'managed-by-']);
    });

    it('ApprovalMissing', async () => {
      expect(await world.create(operation('o', { approval: { required: true } }))).toEqual(
        denied(
          OPERATIONS,
          `the operation needs an approval (spec.approval) and there is none; nobody in the cluster can approve it; ${ASK}`,
        ),
      );
    });

    it('ApprovalInvalid: forged, of another key, expired, of another cluster, object or spec', async () => {
      const asked = operation('o', {});
      const claims = { ...claimsFor(asked), ...lifetime() };
      const { exp } = lifetime({ exp: -7200 });
      const other = generateSigningKey();
      const changed = operation('o', { parameters: { name: 'web', replicas: 200 } });
      const cases: readonly (readonly [string, string])[] = [
        [
          await sign(claims, { key: other, header: { kid: controlPlaneKey.kid } }),
          "is forged or altered: its signature is not that of this cluster's control plane",
        ],
        [
          await sign(claims, { key: other }),
          `is signed by key ${other.kid}; this cluster's control plane signs with ${controlPlaneKey.kid}`,
        ],
        [await sign({ ...claims, exp }), `expired at ${new Date(exp * 1000).toISOString()}`],
        [
          await sign({ ...claims, cluster_id: 'c-fedcba9876543210' }),
          `is for cluster c-fedcba9876543210; this is ${CLUSTER_ID}`,
        ],
        [await sign({ ...claims, name: 'p' }), 'is for shop/p; this is shop/o'],
        [
          await sign({ ...claims, specHash: claimsFor(changed).specHash }),
          'is for another spec; this one is not as it was approved',
        ],
        [
          await sign({ ...claims, approvedBy: 'ada, bob' }),
          'was given by bob, who asked for it; somebody else must approve',
        ],
        ['made up', 'is not a compact JWS of an approval'],
      ];
      for (const [statement, fault] of cases) {
        const object = operation('o', { approval: { required: true, statement } });
        expect(await world.create(object)).toEqual(denied(OPERATIONS, `spec.approval.statement ${fault}; ${ASK}`));
      }
      const statement = await sign(claims);
      const good = operation('o', { approval: { required: true, statement } });
      expect(await world.create(good)).toMatchObject({ code: 0, out: 'operation.ops.service.io/o created\n' });
    });

    it('ApprovalUsed: by who deletes what was approved and makes it again', async () => {
      const asked = operation('again', {});
      const statement = await sign({ ...claimsFor(asked), ...lifetime(), jti: 'apr-3' });
      const good = operation('again', { approval: { required: true, statement } });
      expect(await world.create(good)).toMatchObject({ code: 0 });
      const used = `spec.approval.statement was used already, by Operation shop/again, and an approval is good for one use; ${ASK}`;
      const begun = ['wait', '--for=jsonpath={.status.startedAt}', 'operation/again', '-n', 'shop', '--timeout=10s'];
      const again = async (): Promise<Run> => {
        for (const command of [begun, ['delete', 'operation', 'again', '-n', 'shop']]) await world.kubectl(command);
        return await world.create(good);
      };
      await expect.poll(again, { timeout: 20_000 }).toEqual(denied(OPERATIONS, used));
    });

    it('ReservedFieldChanged: of what a person makes, and of what is there', async () => {
      const marked = byHand(anInstance({ name: 'a' }), { annotations: { 'app.service.io/source': '9.9' } });
      expect(
        await world.create({
          ...marked,
          metadata: { ...marked.metadata, labels: { 'app.service.io/managed-by': 'control-plane' } },
        }),
      ).toEqual(
        denied(
          INSTANCES,
          'only the operator sets metadata.labels[app.service.io/managed-by], metadata.annotations[app.service.io/source]; ' +
            'leave that out, and create it again: an object that a person makes needs none of it',
        ),
      );
      const made = await world.create(instance('mine'));
      expect(made).toEqual({ code: 0, out: 'applicationinstance.apps.service.io/mine created\n', err: '' });
      const label = ['label', 'applicationinstance', 'mine', '-n', 'shop', 'app.service.io/managed-by=control-plane'];
      const refusal =
        'Error from server (Forbidden): admission webhook "applicationinstances.admission.service.io" denied the request: ';
      expect((await world.kubectl(label)).err).toBe(
        `${refusal}only the operator sets metadata.labels[app.service.io/managed-by]; leave that as it is, see: ` +
          'kubectl get applicationinstance mine -n shop -o yaml. To hand an object over to the control plane: kubectl label ' +
          'applicationinstance mine -n shop app.service.io/managed-by=control-plane ' +
          '--as=system:serviceaccount:service-system:service-operator\n',
      );
      const status = ['--subresource=status', '--type=merge', '-p', '{"status":{"observedGeneration":99}}'];
      expect(await world.kubectl(['patch', 'applicationinstance', 'mine', '-n', 'shop', ...status])).toEqual({
        code: 1,
        out: '',
        err:
          `${refusal}only the operator sets status; change spec, or stop the operator here with: ` +
          'kubectl annotate applicationinstance mine -n shop ops.service.io/paused=true\n',
      });
      const before = operation('needs', { approval: { required: true } });
      const statement = await sign({ ...claimsFor(before), ...lifetime(), jti: 'apr-2' });
      await world.create({ ...before, spec: { ...before.spec, approval: { required: true, statement } } });
      const take = ['patch', 'operation', 'needs', '-n', 'shop', '--type=merge', '-p', '{"spec":{"approval":null}}'];
      expect((await world.kubectl(take)).err).toContain('approval.required');
      expect((await world.kubectl(take)).code).toBe(1);
    });

    it('SpecInvalid: an integer that would reach the release rounded', async () => {
      const values = { id: 2 ** 60, list: [1, -(2 ** 53)], asText: '1234567890123456789' };
      expect(await world.create(instance('a', { spec: { values } }))).toEqual(
        denied(
          INSTANCES,
          'spec.values.id: the integer is beyond ±(2^53−1); send it as a string',
          'spec.values.list[1]: the integer is beyond ±(2^53−1); send it as a string',
        ),
      );
      expect(await world.create(operation('o', { template: 'rollout-restart', parameters: { id: 2 ** 60 } }))).toEqual(
        denied(
          OPERATIONS,
          'spec.parameters.id: the integer is beyond ±(2^53−1); send it as a string',
          '/parameters/id is not known; the known fields are kind, name; operation template rollout-restart says so',
          '/parameters/name is required, or a targetRef; operation template rollout-restart says so',
        ),
      );
    });

    it('ParametersInvalid and TemplateNotSupported: before anything runs, each fault with its place', async () => {
      expect(await world.create(operation('o', { parameters: { name: 'web', replicas: -1, kind: 'Pod' } }))).toEqual(
        denied(
          OPERATIONS,
          '/parameters/kind must be one of Deployment, StatefulSet, DaemonSet; operation template scale says so',
          '/parameters/replicas must be from 0 to 10000; operation template scale says so',
        ),
      );
      expect(await world.create(operation('o', { template: 'reboot' }))).toEqual(
        denied(
          OPERATIONS,
          'operation template reboot is not allowed on this cluster; allowed: scale, rollout-restart; ' +
            adds('allowedOperationTemplates'),
          'there is no operation template reboot here; those that are allowed: rollout-restart, scale',
        ),
      );
    });

    it('SpecInvalid: parameters that are changed, which no schema can forbid', async () => {
      await world.create(operation('once', {}));
      const change = '{"spec":{"parameters":{"replicas":3}}}';
      const patch = ['patch', 'operation', 'once', '-n', 'shop', '--type=merge', '-p', change];
      expect(await world.kubectl(patch)).toEqual({
        code: 1,
        out: '',
        err:
          'Error from server (Forbidden): admission webhook "operations.admission.service.io" denied the request: ' +
          'parameters cannot be changed: an operation runs once and as it was asked for; make a new Operation\n',
      });
    });
  });
}
