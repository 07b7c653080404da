import type { OperationAction } from '../../api/operations/operation.ts';
import { ACTION_LABELS } from '../power/action.ts';

/** How what an operation does is named while it lasts, and once it is done. */
export const OPERATION_LABELS = {
  ...ACTION_LABELS,
  MachineType: { verb: 'machine-types', doing: 'Changing', done: 'Done' },
} as const satisfies Record<OperationAction, { verb: string; doing: string; done: string }>;
