import { JOINED_ANNOTATION, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { asFormer, asMember, vmLabelPatch, type LabelPatch } from '../../decisions/membership/label-patch.ts';
import { isUnlabelled } from '../../decisions/membership/labels.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import { memberOfAnnotation } from '../../decisions/views/annotations/member-of.ts';
import { ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { recordEvent } from '../lib/events.ts';
import { labelVmi } from '../lib/label-vmi.ts';
import { unpauseStandby } from '../lib/pause.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { outcomeOf, tryEach, type Acted } from '../owners/try-each.ts';

/** `minVersions`: what a later plan must have seen: by the labels of their VMIs, it knows what these run. */
interface Labelled {
  names: string[];
  minVersions: ResourceVersions;
}

/** Creates the activities that correct labels after another client has changed the owner. */
export function createLabelActivities({ client, concurrency }: Omit<ActivityOptions, 'cache'>) {
  return {
    /** Gives VMs, and their VMIs, the labels of the pool that owns them. */
    labelVms: async (key: PoolKey, vms: Target[]): Promise<ResourceVersions | Acted> => {
      const done = await onEach(key, vms, {
        isMeant: (vm) => isControlledBy(vm, VirtualMachinePools, key) && isUnlabelled(key, vmView(vm)),
        patchOf: ({ metadata }, revision) => asMember(key.name, metadata, revision),
        vmAnnotations: (name) => ({
          [JOINED_ANNOTATION]: 'true',
          ...memberOfAnnotation(key.uid, name, client.clock.now()),
        }),
      });
      return report(key, done, 'SuccessfulAttach', 'Attached');
    },

    /** Takes the pool's labels and marks off VMs, and their VMIs, that no longer have a controller. */
    unlabelVms: async (key: PoolKey, vms: Target[]): Promise<ResourceVersions | Acted> => {
      const done = await onEach(key, vms, {
        isMeant: (vm) => controllerOf(vm) === undefined && vmView(vm).labels[POOL_LABEL] === key.name,
        patchOf: ({ metadata }) => asFormer(key.name, metadata),
        before: (vm, vmi) => unpauseStandby(client, vm, vmi),
      });
      return report(key, done, 'SuccessfulDetach', 'Detached');
    },
  };

  /** Patches each of these VMs that is still as it is meant, its VMI first: the VM shows that both are done. */
  async function onEach(
    key: PoolKey,
    vms: readonly Target[],
    how: {
      isMeant: (vm: Stored<VirtualMachine>) => boolean;
      patchOf: (object: Stored, revision: string | null) => LabelPatch;
      /** Annotations of the VM alone. */
      vmAnnotations?: (name: string) => Record<string, string>;
      /** What is done before anything is written. */
      before?: (vm: Stored<VirtualMachine>, vmi: Stored) => Promise<void>;
    },
  ): Promise<Labelled> {
    const { namespace } = key;
    const done: Labelled = { names: [], minVersions: {} };
    const poolNow = sharedCall(() => livePool(client, key));
    const act = async ({ name, uid }: Target): Promise<Acted> => {
      const [pool, vm] = await Promise.all([poolNow(), liveVm(client, { namespace, name })]);
      if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return 'skipped';
      if (vm?.metadata.uid !== uid || vm.metadata.deletionTimestamp !== undefined || !how.isMeant(vm)) return 'skipped';
      const vmi = await ignoreNotFound(client.get(VirtualMachineInstances, { namespace, name }));
      if (vmi !== undefined && isControlledBy(vmi, VirtualMachines, { namespace, uid })) {
        await how.before?.(vm, vmi);
        const vmis = await labelVmi(client, vmi.metadata, how.patchOf(vmi, vmView(vm).revision));
        done.minVersions = maxVersions(done.minVersions, { vmis });
      }
      const { resourceVersion } = vm.metadata;
      const own = how.patchOf(vm, null);
      const annotations = { ...own.annotations, ...how.vmAnnotations?.(name) };
      const patch = vmLabelPatch({ ...own, annotations }, { uid, resourceVersion });
      const stored = await ignoreStale(patchKept(client, VirtualMachines, { namespace, name }, patch));
      if (stored === undefined) return 'skipped';
      done.names.push(name);
      return 'done';
    };
    outcomeOf(await tryEach(vms, act, { most: concurrency }));
    return done;
  }

  async function report(
    key: PoolKey,
    { names, minVersions }: Labelled,
    reason: 'SuccessfulAttach' | 'SuccessfulDetach',
    verb: string,
  ): Promise<ResourceVersions | Acted> {
    if (names.length === 0) return 'skipped';
    const note = `${verb} by hand: ${formatNames(names)}`;
    await recordEvent(client, key, { type: 'Normal', reason, action: 'ChangeMembers', note });
    return minVersions;
  }
}
