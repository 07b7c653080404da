import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isAlias } from './machine-type.ts';
import { scopeRules, type ScopeRules } from './scope.ts';
import type { Transition, TransitionRecord, TransitionResult, TypeGroup } from './transition.ts';

export interface TransitionRulesInput {
  ref: { cluster: string; id: string };
  transition: Transition;
  /** What dry runs have shown until now, of each group of VMs. */
  results: readonly TransitionResult[];
  /** Ids of other transitions that still run: asked anew each time, for one may have begun since. */
  othersRunning: Pick<ReadonlySet<string>, 'has'>;
}

/**
 * A transition as it is asked of thousands of VMs: made anew for each look, for what is found of pools is kept with it.
 */
export interface TransitionRules extends Omit<TransitionRulesInput, 'results'> {
  scope: ScopeRules;
  /** Undefined where no dry run has shown it yet. */
  resultOf: (group: TypeGroup) => TransitionResult | undefined;
}

/** Throws a `RangeError` for a glob that is none. */
export function transitionRules({ ref, transition, results, othersRunning }: TransitionRulesInput): TransitionRules {
  const byGroup = new Map(results.map((result) => [groupKey(result), result]));
  return {
    ref,
    transition,
    othersRunning,
    scope: scopeRules(transition.scope),
    resultOf: (group) => byGroup.get(groupKey(group)),
  };
}

/** The same for VMs of the same group. */
export const groupKey = ({ from, wanted, architecture, preference }: TypeGroup): string =>
  JSON.stringify([from, wanted, architecture, preference]);

/** What a VM, or the template of a pool, has, and what the last transition has made of it. */
interface Typed {
  machineType: string | null;
  transition: TransitionRecord | null;
}

/**
 * The type that is to be set in the place of the one there (null: cleared); undefined where that may stay.
 * An undo goes by what the transition that it undoes has recorded.
 */
export function wantedType(
  {
    transition: {
      scope: { undoes },
      to,
    },
    scope,
  }: TransitionRules,
  { machineType, transition: record }: Typed,
): string | null | undefined {
  if (undoes === null) return scope.isOld(machineType) ? to : undefined;
  const isUndone = record?.id === undoes && record.from !== record.to && record.to === (machineType ?? '');
  return isUndone ? record.from || null : undefined;
}

/**
 * True where a transition that is to be undone has changed it, and somebody has changed it again: nobody knows what it
 * should be now.
 */
export const isChangedSince = (
  {
    transition: {
      scope: { undoes },
    },
  }: TransitionRules,
  { machineType, transition: record }: Typed,
): boolean =>
  undoes !== null && record?.id === undoes && record.from !== record.to && record.to !== (machineType ?? '');

/** True where this transition has changed it, and somebody has given it a type again that it is to get rid of. */
export const isSetBack = (
  {
    transition: {
      scope: { undoes },
    },
    scope,
  }: TransitionRules,
  { machineType, transition: record }: Typed,
): boolean => (undoes === null ? scope.isOld(machineType) : record?.to !== (machineType ?? ''));

/**
 * True for a guest that has the type which is to go. What a guest got in the place of an alias, only KubeVirt knows,
 * once it runs; of an undo's own VMs, that it was not started from their spec of now.
 */
export function isOldGuest(rules: TransitionRules, vm: VmView, guest: VmiView): boolean {
  const { ref, transition, scope } = rules;
  const { machineType, specMachineType } = guest;
  const isOurs = vm.transition?.id === ref.id;
  if (transition.scope.undoes === null)
    return scope.isOld(machineType ?? specMachineType) || (isOurs && isOfOldAlias(rules, guest, vm.machineType));
  return isOurs && specMachineType !== null && specMachineType !== vm.machineType;
}

/**
 * True for a guest of an alias which is to go, where its VM is to have another type than the alias stood for when the
 * guest began to run.
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
 * Why what would come out does not do; null where it does. `force` takes a type that no node has, but none that would
 * have to go again.
 */
export function refusalOf({ transition, scope }: TransitionRules, { to, fault }: TransitionResult): string | null {
  if (fault === null || !transition.force) return fault;
  return transition.scope.undoes === null && scope.isOld(to) ? `it would come back as ${to}` : null;
}

/**
 * The other transition that is at work on it, in words; null if none is that still runs. It may wait for an owner for
 * weeks, and so the words say how to end it.
 */
export function whoHolds(
  { ref, othersRunning }: TransitionRules,
  ...ids: (string | null | undefined)[]
): string | null {
  const other = ids.find((id) => id !== null && id !== undefined && id !== ref.id && othersRunning.has(id));
  if (other === undefined) return null;
  const end = `until that ends, or \`drover machine-types abort ${other}\` ends it`;
  return `machine-types/${ref.cluster}/${other} is at work on it, ${end}`;
}
