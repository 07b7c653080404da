import type { Stored } from '../../api/objects.ts';
import { roleIn } from '../membership/roles.ts';
import { vmView } from '../views/from-object/vm.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';

/** Reports whether a pool's `status.replicas` counts this VM of the pool: a replica or an extra VM that stays. */
export const isCounted = ({ deleting, role }: Pick<VmView, 'deleting' | 'role'>): boolean =>
  !deleting && role !== 'Standby';

/** Returns what reports the same of VMs of this pool, as the API server has them. */
export const countedIn =
  (pool: Pick<StoredPool, 'status'>) =>
  (vm: Stored): boolean =>
    isCounted({ deleting: vm.metadata.deletionTimestamp !== undefined, role: roleIn(pool, vmView(vm)) });
