import { isRecordOf, type TransitionRecord } from '../views/annotations/transition-record.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isAlias } from './machine-type.ts';
import { scopeRules, type ScopeRules } from './scope.ts';
import type { PoolTransitionState, Transition, TransitionResult, TypeGroup } from './transition.ts';

export interface TransitionRulesInput {
  /** UID of the operation. */
  ref: { id: string };
  transition: Transition;
  /** What dry runs have shown so far, for each group of VMs. */
  results: readonly TransitionResult[];
  /**
   * The other transitions that still run, by UID, as users name them. Looked up again each time, since one may have
   * begun meanwhile.
   */
  othersRunning: Pick<ReadonlyMap<string, string>, 'get'>;
}

/** A transition, prepared for queries about thousands of VMs. */
export interface TransitionRules extends Omit<TransitionRulesInput, 'results'> {
  scope: ScopeRules;
  /** As in the transition's scope. */
  undoes: string | null;
  /** What one look at many VMs has found about their pools, by the pools' UIDs; absent: each VM asks anew. */
  pools?: Map<string, PoolTransitionState>;
  /** Undefined if no dry run has shown it yet. */
  resultOf: (group: TypeGroup) => TransitionResult | undefined;
}

/** Throws a `RangeError` for a malformed glob. */
export function transitionRules({ ref, transition, results, othersRunning }: TransitionRulesInput): TransitionRules {
  const byGroup = new Map(results.map((result) => [groupKey(result), result]));
  return {
    ref,
    transition,
    othersRunning,
    scope: scopeRules(transition.scope),
    undoes: transition.scope.undoes,
    resultOf: (group) => byGroup.get(groupKey(group)),
  };
}

/** The same rules for one look at many VMs that do not change meanwhile. */
export const forOneLook = (rules: TransitionRules): TransitionRules => ({ ...rules, pools: new Map() });

/** Returns the same key for VMs of the same group. */
export const groupKey = ({ from, wanted, architecture, preference }: TypeGroup): string =>
  JSON.stringify([from, wanted, architecture, preference]);

/** The machine type of a VM, and the record of the last transition that changed it. */
interface Typed {
  machineType: string | null;
  transition: TransitionRecord | null;
}

/** Whether a transition that is to be undone has changed the type. */
const isToUndo = ({ undoes }: TransitionRules, record: TransitionRecord | null): record is TransitionRecord =>
  undoes !== null && isRecordOf(record, undoes) && record.from !== record.to;

/**
 * Returns the type to set instead of the current one (null: clear it); undefined if the current one may stay. An undo
 * goes by the record of the transition that it undoes.
 */
export function wantedType(
  rules: TransitionRules,
  { machineType, transition: record }: Typed,
): string | null | undefined {
  if (rules.undoes === null) return rules.scope.isOld(machineType) ? rules.transition.to : undefined;
  return isToUndo(rules, record) && record.to === (machineType ?? '') ? record.from || null : undefined;
}

/**
 * True if a transition that is to be undone has changed the type, and it was changed since: what it should be
 * now is unknown.
 */
export const isChangedSince = (rules: TransitionRules, { machineType, transition: record }: Typed): boolean =>
  isToUndo(rules, record) && record.to !== (machineType ?? '');

/**
 * True if a user has reverted the change that this transition made: set an old type again or, after an undo, any
 * other type.
 */
export const isSetBack = ({ undoes, scope }: TransitionRules, { machineType, transition: record }: Typed): boolean =>
  undoes === null ? scope.isOld(machineType) : record?.to !== (machineType ?? '');

/**
 * True for a VMI with an old type. The type that a VMI got for an alias is known only to KubeVirt, once the VMI
 * runs. For an undo, a VMI is old if it was started from an earlier spec of a VM that the undo has changed.
 */
export function isOldVmi(rules: TransitionRules, vm: VmView, vmi: VmiView): boolean {
  const { ref, undoes, scope } = rules;
  const { machineType, specMachineType } = vmi;
  const isOwn = vm.transition?.id === ref.id;
  if (undoes === null)
    return scope.isOld(machineType ?? specMachineType) || (isOwn && isOfOldAlias(rules, vmi, vm.machineType));
  return isOwn && specMachineType !== null && specMachineType !== vm.machineType;
}

/**
 * True for a VMI started from an old alias, if the VM is to have a type other than the alias's type when the VMI began
 * to run.
 */
export const isOfOldAlias = (
  { scope }: TransitionRules,
  { machineType, specMachineType }: VmiView,
  to: string | null,
): boolean =>
  specMachineType !== null &&
  isAlias(specMachineType) &&
  scope.isOld(specMachineType) &&
  specMachineType !== to &&
  machineType !== to;

export const groupOf = ({ machineType, architecture, preference }: VmView, wanted: string | null): TypeGroup => ({
  from: machineType ?? '',
  wanted,
  architecture,
  preference,
});

/**
 * Returns why the resulting type is not acceptable; null if it is. `force` accepts a type that no node has, but not a
 * type that would itself be old.
 */
export function refusalOf(
  { transition, undoes, scope }: TransitionRules,
  { to, fault }: TransitionResult,
): string | null {
  if (fault === null || !transition.force) return fault;
  return undoes === null && scope.isOld(to) ? `it would come back as ${to}` : null;
}

/**
 * Describes the other transition, still running, that holds the object; null if there is none. It may wait for an owner
 * for weeks, so the text says how to end it.
 */
export function otherTransitionOn(
  { ref, othersRunning }: TransitionRules,
  ...ids: (string | null | undefined)[]
): string | null {
  for (const id of ids) {
    const other = id === null || id === undefined || id === ref.id ? undefined : othersRunning.get(id);
    if (other !== undefined) return `operation ${other} is changing it, until that ends or is aborted`;
  }
  return null;
}
