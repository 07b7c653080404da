import type { RolloutStatus } from '../../api/pool/pool.ts';
import { formatNames } from '../lib/names.ts';
import type { RolloutContext } from '../rollout/context.ts';
import { downSince } from './failures.ts';
import type { SurgeNeed } from './need.ts';

/** Why a rollout has fewer extra VMs than it has a use for. */
export interface SurgeShortage {
  words: string;
  /** Since when, in milliseconds since the epoch; null while the missing VMs are still being created. */
  since: number | null;
}

/** Returns why extra VMs are missing; null if none is. `availableSurge`: names of those that are available. */
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
    return { words: `no extra VM can be made: ${creationFailure.message}`, since: Date.parse(creationFailure.since) };
  if (down.length === 0) return { words: 'an extra VM is made first', since: null };
  const states = [...new Set(down.map((vm) => vm.state).filter((state) => state !== ''))].sort().join(', ');
  const names = formatNames(down.map(({ name }) => name));
  return {
    words: `${names} ${down.length === 1 ? 'is' : 'are'} extra, and not available yet${states === '' ? '' : ` (${states})`}`,
    since: Math.max(...down.map((vm) => downSince(vm, state))),
  };
}
