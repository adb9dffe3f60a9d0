import { sandboxForAdmission } from '../../support/admission/admission-cluster.ts';
import { admissionBlocksNothing } from '../../support/admission/never-blocked.ts';

admissionBlocksNothing(sandboxForAdmission);
