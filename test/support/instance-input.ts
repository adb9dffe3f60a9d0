import fc from 'fast-check';
import type { ApplicationInstance, ApplicationInstanceSpec } from '../../src/resources/application-instance.ts';
import { anInstance } from '../reconcile/manifests.ts';

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const version = fc
  .tuple(fc.nat(99), fc.nat(99), fc.nat(99), fc.constantFrom('', '-rc.1', '-alpha', '+build.5', '-rc.1+sha.0a1b'))
  .map(([major, minor, patch, rest]) => `${major}.${minor}.${patch}${rest}`);
const duration = fc.constantFrom('90s', '5m', '1h', '1h30m', '1.5h', '500ms');

const chart: fc.Arbitrary<ApplicationInstanceSpec['chart']> = fc
  .tuple(
    fc.constantFrom('oci' as const, 'helm' as const),
    label,
    version,
    fc.option(fc.record({ name: label }), { nil: undefined }),
  )
  .map(([type, name, of, secretRef]) => ({
    type,
    url: type === 'oci' ? `oci://registry.test/charts/${name}` : 'https://charts.test/stable',
    name,
    version: of,
    ...(secretRef === undefined ? {} : { secretRef }),
  }));

const valuesFrom = fc.record(
  {
    kind: fc.constantFrom('ConfigMap' as const, 'Secret' as const),
    name: label,
    valuesKey: label,
    targetPath: fc.constantFrom('image.tag', 'a', 'ingress.hosts[0].name'),
    optional: fc.boolean(),
  },
  { requiredKeys: ['kind', 'name'] },
);

const driftIgnore = fc.record(
  {
    paths: fc.array(
      fc.constantFrom('/spec/replicas', '/metadata/annotations/a.b~1c', '/spec/template/spec/containers/0'),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
    target: fc.record(
      {
        group: fc.constantFrom('apps', 'networking.k8s.io'),
        version: fc.constantFrom('v1', 'v2beta1'),
        kind: fc.constantFrom('Deployment', 'HorizontalPodAutoscaler'),
        name: label,
        namespace: label,
        labelSelector: fc.constantFrom('app=web', 'app.kubernetes.io/name in (a, b),!canary'),
        annotationSelector: fc.constantFrom('example.org/by!=hand', 'example.org/by'),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['paths'] },
);

const rest = fc.record(
  {
    releaseName: label,
    targetNamespace: label,
    values: fc.dictionary(label, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 }),
    valuesFrom: fc.array(valuesFrom, { maxLength: 4 }),
    dependsOn: fc.array(fc.record({ name: label, namespace: label }, { requiredKeys: ['name'] }), { maxLength: 4 }),
    upgrade: fc.record(
      {
        timeout: duration,
        retries: fc.nat(100),
        remediation: fc.constantFrom('rollback' as const, 'uninstall' as const, 'none' as const),
      },
      { requiredKeys: [] },
    ),
    driftDetection: fc.constantFrom('enabled' as const, 'warn' as const, 'disabled' as const),
    suspend: fc.boolean(),
    deletionPolicy: fc.constantFrom('Delete' as const, 'Orphan' as const),
  },
  { requiredKeys: [] },
);

/** Instances with every member of their spec there or not, of the form that the definitions allow. */
export const instanceInput: fc.Arbitrary<ApplicationInstance> = fc
  .tuple(label, chart, rest, fc.option(fc.array(driftIgnore, { maxLength: 3 }), { nil: undefined }))
  .map(([name, of, more, ignore]) => {
    // Rules about nothing are refused.
    const isLookedFor = more.driftDetection === 'enabled' || more.driftDetection === 'warn';
    const rules = ignore === undefined || !isLookedFor ? {} : { driftIgnore: ignore };
    return anInstance({ name, spec: { chart: of, ...more, ...rules } });
  });
