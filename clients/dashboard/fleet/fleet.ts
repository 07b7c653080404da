import type { Stored } from '../../../api/objects.ts';
import type { VmOwnerKind } from '../../../api/owner-kinds.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import type { Owner } from '../../cli/owner.ts';
import { isOver } from '../../operations/print-operations.ts';
import { withBudgetNames } from '../../operations/with-budget-names.ts';
import type { Need } from '../contract/fleet.ts';
import type { Collections, Delta, Needs } from '../contract/messages.ts';
import { nodeActions, type WhyNot } from '../view/actions.ts';
import { budgetCard, budgetNeeds } from '../view/budget-card.ts';
import { byUrgency, drainNeeds, operationNeeds, scheduleNeeds, workersNeed } from '../view/needs.ts';
import { operationCard } from '../view/operation-card.ts';
import { ownerPart } from '../view/owner-part.ts';
import { scheduleCard } from '../view/schedule-card.ts';
import type { Card } from './card.ts';
import { Drains, type SeenNode } from './drains.ts';
import { Members, type SeenMigration } from './members.ts';
import { Revisions, type SeenRevision } from './revisions.ts';
import { Seating } from './seating.ts';
import { Shelf } from './shelf.ts';
import type { MissingWorkers } from './workers.ts';

/** What the user may change. */
export type Changeable = 'pools' | 'operations' | 'clusterOperations' | 'schedules' | 'drains' | 'cancels';

interface Surroundings {
  whyNot: (what: Changeable, namespace: string | null) => WhyNot;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** What has changed. */
export type FleetDelta = Omit<Delta, 'type' | 'isWhole' | 'isSynced'>;

const NEEDS_SENT = 200;
/** What the need is kept by that is about all workers. */
const WORKERS = 'workers';

/**
 * The page's view of a fleet: takes objects as they change, and gives what has changed of the view. One changed object
 * costs one square and one card, however large the fleet is.
 */
export class Fleet {
  readonly #around: Surroundings;
  readonly #members = new Members();
  readonly #seating: Seating;
  readonly #drains = new Drains();
  readonly #revisions = new Revisions();
  readonly #operations = new Map<string, StoredOperation>();
  readonly #schedules = new Map<string, StoredSchedule>();
  readonly #budgets = new Map<string, StoredBudget>();
  readonly #shelves = {
    cards: new Shelf<Collections['cards']>(),
    operations: new Shelf<Collections['operations']>(),
    schedules: new Shelf<Collections['schedules']>(),
    drains: new Shelf<Collections['drains']>(),
    budgets: new Shelf<Collections['budgets']>(),
  };
  readonly #needs = new Map<string, Need[]>();
  #areNeedsNew = false;

  constructor(around: Surroundings) {
    this.#around = around;
    const { now, whyNot } = around;
    this.#seating = new Seating({
      members: this.#members,
      now,
      partOf: (owner, pool) =>
        ownerPart(owner, pool, {
          revisions: pool === null ? [] : this.#revisions.of(pool.metadata.uid),
          whyNot: pool === null ? null : whyNot('pools', pool.metadata.namespace ?? null),
          now: now(),
        }),
      onCard: (id, card, needs) => {
        this.#shelves.cards.set(id, card);
        this.#setNeeds(id, needs);
      },
    });
  }

  /** The time by which it is judged what is late, in milliseconds since the epoch. */
  now(): number {
    return this.#around.now();
  }

  setOwner(kind: VmOwnerKind, before: Stored<Owner> | undefined, after: Stored<Owner> | undefined): void {
    this.#seating.setOwner(kind, before, after);
  }

  setRevision(namespace: string, before: SeenRevision | undefined, after: SeenRevision | undefined): void {
    this.#revisions.set(before, after);
    const pool = (after ?? before)?.pool;
    if (pool !== undefined) this.#seating.lookAgainAtOwner('VirtualMachinePool', namespace, pool);
  }

  setVm(key: string, vm: VmView | undefined): void {
    this.#members.setVm(key, vm);
  }

  setVmi(key: string, before: VmiView | undefined, after: VmiView | undefined): void {
    this.#members.setVmi(key, after);
    this.#drains.setVmi(key, before, after);
  }

  setMigration(key: string, before: SeenMigration | undefined, after: SeenMigration | undefined): void {
    this.#members.setMigration(key, before, after);
    for (const view of [before, after])
      if (view != null) this.#drains.lookAgainAtVmi(this.#members.vmis.get(`${view.namespace}/${view.vmiName}`));
  }

  /** Whether the user may not see VMIs of the namespace, so that the state in the VMs counts; `*`: of any. */
  setUnseenVmis(namespace: string, isUnseen: boolean): void {
    this.#members.setUnseenVmis(namespace, isUnseen);
  }

  setNode(name: string, node: SeenNode | undefined): void {
    this.#drains.setNode(name, node);
    this.#members.setNodeLost(name, node?.ready === false, this.#drains.vmisOn(name));
  }

  isNodeLost(node: string | null): boolean {
    return this.#members.isNodeLost(node);
  }

  /** `key`: its namespace and name, or its name alone if it is cluster-wide. */
  setOperation(key: string, operation: StoredOperation | undefined): void {
    if (operation === undefined) this.#operations.delete(key);
    else this.#operations.set(key, operation);
    this.#lookAtOperation(key);
  }

  setSchedule(key: string, schedule: StoredSchedule | undefined): void {
    if (schedule === undefined) this.#schedules.delete(key);
    else this.#schedules.set(key, schedule);
    this.#lookAtSchedule(key);
  }

  /** `key`: its namespace and name, or its name alone if it is cluster-wide. */
  setBudget(key: string, budget: StoredBudget | undefined): void {
    if (budget === undefined) this.#budgets.delete(key);
    else this.#budgets.set(key, budget);
    this.#lookAtBudget(key);
  }

  budgets(): StoredBudget[] {
    return [...this.#budgets.values()];
  }

  #lookAtBudget(key: string): void {
    const now = this.#around.now();
    const budget = this.#budgets.get(key);
    const card = budget && budgetCard(budget, now);
    this.#shelves.budgets.set(`vmdb/${key}`, card);
    this.#setNeeds(`vmdb/${key}`, budget && card ? budgetNeeds(budget, card, now) : []);
  }

  #lookAtSchedule(key: string): void {
    const id = `vmops/${key}`;
    const schedule = this.#schedules.get(key);
    const card =
      schedule === undefined
        ? undefined
        : scheduleCard(schedule, this.#around.whyNot('schedules', schedule.metadata.namespace));
    this.#shelves.schedules.set(id, card);
    this.#setNeeds(
      id,
      schedule === undefined || card === undefined ? [] : scheduleNeeds(schedule, card, this.#around.now()),
    );
  }

  /** Whether anything happens in the cluster at all; null: nothing tells otherwise. */
  setWorkers(missing: MissingWorkers | null): void {
    this.#setNeeds(
      WORKERS,
      missing === null ? [] : [workersNeed(missing, this.#needs.get(WORKERS)?.[0], this.#around.now())],
    );
  }

  poolOf(namespace: string, name: string): Stored<Pool> | undefined {
    return this.#seating.poolOf(namespace, name);
  }

  /** The card of a VM, by its `namespace/name`. */
  cardOf(member: string): Card | undefined {
    return this.#seating.cardOf(member);
  }

  /** Has what depends on rights be looked at again. */
  lookAgain(): void {
    this.#seating.lookAgain();
    for (const key of this.#operations.keys()) this.#lookAtOperation(key);
    for (const key of this.#schedules.keys()) this.#lookAtSchedule(key);
    this.#drains.lookAgain();
  }

  /** Looks at what changes with time alone. */
  tick(): void {
    this.#seating.tick();
    this.#drains.tick();
    for (const key of this.#budgets.keys()) this.#lookAtBudget(key);
    for (const [key, operation] of this.#operations) if (!isOver(operation)) this.#lookAtOperation(key);
    const now = this.#around.now();
    for (const [key, { status }] of this.#schedules) {
      const isSeen = status?.conditions !== undefined;
      if (!isSeen || Date.parse(status.nextScheduleTime ?? '') <= now) this.#lookAtSchedule(key);
    }
  }

  /** Returns what has changed since the last call; null if nothing has. */
  collect(): FleetDelta | null {
    const isMigrating = (vmi: string): boolean => this.#members.isMigrating(vmi);
    this.#seating.settle();
    const { whyNot } = this.#around;
    for (const node of this.#drains.dirty) {
      const card = this.#drains.cardOf(node, isMigrating);
      const actions = card === null ? [] : nodeActions(card, whyNot('drains', null), whyNot('cancels', null));
      const shown = card === null ? undefined : { ...card, actions };
      this.#shelves.drains.set(`node/${node}`, shown);
      const since = this.#drains.drainedSince(node);
      this.#setNeeds(`node/${node}`, shown === undefined ? [] : drainNeeds(shown, since, this.#around.now()));
    }
    this.#drains.dirty.clear();
    const { cards, operations, schedules, drains, budgets } = this.#shelves;
    const all = {
      cards: cards.collect(),
      operations: operations.collect(),
      schedules: schedules.collect(),
      drains: drains.collect(),
      budgets: budgets.collect(),
      cells: this.#seating.collect(),
      needs: this.#areNeedsNew ? this.#allNeeds() : undefined,
    };
    this.#areNeedsNew = false;
    const changed = Object.entries(all).filter(([, value]) => value !== undefined);
    return changed.length === 0 ? null : Object.fromEntries(changed);
  }

  /** All that was taken so far. */
  whole(): FleetDelta {
    const { cards, operations, schedules, drains, budgets } = this.#shelves;
    return {
      cards: { set: cards.all() },
      operations: { set: operations.all() },
      schedules: { set: schedules.all() },
      drains: { set: drains.all() },
      budgets: { set: budgets.all() },
      cells: this.#seating.cells(),
      needs: this.#allNeeds(),
    };
  }

  #lookAtOperation(key: string): void {
    const operation = this.#operations.get(key);
    const isClusterWide = !key.includes('/');
    const id = `${isClusterWide ? 'cvmop' : 'vmop'}/${key}`;
    if (operation === undefined) {
      this.#shelves.operations.set(id, undefined);
      return this.#setNeeds(id, []);
    }
    const now = this.#around.now();
    const { namespace = null } = operation.metadata;
    const whyNot = isOver(operation)
      ? null
      : this.#around.whyNot(isClusterWide ? 'clusterOperations' : 'operations', namespace);
    const card = operationCard(withBudgetNames(operation, this.#budgets.values()), whyNot, now);
    this.#shelves.operations.set(id, card);
    this.#setNeeds(id, operationNeeds(operation, card, now));
  }

  #setNeeds(id: string, needs: Need[]): void {
    const before = this.#needs.get(id) ?? [];
    if (before.length === 0 && needs.length === 0) return;
    if (needs.length === 0) this.#needs.delete(id);
    else this.#needs.set(id, needs);
    this.#areNeedsNew ||= JSON.stringify(before) !== JSON.stringify(needs);
  }

  #allNeeds(): Needs {
    const isDown = this.#needs.has(WORKERS);
    const shown = [...this.#needs].flatMap(([id, needs]) =>
      isDown && id !== WORKERS ? needs.filter(({ kind }) => kind !== 'no-worker') : needs,
    );
    const all = shown.sort(byUrgency);
    return { items: all.slice(0, NEEDS_SENT), count: all.length };
  }
}
