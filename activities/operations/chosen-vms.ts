import { hash } from 'node:crypto';
import { namespacedName, type Chosen } from '../../decisions/disruption-budget/restart-budget.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import type { ChosenDigests } from '../../decisions/operations/run-input.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { isAboutVmi, targetOfVmi } from '../../decisions/power/target.ts';
import { withNamespaces } from '../../decisions/runs/namespaces.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/**
 * A chosen VM is known again by so many bytes of a hash of its UID: that one of 100,000 others is taken for one of
 * 100,000 has a probability of one in seven million. What it was chosen by must match as well.
 */
const ID_BYTES = 7;
const TARGET_BYTES = 3;
const VM_BYTES = ID_BYTES + TARGET_BYTES;

/** The chosen VMs that a worker knows. */
export interface ChosenVms {
  /** How many were chosen: some may be gone. */
  count: number;
  /** By `namespace/name`: see `PowerContext`. Empty for a VM that is not what it was chosen by any more. */
  targets: Chosen;
  /** Returns which of the chosen VMs it is, counted from 0; undefined if it is none. */
  indexOf: (key: string) => number | undefined;
}

export type ChoiceCache = Pick<ClusterCache, 'vms' | 'vmiOf'>;

/** Encodes what `chooseVms` has returned of these VMs. */
export function digestsOf(
  known: { get: (key: string) => Pick<VmView, 'uid'> | undefined },
  chosen: Record<string, Record<string, string>>,
): ChosenDigests {
  const vms = Object.entries(chosen).flatMap(([namespace, byName]) =>
    Object.entries(byName).flatMap(([name, target]) => {
      const vm = known.get(`${namespace}/${name}`);
      return vm === undefined ? [] : [digest(vm.uid, ID_BYTES) + digest(target, TARGET_BYTES)];
    }),
  );
  return {
    count: vms.length,
    namespaces: withNamespaces(
      [],
      Object.keys(chosen).map((namespace) => `${namespace}/`),
    ),
    digests: Buffer.from(vms.sort().join(''), 'latin1').toString('base64'),
  };
}

/** Finds VMs that were chosen in the cache. */
export function chosenIn(cache: ChoiceCache, action: PowerAction, { namespaces, digests }: ChosenDigests): ChosenVms {
  const within = namespaces && new Set(namespaces);
  const all = Buffer.from(digests, 'base64').toString('latin1');
  const indexes = new Map<string, number>();
  for (let at = 0; at < all.length; at += VM_BYTES) indexes.set(all.slice(at, at + ID_BYTES), at / VM_BYTES);
  const targets = new Map<string, string>();
  const found = new Map<string, number>();
  for (const vm of cache.vms.values()) {
    // To hash all VMs of a large cluster takes tenths of a second.
    const index = within?.has(vm.namespace) === false ? undefined : indexes.get(digest(vm.uid, ID_BYTES));
    if (index === undefined) continue;
    const key = namespacedName(vm);
    const target = targetNow(cache, action, vm);
    const wanted = all.slice(index * VM_BYTES + ID_BYTES, (index + 1) * VM_BYTES);
    targets.set(key, digest(target, TARGET_BYTES) === wanted ? target : '');
    found.set(key, index);
  }
  return { count: all.length / VM_BYTES, targets, indexOf: (key) => found.get(key) };
}

function targetNow(cache: ChoiceCache, action: PowerAction, vm: VmView): string {
  if (!isAboutVmi(action)) return vm.uid;
  const live = liveVmi(cache.vmiOf(vm));
  return live === undefined ? '' : targetOfVmi(action, live);
}

const digest = (text: string, bytes: number): string => hash('sha256', text, 'buffer').toString('latin1', 0, bytes);
