import { MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { namespacedName, type OwningPool } from '../../../decisions/disruption-budget/restart-budget.ts';
import { isDown, isActive } from '../../../decisions/health/availability.ts';
import type { Fleet } from '../../../decisions/machine-types/needs.ts';
import { templateTypeOf } from '../../../decisions/machine-types/pool-state.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { TransitionRecord } from '../../../decisions/views/annotations/transition-record.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVmi } from '../fixtures/fleets.ts';
import { aTypedPool, OLD } from './snapshots.ts';

/** A small cluster with one pool: VMIs come and go, users change what they like, and the pool updates its VMs. */
export class ModelCluster {
  readonly vms = new Map<string, VmView>();
  readonly vmis = new Map<string, VmiView>();
  pool: StoredPool;
  /** The type that KubeVirt fills in for a cleared one. */
  readonly defaultType: string;
  /** The type that a VMI gets for `q35`. */
  readonly aliased: string;
  now = Date.parse('2026-01-02T03:04:05Z');
  #next = 0;

  constructor(vms: readonly VmView[], pool: StoredPool, types: Pick<ModelCluster, 'defaultType' | 'aliased'>) {
    this.pool = pool;
    this.defaultType = types.defaultType;
    this.aliased = types.aliased;
    for (const vm of vms) this.add(vm);
  }

  readonly snapshot: Fleet = {
    vmOf: (key) => this.vms.get(key),
    vmiOf: (vm) => this.vmis.get(namespacedName(vm)),
    poolOf: (vm) => (vm.owner === null ? undefined : this.owner),
    vms: () => this.vms.values(),
    pools: () => [this.owner],
    poolAt: (key) => (key === namespacedName(this.pool.metadata) ? this.owner : undefined),
  };

  get owner(): OwningPool {
    const owned = [...this.vms.values()].filter(({ owner }) => owner !== null);
    return { pool: this.pool, vms: () => owned };
  }

  /** Adds a VM. Its VMI has the type of its spec; for an alias, the type that the alias used to stand for. */
  add(vm: VmView): void {
    this.vms.set(namespacedName(vm), vm);
    this.#fit();
    if (vm.hasVmi)
      this.vmis.set(namespacedName(vm), aVmi(vm, { machineType: vm.machineType === 'q35' ? OLD : vm.machineType }));
  }

  isDown(key: string): boolean {
    const vm = this.vms.get(key);
    return vm !== undefined && isActive(vm) && isDown(vm, this.vmis.get(key));
  }

  change(key: string, fields: Partial<VmView>, vmiFields: Partial<VmiView> = {}): void {
    const vm = this.vms.get(key);
    if (vm === undefined) return;
    this.vms.set(key, { ...vm, ...fields });
    const vmi = this.vmis.get(key);
    if (vmi !== undefined) this.vmis.set(key, { ...vmi, ...vmiFields });
  }

  remove(key: string): void {
    this.vms.delete(key);
    this.vmis.delete(key);
    this.#fit();
  }

  setType(key: string, to: string | null): void {
    this.change(key, { machineType: to ?? this.defaultType });
  }

  /** Ends the VMI. If the VM is meant to run, it gets another VMI later. */
  restart(key: string): void {
    this.vmis.delete(key);
    // With `Manual`, KubeVirt starts the VM again because it was asked to.
    this.change(key, { ready: false, changingState: this.vms.get(key)?.runStrategy === 'Manual' });
  }

  halt(key: string): void {
    this.vmis.delete(key);
    this.change(key, { runStrategy: 'Halted', hasVmi: false, ready: false });
  }

  /** Brings a VM that is down one step nearer to being ready: a new VMI, its type, its readiness. */
  comeUp(key: string): void {
    const vm = this.vms.get(key);
    const current = this.vmis.get(key);
    if (vm === undefined || !this.isDown(key) || current?.pause != null) return;
    const { machineType, revision } = vm;
    if (current === undefined) {
      const fresh = aVmi(vm, {
        uid: `vmi-${this.#next++}`,
        ready: false,
        machineType: null,
        specMachineType: machineType,
        revision,
      });
      this.vmis.set(key, fresh);
      this.change(key, { hasVmi: true, changingState: false });
    } else if (current.machineType === null)
      this.change(key, {}, { machineType: current.specMachineType === 'q35' ? this.aliased : current.specMachineType });
    else this.change(key, { ready: true }, { ready: true });
  }

  /** Updates one VM to the pool's template, if no VM of the pool is down. */
  rollPool(): void {
    const vms = this.owner.vms();
    const revision = revisionOf(this.pool.spec.template);
    const behind = vms.find(
      (vm) => vm.revision !== revision || (this.vmis.get(namespacedName(vm))?.revision ?? revision) !== revision,
    );
    this.#tell(behind === undefined ? 'Complete' : 'RollingOut');
    if (behind === undefined || vms.some((vm) => this.isDown(namespacedName(vm)))) return;
    const key = namespacedName(behind);
    this.change(key, { revision });
    if (templateTypeOf(this.pool) !== null || behind.revision !== revision)
      this.setType(key, templateTypeOf(this.pool));
    if (this.vmis.has(key)) this.restart(key);
  }

  setTemplate(type: string | null, record?: TransitionRecord): void {
    const { spec, metadata } = aTypedPool(type, { replicas: this.pool.spec.replicas, maxUnavailable: 1 });
    const annotations =
      record === undefined
        ? this.pool.metadata.annotations
        : { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(record) };
    this.pool = {
      ...this.pool,
      spec,
      metadata: {
        ...metadata,
        generation: (this.pool.metadata.generation ?? 0) + 1,
        ...(annotations === undefined ? {} : { annotations }),
      },
    };
  }

  /** Sets the pool's replicas to its number of VMs. */
  #fit(): void {
    this.pool = { ...this.pool, spec: { ...this.pool.spec, replicas: this.owner.vms().length } };
  }

  #tell(reason: string): void {
    const conditions = [{ type: 'Progressing', status: 'False' as const, reason }];
    this.pool = {
      ...this.pool,
      status: { replicas: 0, updateRevision: revisionOf(this.pool.spec.template), conditions },
    };
  }
}
