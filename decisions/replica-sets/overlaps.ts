import { matchesLabels } from '../../api/rules/label-selector.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { StoredSet } from '../views/owner.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isReplicaName, replicaNames } from './names.ts';

/** What a set has in common with others of its namespace. */
export interface Overlaps {
  /** Names of sets of its kind whose members its selector matches, or the other way round. */
  sets: string[];
  /** Names of members that its selector matches, and that something else controls. */
  controlled: string[];
  /** Names that it would give, and that others have. */
  names: string[];
}

/** A VM or a VMI of the namespace that is not the set's. */
export interface Other {
  name: string;
  /** Its labels, if it could be a member of the set's kind and something controls it; otherwise null. */
  labels: Readonly<Record<string, string>> | null;
}

export function* othersAmongVms(vms: Iterable<VmView>): Generator<Other> {
  for (const { name, ownLabels, owner } of vms) yield { name, labels: owner === null ? null : ownLabels };
}

/** A VMI has the name of its VM, so that a VM takes a name from a set of VMIs, too. */
export function* othersAmongVmis(vmis: Iterable<VmiView>, vms: Iterable<VmView>): Generator<Other> {
  for (const { name, standalone } of vmis) yield { name, labels: standalone?.owner ? standalone.labels : null };
  for (const { name } of vms) yield { name, labels: null };
}

/** `sets`: all of its kind. */
export function overlapsOf(set: StoredSet, sets: Iterable<StoredSet>, others: Iterable<Other>): Overlaps {
  const controlled = new Set<string>();
  const alike = new Set<string>();
  for (const { name, labels } of others) {
    if (labels !== null && matchesLabels(set.spec.selector, labels)) controlled.add(name);
    if (isReplicaName(set.metadata.name, name)) alike.add(name);
  }
  const overlapping = [...sets].filter((other) => overlaps(set, other));
  return {
    sets: overlapping.map(({ metadata }) => metadata.name),
    controlled: [...controlled],
    names: alike.size === 0 ? [] : takenNames(set, alike),
  };
}

/**
 * Reports whether members of the one would be adopted by the other if they had no controller. A set that is being
 * deleted adopts none.
 */
export const overlaps = (a: StoredSet, b: StoredSet): boolean =>
  a.metadata.namespace === b.metadata.namespace &&
  a.metadata.uid !== b.metadata.uid &&
  b.metadata.deletionTimestamp === undefined &&
  (matchesLabels(a.spec.selector, templateLabels(b)) || matchesLabels(b.spec.selector, templateLabels(a)));

const templateLabels = ({ spec }: StoredSet): Record<string, string> => spec.template.metadata?.labels ?? {};

/** The names among these that come before the last name that the set would give if it had no member yet. */
function takenNames({ metadata: { name, uid }, spec: { replicas } }: StoredSet, alike: ReadonlySet<string>): string[] {
  const taken: string[] = [];
  if (replicas === 0) return taken;
  let free = 0;
  for (const one of replicaNames({ name, uid })) {
    if (alike.has(one)) taken.push(one);
    else if (++free === replicas) break;
  }
  return taken;
}

/** `Overlapping`: there only while the set has something in common with others; the reason is the first sentence's. */
export function overlapping(
  { sets, controlled, names }: Overlaps,
  what: 'VMs' | 'VMIs',
): UntimedCondition<'Overlapping'> | null {
  const sentences = [
    [
      'OverlappingSelectors',
      sets,
      `its selector and those of ${formatNames(sets)} match each other's ${what}: each of them adopts ${what} that nothing controls`,
    ],
    ['ControlledByOthers', controlled, `its selector matches ${what} that others control: ${formatNames(controlled)}`],
    ['NamesTaken', names, `names that it skips, since other objects have them: ${formatNames(names)}`],
  ] as const;
  const existing = sentences.filter(([, about]) => about.length > 0);
  const reason = existing[0]?.[0];
  if (reason === undefined) return null;
  const message = inOneMessage(existing.map(([, , sentence]) => sentence));
  return { type: 'Overlapping', status: 'True', reason, message };
}
