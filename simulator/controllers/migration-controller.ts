import type { Stored } from '../../api/objects.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { namespacedName } from '../../kubernetes/versioned-store.ts';
import { isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import type { Migration, MigrationPhase, VirtualMachineInstance, Vmi } from '../objects/kubevirt.ts';
import { isDeleting } from '../objects/vmi.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { hasFinalizer, removeFinalizer } from '../store/finalizers.ts';
import { defaultMachineType } from '../vm/machine-type.ts';
import { blockedByBackup, isBackedUp } from '../vmi/backup.ts';
import { ended, handedOff, inPhase, isOver, isRunning, migrationStep, started } from '../vmi/migration.ts';
import { MIGRATION_FINALIZER } from '../vmi/new-migration.ts';
import { fits, nextNode } from '../vmi/scheduling.ts';
import { MigrationSlots } from './migration-slots.ts';

const AGAIN_MS = 5000;
/** How many of a VMI's migrations that have ended are kept. */
const KEPT = 5;

/** Migrates VMIs between nodes, one migration per VMI at a time. A VMI's key stands for all migrations that name it. */
export class MigrationController extends Controller {
  readonly #slots = new MigrationSlots();
  readonly #ofVmi = new Map<string, Set<string>>();
  /** VMIs whose migrations wait for a place. */
  readonly #pending = new Set<string>();

  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'migration of', concurrency);
    cluster.migrations.subscribe((key, before, after) => this.#see(key, before, after));
    cluster.vmis.subscribe((key) => {
      if (this.#ofVmi.has(key)) this.queue.add(key);
    });
  }

  #see(key: string, before: Stored<Migration> | undefined, after: Stored<Migration> | undefined): void {
    const { metadata, spec } = (after ?? before)!;
    const vmi = `${metadata.namespace}/${spec.vmiName}`;
    const own = this.#ofVmi.get(vmi) ?? new Set();
    this.#ofVmi.set(vmi, own);
    if (after === undefined) own.delete(key);
    else own.add(key);
    if (own.size === 0) this.#ofVmi.delete(vmi);
    if (after !== undefined && isRunning(after))
      this.#slots.add(metadata.uid, this.cluster.vmis.get(vmi)?.status?.nodeName);
    if (after === undefined || isOver(after)) this.#free(metadata.uid);
    this.queue.add(vmi);
  }

  #free(uid: string): void {
    if (!this.#slots.free(uid)) return;
    for (const key of this.#pending) this.queue.add(key);
    this.#pending.clear();
  }

  protected async reconcile(key: string): Promise<number | undefined> {
    const { vmis, migrations } = this.cluster;
    const all = [...(this.#ofVmi.get(key) ?? [])].flatMap((name) => migrations.get(name) ?? []).sort(byAge);
    const vmi = vmis.get(key);
    await this.#tidy(all.filter(isOver));
    const unfinished = all.filter((migration) => !isOver(migration));
    const { migrationUid } = vmi?.status?.migrationState ?? {};
    const current = unfinished.find(({ metadata }) => metadata.uid === migrationUid) ?? unfinished[0];
    // If its migration is gone, the state of it in the VMI stays.
    return current === undefined ? undefined : this.#act(vmi, current, Date.now());
  }

  /** Releases migrations that have ended, and deletes all but the newest. */
  async #tidy(over: readonly Stored<Migration>[]): Promise<void> {
    for (const migration of over) await this.#dropFinalizer(migration);
    const kept = over.filter((migration) => !isDeleting(migration));
    for (const migration of kept.slice(0, Math.max(kept.length - KEPT, 0))) await this.#remove(migration);
  }

  async #dropFinalizer(migration: Stored<Migration>): Promise<void> {
    if (!hasFinalizer(migration, MIGRATION_FINALIZER)) return;
    await ignoreStale(removeFinalizer(this.cluster, this.cluster.migrations, migration, MIGRATION_FINALIZER));
  }

  async #remove({ metadata }: Stored<Migration>): Promise<void> {
    const { client, migrations } = this.cluster;
    await ignoreStale(client.delete(migrations.resource, keyOf(metadata), { uid: metadata.uid }));
  }

  async #act(vmi: Vmi | undefined, migration: Stored<Migration>, now: number): Promise<number | undefined> {
    const step = migrationStep(vmi, migration, now);
    switch (step.do) {
      case 'delete':
        return this.#delete(migration);
      case 'nothing':
        return undefined;
      case 'wait':
        return step.until - now;
      case 'setPhase':
        return this.#setPhase(migration, step.phase, now, vmi);
      case 'takePlace': {
        const updated = blockedByBackup(migration, vmi!, now);
        if (updated !== migration) await this.#put(updated);
        if (isBackedUp(vmi!)) return undefined;
        if (isOn(vmi!.metadata, SimulatorAnnotation.podLeft)) return AGAIN_MS;
        if (this.#slots.acquire(migration.metadata.uid, vmi!.status?.nodeName, this.cluster.kubevirt))
          return this.#setPhase(migration, 'Scheduling', now);
        this.#pending.add(namespacedName(vmi!));
        return AGAIN_MS;
      }
      case 'findNode':
        if (this.#targetFor(vmi!, migration) !== undefined) return this.#setPhase(migration, 'Scheduled', now);
        return step.until > now ? AGAIN_MS : this.#setPhase(migration, 'Failed', now);
      case 'handOff': {
        const target = this.#targetFor(vmi!, migration);
        if (target === undefined) return this.#setPhase(migration, 'Failed', now);
        return this.#write(handedOff(vmi!, migration, target));
      }
      case 'start':
        return this.#write(started(vmi!, now));
      case 'end':
        return this.#write(ended(vmi!, step.succeeded, now));
    }
  }

  #targetFor({ spec, status }: Vmi, migration: Stored<Migration>): string | undefined {
    const { nodes, kubevirt } = this.cluster;
    const nodeSelector = { ...spec.nodeSelector, ...migration.spec.addedNodeSelector };
    const machineType =
      status?.machine?.type ?? spec.domain.machine?.type ?? defaultMachineType(kubevirt, spec.architecture);
    const others = [...nodes.values()].filter(({ metadata }) => metadata.name !== status?.nodeName);
    return nextNode(others, status?.nodeName, (node) => fits(node, { ...spec, nodeSelector }, machineType));
  }

  async #delete(migration: Stored<Migration>): Promise<undefined> {
    await this.#dropFinalizer(migration);
    await this.#remove(migration);
  }

  async #write(vmi: Vmi): Promise<undefined> {
    const { client, vmis } = this.cluster;
    vmis.remember(await client.update<VirtualMachineInstance>(vmis.resource, vmi));
  }

  async #put(migration: Stored<Migration>): Promise<void> {
    const { client, migrations } = this.cluster;
    migrations.remember(await client.update<Migration>(migrations.resource, migration, { subresource: 'status' }));
  }

  async #setPhase(migration: Stored<Migration>, phase: MigrationPhase, now: number, vmi?: Vmi): Promise<undefined> {
    const latest = this.cluster.migrations.get(namespacedName(migration)) ?? migration;
    await this.#put(inPhase(latest, phase, now, vmi));
  }
}

const keyOf = ({ namespace, name }: Stored<Migration>['metadata']) => ({ namespace: namespace!, name });

const byAge = (a: Stored<Migration>, b: Stored<Migration>): number =>
  a.metadata.creationTimestamp < b.metadata.creationTimestamp
    ? -1
    : Number(a.metadata.creationTimestamp > b.metadata.creationTimestamp);
