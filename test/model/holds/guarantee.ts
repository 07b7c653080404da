import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { activityNow, isByWorker, isDeletion } from '../facts.ts';
import { Check } from '../guarantees/check.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { whyHeld } from './hold.ts';

/** Milliseconds that an act may take from its last look at the VM to its end. */
const ACT_MS = 15_000;
/** By these VMs leave because they are not wanted any more. */
const NOT_CHOSEN: readonly (string | null)[] = ['deleteVms', 'haltVms', 'deleteReplicas', 'deleteVmis'];

/** Checks that nothing that drover chooses to do disrupts a VM that KubeVirt, or a tool beside it, works on. */
export class HoldGuarantees extends Check {
  /** Since when VMs are held, by name. */
  readonly #heldSince = new Map<string, number>();

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (resource !== VirtualMachines && resource !== VirtualMachineInstances) return;
    const { name } = (before ?? after)!.metadata;
    const disrupts = before !== undefined && isDeletion(before, after) && !NOT_CHOSEN.includes(activityNow());
    if (disrupts && isByWorker(call)) this.#check(before);
    if (whyHeld(this.world, name) === null) this.#heldSince.delete(name);
    else if (!this.#heldSince.has(name)) this.#heldSince.set(name, this.now);
  }

  #check({ metadata: { name } }: Stored): void {
    const since = this.#heldSince.get(name) ?? Infinity;
    const why = whyHeld(this.world, name);
    if (why !== null && since < this.now - ACT_MS)
      this.broken('G30', `${name} is disrupted by ${activityNow()}, and ${why} for ${this.now - since} ms`);
  }
}
