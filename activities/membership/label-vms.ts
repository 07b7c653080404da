import { JOINED_ANNOTATION, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import type { EventReason } from '../../api/reasons.ts';
import { VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import type { VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import {
  runsExternal,
  stillExternal,
  strategyOfReturned,
  strategyWithoutDrain,
} from '../../decisions/membership/eviction-strategy.ts';
import { asFormer, asMember, vmLabelPatch, type LabelPatch } from '../../decisions/membership/label-patch.ts';
import { isUnlabelled } from '../../decisions/membership/labels.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import { EXTERNAL } from '../../decisions/template/template.ts';
import { isClone, memberOfAnnotation } from '../../decisions/views/annotations/member-of.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { recordEvent } from '../lib/events.ts';
import { labelVmi } from '../lib/label-vmi.ts';
import { unpauseStandby } from '../lib/pause.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVm, ownVmi } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { outcomeOf, tryEach, type Acted } from '../owners/try-each.ts';

/** `minVersions`: what a later plan must have seen: by the labels of their VMIs, it knows what these run. */
interface Labelled {
  /** As they are now. */
  vms: (VmWithVmi & { isClone: boolean; isOrphan: boolean })[];
  minVersions: ResourceVersions;
}

/** How VMs and their VMIs are patched. */
interface Labelling {
  isMeant: (vm: Stored<VirtualMachine>) => boolean;
  /** Whether it is still to be patched if the pool is being deleted. */
  ofDeleted?: (vm: Stored<VirtualMachine>) => boolean;
  patchOf: (object: Stored, revision: string | null, strategy?: string | null) => LabelPatch;
  /** The eviction strategy that the VM gets; null for none, undefined if it keeps its own. */
  strategyOf: (pool: StoredPool, vm: Stored<VirtualMachine>) => string | null | undefined;
  /** Annotations of the VM alone. */
  vmAnnotations?: (name: string) => Record<string, string>;
  /** What is done before anything is written. */
  before?: (vm: Stored<VirtualMachine>, vmi: Stored) => Promise<void>;
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
        strategyOf: strategyOfReturned,
      });
      return report(client, key, done, 'SuccessfulAttach', 'Attached');
    },

    /** Takes the pool's labels and marks off VMs, and their VMIs, that no longer have a controller. */
    unlabelVms: async (key: PoolKey, vms: Target[]): Promise<ResourceVersions | Acted> => {
      const done = await onEach(key, vms, {
        isMeant: (vm) => controllerOf(vm) === undefined && vmView(vm).labels[POOL_LABEL] === key.name,
        ofDeleted: (vm) => vmView(vm).memberOf === key.uid,
        patchOf: ({ metadata }, _revision, strategy) => asFormer(key.name, metadata, strategy),
        strategyOf: strategyWithoutDrain,
        before: (vm, vmi) => unpauseStandby(client, vm, vmi),
      });
      return report(client, key, done, 'SuccessfulDetach', 'Detached');
    },
  };

  /** Patches each of these VMs that is still as it is meant, its VMI first: the VM shows that both are done. */
  async function onEach(key: PoolKey, vms: readonly Target[], how: Labelling): Promise<Labelled> {
    const { namespace } = key;
    const done: Labelled = { vms: [], minVersions: {} };
    const poolNow = sharedCall(() => livePool(client, key));
    const act = async ({ name, uid }: Target): Promise<Acted> => {
      const [pool, vm] = await Promise.all([poolNow(), liveVm(client, { namespace, name })]);
      if (pool === undefined || vm?.metadata.uid !== uid) return 'skipped';
      if (vm.metadata.deletionTimestamp !== undefined || !how.isMeant(vm)) return 'skipped';
      if (pool.metadata.deletionTimestamp !== undefined && how.ofDeleted?.(vm) !== true) return 'skipped';
      const strategy = how.strategyOf(pool, vm);
      const vmi = await ownVmi(client, vm);
      if (vmi !== undefined) {
        await how.before?.(vm, vmi);
        // What was started while the VM was not the pool's has started without what `drain` gives.
        const hasRevision = strategy !== EXTERNAL || runsExternal(vmi);
        const vmis = await labelVmi(client, vmi.metadata, how.patchOf(vmi, hasRevision ? vmView(vm).revision : null));
        done.minVersions = maxVersions(done.minVersions, { vmis });
      }
      const { resourceVersion } = vm.metadata;
      const own = how.patchOf(vm, null, strategy);
      const annotations = { ...own.annotations, ...how.vmAnnotations?.(name) };
      const patch = vmLabelPatch({ ...own, annotations }, { uid, resourceVersion }, strategy);
      const stored = await ignoreStale(patchKept<VirtualMachine>(client, VirtualMachines, { namespace, name }, patch));
      if (stored === undefined) return 'skipped';
      const isOrphan = pool.metadata.deletionTimestamp !== undefined;
      done.vms.push({ vm: stored, vmi, isClone: isClone(vm.metadata), isOrphan });
      return 'done';
    };
    outcomeOf(await tryEach(vms, act, { most: concurrency }));
    return done;
  }
}

async function report(
  client: KubeClient,
  key: PoolKey,
  { vms, minVersions }: Labelled,
  reason: 'SuccessfulAttach' | 'SuccessfulDetach',
  verb: string,
): Promise<ResourceVersions | Acted> {
  if (vms.length === 0) return 'skipped';
  const clones = vms.filter((one) => one.isClone);
  const of = (isOrphan: boolean) => vms.filter((one) => !one.isClone && one.isOrphan === isOrphan);
  await tell(client, key, reason, `${verb} by hand`, of(false));
  await tell(client, key, reason, 'Left without an owner, since the pool is deleted with --cascade=orphan', of(true));
  await tell(client, key, 'CloneUnlabelled', 'Not of the pool, though cloned from a VM of it with its labels', clones);
  return minVersions;
}

async function tell(
  client: KubeClient,
  key: PoolKey,
  reason: EventReason,
  what: string,
  vms: readonly VmWithVmi[],
): Promise<void> {
  if (vms.length === 0) return;
  const left = stillExternal(vms);
  const names = formatNames(vms.map(({ vm }) => vm.metadata.name));
  const note = `${what}: ${names}${left === null ? '' : `; ${left}`}`;
  await recordEvent(client, key, { type: 'Normal', reason, action: 'ChangeMembers', note });
}
