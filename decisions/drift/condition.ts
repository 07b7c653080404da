import { inOneMessage } from '../lib/bounded-message.ts';
import { byNumber, formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import { correctsAll, type DriftedVm } from './members.ts';

const FIELDS_NAMED = 3;
const VMS_NAMED = 10;

/** `Drifted`: users have changed VMs. There only while there are such VMs. */
export function driftCondition(pool: StoredPool, drifted: readonly DriftedVm[]): UntimedCondition[] {
  if (drifted.length === 0) return [];
  const isCorrected = correctsAll(pool.spec);
  const sorted = drifted.toSorted((a, b) => byNumber(a.vm.name, b.vm.name));
  const names = formatNames(sorted.map(({ vm }) => vm.name));
  const what = drifted.length === 1 ? 'differs from its template' : 'differ from their templates';
  const message = inOneMessage([
    `${names} ${what}: ${isCorrected ? 'updates correct that' : '`drover drift` shows how, and `drover rollout restart --drifted` corrects it'}`,
    ...sorted
      .slice(0, VMS_NAMED)
      .map(({ vm, fields }) => `${vm.name}: ${formatFields(fields.map(({ path }) => path))}`),
  ]);
  const reason = isCorrected ? 'Correcting' : 'Kept';
  return [{ type: 'Drifted', status: 'True', reason, message }];
}

function formatFields(paths: readonly string[]): string {
  const more = paths.length - FIELDS_NAMED;
  return `${paths.slice(0, FIELDS_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
