import type { RolloutStatus } from '../../api/pool/pool.ts';
import { liveVmi } from '../health/availability.ts';
import type { Batch } from '../owners/batch.ts';
import { laterChange, type ContentChange } from '../template/content.ts';
import type { RolloutContext } from './state/context.ts';
import { failuresThatCount, newRolloutState } from './state/state.ts';

/**
 * Takes note of Secrets and ConfigMaps that have changed since VMs have read them. Those restart as a rollout of their
 * own if the last one has ended, and as a part of it otherwise. What failed with older content says nothing of the
 * newer one.
 */
export function withChanges(context: RolloutContext, state: RolloutStatus): RolloutStatus {
  const changes = new Map(
    context.active.flatMap((vm) => {
      const change = vm.optedOut ? null : context.changeFor(vm);
      return change === null ? [] : [[vm.name, change] as const];
    }),
  );
  const newest = [...changes.values()].reduce<ContentChange | null>(laterChange, null);
  if (newest === null) return state;
  const at = new Date(newest.at).toISOString();
  const changed = { what: newest.what, at };
  if (isNews(state, newest) && (state.completedAt !== undefined || isAborted(state, newest)))
    return { ...newRolloutState(state.revision, context.now, state), changed };
  const isStale = ({ vm, at: failedAt }: RolloutStatus['failures'][number]): boolean =>
    (changes.get(vm)?.at ?? -Infinity) > Date.parse(failedAt);
  const failures = state.failures.filter((failure) => !isStale(failure));
  const next = { ...state, ...(isNews(state, newest) ? { changed } : {}) };
  return failures.length === state.failures.length ? next : continuedFor({ ...next, failures }, context);
}

const isNews = ({ changed }: RolloutStatus, { at }: ContentChange): boolean =>
  changed === undefined || Date.parse(changed.at) < at;

/** An abort applies only to the restarts for the change at that time, not to later changes. */
const isAborted = ({ halted, changed }: RolloutStatus, { at }: ContentChange): boolean =>
  halted?.kind === 'Aborted' && changed !== undefined && at > Date.parse(halted.at);

/** Restarts that were halted for what has changed since continue; the rollout of a template stays halted. */
function continuedFor(state: RolloutStatus, { current, newest, spec }: RolloutContext): RolloutStatus {
  const { halted, ...rest } = state;
  const isTolerated = failuresThatCount(state).length <= spec.rollout.maxFailures;
  return halted?.kind === 'Failed' && current === newest && isTolerated ? rest : state;
}

/** Returns the batches of which a VM has restarted, and what it has read then has changed since. */
export function withOlderContent(context: RolloutContext): Set<Batch> {
  const { batches, changeFor, vmiOf } = context.input;
  const byName = batches.length === 0 ? null : new Map(context.active.map((vm) => [vm.name, vm]));
  return new Set(
    batches.filter(({ revision, vms }) =>
      vms.some(({ name, vmi: restarted }) => {
        const vm = byName?.get(name);
        const vmi = vm === undefined ? undefined : liveVmi(vmiOf(vm));
        return vmi?.revision === revision && vmi.uid !== restarted && changeFor(vm!, vmi) !== null;
      }),
    ),
  );
}
