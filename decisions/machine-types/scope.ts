import { matchesLabels } from '../../api/rules/label-selector.ts';
import { isMeantToRun, liveVmi } from '../health/availability.ts';
import { globMatcher } from '../lib/glob.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { TransitionScope } from './transition.ts';

/** The fields by which a VM is chosen, whatever its type. */
export type Chooseable = Pick<VmView, 'namespace' | 'name' | 'ownLabels'>;

/** A scope, parsed once for queries about thousands of VMs. */
export interface ScopeRules {
  /** True for an old type: the glob matches it. False for null (a VM or VMI without a type). */
  isOld: (type: string | null) => boolean;
  /** True for the namespaces of the scope. A VM of any other is never touched, whatever it records of a transition. */
  isWithin: (namespace: string) => boolean;
  /** Chooses by namespace, labels, name and exclusion. */
  chooses: (vm: Chooseable) => boolean;
  /** Chooses by whether the VM runs. */
  choosesState: (vm: VmView, vmi: VmiView | undefined) => boolean;
}

/** Throws a `RangeError` for a malformed glob. */
export function scopeRules(scope: TransitionScope): ScopeRules {
  const { glob, namespaces, delegated = [], labelSelector, names, exclude, only } = scope;
  const matches = globMatcher(glob);
  const known = new Map<string, boolean>();
  const isOld = (type: string | null): boolean => {
    if (type === null) return false;
    const answer = known.get(type) ?? matches(type);
    known.set(type, answer);
    return answer;
  };
  const mayBeIn = withinNamespaces(namespaces);
  const others = new Set(delegated);
  const isWithin = (namespace: string): boolean => mayBeIn(namespace) && !others.has(namespace);
  const named = new Set(names);
  const excludes = excluderOf(exclude);
  const chooses = ({ namespace, name, ownLabels }: Chooseable): boolean => {
    if (!isWithin(namespace)) return false;
    if (named.size > 0 && !named.has(name) && !named.has(`${namespace}/${name}`)) return false;
    if (labelSelector !== null && !matchesLabels(labelSelector, ownLabels)) return false;
    return !excludes(namespace, name);
  };
  const choosesState: ScopeRules['choosesState'] = (vm, vmi) =>
    only === null || (only === 'running') === isRunning(vm, vmi);
  return { isOld, isWithin, chooses, choosesState };
}

/** Returns a predicate for these namespaces; for all with null. */
export function withinNamespaces(namespaces: readonly string[] | null): (namespace: string) => boolean {
  const within = namespaces === null ? null : new Set(namespaces);
  return (namespace) => within === null || within.has(namespace);
}

/** True for a VM that has a live VMI, or will soon have one: a VM between two VMIs has not stopped. */
export const isRunning = (vm: VmView, vmi: VmiView | undefined): boolean =>
  liveVmi(vmi) !== undefined || isMeantToRun(vm, vmi);

/** Returns whether one of the globs matches the name of a VM. Throws a `RangeError` for a malformed glob. */
export function excluderOf(globs: readonly string[]): (namespace: string, name: string) => boolean {
  const all = globs.map(excluder);
  return (namespace, name) => all.some((excludes) => excludes(namespace, name));
}

/** A glob with a `/` matches `namespace/name`, any other glob `name`. */
function excluder(glob: string): (namespace: string, name: string) => boolean {
  const matches = globMatcher(glob);
  return glob.includes('/')
    ? (namespace, name) => matches(`${namespace}/${name}`)
    : (_namespace, name) => matches(name);
}
