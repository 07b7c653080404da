import type { Stored } from '../../api/objects.ts';
import type { Cluster } from '../store/cluster.ts';
import { WorkQueue } from '../store/work-queue.ts';
import type { Migration, MigrationPhase, VirtualMachineInstance } from '../types.ts';
import { defaultMachineType } from '../vm/machine-type.ts';
import { begun, ended, inPhase, isOver, migrationStep } from '../vmi/migration.ts';
import { fits, nextNode } from '../vmi/scheduling.ts';
import { isMigrating } from '../vmi/vmi.ts';

const NO_NODE_AGAIN_MS = 5000;

/** Migrates VMIs between nodes, one migration per VMI at a time. A VMI's key stands for all migrations that name it. */
export class MigrationController {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;

  constructor(cluster: Cluster, concurrency: number) {
    this.#cluster = cluster;
    this.#queue = new WorkQueue({
      concurrency,
      work: (key) => this.#reconcile(key),
      onError: (key, error) => cluster.log.warn(`migration of ${key}: ${error.message}`),
    });
    cluster.migrations.subscribe((_key, before, after) => this.#queue.add(vmiKey((after ?? before)!)));
    cluster.vmis.subscribe((key, _before, after) => {
      if (after !== undefined && isMigrating(after)) this.#queue.add(key);
    });
  }

  start(): void {
    this.#queue.start();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reconcile(key: string): Promise<number | undefined> {
    const { vmis, migrations } = this.#cluster;
    const vmi = vmis.get(key);
    const now = Date.now();
    const asked = [...migrations.values()].filter((migration) => vmiKey(migration) === key && !isOver(migration));
    const step = migrationStep(vmi, asked.sort(byAge), now);
    switch (step.do) {
      case 'nothing':
        return undefined;
      case 'wait':
        return step.until - now;
      case 'begin':
        return this.#begin(vmi!, step.migration, now);
      case 'end':
        await this.#write(ended(vmi!, step.succeeded, now));
        if (step.migration !== undefined)
          await this.#note(step.migration, step.succeeded ? 'Succeeded' : 'Failed', now, this.#cluster.vmis.get(key));
        return undefined;
      case 'note':
        await this.#note(step.migration, step.phase, now, vmi);
        return undefined;
    }
  }

  async #begin(
    vmi: Stored<VirtualMachineInstance>,
    migration: Stored<Migration>,
    now: number,
  ): Promise<number | undefined> {
    const { nodes, kubevirt } = this.#cluster;
    const { spec, status } = vmi;
    const nodeSelector = { ...spec.nodeSelector, ...migration.spec.addedNodeSelector };
    const machineType =
      status?.machine?.type ?? spec.domain.machine?.type ?? defaultMachineType(kubevirt, spec.architecture);
    const others = [...nodes.values()].filter(({ metadata }) => metadata.name !== status?.nodeName);
    const target = nextNode(others, status?.nodeName, (node) => fits(node, { ...spec, nodeSelector }, machineType));
    if (target === undefined) {
      if (migration.status?.phase !== 'Scheduling') await this.#note(migration, 'Scheduling', now);
      return NO_NODE_AGAIN_MS;
    }
    await this.#write(begun(vmi, migration, target, now));
    await this.#note(migration, 'Running', now);
    return undefined;
  }

  async #write(vmi: Stored<VirtualMachineInstance>): Promise<void> {
    const { client, vmis } = this.#cluster;
    vmis.remember(await client.update<VirtualMachineInstance>(vmis.resource, vmi));
  }

  async #note(
    migration: Stored<Migration>,
    phase: MigrationPhase,
    now: number,
    vmi?: Stored<VirtualMachineInstance>,
  ): Promise<void> {
    const { client, migrations } = this.#cluster;
    migrations.remember(
      await client.update<Migration>(migrations.resource, inPhase(migration, phase, now, vmi), {
        subresource: 'status',
      }),
    );
  }
}

const vmiKey = ({ metadata, spec }: Migration): string => `${metadata.namespace}/${spec.vmiName}`;

const byAge = (a: Stored<Migration>, b: Stored<Migration>): number =>
  a.metadata.creationTimestamp < b.metadata.creationTimestamp
    ? -1
    : Number(a.metadata.creationTimestamp > b.metadata.creationTimestamp);
