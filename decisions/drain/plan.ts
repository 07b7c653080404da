import { CAPS } from '../../api/lib/caps.ts';
import { drainRules, type DrainRules } from '../../api/rules/pool-defaults.ts';
import { DisruptionBudget } from '../disruption-budget/budget.ts';
import { heldUntil, type Refusal } from '../disruption/held.ts';
import { shouldBeginBy, whyNotBegun } from '../disruption/migration.ts';
import { deferred } from '../disruption/need.ts';
import { isActive } from '../health/availability.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import { whyClosed, windowAt } from '../lib/maintenance-windows.ts';
import { byNumber } from '../lib/names.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { EvacuationAct, EvacuationTarget } from '../owners/steps.ts';
import type { VmView } from '../views/vm.ts';
import { departureOf, nodeToLeave } from './departure.ts';
import { evacuationNeed, type EvacuationNeed } from './need.ts';
import type { RefusedEvacuation } from './refusals.ts';

/** How far a VM is that is to leave its node. */
export interface EvacuationStatus {
  vm: string;
  node: string;
  /** `Stuck`: it may wait forever. */
  state: 'Evacuating' | 'Budget' | 'Window' | 'Stuck' | 'Waiting';
  /** What is done to it or what it waits for; completes the name of the VM to a sentence. */
  message: string;
}

export interface DrainPlan {
  /** VMs to begin with now. */
  evacuate: EvacuationTarget[];
  /** All VMs of the pool that are to leave their nodes, waiting VMs first. */
  statuses: EvacuationStatus[];
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  requeueAt: number | null;
}

export interface DrainInput extends Pick<PlanInput, 'pool' | 'vms' | 'vmiOf' | 'whyHeld' | 'now'> {
  /** Names of VMs that an activity is just moving off their nodes. */
  acting: readonly string[];
  /** VMs that something else is done to, and what. */
  busy: ReadonlyMap<string, string>;
  /** What the API server refused. */
  refusals: readonly RefusedEvacuation[];
}

/** Most VMs that are started on at once. */
const MAX_AT_ONCE = 100;

const NOTHING: DrainPlan = { evacuate: [], statuses: [], requeueAt: null };

const MESSAGES: Record<EvacuationAct, (message: string) => string> = {
  migrate: () => 'is being migrated',
  restart: (message) => `is being restarted: ${message}`,
  cancel: (message) => message,
};

const isMoving = ({ state }: EvacuationStatus): boolean => state === 'Evacuating';

type Act = EvacuationNeed & { need: 'act' };

/** Until when a VM had to wait that was given up lately before its turn came; 0 for the others. */
const givenUpUntil = ({ isBegun, refused }: Act): number => (isBegun ? 0 : (refused?.until ?? 0));

/**
 * Returns which VMs are to be moved off the nodes that are drained, never more than the budget allows, and what each of
 * the others waits for. VMs without service come first, and wait for neither budget nor window; VMs whose nodes are not
 * drained come last. Migrations that KubeVirt does not begin are deleted, whatever their purpose: each would hold its
 * place in the budget forever.
 */
export function planDrain(input: DrainInput): DrainPlan {
  const { pool, vms, vmiOf } = input;
  if (pool.metadata.deletionTimestamp !== undefined) return NOTHING;
  const rules = drainRules(pool.spec);
  const leaving = rules === null ? [] : vms.filter((vm) => isActive(vm) && departureOf(vmiOf(vm)) !== null);
  const plan = rules === null || leaving.length === 0 ? NOTHING : new Drain(input, rules).plan(leaving);
  return withCancelled(input, plan, new Set([...leaving.map(({ name }) => name), ...input.acting]));
}

/** Takes back migrations of other VMs as well: each holds a place in the budget. */
function withCancelled(
  { vms, vmiOf, now }: DrainInput,
  { evacuate, statuses, requeueAt }: DrainPlan,
  known: ReadonlySet<string>,
): DrainPlan {
  const plan = { evacuate: [...evacuate], statuses, requeueAt };
  for (const vm of vms) {
    const vmi = vmiOf(vm);
    const until = vmi === undefined ? null : shouldBeginBy(vmi);
    if (until === null || known.has(vm.name)) continue;
    if (until > now) plan.requeueAt = earlier(plan.requeueAt, until);
    else {
      const { uid } = vmi!;
      plan.evacuate.push({ name: vm.name, uid, node: nodeToLeave(vmi!), act: 'cancel', message: whyNotBegun(vmi!) });
    }
  }
  return plan;
}

class Drain {
  readonly #in: DrainInput;
  readonly #rules: DrainRules;
  readonly #evacuate: EvacuationTarget[] = [];
  readonly #statuses: EvacuationStatus[] = [];
  #requeueAt: number | null = null;

  constructor(input: DrainInput, rules: DrainRules) {
    this.#in = input;
    this.#rules = rules;
  }

  plan(leaving: readonly VmView[]): DrainPlan {
    const acts: { vm: VmView; need: Act }[] = [];
    for (const vm of leaving) {
      const need = this.#needOf(vm);
      if (need.need === 'act') acts.push({ vm, need });
      else this.#addStatus(vm, need);
    }
    acts.sort(
      (a, b) =>
        Number(a.need.isWish) - Number(b.need.isWish) ||
        Number(a.need.needsBudget) - Number(b.need.needsBudget) ||
        // What KubeVirt has not begun may be so again, and others would wait for that.
        givenUpUntil(a.need) - givenUpUntil(b.need) ||
        Number(b.need.isBegun) - Number(a.need.isBegun) ||
        byNumber(a.vm.name, b.vm.name),
    );
    this.#choose(acts);
    const statuses = this.#statuses.toSorted(
      (a, b) => Number(isMoving(a)) - Number(isMoving(b)) || byNumber(a.vm, b.vm),
    );
    return { evacuate: this.#evacuate, statuses, requeueAt: this.#requeueAt };
  }

  #needOf(vm: VmView): EvacuationNeed {
    const { acting, busy, refusals, vmiOf, now } = this.#in;
    const vmi = vmiOf(vm);
    const other = busy.get(vm.name);
    const refusal = refusals.find(({ uid }) => uid === vmi?.uid);
    const need = evacuationNeed({ vm, vmi, rules: this.#rules, refusal, now });
    if (acting.includes(vm.name)) {
      const refused = need.need === 'act' ? need.refused : null;
      return refused ?? { need: 'underway', message: 'is being moved', until: null };
    }
    return other === undefined ? need : { ...deferred(other), isStuck: false };
  }

  #addStatus(vm: VmView, need: Exclude<EvacuationNeed, Act>): void {
    if (need.need === 'nothing') return;
    this.#requeue(need.until);
    if (need.need === 'underway') this.#add(vm, 'Evacuating', need.message);
    else this.#add(vm, need.isStuck ? 'Stuck' : 'Waiting', `waits: ${need.message}`);
  }

  #choose(acts: readonly { vm: VmView; need: Act }[]): void {
    const { pool, vms, vmiOf, acting, refusals, now } = this.#in;
    const budget = new DisruptionBudget({ pool, vms, vmiOf, acting, now });
    const closed = this.#closed();
    const known = new Set(refusals.map(({ uid }) => uid));
    let places = CAPS.refusedEvacuations - refusals.length - acting.length;
    for (const { vm, need } of acts) {
      const held = need.needsBudget && !need.isBegun ? this.#whyHeld(vm, need) : null;
      if (need.needsBudget && !need.isBegun && closed !== null) this.#add(vm, 'Window', closed);
      else if (need.needsBudget && budget.most === 0) this.#add(vm, 'Stuck', `waits: ${budget.whyFull()}`);
      else if (need.needsBudget && !budget.admits(vm)) {
        this.#add(vm, 'Budget', `waits: ${budget.format(' or being moved')}`);
        this.#requeue(budget.againAt);
      } else if (held !== null) {
        this.#add(vm, 'Budget', `waits: ${held.message}`);
        this.#requeue(heldUntil(held, now));
      } else if (!known.has(vmiOf(vm)!.uid) && places-- <= 0)
        this.#add(vm, 'Waiting', `waits: ${CAPS.refusedEvacuations} others could not be moved`);
      else if (this.#evacuate.length >= MAX_AT_ONCE) this.#add(vm, 'Waiting', `waits: ${MAX_AT_ONCE} begin at once`);
      else {
        if (need.needsBudget) budget.charge(vm);
        const vmi = vmiOf(vm)!;
        this.#evacuate.push({
          name: vm.name,
          uid: vmi.uid,
          node: nodeToLeave(vmi),
          act: need.act,
          message: need.message,
        });
        const message = MESSAGES[need.act](need.message);
        this.#addStatus(vm, need.refused ?? { need: 'underway', message, until: null });
      }
    }
  }

  #whyHeld(vm: VmView, { act, isWish }: Act): Refusal | null {
    return this.#in.whyHeld?.(vm, act === 'migrate' ? act : 'restart', isWish ? 'Wish' : 'Drain') ?? null;
  }

  /** What VMs wait for outside of the windows; null inside. */
  #closed(): string | null {
    const { windows } = this.#rules;
    const window = windowAt(windows, this.#in.now);
    if (window.open) return null;
    this.#requeue(window.next);
    return `waits: ${whyClosed(window, windows, 'spec.drain.windows')}`;
  }

  #add(vm: VmView, state: EvacuationStatus['state'], message: string): void {
    this.#statuses.push({ vm: vm.name, node: nodeToLeave(this.#in.vmiOf(vm)!), state, message });
  }

  #requeue(at: number | null): void {
    if (at !== null && at > this.#in.now) this.#requeueAt = earlier(this.#requeueAt, at);
  }
}
