import { withDefaults } from '../../../api/rules/pool-defaults.ts';
import { whyClosed, windowAt } from '../../lib/maintenance-windows.ts';
import { membershipChangeOf } from '../../membership/change.ts';
import type { Batch } from '../../owners/batch.ts';
import { revisionOf } from '../../template/revision.ts';
import { poolTemplate } from '../../template/template.ts';
import type { StoredPool } from '../../views/pool.ts';
import { pauserOf } from '../state/state.ts';

/** Why a batch takes no further VM. */
interface BatchStop {
  message: string;
  /** Another revision replaces the batch's: its VMs in progress are not waited for. */
  isSuperseded: boolean;
}

const pauses = (message: string): BatchStop => ({ message, isSuperseded: false });

/**
 * Returns why a batch of the pool takes no further VM, by the pool as it is, with the status that begins the batch or a
 * later one; null if it continues. A batch that the status does not name is over: the pool's workflow was put back to
 * an earlier moment, or a caller who reaches Temporal has made the batch up. `now`: milliseconds since the epoch.
 */
export function batchStop(pool: StoredPool, batch: BatchOf, now: number): BatchStop | null {
  const { metadata, spec, status } = pool;
  if (metadata.deletionTimestamp !== undefined) return pauses('its pool is being deleted');
  const replaced = whyReplaced(pool, batch);
  if (replaced !== null) return { message: replaced, isSuperseded: true };
  const { paused } = status?.rollout ?? {};
  const end = endOf(pool, batch);
  if (end !== undefined && end !== 'Undoing') return pauses(`the rollout has ended: ${end}`);
  if (spec.paused === true) return pauses('spec.paused is true');
  if (paused !== undefined) return pauses(`paused by ${pauserOf(paused)}`);
  if (membershipChangeOf({ metadata }) !== null) return pauses('its members are changing');
  const { windows } = withDefaults(spec).rollout;
  const window = windowAt(windows, now);
  return window.open ? null : pauses(whyClosed(window, windows, 'spec.rollout.windows'));
}

type BatchOf = Pick<Batch, 'n' | 'revision' | 'rollout'>;

/** Returns why the VMs are to have another revision, or by another batch; null if they are not. */
function whyReplaced(pool: StoredPool, batch: BatchOf): string | null {
  const { spec, status } = pool;
  const { n, revision, rollout } = batch;
  if (revisionOf(poolTemplate(spec)) !== rollout) return 'the template has changed';
  if (status?.rollout?.inFlight?.includes(n) !== true) return 'the status of its pool no longer names it';
  const end = endOf(pool, batch);
  if (revision === rollout) return end === 'Undoing' ? 'the rollout is being undone' : null;
  if (end === undefined) return 'the rollout is not being undone';
  const { currentRevision: current = revision } = status;
  return current === revision ? null : `its pool does not go back to revision ${revision}`;
}

const endOf = ({ status }: StoredPool, { rollout }: BatchOf) =>
  status?.rollout?.revision === rollout ? status.rollout.halted?.kind : undefined;
