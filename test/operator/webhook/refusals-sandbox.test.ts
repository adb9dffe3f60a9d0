import { sandboxForAdmission } from '../../support/admission/admission-cluster.ts';
import { admissionRefusals } from '../../support/admission/refusals.ts';

admissionRefusals(sandboxForAdmission);
