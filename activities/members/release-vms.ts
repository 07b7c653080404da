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
import { ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import type { Done } from '../owners/done.ts';
import { isMemberOf, seenMember } from '../owners/if-owned.ts';
import { kindOfOwner } from '../owners/kinds.ts';
import { liveOwner } from '../owners/live-owner.ts';
import { liveMember } from '../owners/live-vm.ts';
import type { OwnerKey } from '../owners/owner-key.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';
import { letGoOn } from '../power/pause.ts';

/** Creates the activity by which a pool or a set lets go of its VMs. */
export function createReleaseActivities({ client, concurrency }: Omit<ActivityOptions, 'cache'>) {
  return {
    /**
     * Removes the pool or set from these VMs' owner references, and leaves the VMs otherwise as they are. A VM that was
     * leaving loses its mark: a pool that adopts the VM later would delete it because of the mark. It loses its record
     * as well: a later pool of the name takes back what a backup has restored, and not what was let go. An extra or
     * standby VM is none any more, and continues if its pool has paused it. `unmatched`: each only if it still does not
     * match the selector of the set; otherwise, if the owner is deleted without its VMs.
     */
    releaseVms: async (key: OwnerKey, vms: Target[], because?: 'Unmatched'): Promise<Done> => {
      const tally = new Tally(client, key);
      const ownerNow = sharedCall(() => liveOwner(client, key));
      // Only a set lets go of what its selector no longer matches.
      const mayRelease = (owner: StoredVmOwner): boolean =>
        because === undefined ? isOrphaned(owner) : key.kind !== undefined;
      const release = async ({ name, uid }: Target): Promise<Acted> => {
        const owner = await ownerNow();
        tally.sawOwner(owner);
        if (owner === undefined || !mayRelease(owner)) return 'left';
        const vm = await liveMember(client, key, { namespace: key.namespace, name });
        tally.sawMember(vm);
        if (vm === undefined || vm.metadata.uid !== uid || !isMemberOf(key, seenMember(key, vm))) return 'left';
        if (because !== undefined && !isUnmatched(owner as StoredSet, vm)) return 'left';
        if (key.kind === undefined) await goOn(vm);
        const { ownerReferences: owners = [], resourceVersion, labels } = vm.metadata;
        const ownerReferences = owners.filter((reference) => reference.uid !== key.uid);
        const annotations = {
          [REMOVING_ANNOTATION]: null,
          [MEMBER_OF_ANNOTATION]: null,
          ...(vm.metadata.annotations?.[STANDBY_ANNOTATION] === undefined ? {} : { [STANDBY_ANNOTATION]: null }),
        };
        // What it was beside the replicas of this pool, it is in no later one.
        const role = labels?.[ROLE_LABEL] === undefined ? {} : { labels: { [ROLE_LABEL]: null } };
        const patch = { metadata: { resourceVersion, ...role, annotations, ownerReferences } };
        const released = await ignoreStale(
          patchKept(client, kindOfOwner(key).members.resource, { namespace: key.namespace, name }, patch),
        );
        tally.sawMember(released);
        if (released === undefined) return 'left';
        tally.acted.push(name);
        return 'done';
      };
      await tally.each(vms, release, { most: concurrency });
      if (because !== undefined) await tally.report('Release');
      return tally.done();
    },
  };

  async function goOn(vm: Stored): Promise<void> {
    const at = { namespace: vm.metadata.namespace!, name: vm.metadata.name };
    const vmi = await ignoreNotFound(client.get(VirtualMachineInstances, at));
    if (vmi !== undefined && isControlledBy(vmi, VirtualMachines, identityOf(vm))) await letGoOn(client, vm, vmi);
  }
}

const isOrphaned = ({ metadata }: StoredVmOwner): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(ORPHAN_FINALIZER) === true;

const isUnmatched = ({ spec }: StoredSet, { metadata }: Stored): boolean =>
  !matchesLabels(spec.selector, metadata.labels ?? {});
