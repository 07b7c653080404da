import type { BudgetSpec, DisruptionReason } from '../../../api/budgets/budget.ts';
import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import { countOf, isZero } from '../../../api/lib/int-or-percent.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  Namespaces,
  Nodes,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../../api/resources.ts';
import { matchesLabels } from '../../../api/rules/label-selector.ts';
import { windowAt } from '../../../decisions/lib/maintenance-windows.ts';
import { roleOf } from '../../../decisions/views/vm.ts';
import type { Migration, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { activityNow, inputOf, isByWorker, isDeletion, runNow, runs, type Pool } from '../facts.ts';
import { Check } from '../guarantees/check.ts';
import { KNOWN_AFTER_MS, STALE_MS, type Watched } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import type { World } from '../world/world.ts';
import type { Budget } from './budgets.ts';
import { Lately, type KnownVm } from './lately.ts';

/** A budget, a limit or a label that changes binds what is claimed once all workers know it. */
const BINDS_AFTER_MS = 12_000 + KNOWN_AFTER_MS + STALE_MS;
/** What others do may be unknown to an act that was claimed before. */
const UNKNOWN_MS = KNOWN_AFTER_MS + STALE_MS;
/** What KubeVirt has accepted shows by then. */
const ACCEPTED_MS = 1_000;

/** What a worker did to a VM: the VMI that it was to end, or the migration that it made. */
interface Act {
  vm: string;
  uid: string;
  vmi: string | undefined;
  at: number;
  owner: string | undefined;
  isExtra: boolean;
  migration?: string;
}

const SUBRESOURCE = /\/virtualmachines\/([^/]+)\/(stop|restart)$/;

/**
 * Checks from the writes alone that each act of a worker leaves all budgets that select the VM with as many VMs as they
 * want (G50). What others did in the last seconds counts as if it had not happened.
 */
export class AnyVmGuarantees extends Check<Watched> {
  readonly #lately: Lately;
  /** What is not over yet, by the name of the VM. */
  readonly #acts = new Map<string, Act>();
  /** When the spec of each budget was changed, by UID. */
  readonly #changedAt = new Map<string, number>();
  /** When people changed what all budgets select by. */
  #movedAt = -Infinity;
  /** Migrations that drover has made, by name; since when there are others. */
  readonly #migrations = new Map<string, 'ours' | number>();
  /** How many acts were checked against a budget. */
  checked = 0;

  constructor(world: Watched, off: readonly string[]) {
    super(world, off);
    this.#lately = new Lately(world);
  }

  onWrite(write: Write, call: Call | null): void {
    const { resource, before, after } = write;
    if (resource === VirtualMachineDisruptionBudgets || resource === ClusterVirtualMachineDisruptionBudgets) {
      if (JSON.stringify(before?.['spec']) !== JSON.stringify(after?.['spec']))
        this.#changedAt.set((after ?? before)!.metadata.uid, this.now);
      return;
    }
    if (resource === Namespaces || (resource === VirtualMachines && isMoved(before, after))) this.#movedAt = this.now;
    if (resource === VirtualMachineInstanceMigrations && before === undefined)
      this.#migrations.set(after!.metadata.name, isByWorker(call) ? 'ours' : this.now);
    const act = isByWorker(call) ? this.#actOf(write) : null;
    const served = act !== null && this.#serves(act.vm);
    this.#lately.onWrite(write);
    if (act !== null) this.#acted(act, served);
    this.#endActs();
  }

  onCall(call: Call): void {
    const [, name] = SUBRESOURCE.exec(call.key.name ?? '') ?? [];
    if (call.verb !== 'request' || name === undefined || !isByWorker(call)) return;
    const known = this.#lately.vms.get(name);
    if (known?.isThere === true) this.#acted(this.#act(known), this.#serves(name));
  }

  /** Whether the VM has served for long enough for workers to know it. */
  #serves(name: string): boolean {
    const known = this.#lately.vms.get(name);
    return known?.serves === true && known.since <= this.now - KNOWN_AFTER_MS;
  }

  #act({ name, metadata, owner }: KnownVm, migration?: string): Act {
    const { uid, labels } = metadata;
    const vmi = this.#vmi(name)?.metadata.uid;
    const isExtra = roleOf(labels) !== null;
    return { vm: name, uid, vmi, at: this.now, owner, isExtra, ...(migration !== undefined && { migration }) };
  }

  /** What a worker's write takes down; null for what takes nothing down that asks budgets. */
  #actOf({ resource, before, after }: Write): Act | null {
    if (resource === VirtualMachineInstanceMigrations && before === undefined) {
      const { metadata, spec } = after as Stored<Migration>;
      const known = this.#lately.vms.get(spec.vmiName!);
      return known === undefined ? null : this.#act(known, metadata.name);
    }
    if (before === undefined || !isDeletion(before, after)) return null;
    const known = this.#lately.vms.get(before.metadata.name);
    if (known === undefined) return null;
    if (resource === VirtualMachineInstances)
      return activityNow() === 'healVm' ? null : { ...this.#act(known), vmi: before.metadata.uid };
    const isReplaced = activityNow() === 'removeVms' || roleOf(before.metadata.labels) === 'Surge';
    return resource === VirtualMachines && isReplaced ? this.#act(known) : null;
  }

  #acted(act: Act, served: boolean): void {
    const isNew = !this.#acts.has(act.vm);
    this.#acts.set(act.vm, act);
    if (!isNew || !served) return;
    for (const budget of this.#budgets)
      if (this.#selects(budget, this.#lately.vms.get(act.vm)!)) this.#check(budget, act);
  }

  get #budgets(): Budget[] {
    return [VirtualMachineDisruptionBudgets, ClusterVirtualMachineDisruptionBudgets].flatMap((resource) =>
      this.world.server.all(resource),
    ) as Budget[];
  }

  #selects(budget: Budget, { metadata: { namespace, labels = {} } }: Pick<Stored, 'metadata'>): boolean {
    const { selector, namespaceSelector = {} } = budget.spec;
    if (budget.metadata.namespace !== undefined && budget.metadata.namespace !== namespace) return false;
    const found = this.world.server.find(Namespaces, { name: namespace ?? '' });
    const isIn = found === undefined || matchesLabels(namespaceSelector, found.metadata.labels ?? {});
    return isIn && matchesLabels(selector, labels);
  }

  #check(budget: Budget, act: Act): void {
    const { metadata, spec } = budget;
    const bound = Math.max(this.#changedAt.get(metadata.uid) ?? -Infinity, this.#movedAt);
    const { reasons } = spec;
    if (bound > this.now - BINDS_AFTER_MS || (reasons && !reasonsNow(this.world).every((one) => reasons.includes(one))))
      return;
    this.checked++;
    const { windows = [], outside, maxMigrating } = spec;
    const isOpenAt = (time: number): boolean => windows.length === 0 || windowAt(windows, time).open;
    const isOpen = isOpenAt(this.now) || isOpenAt(this.now - 10_000);
    if (!isOpen && outside === 'Deny')
      this.broken('P2', `${act.vm} goes down outside of the windows of ${metadata.name}`);
    // Once it is closed, a budget that allows all outside of its windows has no limits.
    if (!(outside === 'Allow' ? isOpenAt(this.now) : isOpen) || !isOpenAt(this.now - BINDS_AFTER_MS)) return;
    if (act.migration !== undefined && maxMigrating !== undefined) return this.#checkMigrations(budget);
    this.#checkDomains(budget, act);
    const { allowed, words } = this.#allowed(budget);
    if (allowed < 0)
      this.broken('P1', `${act.vm} is taken down, ${-allowed} more than ${metadata.name} allows: ${words}`);
  }

  /** How many more VMs may go down, at best: in another way than drover counts it. */
  #allowed(budget: Budget): { allowed: number; words: string } {
    const { spec } = budget;
    const { maxUnavailable, minAvailable } = spec;
    const since = this.now - UNKNOWN_MS;
    const vms = [...this.#lately.vms.values()].filter((vm) => this.#selects(budget, vm));
    const down: string[] = [];
    let [available, unavailable, least, most] = [0, 0, 0, 0];
    const add = (counts: readonly { expected: number; available: number }[], name: string): void => {
      available += Math.max(...counts.map((one) => one.available));
      unavailable += Math.min(...counts.map((one) => one.expected - one.available));
      least += Math.min(...counts.map((one) => one.expected));
      most += Math.max(...counts.map((one) => one.expected));
      if (counts.every((one) => one.expected > one.available)) down.push(name);
    };
    for (const vm of vms) {
      const act = this.#actOn(vm.name, spec);
      if (act === undefined) add(vm.history.since(since), vm.name);
      else add([{ expected: act.isExtra ? 0 : 1, available: 0 }], vm.name);
    }
    for (const keeper of this.#lately.keepers.filter((one) => this.#selects(budget, madeBy(one)))) {
      const { uid, name } = keeper.metadata;
      const going = [...this.#acts.values()].filter(
        ({ owner, vm, isExtra }) => owner === uid && !isExtra && this.#isGone(vm),
      );
      const missing = Math.max(this.#lately.leastMissing(uid, since) - going.length, 0);
      add([{ expected: missing, available: 0 }], `${missing} of ${name}`);
    }
    const words = `${JSON.stringify(spec)}, at least ${unavailable} of ${most} VMs are unavailable: ${down.join(', ')}`;
    if (minAvailable !== undefined) return { allowed: available - countOf(minAvailable, least, 0, Math.ceil), words };
    if (maxUnavailable === undefined) return { allowed: 0, words };
    return { allowed: countOf(maxUnavailable, most, isZero(maxUnavailable) ? 0 : 1) - unavailable, words };
  }

  /** How the VMs of a budget count now, in the words of its status. */
  countOf(budget: Budget): { expected: number; available: number; matched: number } {
    const vms = [...this.#lately.vms.values()].filter((vm) => vm.isThere && this.#selects(budget, vm));
    const keepers = this.#lately.keepers.filter((one) => this.#selects(budget, madeBy(one)));
    const missing = keepers.map(({ metadata }) => this.#lately.missingNow(metadata.uid));
    const counts = vms.map(({ history }) => history.since(this.now).at(-1)!);
    return {
      expected: sum([...counts.map(({ expected }) => expected), ...missing]),
      available: sum(counts.map(({ available }) => available)),
      matched: vms.length,
    };
  }

  /** What is done to the VM, as far as it counts as down for it. */
  #actOn(name: string, { maxMigrating }: BudgetSpec): Act | undefined {
    const act = this.#acts.get(name);
    return act?.migration !== undefined && maxMigrating !== undefined ? undefined : act;
  }

  #isGone(name: string): boolean {
    return (
      this.#lately.vms.get(name)?.metadata.uid !== this.#acts.get(name)!.uid || !this.#lately.vms.get(name)!.isThere
    );
  }

  #checkMigrations(budget: Budget): void {
    const { maxMigrating = 0 } = budget.spec;
    const moving = this.world.server.all<Migration>(VirtualMachineInstanceMigrations).filter((one) => {
      const vm = this.#lately.vms.get(one.spec.vmiName!);
      const by = this.#migrations.get(one.metadata.name);
      const isKnown = by === 'ours' || (by !== undefined && by <= this.now - UNKNOWN_MS);
      return !isOver(one) && isKnown && vm !== undefined && this.#selects(budget, vm);
    });
    if (moving.length > maxMigrating)
      this.broken('P1', `${moving.length} VMs of ${budget.metadata.name} migrate, of at most ${maxMigrating}`);
  }

  /**
   * VMs that went down by themselves count where they were last ready. An extra VM is not wanted where it was: it asks
   * when it goes, and is not down after that.
   */
  #checkDomains(budget: Budget, act: Act): void {
    const { topology } = budget.spec;
    if (topology === undefined) return;
    const counts = (one: Act | undefined): boolean => one !== undefined && (one === act || !one.isExtra);
    const isDown = (vm: KnownVm): boolean =>
      counts(this.#actOn(vm.name, budget.spec)) ||
      vm.history.since(this.now - UNKNOWN_MS).every(({ expected, available }) => expected > available);
    const down = [...this.#lately.vms.values()].filter((vm) => this.#selects(budget, vm) && isDown(vm));
    const domainOf = ({ node = '' }: KnownVm): string =>
      this.world.server.find(Nodes, { name: node })?.metadata.labels?.[topology.key] ?? '';
    const domains = new Set(down.filter(({ node }) => node !== undefined).map(domainOf));
    if (domains.size > topology.maxDomains)
      this.broken(
        'P1',
        `${act.vm} is taken down, and so VMs of ${[...domains].join(', ')} (${down.map(({ name }) => name).join(', ')}), though ${budget.metadata.name} allows ${topology.maxDomains}`,
      );
  }

  #vmi(name: string): Stored<VirtualMachineInstance> | undefined {
    const { namespace } = this.#lately.vms.get(name)!.metadata;
    return this.world.server.find<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name });
  }

  #endActs(): void {
    for (const act of this.#acts.values())
      if (this.#isOver(act)) {
        this.#acts.delete(act.vm);
        this.#lately.forgetBefore(act.vm);
      }
  }

  #isOver({ vm: name, uid, vmi, at, owner, isExtra, migration }: Act): boolean {
    const known = this.#lately.vms.get(name)!;
    if (this.#isGone(name)) return owner === undefined || isExtra || this.#lately.missingNow(owner) === 0;
    const stored = this.world.server.find(VirtualMachines, known.metadata);
    if (stored?.metadata.uid !== uid || !runs(stored)) return true;
    if (!known.serves) return false;
    if (migration !== undefined) return this.#hasMoved(migration) || this.#vmi(name)?.metadata.uid !== vmi;
    const { stateChangeRequests = [] } = (stored['status'] ?? {}) as { stateChangeRequests?: unknown[] };
    const isRefused = at <= this.now - ACCEPTED_MS && stateChangeRequests.length === 0;
    return this.#vmi(name)?.metadata.uid !== vmi || isRefused;
  }

  #hasMoved(migration: string): boolean {
    const all = this.world.server.all<Migration>(VirtualMachineInstanceMigrations);
    const found = all.find(({ metadata }) => metadata.name === migration);
    return found === undefined || isOver(found);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** What the pool or set makes, as budgets select it. */
const madeBy = ({ kind, metadata, spec }: Pool): Pick<Stored, 'metadata'> => {
  const pool = kind === 'VirtualMachineReplicaSet' ? {} : { [POOL_LABEL]: metadata.name };
  return { metadata: { ...metadata, labels: { ...spec.template.metadata?.labels, ...pool } } };
};

/** People have given the VM other labels, or have made it. */
const isMoved = (before: Stored | undefined, after: Stored | undefined): boolean =>
  after !== undefined &&
  ((before === undefined && controllerOf(after) === undefined) ||
    (before !== undefined && before.metadata.labels?.['app'] !== after.metadata.labels?.['app']));

const REASONS: Record<string, DisruptionReason[]> = {
  updateVms: ['Rollout'],
  removeVms: ['Rollout', 'Removal'],
  evacuateVms: ['Drain', 'Wish'],
};

/** For which of these a worker acts now. */
function reasonsNow({ temporal }: Watched): DisruptionReason[] {
  const action = inputOf(temporal.runs.get(runNow() ?? '') ?? { type: '', args: [] })?.action;
  return REASONS[activityNow() ?? ''] ?? (action === undefined ? ['Removal'] : [action as DisruptionReason]);
}

/** Has this world checked, from now on, and returns how many acts were. */
export function watchBudgets(world: World): AnyVmGuarantees {
  const guarantees = new AnyVmGuarantees(world, []);
  world.onlookers.push(guarantees);
  return guarantees;
}
