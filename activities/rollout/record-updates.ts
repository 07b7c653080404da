import { formatNames } from '../../decisions/lib/names.ts';
import type { UpdateOutcome } from '../../decisions/owners/batch.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { recordEvent } from '../lib/events.ts';

/** Records Events on the pool: which VMs are now at the revision, and which could not be brought to it, and why. */
export async function recordUpdates(
  client: KubeClient,
  pool: StoredPool,
  revision: string,
  outcomes: readonly UpdateOutcome[],
): Promise<void> {
  const action = 'Update';
  const updated = outcomes.filter(({ end }) => end === 'Updated').map(({ vm }) => vm);
  if (updated.length > 0) {
    await recordEvent(client, pool.metadata, {
      type: 'Normal',
      reason: 'SuccessfulUpdate',
      action,
      note: `Brought ${formatNames(updated)} to revision ${revision}`,
    });
  }
  const failed = outcomes.filter(({ end }) => end === 'Failed');
  if (failed.length === 0) return;
  const failures = failed.map(({ vm, message }) => `${vm}: ${message}`).join('; ');
  await recordEvent(client, pool.metadata, {
    type: 'Warning',
    reason: 'FailedUpdate',
    action,
    note: `Could not bring VMs to revision ${revision}: ${failures}`,
  });
}
