import { ADOPT_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { membershipChangeOf } from '../../decisions/membership/change.ts';
import { joinPatches, whyNotAdopted, type Vm } from '../../decisions/membership/moves.ts';
import { isRestoring } from '../../decisions/membership/restore.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import { namedAdoptions, namedAmong } from '../../decisions/views/annotations/named-vms.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { recordEvent } from '../lib/events.ts';
import { labelVmi } from '../lib/label-vmi.ts';
import type { Done } from '../owners/done.ts';
import { liveVm, ownVmi } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';
import { isAdoptionGuarded } from './adoption-policy.ts';
import { forgetNamed } from './forget-named.ts';

/** Creates the activity by which a pool adopts VMs that users have named. */
export function createNamedAdoptionActivities({ client, concurrency }: Omit<ActivityOptions, 'cache'>) {
  return {
    /**
     * Makes the pool the controller of these VMs, each only while the pool names it, and takes off the pool the names
     * of VMs that are its own, or that can't be. Names that nobody has vouched for are taken off, too: the policy may
     * be there tomorrow, and has not been asked for these.
     */
    adoptNamedVms: async (key: PoolKey, vms: Member[]): Promise<Done> => {
      const tally = new Tally(client, key);
      const settled: Member[] = [];
      const faults: string[] = [];
      const isGuarded = await isAdoptionGuarded(client, key);
      const adopt = async (named: Member): Promise<Acted> => {
        const fault = isGuarded ? await adoptOne(tally, named) : UNGUARDED;
        if (fault === undefined) return 'skipped';
        settled.push(named);
        if (fault !== null) faults.push(`vm ${named.name} ${fault}`);
        return 'done';
      };
      await tally.each(vms, adopt, { most: concurrency });
      if (settled.length > 0) tally.saw(await forgetNamed(client, key, ADOPT_VMS_ANNOTATION, settled));
      await tally.report('Adopt', ', as a user has asked');
      if (faults.length > 0) {
        const note = `Not adopted: ${faults.join('; ')}`;
        await recordEvent(client, key, { type: 'Warning', reason: 'FailedAdopt', action: 'Adopt', note });
      }
      return tally.done();
    },
  };

  /** Returns why the pool can't adopt the VM; null if the VM is its own, and undefined if it still may be. */
  async function adoptOne(tally: Tally, named: Member): Promise<string | null | undefined> {
    const acted = await tally.patch(named, async (owner, found) => {
      const pool = owner as StoredPool;
      const vm = found as Vm;
      if (!wants(pool, named) || whyNotAdopted(pool, vm) !== null) return null;
      const vmi = await ownVmi(client, vm);
      const patches = joinPatches(pool, { vm, vmi }, null, client.clock.now());
      // A plan that has not seen the revision of the VMI would restart it.
      if (vmi !== undefined) tally.saw({ vmis: await labelVmi(client, vmi.metadata, patches.vmi) });
      return patches.vm === null ? null : { ...patches.vm.metadata, spec: patches.vm.spec };
    });
    if (acted === 'done') return null;
    const pool = (await tally.ownerNow()) as StoredPool | undefined;
    if (pool === undefined || !wants(pool, named)) return undefined;
    const { namespace } = tally.key;
    const vm = await liveVm(client, { namespace, name: named.name });
    tally.sawMember(vm);
    if (vm?.metadata.uid !== named.uid) return 'is gone';
    return isControlledBy(vm, VirtualMachinePools, tally.key) ? null : (whyNotAdopted(pool, vm) ?? undefined);
  }
}

const UNGUARDED =
  'was named while the policy requested-by.drover.dev is not in force: by it, the API server (Kubernetes 1.30 or newer) asks users for the rights to patch and to delete VMs';

/** Whether users want the VM in the pool, and nothing else moves VMs into it or out of it. */
const wants = (pool: StoredPool, vm: Member): boolean =>
  pool.metadata.deletionTimestamp === undefined &&
  membershipChangeOf(pool) === null &&
  !isRestoring(pool) &&
  namedAmong(namedAdoptions(pool.metadata.annotations))(vm);
