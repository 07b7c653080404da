import type { PoolStatus } from '../../api/pool/pool.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import type { EvacuationStatus } from './plan.ts';

/** From what needs a user to what passes by itself. */
const REASONS: readonly [EvacuationStatus['state'], NonNullable<PoolStatus['draining']>[number]['reason']][] = [
  ['Stuck', 'Stuck'],
  ['Evacuating', 'Evacuating'],
  ['Budget', 'WaitingForBudget'],
  ['Window', 'WaitingForWindow'],
  ['Waiting', 'Waiting'],
];

/** `Draining`: VMs are to leave nodes that are drained. There only while there are such VMs. */
export function drainingCondition(statuses: readonly EvacuationStatus[]): UntimedCondition[] {
  if (statuses.length === 0) return [];
  const [, reason] = REASONS.find(([state]) => statuses.some((status) => status.state === state))!;
  return [{ type: 'Draining', status: 'True', reason, message: drainingMessage(statuses) }];
}

/**
 * How many VMs wait for what, and since when what the condition says. Empty once none do, if the status has counted
 * some. `now`: RFC 3339.
 */
export function drainingCounts(
  { status }: StoredPool,
  statuses: readonly EvacuationStatus[],
  now: string,
): Pick<PoolStatus, 'draining'> {
  if (statuses.length === 0 && status?.draining === undefined) return {};
  const [first, ...others] = REASONS.map(([state, reason]) => ({
    reason,
    vms: statuses.filter((status) => status.state === state).length,
  })).filter(({ vms }) => vms > 0);
  if (first === undefined) return { draining: [] };
  const before = status?.draining?.[0];
  const since = before?.reason === first.reason ? (before.since ?? now) : now;
  return { draining: [{ ...first, since }, ...others] };
}

/** Says which VMs are to leave which nodes, and how far each is; VMs of which the same is true share a sentence. */
export function drainingMessage(statuses: readonly EvacuationStatus[]): string {
  const nodes = formatNames([...new Set(statuses.map(({ node }) => node))]);
  const count = statuses.length === 1 ? '1 VM is' : `${statuses.length} VMs are`;
  const alike = Map.groupBy(statuses, ({ message }) => message);
  const sentences = [...alike].map(([message, some]) => `${formatNames(some.map(({ vm }) => vm))}: ${message}`);
  return inOneMessage([`${count} to leave ${nodes}`, ...sentences]);
}
