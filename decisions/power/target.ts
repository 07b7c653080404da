import type { OperationAction } from '../../api/operations/operation.ts';
import type { VmiView } from '../views/vmi.ts';

/** Whether the action is about the VMI that a VM has, or about the VM itself. */
export const isAboutVmi = (action: OperationAction): boolean => action === 'Restart' || action === 'Migrate';

/** By what a VMI is known again: it keeps its UID when it is migrated, so then by the pod that it is to leave, too. */
export const targetOfVmi = (action: OperationAction, { uid, pod }: Pick<VmiView, 'uid' | 'pod'>): string =>
  action === 'Migrate' ? `${uid}@${pod ?? ''}` : uid;
