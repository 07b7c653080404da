import type { Stored } from '../../api/objects.ts';
import { isTrue } from '../objects/conditions.ts';
import type { Migration, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { isDeleting, isMigrating, phaseOf } from '../objects/vmi.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { waitsForHotplug } from '../vm/hotplug.ts';
import { isOver } from '../vmi/migration.ts';
import { newMigration } from '../vmi/new-migration.ts';
import { mostAtOnce } from './migration-slots.ts';

const UPDATE_ANNOTATION = 'kubevirt.io/workloadUpdateMigration';
const ALL = 'all VMIs';

/**
 * Migrates the VMIs with pending CPU or memory hotplugs if the cluster's workload updates use live migration, as many
 * at once as the cluster allows. Doesn't simulate evictions.
 */
export class WorkloadUpdates extends Controller {
  readonly #waiting = new Set<string>();

  constructor(cluster: Cluster) {
    super(cluster, 'workload updates of', 1);
    cluster.vmis.subscribe((key, _before, after) => {
      const waits = after !== undefined && isToMigrate(after);
      if (waits) this.#waiting.add(key);
      else if (!this.#waiting.delete(key)) return;
      this.queue.add(ALL);
    });
    const again = (): void => {
      if (this.#waiting.size > 0) this.queue.add(ALL);
    };
    cluster.migrations.subscribe(again);
    cluster.kubevirts.subscribe(again);
  }

  protected async reconcile(): Promise<undefined> {
    const { client, kubevirt, vmis, migrations } = this.cluster;
    if (kubevirt?.spec?.workloadUpdateStrategy?.workloadUpdateMethods?.includes('LiveMigrate') !== true) return;
    const under = [...migrations.values()].filter((migration) => !isOver(migration));
    const moving = new Set(under.map(({ metadata, spec }) => `${metadata.namespace}/${spec.vmiName}`));
    const ready = [...this.#waiting].map((key) => vmis.get(key)).filter((found) => found !== undefined);
    const next = ready.filter(
      (vmi) => isToMigrate(vmi) && !moving.has(`${vmi.metadata.namespace}/${vmi.metadata.name}`),
    );
    for (const vmi of next.slice(0, Math.max(mostAtOnce(kubevirt) - under.length, 0))) {
      migrations.remember(await client.create<Migration>(migrations.resource, migrationOf(vmi)));
    }
  }
}

const migrationOf = ({ metadata: { namespace, name } }: Stored<VirtualMachineInstance>): Migration =>
  newMigration(
    { generateName: 'kubevirt-workload-update-', namespace, annotations: { [UPDATE_ANNOTATION]: '' } },
    { vmiName: name },
  );

export const isToMigrate = (vmi: VirtualMachineInstance): boolean =>
  phaseOf(vmi) === 'Running' &&
  !isDeleting(vmi) &&
  !isMigrating(vmi) &&
  isTrue(vmi, 'LiveMigratable') &&
  waitsForHotplug(vmi);
