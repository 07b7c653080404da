import type { KubeObject } from '../../api/objects.ts';
import { roleOf, type VmView } from '../views/vm.ts';

/** Reports whether a pool's `status.replicas` counts this VM of the pool: a replica or an extra VM that stays. */
export const isCounted = ({ deleting, role }: Pick<VmView, 'deleting' | 'role'>): boolean =>
  !deleting && role !== 'Standby';

/** The same of a VM as the API server has it. */
export const isCountedObject = ({ metadata }: KubeObject): boolean =>
  isCounted({ deleting: metadata.deletionTimestamp !== undefined, role: roleOf(metadata.labels) });
