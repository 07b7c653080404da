import type { RolloutStatus } from '../../../api/pool/pool.ts';
import { isActive } from '../../health/availability.ts';
import { formatNames } from '../../lib/names.ts';
import { isSurge, type VmView } from '../../views/vm.ts';
import type { RolloutContext } from '../state/context.ts';
import { deadlinesFrom } from '../state/state.ts';
import { downSince } from './failures.ts';
import type { SurgeNeed } from './need.ts';

/** Why a rollout has fewer extra VMs than it has a use for. */
export interface SurgeShortage {
  message: string;
  /** Since when, in milliseconds since the epoch; null while the missing VMs are still being created. */
  since: number | null;
}

/** An extra VM holds its place until it is gone: there are never more than `maxSurge`. */
function terminatingShortage(leaving: readonly VmView[], state: RolloutStatus): SurgeShortage {
  const names = formatNames(leaving.map(({ name }) => name));
  const since = leaving.map(({ leavingSince, createdAt }) => leavingSince ?? createdAt);
  return {
    message: `no extra VM can be made until ${names} ${leaving.length === 1 ? 'is' : 'are'} deleted`,
    since: Math.max(deadlinesFrom(state), ...since),
  };
}

/** Returns why extra VMs are missing; null if none is. `availableSurge`: names of available extra VMs. */
export function surgeShortage(
  { surge, input }: RolloutContext,
  { wanted }: SurgeNeed,
  availableSurge: ReadonlySet<string>,
  state: RolloutStatus,
): SurgeShortage | null {
  if (wanted <= availableSurge.size) return null;
  const { creationFailure = null } = input;
  const down = surge.filter(({ name }) => !availableSurge.has(name));
  if (surge.length < wanted && creationFailure !== null)
    return { message: `no extra VM can be made: ${creationFailure.message}`, since: Date.parse(creationFailure.since) };
  const leaving = input.vms.filter((vm) => isSurge(vm) && !isActive(vm));
  // One that is being made has no place to wait for.
  if (down.length === 0 && surge.length + leaving.length >= wanted && leaving.length > 0)
    return terminatingShortage(leaving, state);
  if (down.length === 0) return { message: 'an extra VM is made first', since: null };
  const states = [...new Set(down.map((vm) => vm.state).filter((state) => state !== ''))].sort().join(', ');
  const names = formatNames(down.map(({ name }) => name));
  return {
    message: `${names} ${down.length === 1 ? 'is' : 'are'} extra, and not available yet${states === '' ? '' : ` (${states})`}`,
    since: Math.max(...down.map((vm) => downSince(vm, state))),
  };
}
