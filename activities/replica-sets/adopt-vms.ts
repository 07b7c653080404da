import { REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf } from '../../api/objects.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import type { StoredSet } from '../../decisions/views/owner.ts';
import type { ActivityOptions } from '../cache/access.ts';
import type { Done } from '../owners/done.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';
import type { ReplicaSetKey } from './replica-set-request.ts';

/** Creates the activity that adopts existing VMs into a set. */
export function createAdoptionActivities({ client, concurrency }: Omit<ActivityOptions, 'cache'>) {
  return {
    /**
     * Makes the set the controller of these VMs, each only as it was seen: with labels that match the selector, and
     * without a controller.
     */
    adoptVms: async (key: ReplicaSetKey, vms: Target[]): Promise<Done> => {
      const tally = new Tally(client, key);
      const adopt = (target: Target): Promise<Acted> =>
        tally.patch(target, (owner, vm) => {
          const { metadata: set, spec } = owner as StoredSet;
          const { deletionTimestamp, labels = {}, ownerReferences: others = [] } = vm.metadata;
          if (set.deletionTimestamp !== undefined || deletionTimestamp !== undefined) return null;
          if (controllerOf(vm) !== undefined || !matchesLabels(spec.selector, labels)) return null;
          // A VM that was leaving a pool when that let it go must not be taken for one that leaves.
          const annotations = { [REMOVING_ANNOTATION]: null };
          return { annotations, ownerReferences: [...others, ownerReference(key.kind, set)] };
        });
      await tally.each(vms, adopt, { most: concurrency });
      await tally.report('Adopt');
      return tally.done();
    },
  };
}
