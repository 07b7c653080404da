import { MEMBER_OF_ANNOTATION, ORPHAN_FINALIZER, REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { keepExternal, runsExternal, strategyWithoutDrain } from '../../decisions/membership/eviction-strategy.ts';
import { asFormer } from '../../decisions/membership/label-patch.ts';
import { strategyPatch } from '../../decisions/membership/transfer.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import type { StoredSet, StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { recordEvent } from '../lib/events.ts';
import { labelVmi } from '../lib/label-vmi.ts';
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
     * Removes the pool or set from these VMs' owner references. They lose what only drover acts on: a VM that was
     * leaving loses its mark, as a pool that adopts the VM later would delete it because of the mark. It loses its
     * record as well: a later pool of the name takes back what a backup has restored, and not what was let go. An extra
     * or standby VM becomes an ordinary one, and continues if its pool has paused it. `unmatched`: each only if it
     * still does not match the selector of the set; otherwise, if the owner is deleted without its VMs.
     */
    releaseVms: async (key: OwnerKey, vms: Target[], because?: 'Unmatched'): Promise<Done> => {
      const tally = new Tally(client, key);
      /** VMs that run with another eviction strategy than they have now. */
      const external = new Set<string>();
      // Only a set lets go of what its selector no longer matches.
      const mayLeave = (owner: StoredVmOwner, vm: Stored): boolean =>
        because === undefined ? isOrphaned(owner) : key.kind !== undefined && isUnmatched(owner as StoredSet, vm);
      const release = (target: Target): Promise<Acted> =>
        tally.patch(target, async (owner, vm) => {
          if (!mayLeave(owner, vm) || !isMemberOf(key, seenMember(key, vm))) return null;
          const { ownerReferences: owners = [] } = vm.metadata;
          const ownerReferences = owners.filter((reference) => reference.uid !== key.uid);
          if (key.kind !== undefined) return { annotations: NO_MEMBER, ownerReferences };
          const vmi = await ownVmi(vm);
          if (vmi !== undefined) {
            await unpauseStandby(client, vm, vmi);
            await labelVmi(client, vmi.metadata, asFormer(key.name, vmi.metadata));
          }
          const strategy = strategyWithoutDrain(owner as StoredPool, vm);
          if (strategy !== undefined && runsExternal(vmi)) external.add(vm.metadata.name);
          const { labels, ...rest } = asFormer(key.name, vm.metadata, strategy);
          return {
            ...rest,
            labels,
            ownerReferences,
            spec: { template: { metadata: { labels }, ...strategyPatch(strategy) } },
          };
        });
      await tally.each(vms, release, { most: concurrency });
      if (because !== undefined) await tally.report('Release');
      const left = tally.acted.filter((name) => external.has(name));
      if (left.length > 0) {
        const note = keepExternal(formatNames(left));
        await recordEvent(client, key, { type: 'Warning', reason: 'SuccessfulRelease', action: 'Release', note });
      }
      return tally.done();
    },
  };

  async function ownVmi(vm: Stored): Promise<Stored<VirtualMachineInstance> | undefined> {
    const at = { namespace: vm.metadata.namespace!, name: vm.metadata.name };
    const vmi = await ignoreNotFound(client.get<VirtualMachineInstance>(VirtualMachineInstances, at));
    return vmi !== undefined && isControlledBy(vmi, VirtualMachines, identityOf(vm)) ? vmi : undefined;
  }
}

const NO_MEMBER = { [REMOVING_ANNOTATION]: null, [MEMBER_OF_ANNOTATION]: null };

const isOrphaned = ({ metadata }: StoredVmOwner): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(ORPHAN_FINALIZER) === true;

const isUnmatched = ({ spec }: StoredSet, { metadata }: Stored): boolean =>
  !matchesLabels(spec.selector, metadata.labels ?? {});
