import { ORPHAN_FINALIZER } from '../../api/labels-and-annotations.ts';
import { allowanceOf, mayTry, refusedOf } from '../owners/failures.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import { refusedLast } from '../owners/refused-vms.ts';
import type { RemovalLimit } from '../owners/removal-limit.ts';
import { nameOf, targets, vmNames, type PoolStep, type RemovalCause, type Leaver } from '../owners/steps.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import type { VmView } from '../views/vm.ts';
import { scaleInOrder } from './selection-order.ts';

/** How VMs leave their owner, be it a pool or a set. */

type RemovalInput = Pick<PlanInput, 'vms' | 'inProgress' | 'burst' | 'backoffs' | 'now'>;
export type RemovalStep = Extract<
  PoolStep,
  { kind: 'addFinalizer' | 'removeFinalizer' | 'recordUid' | 'delete' | 'halt' | 'release' }
>;

/** Finishes interrupted deletions: terminating VMs that are held until their disks are released. */
function finishTerminating(input: RemovalInput, limit: RemovalLimit): RemovalStep[] {
  const { vms, inProgress } = input;
  const waiting = vms.filter((vm) => isKeepingDisks(vm) && !inProgress.deleting.includes(vm.name));
  const terminating = limit.again(inTurn(waiting, input));
  return deletion(terminating, true, 'Terminating', 'already being deleted');
}

/** The members in the order to try them: those whose removal was refused last, if at all. */
const inTurn = <T extends Leaver>(members: readonly T[], input: Pick<RemovalInput, 'backoffs'>): T[] =>
  refusedLast(members, nameOf, refusedOf(input, 'FailedDelete'));

const isKeepingDisks = (vm: Leaver): boolean => vm.deleting && vm.keepsDisks === true;

/**
 * Continues with VMs that are leaving the pool: deletes VMs whose VMIs have stopped, and halts VMs that a user started
 * again.
 */
export function finishRemovals(input: RemovalInput, limit: RemovalLimit): RemovalStep[] {
  const { vms, inProgress } = input;
  const terminating = finishTerminating(input, limit);
  const removing = scaleInOrder(
    vms.filter((vm) => vm.removing && !vm.deleting && !inProgress.deleting.includes(vm.name)),
  );
  const leaving = inTurn(removing, input);
  const stopped = limit.again(leaving.filter((vm) => vm.runStrategy === 'Halted' && !vm.hasVmi));
  const started = limit.again(leaving.filter((vm) => vm.runStrategy !== 'Halted'));
  return [
    ...terminating,
    ...deletion(stopped, true, 'Annotated', 'leaving the pool, and stopped'),
    ...halting(started, 'Annotated', 'leaving the pool, but started again'),
  ];
}

interface EndInput extends RemovalInput {
  /** Its VMs, some of which may be leaving with their disks kept; none if its members are VMIs. */
  vms: readonly VmView[];
  owner: StoredVmOwner;
  /** drover's finalizer on it. */
  finalizer: string;
  /** What users call an owner of this kind. */
  what: 'pool' | 'set';
  /** All its members, in the order in which they leave. */
  order: readonly Leaver[];
  /** Names of those on nodes that do not answer: they leave last, for they may never go. */
  lost: ReadonlySet<string>;
}

/** Returns steps towards the end of a deleted owner: its VMs are deleted first, or released. */
export function planEnd(input: EndInput, limit: RemovalLimit): RemovalStep[] {
  const { owner, finalizer, what, order, lost, inProgress } = input;
  const { finalizers = [] } = owner.metadata;
  if (!finalizers.includes(finalizer)) return [];
  const busy = new Set([...inProgress.creating, ...inProgress.deleting]);
  if (order.length === 0)
    return busy.size === 0 && mayTry(input, 'FailedFinalizer')
      ? [{ kind: 'removeFinalizer', reason: `the ${what} is deleted and none of its VMs is left` }]
      : [];
  const free = inTurn(
    order.filter((vm) => !busy.has(vm.name)),
    input,
  );
  if (finalizers.includes(ORPHAN_FINALIZER)) {
    const chosen = free
      .filter((vm) => !isKeepingDisks(vm))
      .slice(0, Math.max(Math.min(input.burst - inProgress.deleting.length, allowanceOf(input, 'FailedDelete')), 0));
    const terminating = finishTerminating(input, limit);
    const reason = `release ${vmNames(chosen)}: the ${what} was deleted without its VMs`;
    return chosen.length === 0 ? terminating : [...terminating, { kind: 'release', vms: targets(chosen), reason }];
  }
  // VMs that were leaving with their disks kept continue so: what was to be kept a moment ago is still kept.
  const finishing = finishRemovals(input, limit);
  const leaving = free.filter((vm) => !vm.deleting && vm.removing !== true);
  const chosen = limit.admit(leaving.toSorted((a, b) => Number(lost.has(a.name)) - Number(lost.has(b.name))));
  return [...finishing, ...deletion(chosen, false, 'OwnerDeleted', `the ${what} is deleted`)];
}

type Because = RemovalCause['because'];

/** Returns the step that deletes these members; none if there are none. */
export function deletion(vms: readonly Leaver[], keepDisks: boolean, because: Because, message: string): RemovalStep[] {
  const reason = `delete ${vmNames(vms)}${keepDisks ? ' and keep their disks' : ''}: ${message}`;
  return vms.length === 0 ? [] : [{ kind: 'delete', vms: targets(vms), keepDisks, because, reason }];
}

/** Returns the step that halts these VMs; none if there are none. */
export function halting(vms: readonly VmView[], because: Because, message: string): RemovalStep[] {
  const reason = `halt ${vmNames(vms)}, to keep their disks: ${message}`;
  return vms.length === 0 ? [] : [{ kind: 'halt', vms: targets(vms), because, reason }];
}
