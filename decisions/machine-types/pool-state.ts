import { withDefaults } from '../../api/rules/pool-defaults.ts';
import { namespacedName, type OwningPool } from '../disruption-budget/restart-budget.ts';
import { field } from '../lib/json.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import type { TransitionRules } from './transition-rules.ts';
import type { PoolTransitionState } from './transition.ts';

export function poolTransitionState(rules: TransitionRules, { pool }: Pick<OwningPool, 'pool'>): PoolTransitionState {
  const { uid } = pool.metadata;
  const state = rules.pools?.get(uid) ?? stateOf(rules, pool);
  rules.pools?.set(uid, state);
  return state;
}

/** The machine type in a pool's template; null if the template leaves it to KubeVirt. */
function templateTypeOf({ spec }: StoredPool): string | null {
  const type = field(spec.template, 'spec', 'template', 'spec', 'domain', 'machine', 'type');
  return typeof type === 'string' && type !== '' ? type : null;
}

function stateOf({ scope, undoes }: TransitionRules, pool: StoredPool): PoolTransitionState {
  const poolName = `pool ${namespacedName(pool.metadata)}`;
  if (pool.metadata.deletionTimestamp !== undefined)
    return { state: 'deferred', message: `its ${poolName} is being deleted` };
  const machineType = templateTypeOf(pool);
  if (undoes !== null || machineType === null) return { state: 'outOfScope' };
  if (scope.isOld(machineType))
    return { state: 'excluded', message: `the template of its ${poolName} asks for ${machineType}: change that first` };
  return withDefaults(pool.spec).update.kind === 'unmanaged'
    ? { state: 'outOfScope' }
    : { state: 'rolls', revision: revisionOf(poolTemplate(pool.spec)) };
}
