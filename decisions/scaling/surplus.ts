import { REMOVE_VMS_ANNOTATION } from '../../api/names.ts';
import type { ScaleInRules } from '../../api/pool-defaults.ts';
import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { isAtRest, type VmiOf } from '../disruption-budget/availability.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { formatNames } from '../lib/names.ts';
import { withTime } from '../pool/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';

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
  /** All VMs that stay in the pool unless scale-in takes them. */
  active: readonly VmView[];
  /** Why it can't be read which VMs people want removed; null if it can. */
  fault: string | null;
}

const MESSAGE_LENGTH = 2_048;

/** Reports whether scale-in may take the VM at all. */
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
  const free = active.filter((vm) => mayLeave(input, vm)).length;
  const count = active.length - replicas - free;
  if (count <= 0) return null;
  const { reason, why } = causes(input);
  const stay = count === 1 ? '1 VM stays that is' : `${count} VMs stay that are`;
  const message = inOneMessage(
    [`${stay} more than the ${replicas} wanted: ${why[0]}`, ...why.slice(1)],
    MESSAGE_LENGTH,
  );
  return { reason, count, message };
}

/** VMs that are too many may be those that were named, so none is taken. */
const unreadable = (count: number, fault: string): BlockedSurplus => ({
  reason: 'RemovalsUnreadable',
  count,
  message: `the annotation ${REMOVE_VMS_ANNOTATION} can't be read, and until it is set right or taken off no VM leaves by scale-in: ${fault}`,
});

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
