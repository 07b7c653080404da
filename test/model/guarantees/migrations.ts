import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstanceMigrations } from '../../../api/resources.ts';
import type { Migration } from '../../../simulator/types.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { isByWorker } from '../facts.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { Check } from './check.ts';

/** Checks that a VM is moved once at a time, and only if it is to leave its node (G22). */
export class MigrationGuarantees extends Check {
  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (resource !== VirtualMachineInstanceMigrations || !isByWorker(call)) return;
    if (before !== undefined || after === undefined) return;
    const { metadata, spec } = after as Stored<Migration>;
    const vm = this.world.vm(spec.vmiName!);
    const vmi = this.world.vmi(spec.vmiName!);
    if (vm === undefined || vmi === undefined) return;
    const { nodeName, evacuationNodeName } = vmi.status ?? {};
    const isAlone = this.world.server
      .all<Migration>(VirtualMachineInstanceMigrations)
      .every((other) => other.metadata.name === metadata.name || other.spec.vmiName !== spec.vmiName || isOver(other));
    if (evacuationNodeName !== nodeName || !isAlone)
      this.broken(
        'G22',
        `${metadata.name} is made for ${spec.vmiName}, on ${nodeName}, to leave ${evacuationNodeName}`,
      );
  }
}
