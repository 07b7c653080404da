import {
  MEMBER_OF_ANNOTATION,
  ORPHAN_FINALIZER,
  REMOVING_ANNOTATION,
  ROLE_LABEL,
  STANDBY_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import type { StoredSet, StoredVmOwner } from '../../decisions/views/owner.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { unpauseStandby } from '../lib/pause.ts';
import type { Done } from '../owners/done.ts';
import { isMemberOf, seenMember } from '../owners/if-owned.ts';
import type { OwnerKey } from '../owners/owner-key.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';

/** Creates the activity that releases VMs of a pool or a set. */
export function createReleaseActivities({ client, concurrency }: Omit<ActivityOptions, 'cache'>) {
  return {
    /**
     * Removes the pool or set from these VMs' owner references, and leaves the VMs otherwise as they are. A VM that was
     * leaving loses its mark: a pool that adopts the VM later would delete it because of the mark. It loses its record
     * as well: a later pool of the name takes back what a backup has restored, and not what was let go. An extra or
     * standby VM becomes an ordinary one, and continues if its pool has paused it. `unmatched`: each only if it still
     * does not match the selector of the set; otherwise, if the owner is deleted without its VMs.
     */
    releaseVms: async (key: OwnerKey, vms: Target[], because?: 'Unmatched'): Promise<Done> => {
      const tally = new Tally(client, key);
      // Only a set lets go of what its selector no longer matches.
      const mayLeave = (owner: StoredVmOwner, vm: Stored): boolean =>
        because === undefined ? isOrphaned(owner) : key.kind !== undefined && isUnmatched(owner as StoredSet, vm);
      const release = (target: Target): Promise<Acted> =>
        tally.patch(target, async (owner, vm) => {
          if (!mayLeave(owner, vm) || !isMemberOf(key, seenMember(key, vm))) return null;
          if (key.kind === undefined) await goOn(vm);
          const { ownerReferences: owners = [], labels, annotations: before } = vm.metadata;
          return {
            // What it was beside the replicas of this pool, it is in no later one.
            ...(labels?.[ROLE_LABEL] === undefined ? {} : { labels: { [ROLE_LABEL]: null } }),
            annotations: {
              [REMOVING_ANNOTATION]: null,
              [MEMBER_OF_ANNOTATION]: null,
              ...(before?.[STANDBY_ANNOTATION] === undefined ? {} : { [STANDBY_ANNOTATION]: null }),
            },
            ownerReferences: owners.filter((reference) => reference.uid !== key.uid),
          };
        });
      await tally.each(vms, release, { most: concurrency });
      if (because !== undefined) await tally.report('Release');
      return tally.done();
    },
  };

  async function goOn(vm: Stored): Promise<void> {
    const at = { namespace: vm.metadata.namespace!, name: vm.metadata.name };
    const vmi = await ignoreNotFound(client.get(VirtualMachineInstances, at));
    if (vmi !== undefined && isControlledBy(vmi, VirtualMachines, identityOf(vm)))
      await unpauseStandby(client, vm, vmi);
  }
}

const isOrphaned = ({ metadata }: StoredVmOwner): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(ORPHAN_FINALIZER) === true;

const isUnmatched = ({ spec }: StoredSet, { metadata }: Stored): boolean =>
  !matchesLabels(spec.selector, metadata.labels ?? {});
