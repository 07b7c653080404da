import { isStaying, activeVmi } from '../disruption-budget/availability.ts';
import { poolTemplate } from '../pool/template.ts';
import { revisionOf } from '../revisions/hash.ts';
import type { BatchVm } from '../rollout/batch.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { untouchable } from './need.ts';

/** What a batch does with one of its VMs. */
export type Recheck =
  /** It is no longer the VM that was meant. */
  | { take: 'gone' }
  /** All that is to be done to it has been done. */
  | { take: 'nothing' }
  | { take: 'later'; why: string }
  | {
      take: 'act';
      /** Its spec is to be written. */
      writes: boolean;
      /** The guest that is to be restarted. */
      restarts: VmiView | null;
      /** It may go down by it: a place in the pool's budget is to be claimed before. */
      disrupts: boolean;
    };

export interface RecheckInput {
  held: BatchVm;
  /** That the batch brings its VMs to, and the one that is rolled out: it is another in an undo. */
  revision: string;
  rollout: string;
  /**
   * When the batch was begun, in milliseconds since the epoch: what people have said before, it was begun in spite of.
   */
  startedAt: number;
  /** The VM of that name and its VMI, as they are in this moment. */
  vm: VmView | undefined;
  vmi: VmiView | undefined;
  /** Undefined if it is gone. */
  pool: StoredPool | undefined;
}

/**
 * Decides anew, right before the act, what was planned a moment ago: the VM and the rollout may be others by now. Of
 * the budget it says nothing: whether that has room is for the claim of a place alone. It may be asked again at any
 * point: what was done it leaves alone, for a VM that has its new spec carries the revision, and so does a guest that
 * was restarted.
 */
export function recheckVm(input: RecheckInput): Recheck {
  const { held, revision, vm, pool } = input;
  if (
    vm === undefined ||
    pool === undefined ||
    vm.uid !== held.uid ||
    vm.owner?.uid !== pool.metadata.uid ||
    !isStaying(vm)
  )
    return { take: 'gone' };
  // A newer batch has had it in its hands since: an attempt that was suspended meanwhile must not bring the older spec
  // back.
  if (vm.revision !== revision && vm.revision !== held.from)
    return { take: 'later', why: `its spec is of revision ${vm.revision ?? 'unknown'} by now` };
  const guest = activeVmi(vm, input.vmi);
  const writes = vm.revision !== revision;
  const isOld = guest !== undefined && guest.revision !== revision;
  // KubeVirt is at a live update by itself as soon as it is written.
  if (!writes && (!isOld || held.act === 'live')) return { take: 'nothing' };
  const restarts = held.act === 'restart' && isOld ? guest : null;
  // A guest of the right revision may still be stopped by what is written: its run strategy.
  const disrupts = held.act === 'restart' ? guest !== undefined : held.act !== 'write';
  // It was to be written where no guest would notice, and one may be stopped or changed by it now.
  const hasStarted = writes && held.act === 'write' && held.runs !== true && guest !== undefined;
  const why = whyNot(input, pool, vm) ?? (hasStarted ? 'it runs by now' : null);
  return why === null ? { take: 'act', writes, restarts, disrupts } : { take: 'later', why };
}

function whyNot(input: RecheckInput, pool: StoredPool, vm: VmView): string | null {
  if (pool.metadata.deletionTimestamp !== undefined) return 'its pool is going';
  return whyStopped(input, pool) ?? untouchable(vm, () => input.vmi)?.why ?? null;
}

/** Why no VM may be taken for this rollout now; null where it may. */
function whyStopped({ rollout, startedAt }: RecheckInput, { spec, status }: StoredPool): string | null {
  if (spec.paused === true) return 'spec.paused is true';
  if (revisionOf(poolTemplate(spec)) !== rollout) return 'the template has changed';
  const { paused, halted, revision: told } = status?.rollout ?? {};
  if (paused !== undefined && Date.parse(paused.at) > startedAt) return `paused by ${paused.by}`;
  return told === rollout && halted !== undefined && Date.parse(halted.at) > startedAt
    ? `the rollout has ended: ${halted.kind}`
    : null;
}
