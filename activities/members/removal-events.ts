import { formatNames } from '../../decisions/lib/names.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordEvent } from '../lib/events.ts';
import type { Done } from '../owners/done.ts';
import { knownOwner } from '../owners/live-owner.ts';
import type { OwnerKey } from '../owners/owner-key.ts';

/** What Events say of VMs that leave. */
const WAYS_OUT = {
  Delete: { done: 'Deleted', action: 'ScaleIn' },
  Halt: { done: 'Halted, to keep the disks of', action: 'ScaleIn' },
  Release: { done: 'Released, since their labels no longer match the selector,', action: 'Release' },
} as const;

interface RemovalReport {
  verb: keyof typeof WAYS_OUT;
  /** All VMs that were to leave. */
  asked: readonly Target[];
  /** Those that were deleted, halted or released. */
  acted: readonly Target[];
  refused: Done['refused'];
  /** Why just these, if users have asked for them. */
  why?: string | undefined;
}

/** Records on their owner that VMs have left it, or why not. */
export async function reportRemoval(
  client: KubeClient,
  cache: ClusterCache,
  key: OwnerKey,
  { verb, asked, acted, refused, why }: RemovalReport,
): Promise<void> {
  const owner = await knownOwner(client, cache, key);
  if (owner === undefined) return;
  const { done, action } = WAYS_OUT[verb];
  if (refused !== null) {
    const note = `${asked.length - acted.length} of ${wordsOf(asked)} not done: ${refused.message}`;
    await recordEvent(client, owner, { type: 'Warning', reason: `Failed${verb}`, action, note }, key.kind);
  } else if (acted.length > 0) {
    const note = `${done} ${wordsOf(acted)}${why === undefined ? '' : `: ${why}`}`;
    await recordEvent(client, owner, { type: 'Normal', reason: `Successful${verb}`, action, note }, key.kind);
  }
}

const wordsOf = (vms: readonly Target[]): string => formatNames(vms.map((vm) => vm.name));
