import { SCHEDULE_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf } from '../../api/objects.ts';
import { VirtualMachineOperations, VirtualMachines } from '../../api/resources.ts';
import { field } from '../../decisions/lib/json.ts';
import { isDeletion } from '../model/facts.ts';
import { Check } from '../model/guarantees/check.ts';
import type { Watched } from '../model/readings.ts';
import type { Write } from '../model/world/api-server.ts';

/** Checks what lasts: VMs of no owner, the end of an operation, and that a time of a schedule has one operation. */
export class LastingGuarantees extends Check<Watched> {
  readonly #made = new Set<string>();

  onWrite({ resource, before, after }: Write): void {
    const { name, labels } = (after ?? before)!.metadata;
    if (resource === VirtualMachines && before !== undefined && isDeletion(before, after))
      if (controllerOf(before) === undefined) this.broken('G4', `${name} is deleted, and nothing owns it`);
    if (resource !== VirtualMachineOperations || after === undefined) return;
    if (before === undefined && labels?.[SCHEDULE_LABEL] !== undefined) {
      if (this.#made.has(name)) this.broken('G39', `${name} is made twice`);
      this.#made.add(name);
    }
    if (before === undefined) return;
    const [was, is] = [before, after].map((one) => field(one['status'], 'completionTime'));
    if (was !== undefined && was !== is)
      this.broken('G37', `${name} had ended, and does no longer: ${JSON.stringify([was, is])}`);
  }
}
