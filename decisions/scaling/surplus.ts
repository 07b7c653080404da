import { REMOVE_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { standbyRules, type ScaleInRules } from '../../api/rules/pool-defaults.ts';
import { isAtRest, type VmiOf } from '../health/availability.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { whyClosed, windowAt, type ClosedWindow, type WindowState } from '../lib/maintenance-windows.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import type { RegularVm, VmView, StandbyVm } from '../views/vm.ts';

/** VMs that are more than the pool wants, and stay. */
export interface BlockedSurplus {
  reason: ConditionReason<'ScaleInBlocked'>;
  /** How many replicas stay; standby VMs that stay are only in the message. */
  count: number;
  message: string;
}

interface SurplusInput {
  pool: StoredPool;
  rules: ScaleInRules;
  vmiOf: VmiOf;
  /** All replicas that stay in the pool unless scale-in takes them. */
  active: readonly RegularVm[];
  /** The same of standby VMs. */
  standby: readonly StandbyVm[];
  /** Milliseconds since the epoch. */
  now: number;
  /** Why it can't be read which VMs users want removed; null if it can. */
  fault: string | null;
}

/** When scale-in may begin, by the pool's windows. */
export const scaleInWindow = (rules: ScaleInRules, now: number): WindowState =>
  windowAt(rules.kind === 'proactive' ? rules.windows : [], now);

/** Reports whether VMs that are too many leave now, whatever they do. */
export const removesSurplus = (rules: ScaleInRules, now: number): boolean =>
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

/** Members of a pool of one role, and how many of them it wants. */
interface Group {
  members: readonly VmView[];
  wanted: number;
  /** What they are wanted for, if not as replicas. */
  as: string;
}

export const hasSurplusStandby = ({ pool, standby }: Pick<SurplusInput, 'pool' | 'standby'>): boolean =>
  standby.length > standbyRules(pool.spec).replicas;

/** Returns how many of the VMs that are too many stay, and why; null if none does. */
export function blockedSurplus(input: SurplusInput): BlockedSurplus | null {
  const { pool, active, standby, fault } = input;
  const { replicas } = pool.spec;
  if (fault !== null) return unreadable(Math.max(active.length - replicas, 0), fault);
  const ofReplicas = blockedIn(input, { members: active, wanted: replicas, as: '' });
  const wanted = standbyRules(pool.spec).replicas;
  const ofStandby = blockedIn(input, { members: standby, wanted, as: ' as standby' });
  const [first] = [ofReplicas, ofStandby].filter((one) => one !== null);
  if (first === undefined) return null;
  const sentences = [...(ofReplicas?.sentences ?? []), ...(ofStandby?.sentences ?? [])];
  return {
    reason: first.reason,
    count: ofReplicas?.count ?? 0,
    message: inOneMessage([...new Set(sentences)]),
  };
}

function blockedIn(
  input: SurplusInput,
  group: Group,
): (Pick<BlockedSurplus, 'reason' | 'count'> & { sentences: string[] }) | null {
  const { members, wanted, as } = group;
  const window = scaleInWindow(input.rules, input.now);
  const free = members.filter((vm) => mayLeave(input, vm)).length;
  const count = members.length - wanted - (window.open ? free : 0);
  if (count <= 0) return null;
  const { reason, message } = window.open ? causes(input, group) : closed(input, group, window);
  const stay = count === 1 ? '1 VM stays that is' : `${count} VMs stay that are`;
  return {
    reason,
    count,
    sentences: [`${stay} more than the ${wanted} wanted${as}: ${message[0]}`, ...message.slice(1)],
  };
}

/** Surplus VMs may be the named ones, so none is removed. */
const unreadable = (count: number, fault: string): BlockedSurplus => ({
  reason: 'InvalidRemoveAnnotation',
  count,
  message: `the annotation ${REMOVE_VMS_ANNOTATION} can't be read, and no VM leaves by scale-in until it is corrected or removed: ${fault}`,
});

/** VMs that are protected stay also inside a window, if too many are. */
function closed({ rules }: SurplusInput, { members, wanted }: Group, window: ClosedWindow): Causes {
  const kept = members.filter((vm) => vm.protected);
  const windows = rules.kind === 'proactive' ? rules.windows : [];
  const details = kept.length > wanted ? sentence(kept, 'protected from scale-in') : [];
  return {
    reason: 'WaitingForWindow',
    message: [whyClosed(window, windows, 'spec.scaleInStrategy.proactive.windows'), ...details],
  };
}

interface Causes {
  reason: BlockedSurplus['reason'];
  /** What keeps VMs in the pool, a sentence each. */
  message: string[];
}

function causes({ rules, vmiOf }: SurplusInput, { members, as }: Group): Causes {
  if (rules.kind === 'unmanaged')
    return { reason: 'Unmanaged', message: [`scale-in is left to users, and the pool has ${namesOf(members)}${as}`] };
  const kept = members.filter((vm) => vm.protected);
  const inUse = rules.kind === 'opportunistic' ? members.filter((vm) => !vm.protected && !isAtRest(vm, vmiOf(vm))) : [];
  return {
    reason: inUse.length > 0 ? 'NotHalted' : 'Protected',
    message: [...sentence(inUse, 'not halted'), ...sentence(kept, 'protected from scale-in')],
  };
}

const sentence = (vms: readonly VmView[], what: string): string[] =>
  vms.length === 0 ? [] : [`${namesOf(vms)} ${vms.length === 1 ? 'is' : 'are'} ${what}`];

const namesOf = (vms: readonly VmView[]): string => formatNames(vms.map(({ name }) => name));

/** `ScaleInBlocked`: VMs stay that are more than the pool wants. There only while there are such VMs. */
export const surplusCondition = (blocked: BlockedSurplus | null): UntimedCondition[] =>
  blocked === null
    ? []
    : [{ type: 'ScaleInBlocked', status: 'True', reason: blocked.reason, message: blocked.message }];
