import type { Stored } from '../../../api/objects.ts';
import type { Fleet } from '../../../clients/dashboard/fleet/fleet.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { hashOf, poolWith, type UserRequest } from '../rollout/pools.ts';

/** The pool `web` of the namespace `default`, on its way from revision 1 to 2. */
export const aPoolWith = (given: UserRequest = {}, name = 'web', uid = 'u'): Stored<Pool> => {
  const pool = poolWith(given);
  return { ...pool, metadata: { ...pool.metadata, name, uid } };
};

/** A VM of that pool. */
export const aMember = (name: string, fields: Partial<VmView> = {}): VmView =>
  aVm(name, {
    namespace: 'default',
    owner: { kind: 'VirtualMachinePool', name: 'web', uid: 'u' },
    revision: hashOf(1),
    ...fields,
  });

/** Adds a VM, and a VMI that is as ready as the VM says. */
export function add(fleet: Fleet, vm: VmView, vmi: Parameters<typeof aVmi>[1] = {}): void {
  const key = `${vm.namespace}/${vm.name}`;
  fleet.setVm(key, vm);
  fleet.setVmi(key, undefined, vm.hasVmi ? aVmi(vm, vmi) : undefined);
}
