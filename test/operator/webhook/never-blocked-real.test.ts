import { realForAdmission } from '../../support/admission/admission-cluster.ts';
import { admissionBlocksNothing } from '../../support/admission/never-blocked.ts';
import { describeRealCluster } from '../../support/real-cluster/real-cluster.ts';

describeRealCluster(
  'kube-apiserver',
  (start) => {
    admissionBlocksNothing(async () => await realForAdmission(start));
  },
  { needs: ['controller-manager'] },
);
