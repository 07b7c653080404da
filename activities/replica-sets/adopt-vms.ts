import { REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf } from '../../api/objects.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { recordEvent } from '../lib/events.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { nothingDone, type Done } from '../owners/done.ts';
import { kindOfOwner, memberVersions, versionsOf } from '../owners/kinds.ts';
import { knownSet, liveOwner } from '../owners/live-owner.ts';
import { liveMember } from '../owners/live-vm.ts';
import { tryEach, type Acted } from '../owners/try-each.ts';
import type { ReplicaSetKey } from './replica-set-request.ts';

/** Creates the activity by which VMs that exist already come into a set. */
export function createAdoptionActivities({ client, cache, concurrency }: ActivityOptions) {
  return {
    /**
     * Makes the set the controller of these VMs, each only as it was seen: with labels that match the selector, and
     * without a controller.
     */
    async adoptVms(key: ReplicaSetKey, vms: Target[]): Promise<Done> {
      const adopted: string[] = [];
      let minVersions: ResourceVersions = {};
      const saw = (versions: ResourceVersions): void => void (minVersions = maxVersions(minVersions, versions));
      const setNow = sharedCall(() => liveOwner(client, key));
      const adopt = async ({ name, uid }: Target): Promise<Acted> => {
        const set = (await setNow()) as StoredSet | undefined;
        saw(versionsOf(key, set?.metadata.resourceVersion));
        if (set === undefined || set.metadata.deletionTimestamp !== undefined) return 'left';
        const at = { namespace: key.namespace, name };
        const vm = await liveMember(client, key, at);
        saw(memberVersions(key, vm?.metadata.resourceVersion));
        if (vm?.metadata.uid !== uid || vm.metadata.deletionTimestamp !== undefined) return 'left';
        const { resourceVersion, labels = {}, ownerReferences: others = [] } = vm.metadata;
        if (controllerOf(vm) !== undefined || !matchesLabels(set.spec.selector, labels)) return 'left';
        const ownerReferences = [...others, ownerReference(key.kind, set.metadata)];
        // A VM that was leaving a pool when that let it go must not be taken for one that leaves.
        const patch = {
          metadata: { resourceVersion, annotations: { [REMOVING_ANNOTATION]: null }, ownerReferences },
        };
        const stored = await ignoreStale(patchKept(client, kindOfOwner(key).members.resource, at, patch));
        saw(memberVersions(key, stored?.metadata.resourceVersion));
        if (stored === undefined) return 'left';
        adopted.push(name);
        return 'done';
      };
      const { count, refused } = await tryEach(vms, adopt, { most: concurrency });
      await report(key, vms, { count, refused, adopted });
      return { ...nothingDone, count, refused, minVersions };
    },
  };

  async function report(
    key: ReplicaSetKey,
    vms: readonly Target[],
    { count, refused, adopted }: Pick<Done, 'count' | 'refused'> & { adopted: string[] },
  ): Promise<void> {
    const set = await knownSet(client, cache, key);
    if (set === undefined) return;
    const action = 'Adopt';
    if (adopted.length > 0) {
      const note = `Adopted ${formatNames(adopted)}`;
      await recordEvent(client, set, { type: 'Normal', reason: 'SuccessfulAdopt', action, note }, key.kind);
    }
    if (refused !== null) {
      const names = formatNames(vms.map(({ name }) => name));
      const note = `${vms.length - count} of ${names} not adopted: ${refused.message}`;
      await recordEvent(client, set, { type: 'Warning', reason: 'FailedAdopt', action, note }, key.kind);
    }
  }
}
