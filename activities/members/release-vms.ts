import { MEMBER_OF_ANNOTATION, ORPHAN_FINALIZER, REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { keepExternal, runsExternal, strategyWithoutDrain } from '../../decisions/membership/eviction-strategy.ts';
import { leavePatches } from '../../decisions/membership/moves.ts';
import type { ReleaseCause, Target } from '../../decisions/owners/steps.ts';
import { namedAmong, namedRemovals } from '../../decisions/views/annotations/named-vms.ts';
import type { StoredSet, StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { recordEvent } from '../lib/events.ts';
import { labelVmi } from '../lib/label-vmi.ts';
import { unpauseStandby } from '../lib/pause.ts';
import type { Done } from '../owners/done.ts';
import { isMemberOf, seenMember } from '../owners/if-owned.ts';
import { ownVmi } from '../owners/live-vm.ts';
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
     * or standby VM becomes an ordinary one, and continues if its pool has paused it. `because`: each only
     * if that still holds; otherwise, if the owner is deleted without its VMs.
     */
    releaseVms: async (key: OwnerKey, vms: Target[], because?: ReleaseCause): Promise<Done> => {
      const tally = new Tally(client, key);
      /** VMs that run with another eviction strategy than they have now. */
      const external = new Set<string>();
      const mayLeave = (owner: StoredVmOwner, vm: Stored): boolean => {
        if (because === undefined) return isOrphaned(owner);
        const isOfPool = key.kind === undefined;
        return because === 'Named' ? isOfPool && isNamed(owner, vm) : !isOfPool && isUnmatched(owner as StoredSet, vm);
      };
      const release = (target: Target): Promise<Acted> =>
        tally.patch(target, async (owner, vm) => {
          if (!mayLeave(owner, vm) || !isMemberOf(key, seenMember(key, vm))) return null;
          const { ownerReferences: owners = [] } = vm.metadata;
          if (key.kind !== undefined)
            return { annotations: NO_MEMBER, ownerReferences: owners.filter(({ uid }) => uid !== key.uid) };
          const pool = owner as StoredPool;
          const vmi = await ownVmi(client, vm);
          const patches = leavePatches(pool, { vm, vmi });
          if (patches.vm === null) return null;
          if (vmi !== undefined) {
            await unpauseStandby(client, vm, vmi);
            await labelVmi(client, vmi.metadata, patches.vmi);
          }
          if (strategyWithoutDrain(pool, vm) !== undefined && runsExternal(vmi)) external.add(vm.metadata.name);
          return { ...patches.vm.metadata, spec: patches.vm.spec };
        });
      await tally.each(vms, release, { most: concurrency });
      if (because !== undefined) await tally.report(because === 'Named' ? 'Detach' : 'Release');
      const left = tally.acted.filter((name) => external.has(name));
      if (left.length > 0) {
        const note = keepExternal(formatNames(left));
        await recordEvent(client, key, { type: 'Warning', reason: 'SuccessfulRelease', action: 'Release', note });
      }
      return tally.done();
    },
  };
}

const NO_MEMBER = { [REMOVING_ANNOTATION]: null, [MEMBER_OF_ANNOTATION]: null };

const isOrphaned = ({ metadata }: StoredVmOwner): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(ORPHAN_FINALIZER) === true;

const isNamed = ({ metadata }: StoredVmOwner, vm: Stored): boolean =>
  metadata.deletionTimestamp === undefined &&
  namedAmong(namedRemovals(metadata.annotations), true)(vm.metadata) &&
  vm.metadata.deletionTimestamp === undefined;

const isUnmatched = ({ spec }: StoredSet, { metadata }: Stored): boolean =>
  !matchesLabels(spec.selector, metadata.labels ?? {});
