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
const replaces = (message: string): BatchStop => ({ message, isSuperseded: true });

/**
 * Returns why a batch of the pool takes no further VM, by the pool as it is; null if it continues. Pauses and halts
 * from before the batch was begun are over. `now`: milliseconds since the epoch.
 */
export function batchStop(
  { metadata, spec, status }: StoredPool,
  { revision, rollout, startedAt }: Pick<Batch, 'revision' | 'rollout' | 'startedAt'>,
  now: number,
): BatchStop | null {
  if (metadata.deletionTimestamp !== undefined) return pauses('its pool is being deleted');
  if (revisionOf(poolTemplate(spec)) !== rollout) return replaces('the template has changed');
  const { paused, halted, revision: reported } = status?.rollout ?? {};
  const isHalted = reported === rollout && halted !== undefined && Date.parse(halted.at) > startedAt;
  if (isHalted) {
    const message = `the rollout has ended: ${halted.kind}`;
    return halted.kind === 'Undoing' && revision === rollout ? replaces(message) : pauses(message);
  }
  if (spec.paused === true) return pauses('spec.paused is true');
  if (paused !== undefined && Date.parse(paused.at) > startedAt) return pauses(`paused by ${pauserOf(paused)}`);
  const current = status?.currentRevision;
  if (revision !== rollout && current !== undefined && current !== revision)
    return replaces(`its pool does not go back to revision ${revision}`);
  if (membershipChangeOf({ metadata }) !== null) return pauses('its members are changing');
  const { windows } = withDefaults(spec).rollout;
  const window = windowAt(windows, now);
  return window.open ? null : pauses(whyClosed(window, windows, 'spec.rollout.windows'));
}
