import type { Cluster } from './cluster.ts';
import type { ObjectRule } from './object-rule.ts';

export const mtlsWithoutTls: ObjectRule<Cluster> = {
  name: 'mtlsWithoutTls',
  at: 'spec',
  cel:
    '!(has(self.security) && has(self.security.mtls) && has(self.security.mtls.enabled) && self.security.mtls.enabled) ' +
    "|| self.controlPlaneBaseUrl.startsWith('https://')",
  message:
    'security.mtls.enabled needs a controlPlaneBaseUrl that begins with https://: a client certificate goes over TLS',
  isBroken: ({ spec }) => spec.security?.mtls?.enabled === true && !spec.controlPlaneBaseUrl.startsWith('https://'),
};

export const CLUSTER_RULES: readonly ObjectRule<Cluster>[] = [mtlsWithoutTls];
