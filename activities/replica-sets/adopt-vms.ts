import { REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf } from '../../api/objects.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import type { Done } from '../owners/done.ts';
import { kindOfOwner } from '../owners/kinds.ts';
import { liveOwner } from '../owners/live-owner.ts';
import { liveMember } from '../owners/live-vm.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';
import type { ReplicaSetKey } from './replica-set-request.ts';

/** Creates the activity by which VMs that exist already come into a set. */
export function createAdoptionActivities({ client, concurrency }: Omit<ActivityOptions, 'cache'>) {
  return {
    /**
     * Makes the set the controller of these VMs, each only as it was seen: with labels that match the selector, and
     * without a controller.
     */
    adoptVms: async (key: ReplicaSetKey, vms: Target[]): Promise<Done> => {
      const tally = new Tally(client, key);
      const setNow = sharedCall(() => liveOwner(client, key));
      const adopt = async ({ name, uid }: Target): Promise<Acted> => {
        const set = (await setNow()) as StoredSet | undefined;
        tally.sawOwner(set);
        if (set === undefined || set.metadata.deletionTimestamp !== undefined) return 'left';
        const at = { namespace: key.namespace, name };
        const vm = await liveMember(client, key, at);
        tally.sawMember(vm);
        if (vm?.metadata.uid !== uid || vm.metadata.deletionTimestamp !== undefined) return 'left';
        const { resourceVersion, labels = {}, ownerReferences: others = [] } = vm.metadata;
        if (controllerOf(vm) !== undefined || !matchesLabels(set.spec.selector, labels)) return 'left';
        const ownerReferences = [...others, ownerReference(key.kind, set.metadata)];
        // A VM that was leaving a pool when that let it go must not be taken for one that leaves.
        const patch = {
          metadata: { resourceVersion, annotations: { [REMOVING_ANNOTATION]: null }, ownerReferences },
        };
        const stored = await ignoreStale(patchKept(client, kindOfOwner(key).members.resource, at, patch));
        tally.sawMember(stored);
        if (stored === undefined) return 'left';
        tally.acted.push(name);
        return 'done';
      };
      await tally.each(vms, adopt, { most: concurrency });
      await tally.report('Adopt');
      return tally.done();
    },
  };
}
