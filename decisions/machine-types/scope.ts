import { isMeantToRun, liveVmi } from '../disruption-budget/availability.ts';
import { globMatcher } from '../lib/glob.ts';
import { matchesLabels } from '../lib/label-selector.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { TransitionScope } from './transition.ts';

/** What the choice of a VM is made by, whatever its type. */
export type Chooseable = Pick<VmView, 'namespace' | 'name' | 'ownLabels'>;

/** A scope that is read once and asked of thousands of VMs. */
export interface ScopeRules {
  /** True for an old type: one that the glob matches. Null, a VM or guest without one, is none. */
  isOld: (type: string | null) => boolean;
  /** By namespace, labels, name and exclusion. */
  chooses: (vm: Chooseable) => boolean;
  /** By whether it runs. */
  choosesState: (vm: VmView, vmi: VmiView | undefined) => boolean;
}

/** Throws a `RangeError` for a glob that is none. */
export function scopeRules({ glob, namespaces, labelSelector, names, exclude, only }: TransitionScope): ScopeRules {
  const matches = globMatcher(glob);
  const known = new Map<string, boolean>();
  const isOld = (type: string | null): boolean => {
    if (type === null) return false;
    const answer = known.get(type) ?? matches(type);
    known.set(type, answer);
    return answer;
  };
  const within = namespaces === null ? null : new Set(namespaces);
  const named = new Set(names);
  const excluded = exclude.map(excluder);
  const chooses = ({ namespace, name, ownLabels }: Chooseable): boolean => {
    if (within !== null && !within.has(namespace)) return false;
    if (named.size > 0 && !named.has(name) && !named.has(`${namespace}/${name}`)) return false;
    if (labelSelector !== null && !matchesLabels(labelSelector, ownLabels)) return false;
    return !excluded.some((excludes) => excludes(namespace, name));
  };
  return { isOld, chooses, choosesState: (vm, vmi) => only === null || (only === 'running') === isRunning(vm, vmi) };
}

/**
 * True for a VM that has a live guest, or is to have one in a moment: where it is between two guests, it has not
 * stopped.
 */
export const isRunning = (vm: VmView, vmi: VmiView | undefined): boolean =>
  liveVmi(vmi) !== undefined || isMeantToRun(vm, vmi);

/** A glob with a `/` is of `namespace/name`, another of `name`. */
function excluder(glob: string): (namespace: string, name: string) => boolean {
  const matches = globMatcher(glob);
  return glob.includes('/')
    ? (namespace, name) => matches(`${namespace}/${name}`)
    : (_namespace, name) => matches(name);
}
