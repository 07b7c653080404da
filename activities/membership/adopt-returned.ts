import {
  DISKS_FINALIZER,
  NOT_YET_RUN_ANNOTATION,
  POOL_LABEL,
  REMOVING_ANNOTATION,
  ROLE_LABEL,
  STANDBY_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { standbyRules } from '../../api/rules/pool-defaults.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { membershipChangeOf } from '../../decisions/membership/change.ts';
import { isReturned } from '../../decisions/membership/returned.ts';
import { withRolesOf } from '../../decisions/membership/roles.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import { memberOfAnnotation } from '../../decisions/views/annotations/member-of.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ActivityOptions } from '../cache/access.ts';
import type { Done } from '../owners/done.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';
import { RoleRecord } from './role-record.ts';

/** `generation`: of the spec that this was planned for. `role`: what the VMs are to be; null for replicas. */
interface AdoptReturnedOptions {
  generation: number;
  role: 'Standby' | null;
}

interface ReturnActivityOptions extends ActivityOptions {
  /** The former templates of pools. */
  revisions: { adopt: (pool: StoredPool, revision: string) => Promise<void> };
}

/** Creates the activity that re-adopts VMs that a backup restored without their owner. */
export function createReturnActivities({ client, revisions, concurrency }: ReturnActivityOptions) {
  return {
    /**
     * Makes the pool the controller of these VMs again, each only if it still counts as returned, and while the pool
     * has the spec that this was planned for, and lacks VMs of that role.
     */
    adoptReturnedVms: async (
      key: PoolKey,
      vms: Target[],
      { generation, role }: AdoptReturnedOptions,
    ): Promise<Done> => {
      const { namespace, name: poolName, uid } = key;
      const tally = new Tally(client, { namespace, name: poolName, uid });
      const members = await membersOf(key, role);
      const adopting = new Set<string>();
      const adoptions = new Map<string, Promise<void>>();
      const adoptRevision = (pool: StoredPool, revision: string): Promise<void> => {
        const adoption = adoptions.get(revision) ?? revisions.adopt(pool, revision);
        adoptions.set(revision, adoption);
        return adoption;
      };
      const record = new RoleRecord(client, key);
      const adopt = async (target: Target): Promise<Acted> => {
        const { name } = target;
        const acted = await tally.patch(target, async (owner, vm) => {
          const pool = owner as StoredPool;
          const view = vmView(vm);
          if (!isReturned(pool, view)) return null;
          if (!canAdopt(pool, generation) || members.size + adopting.size >= wantedOf(pool, role)) {
            tally.notWanted.push(name);
            return null;
          }
          adopting.add(name);
          // Before the VM is the pool's: it is never a replica too many, nor updated from a template that is unknown.
          if (role !== null) await record.identify([{ vm: view, isNew: true }], role);
          if (view.revision !== null) await adoptRevision(pool, view.revision);
          return metadataOf(pool, vm, role, client.clock.now());
        });
        if (acted === 'skipped') adopting.delete(name);
        return acted;
      };
      await tally.each(vms, adopt, { most: concurrency });
      await tally.report('Adopt', ', restored from a backup');
      tally.saw(record.minVersions);
      return tally.done();
    },
  };

  /** Names of the VMs that the pool has of this role now. */
  async function membersOf(key: PoolKey, role: 'Standby' | null): Promise<Set<string>> {
    const { namespace, name, uid } = key;
    const labelSelector = `${POOL_LABEL}=${name}`;
    const { items } = await client.list<VirtualMachine>(VirtualMachines, { namespace, labelSelector });
    const own = items.filter((vm) => isControlledBy(vm, VirtualMachinePools, { namespace, uid }));
    const members = own.map(vmView).map(withRolesOf(await livePool(client, key)));
    return new Set(members.filter((vm) => vm.role === role).map(({ name: member }) => member));
  }
}

const canAdopt = (pool: StoredPool, generation: number): boolean =>
  pool.metadata.deletionTimestamp === undefined &&
  (pool.metadata.generation ?? 0) === generation &&
  membershipChangeOf(pool) === null;

const wantedOf = (pool: StoredPool, role: 'Standby' | null): number =>
  role === null ? wantedReplicas(pool) : standbyRules(pool.spec).replicas;

/**
 * The VM is as the backup has it, but for what no longer holds: its disks hold data that its VMIs did not write here,
 * and what was about to become of it when it was saved is over.
 */
function metadataOf(pool: StoredPool, { metadata }: Stored, role: 'Standby' | null, now: number): object {
  const { name, ownerReferences = [], finalizers = [] } = metadata;
  const kept = finalizers.filter((finalizer) => finalizer !== DISKS_FINALIZER);
  return {
    ownerReferences: [...ownerReferences, ownerReference('VirtualMachinePool', pool.metadata)],
    ...(kept.length === finalizers.length ? {} : { finalizers: kept }),
    labels: role === null ? { [ROLE_LABEL]: null } : {},
    annotations: {
      ...memberOfAnnotation(pool.metadata.uid, name, now),
      [REMOVING_ANNOTATION]: null,
      [NOT_YET_RUN_ANNOTATION]: null,
      ...(role === null ? { [STANDBY_ANNOTATION]: null } : {}),
    },
  };
}
