import { withDefaults } from '../../api/pool-defaults.ts';
import { isStaying } from '../disruption-budget/availability.ts';
import { keyOf, type OwningPool, type RestartPicture } from '../disruption-budget/restart-budget.ts';
import { field } from '../lib/json.ts';
import { poolTemplate } from '../pool/template.ts';
import { vmName } from '../pool/vm-names.ts';
import { revisionOf } from '../revisions/hash.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import {
  groupOf,
  isChangedSince,
  isSetBack,
  refusalOf,
  wantedType,
  whoHolds,
  type TransitionRules,
} from './criteria.ts';
import { recordOf } from './record.ts';
import type { TypeGroup } from './transition.ts';

/** How a transition stands with a pool of drover's. */
export type PoolTransitionState =
  /** Its template has nothing to do with it: its VMs are like any others. */
  | { stand: 'apart' }
  /** Nobody knows yet what type its VMs would have: dry runs of these groups must show it first. */
  | { stand: 'check'; groups: TypeGroup[] }
  /** The machine type of its template is to be set (null: cleared), and recorded. */
  | { stand: 'change'; to: string | null }
  /**
   * Its template, which has this revision, is as it should be: it brings its VMs to it. `isOurs`: this transition has
   * made it so.
   */
  | { stand: 'rolls'; revision: string; isOurs: boolean }
  | { stand: 'parked'; why: string }
  | { stand: 'left'; why: string };

type Picture = Pick<RestartPicture, 'vmiOf'>;

/** A pool has many VMs, and each asks for it: found once for each set of rules. */
const found = new WeakMap<TransitionRules, Map<string, PoolTransitionState>>();

export function poolTransitionState(rules: TransitionRules, owner: OwningPool, picture: Picture): PoolTransitionState {
  const stands = found.get(rules) ?? new Map<string, PoolTransitionState>();
  found.set(rules, stands);
  const { uid } = owner.pool.metadata;
  const stand = stands.get(uid) ?? standOf(rules, owner, picture);
  stands.set(uid, stand);
  return stand;
}

/** The machine type in the template of a pool; null where it leaves that to KubeVirt. */
export function templateTypeOf({ spec }: Pick<StoredPool, 'spec'>): string | null {
  const type = field(spec.template, 'spec', 'template', 'spec', 'domain', 'machine', 'type');
  return typeof type === 'string' && type !== '' ? type : null;
}

function standOf(rules: TransitionRules, owner: OwningPool, picture: Picture): PoolTransitionState {
  const { pool } = owner;
  const { undoes } = rules.transition.scope;
  const words = `pool ${keyOf(pool.metadata)}`;
  if (pool.metadata.deletionTimestamp !== undefined) return { stand: 'parked', why: `its ${words} is going` };
  const machineType = templateTypeOf(pool);
  const record = recordOf(pool.metadata.annotations);
  const typed = { machineType, transition: record };
  const since = `somebody has set the machine type of its ${words} to ${machineType ?? 'none'} since`;
  const isOurs = record?.id === rules.ref.id;
  if (isOurs ? isSetBack(rules, typed) : isChangedSince(rules, typed)) return { stand: 'left', why: since };
  const isUnmanaged = withDefaults(pool.spec).update.kind === 'unmanaged';
  const wanted = isOurs ? undefined : wantedType(rules, typed);
  if (wanted !== undefined) return standOfOld(rules, owner, { wanted, isUnmanaged, holder: record?.id, picture });
  // It brings its VMs to a template that another has made new: who asked for that follows them.
  const held = undoes === null ? whoHolds(rules, record?.id) : null;
  if (held !== null) return { stand: 'parked', why: held };
  const bringsType = isOurs || (undoes === null && machineType !== null && !isUnmanaged);
  return bringsType ? { stand: 'rolls', revision: revisionOf(poolTemplate(pool.spec)), isOurs } : { stand: 'apart' };
}

interface OldTemplate {
  wanted: string | null;
  isUnmanaged: boolean;
  /** Id of the transition that has changed it last. */
  holder: string | undefined;
  picture: Picture;
}

function standOfOld(
  rules: TransitionRules,
  owner: OwningPool,
  { wanted, isUnmanaged, holder, picture }: OldTemplate,
): PoolTransitionState {
  const { pool } = owner;
  const words = `pool ${keyOf(pool.metadata)}`;
  const vms = owner.vms().filter(isStaying);
  const chosen = vms.filter((vm) => rules.scope.chooses(vm) && rules.scope.choosesState(vm, picture.vmiOf(vm)));
  const isChosen = vms.length > 0 ? chosen.length > 0 : choosesEmpty(rules, pool);
  if (!isChosen) return { stand: 'apart' };
  if (isUnmanaged)
    return {
      stand: 'left',
      why: `its ${words} makes VMs of the old type, and is unmanaged: change its template first`,
    };
  if (chosen.length < vms.length) return { stand: 'left', why: `${words} has VMs that were not chosen` };
  const held = whoHolds(rules, holder);
  if (held !== null) return { stand: 'parked', why: held };
  return standOfResults(rules, chosen, wanted) ?? { stand: 'change', to: wanted };
}

/** What the types that its VMs would have say against it; undefined where they say nothing. */
function standOfResults(
  rules: TransitionRules,
  vms: readonly VmView[],
  wanted: string | null,
): PoolTransitionState | undefined {
  const groups: TypeGroup[] = [];
  const isUndo = rules.transition.scope.undoes !== null;
  for (const vm of vms) {
    // The pool leaves one that its owner wants nobody to disrupt.
    if (vm.optedOut || (!isUndo && !rules.scope.isOld(vm.machineType))) continue;
    const group = groupOf(vm, wanted);
    const result = rules.resultOf(group);
    const why = result === undefined ? null : refusalOf(rules, result);
    if (why !== null) return { stand: 'left', why };
    if (result === undefined) groups.push(group);
  }
  return groups.length > 0 ? { stand: 'check', groups } : undefined;
}

/** Whether a pool without VMs is in scope: as the first that it would make. */
function choosesEmpty(
  { scope, transition }: TransitionRules,
  { metadata: { namespace, name }, spec }: StoredPool,
): boolean {
  const ownLabels = spec.template.metadata?.labels ?? {};
  return transition.scope.only === null && scope.chooses({ namespace, name: vmName(name, 1), ownLabels });
}
