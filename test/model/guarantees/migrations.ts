import { POD_REVISION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstanceMigrations, VirtualMachineInstances } from '../../../api/resources.ts';
import type { PowerRunInput } from '../../../decisions/operations/run-input.ts';
import type { Migration, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { activityNow, inputOf, isByWorker, isDeletion, runNow } from '../facts.ts';
import type { Watched } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { Check } from './check.ts';

/** Checks that a VM is moved once at a time, only if it is to leave its node, and restarted only for a drain (G22). */
export class MigrationGuarantees extends Check<Watched> {
  /** By run and UID of the VMI: what operations have migrated. */
  readonly #made = new Set<string>();

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (!isByWorker(call)) return;
    if (resource === VirtualMachineInstances && before !== undefined && activityNow() === 'evacuateVms')
      this.#checkRestart(before, after);
    if (resource !== VirtualMachineInstanceMigrations) return;
    if (before !== undefined || after === undefined) return;
    const { metadata, spec } = after as Stored<Migration>;
    const vm = this.world.vm(spec.vmiName!);
    const vmi = this.world.vmi(spec.vmiName!);
    if (vm === undefined || vmi === undefined) return;
    const { nodeName, evacuationNodeName } = vmi.status ?? {};
    const isAlone = this.world.server
      .all<Migration>(VirtualMachineInstanceMigrations)
      .every((other) => other.metadata.name === metadata.name || other.spec.vmiName !== spec.vmiName || isOver(other));
    if (metadata.name.startsWith('update-')) {
      if (!isAlone || !this.#lacks(vmi, vm))
        this.broken('G22', `${metadata.name} is made for ${spec.vmiName}, whose pod lacks nothing`);
      return;
    }
    if (metadata.name.startsWith('operation-')) return this.#checkOperation(metadata.name, vmi, isAlone);
    const isAsked =
      this.world.kubevirt.isDrained(nodeName) ||
      vmi.metadata.annotations?.['kubevirt.io/eviction-source'] !== undefined;
    if (evacuationNodeName !== nodeName || !isAlone || !isAsked)
      this.broken(
        'G22',
        `${metadata.name} is made for ${spec.vmiName}, on ${nodeName}, to leave ${evacuationNodeName}`,
      );
  }

  /** A run of an operation migrates each VMI once, and as many at once as it may. */
  #checkOperation(name: string, { metadata }: Stored<VirtualMachineInstance>, isAlone: boolean): void {
    const run = runNow() ?? '';
    const act = `${run} ${metadata.uid}`;
    if (this.#made.has(act)) this.broken('G10', `${run} migrates ${metadata.name} twice, by ${name}`);
    this.#made.add(act);
    const { action, atOnce } = inputOf(this.world.temporal.runs.get(run)!) as PowerRunInput;
    const going = this.world.server
      .all<Migration>(VirtualMachineInstanceMigrations)
      .filter((one) => one.metadata.name.startsWith('operation-') && !isOver(one));
    if (!isAlone || action !== 'Migrate' || going.length > atOnce)
      this.broken('G22', `${name} is made for ${metadata.name}, by ${run}: ${going.length} at once`);
  }

  /** Its pod was made from another template than it has by now, and its pool has that corrected. */
  #lacks({ metadata, status }: Stored<VirtualMachineInstance>, vm: Stored): boolean {
    const [, pod] = metadata.annotations?.[POD_REVISION_ANNOTATION]?.split('@') ?? [];
    const pool = vm.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const { outdatedPods = 'Report' } = this.world.pool(pool!.name)?.spec.updateStrategy?.proactive ?? {};
    return pod === status?.nodeName && outdatedPods !== 'Report' && outdatedPods !== 'Restart';
  }

  #checkRestart(before: Stored, after: Stored | undefined): void {
    const { nodeName, activePods } = (before as Stored<VirtualMachineInstance>).status ?? {};
    const node = nodeName ?? Object.values((activePods as Record<string, string> | undefined) ?? {})[0];
    if (isDeletion(before, after) && !this.world.kubevirt.isDrained(node))
      this.broken('G22', `${before.metadata.name} is restarted off ${node}, which is not drained`);
  }
}
