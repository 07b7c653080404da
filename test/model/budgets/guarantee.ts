import type { BudgetSpec } from '../../../api/budgets/budget.ts';
import { countOf, isZero } from '../../../api/lib/int-or-percent.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  Namespaces,
  Nodes,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { matchesLabels } from '../../../api/rules/label-selector.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import { windowAt } from '../../../decisions/lib/maintenance-windows.ts';
import { roleOf } from '../../../decisions/views/vm.ts';
import type { Migration } from '../../../simulator/objects/kubevirt.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { activityNow, isActive, isByWorker, isDeletion, isGoing, isReady, runs, type Pool } from '../facts.ts';
import { Check } from '../guarantees/check.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import type { World } from '../world/world.ts';
import type { Budget } from './budgets.ts';

/** A budget, a label or a number that changes binds what is claimed once all workers know it. */
const BINDS_AFTER_MS = 25_000;
/** What goes down by itself may be unknown to an act that was claimed before. */
const UNKNOWN_MS = 13_000;

/** What a worker did to a VM: the VMI that it was to end, or the migration that it made. */
interface Act {
  vm: string;
  uid: string;
  vmi: string;
  migration?: string;
}

const SUBRESOURCE = /\/virtualmachines\/([^/]+)\/(stop|restart)$/;

/**
 * Checks from the writes alone that each act of a worker leaves all budgets that select the VM with as many VMs as they
 * want: VMs that went down by themselves in the last seconds count as if they were up.
 */
export class AnyVmGuarantees extends Check {
  /** What is not over yet, by the UID of the VM. */
  readonly #acts = new Map<string, Act>();
  /** Since when VMs are not ready, by name. */
  readonly #downSince = new Map<string, number>();
  /** On which node each VM was last ready, by name. */
  readonly #nodes = new Map<string, string>();
  /** When something that all budgets depend on was changed by people. */
  #changedAt = -Infinity;
  /** How many acts were checked against a budget. */
  checked = 0;

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (resource === VirtualMachineDisruptionBudgets || resource === ClusterVirtualMachineDisruptionBudgets) {
      if (JSON.stringify(before?.['spec']) !== JSON.stringify(after?.['spec'])) this.#changedAt = this.now;
      return;
    }
    if (resource === Namespaces || (resource === VirtualMachines && isMoved(before, after))) this.#changedAt = this.now;
    if (resource === VirtualMachinePools && before?.metadata.generation !== after?.metadata.generation)
      this.#changedAt = Math.max(this.#changedAt, this.#scaled(before, after) ? this.now : -Infinity);
    this.#note();
    if (!isByWorker(call)) return;
    const act = this.#actOf({ resource, before, after });
    if (act !== null) this.#acted(act);
    this.#note();
  }

  onCall(call: Call): void {
    const [, vm] = SUBRESOURCE.exec(call.key.name ?? '') ?? [];
    if (call.verb !== 'request' || vm === undefined || !isByWorker(call)) return;
    const [stored, vmi] = [this.world.vm(vm), this.world.vmi(vm)];
    if (stored === undefined || vmi === undefined) return;
    this.#acted({ vm, uid: stored.metadata.uid, vmi: vmi.metadata.uid });
  }

  #scaled(before: Stored | undefined, after: Stored | undefined): boolean {
    const [was, is] = [before, after].map((pool) => (pool === undefined ? 0 : wantedReplicas(pool as Pool)));
    return was !== is;
  }

  /** What a worker's write takes down; null for what takes nothing down that asks budgets. */
  #actOf({ resource, before, after }: Write): Act | null {
    if (resource === VirtualMachineInstanceMigrations && before === undefined) {
      const { metadata, spec } = after as Stored<Migration>;
      const [vm, vmi] = [this.world.vm(spec.vmiName!), this.world.vmi(spec.vmiName!)];
      if (vm === undefined || vmi === undefined) return null;
      return { vm: spec.vmiName!, uid: vm.metadata.uid, vmi: vmi.metadata.uid, migration: metadata.name };
    }
    if (before === undefined || !isDeletion(before, after)) return null;
    const { name, uid } = before.metadata;
    if (resource === VirtualMachineInstances) {
      const vm = this.world.vm(name);
      return vm === undefined || activityNow() === 'healVm' ? null : { vm: name, uid: vm.metadata.uid, vmi: uid };
    }
    const isReplaced = activityNow() === 'removeVms' || roleOf(before.metadata.labels) === 'Surge';
    if (resource !== VirtualMachines || !isReplaced) return null;
    return { vm: name, uid, vmi: this.world.vmi(name)?.metadata.uid ?? '' };
  }

  #acted(act: Act): void {
    const vm = this.world.vm(act.vm) ?? null;
    const labels = vm?.metadata.labels ?? {};
    const since = this.#downSince.get(act.vm);
    const served = since === undefined || since === this.now;
    const isNew = !this.#acts.has(act.uid);
    this.#acts.set(act.uid, act);
    if (!served || !isNew || vm === null) return;
    for (const budget of this.#budgets()) if (matchesLabels(budget.spec.selector, labels)) this.#check(budget, act);
  }

  #budgets(): Budget[] {
    return [VirtualMachineDisruptionBudgets, ClusterVirtualMachineDisruptionBudgets].flatMap((resource) =>
      this.world.server.all(resource),
    ) as Budget[];
  }

  #check({ metadata, spec }: Budget, act: Act): void {
    if (this.#changedAt > this.now - BINDS_AFTER_MS) return;
    this.checked++;
    const { windows = [], outside, maxMigrating } = spec;
    const isOpen =
      windows.length === 0 || windowAt(windows, this.now).open || windowAt(windows, this.now - 10_000).open;
    if (!isOpen && outside === 'Deny')
      this.broken('P2', `${act.vm} goes down outside of the windows of ${metadata.name}`);
    if (!isOpen || (windows.length > 0 && !windowAt(windows, this.now - BINDS_AFTER_MS).open)) return;
    if (act.migration !== undefined && maxMigrating !== undefined) return this.#checkMigrations(metadata.name, spec);
    this.#checkDomains(metadata.name, spec, act);
    const { expected, available, down } = this.#count(spec);
    const desired = desiredOf(spec, expected);
    if (desired !== null && available < desired)
      this.broken(
        'P1',
        `${act.vm} is taken down, and with ${down.join(', ')} ${available} of ${expected} VMs are available, not ${desired}, as ${metadata.name} wants`,
      );
  }

  #checkMigrations(name: string, { maxMigrating = 0, selector }: BudgetSpec): void {
    const moving = this.world.server.all<Migration>(VirtualMachineInstanceMigrations).filter((one) => {
      const vm = this.world.vm(one.spec.vmiName!);
      return !isOver(one) && vm !== undefined && matchesLabels(selector, vm.metadata.labels ?? {});
    });
    if (moving.length > maxMigrating)
      this.broken('P1', `${moving.length} VMs of ${name} migrate, of at most ${maxMigrating}`);
  }

  /** VMs that went down by themselves count where they were last ready. */
  #checkDomains(name: string, { topology, selector }: BudgetSpec, act: Act): void {
    if (topology === undefined) return;
    const down = this.world.vms.filter((vm) => {
      const since = this.#downSince.get(nameOf(vm));
      const isDown = this.#acts.has(vm.metadata.uid) || (since !== undefined && since <= this.now - UNKNOWN_MS);
      return isDown && runs(vm) && isActive(vm) && matchesLabels(selector, vm.metadata.labels ?? {});
    });
    const domainOf = (vm: string): string => {
      const node = this.world.server.find(Nodes, { name: this.#nodes.get(vm) ?? '' });
      return node?.metadata.labels?.[topology.key] ?? '';
    };
    const domains = new Set(down.map((vm) => domainOf(nameOf(vm))));
    if (domains.size > topology.maxDomains)
      this.broken(
        'P1',
        `${act.vm} is taken down, and so VMs of ${[...domains].join(', ')}, though ${name} allows ${topology.maxDomains}`,
      );
  }

  /** Counts in another way than drover: by what the API server has now. */
  #count({ selector, maxMigrating }: BudgetSpec): { expected: number; available: number; down: string[] } {
    const vms = this.world.vms.filter(
      (vm) => matchesLabels(selector, vm.metadata.labels ?? {}) && isActive(vm) && runs(vm),
    );
    const regular = vms.filter((vm) => roleOf(vm.metadata.labels) === null);
    const serving = vms.filter((vm) => roleOf(vm.metadata.labels) !== 'Standby');
    const down = serving.filter((vm) => !this.#counts(vm, maxMigrating !== undefined)).map(nameOf);
    const missing = this.#pools(selector).map((pool) => {
      const present = this.world
        .vmsOf(pool.metadata.uid)
        .filter((vm) => isActive(vm) && roleOf(vm.metadata.labels) === null);
      return Math.max(wantedReplicas(pool) - present.length, 0);
    });
    const absent = missing.reduce((sum, one) => sum + one, 0);
    return { expected: regular.length + absent, available: serving.length - down.length, down };
  }

  #pools(selector: BudgetSpec['selector']): Pool[] {
    return (this.world.server.all(VirtualMachinePools) as Pool[]).filter(
      (pool) => !isGoing(pool) && matchesLabels(selector, pool.spec.template.metadata?.labels ?? {}),
    );
  }

  /** Whether the VM counts as available: also if it has gone down by itself just now. */
  #counts(vm: Stored, areMigrationsApart: boolean): boolean {
    const act = this.#acts.get(vm.metadata.uid);
    if (act !== undefined && (act.migration === undefined || !areMigrationsApart)) return false;
    const since = this.#downSince.get(nameOf(vm));
    return since === undefined || since > this.now - UNKNOWN_MS;
  }

  /** Notes which VMs are ready, and which acts are over. */
  #note(): void {
    const names = new Set(this.world.vms.map(nameOf));
    for (const name of names) {
      const vmi = this.world.vmi(name);
      if (isReady(vmi)) this.#nodes.set(name, vmi!.status?.nodeName ?? '');
      if (isReady(vmi)) this.#downSince.delete(name);
      else if (!this.#downSince.has(name)) this.#downSince.set(name, this.now);
    }
    for (const [uid, { vm, vmi, migration }] of this.#acts) {
      const now = this.world.vm(vm);
      const isBack =
        now?.metadata.uid === uid && this.world.vmi(vm)?.metadata.uid !== vmi && isReady(this.world.vmi(vm));
      const hasMoved = migration !== undefined && this.#isMoved(migration);
      if (now?.metadata.uid !== uid || !runs(now) || isBack || (hasMoved && isReady(this.world.vmi(vm))))
        this.#acts.delete(uid);
    }
  }

  #isMoved(migration: string): boolean {
    const found = this.world.server
      .all<Migration>(VirtualMachineInstanceMigrations)
      .find(({ metadata }) => metadata.name === migration);
    return found === undefined || isOver(found);
  }
}

const nameOf = ({ metadata }: Stored): string => metadata.name;

/** People have given the VM other labels, or have made it. */
const isMoved = (before: Stored | undefined, after: Stored | undefined): boolean =>
  after !== undefined &&
  ((before === undefined && controllerOf(after) === undefined) ||
    (before !== undefined && before.metadata.labels?.['app'] !== after.metadata.labels?.['app']));

function desiredOf({ maxUnavailable, minAvailable }: BudgetSpec, expected: number): number | null {
  if (minAvailable !== undefined) return countOf(minAvailable, expected, 0, Math.ceil);
  if (maxUnavailable === undefined) return null;
  return expected - countOf(maxUnavailable, expected, isZero(maxUnavailable) ? 0 : 1);
}

/** Has this world checked, from now on, and returns how many acts were. */
export function watchBudgets(world: World): AnyVmGuarantees {
  const guarantees = new AnyVmGuarantees(world, []);
  world.onlookers.push(guarantees);
  return guarantees;
}
