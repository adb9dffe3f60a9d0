import { realForAdmission } from '../../support/admission/admission-cluster.ts';
import { admissionRefusals } from '../../support/admission/refusals.ts';
import { describeRealCluster } from '../../support/real-cluster/real-cluster.ts';

describeRealCluster(
  'kube-apiserver',
  (start) => {
    admissionRefusals(async () => await realForAdmission(start));
  },
  { needs: ['controller-manager'] },
);
