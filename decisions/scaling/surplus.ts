import { REMOVE_VMS_ANNOTATION } from '../../api/names.ts';
import type { ScaleInRules } from '../../api/pool-defaults.ts';
import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { isAtRest, type VmiOf } from '../disruption-budget/availability.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { windowAt, windowFaults, type WindowState } from '../lib/maintenance-windows.ts';
import { formatNames } from '../lib/names.ts';
import { withTime } from '../status/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import type { RegularVm, VmView } from '../views/vm.ts';

/** VMs that are more than the pool wants, and stay. */
export interface BlockedSurplus {
  reason: ConditionReason<'ScaleInBlocked'>;
  count: number;
  message: string;
}

export interface SurplusInput {
  pool: StoredPool;
  rules: ScaleInRules;
  vmiOf: VmiOf;
  /** All replicas that stay in the pool unless scale-in takes them. */
  active: readonly RegularVm[];
  /** Milliseconds since the epoch. */
  now: number;
  /** Why it can't be read which VMs people want removed; null if it can. */
  fault: string | null;
}

const MESSAGE_LENGTH = 2_048;

/** When scale-in may begin, by the pool's windows. */
export const scaleInWindow = (rules: ScaleInRules, now: number): WindowState =>
  windowAt(rules.kind === 'proactive' ? rules.windows : [], now);

/** Reports whether VMs that are too many leave now, whatever they do. */
export const takesSurplus = (rules: ScaleInRules, now: number): boolean =>
  rules.kind === 'proactive' && scaleInWindow(rules, now).open;

/** Reports whether scale-in may take the VM, while its window is open. */
export function mayLeave({ rules, vmiOf }: Pick<SurplusInput, 'rules' | 'vmiOf'>, vm: VmView): boolean {
  switch (rules.kind) {
    case 'unmanaged':
      return false;
    case 'opportunistic':
      return !vm.protected && isAtRest(vm, vmiOf(vm));
    case 'proactive':
      return !vm.protected;
  }
}

/** Returns how many of the VMs that are too many stay, and why; null if none does. */
export function blockedSurplus(input: SurplusInput): BlockedSurplus | null {
  const { pool, active, fault } = input;
  const { replicas } = pool.spec;
  if (fault !== null) return unreadable(Math.max(active.length - replicas, 0), fault);
  const window = scaleInWindow(input.rules, input.now);
  const free = active.filter((vm) => mayLeave(input, vm)).length;
  const count = active.length - replicas - (window.open ? free : 0);
  if (count <= 0) return null;
  const { reason, why } = window.open ? causes(input) : closed(input, window.next);
  const stay = count === 1 ? '1 VM stays that is' : `${count} VMs stay that are`;
  const message = inOneMessage(
    [`${stay} more than the ${replicas} wanted: ${why[0]}`, ...why.slice(1)],
    MESSAGE_LENGTH,
  );
  return { reason, count, message };
}

/** VMs that are too many may be those that were named, so none is taken. */
const unreadable = (count: number, fault: string): BlockedSurplus => ({
  reason: 'InvalidRemoveAnnotation',
  count,
  message: `the annotation ${REMOVE_VMS_ANNOTATION} can't be read, and until it is set right or taken off no VM leaves by scale-in: ${fault}`,
});

/** VMs that are protected stay also inside a window, if too many are. */
function closed({ pool, rules, active }: SurplusInput, next: number | null): Causes {
  const kept = active.filter((vm) => vm.protected);
  const opening =
    next === null
      ? 'no window for scale-in opens any more'
      : `the next window for scale-in opens at ${new Date(next).toISOString()}`;
  const faults =
    rules.kind === 'proactive' ? windowFaults(rules.windows, 'spec.scaleInStrategy.proactive.windows') : [];
  const held = kept.length > pool.spec.replicas ? sentence(kept, 'protected from scale-in') : [];
  return { reason: 'WaitingForWindow', why: [opening, ...faults, ...held] };
}

interface Causes {
  reason: BlockedSurplus['reason'];
  /** What keeps VMs in the pool, a sentence each. */
  why: string[];
}

function causes({ rules, vmiOf, active }: SurplusInput): Causes {
  if (rules.kind === 'unmanaged')
    return { reason: 'Unmanaged', why: [`scale-in is left to people, and the pool has ${namesOf(active)}`] };
  const kept = active.filter((vm) => vm.protected);
  const inUse = rules.kind === 'opportunistic' ? active.filter((vm) => !vm.protected && !isAtRest(vm, vmiOf(vm))) : [];
  return {
    reason: inUse.length > 0 ? 'NotHalted' : 'Protected',
    why: [...sentence(inUse, 'not halted'), ...sentence(kept, 'protected from scale-in')],
  };
}

const sentence = (vms: readonly VmView[], what: string): string[] =>
  vms.length === 0 ? [] : [`${namesOf(vms)} ${vms.length === 1 ? 'is' : 'are'} ${what}`];

const namesOf = (vms: readonly VmView[]): string => formatNames(vms.map(({ name }) => name));

/** `ScaleInBlocked`: VMs stay that are more than the pool wants. There only while there are such VMs. */
export const surplusCondition = (pool: StoredPool, blocked: BlockedSurplus | null, now: string): Condition[] =>
  blocked === null
    ? []
    : [
        withTime(
          pool,
          { type: 'ScaleInBlocked', status: 'True', reason: blocked.reason, message: blocked.message },
          now,
        ),
      ];
