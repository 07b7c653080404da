import type { Condition, PoolStatus } from '../../api/pool/pool.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { formatNames } from '../lib/names.ts';
import { withTime } from '../pool/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import type { Standing } from './plan.ts';

const MESSAGE_LENGTH = 2_048;

/** From what needs a person to what passes by itself. */
const REASONS: readonly [Standing['state'], NonNullable<PoolStatus['draining']>[number]['reason']][] = [
  ['Stuck', 'Stuck'],
  ['Evacuating', 'Evacuating'],
  ['Budget', 'WaitingForBudget'],
  ['Window', 'WaitingForWindow'],
  ['Waiting', 'Waiting'],
];

/** `Draining`: VMs are to leave nodes that are drained. There only while there are such VMs. */
export function drainingCondition(pool: StoredPool, standings: readonly Standing[], now: string): Condition[] {
  if (standings.length === 0) return [];
  const [, reason] = REASONS.find(([state]) => standings.some((standing) => standing.state === state))!;
  const message = drainingMessage(standings);
  return [withTime(pool, { type: 'Draining', status: 'True', reason, message }, now)];
}

/** How many VMs wait for what. Empty once none do, if the status has counted some. */
export function drainingCounts({ status }: StoredPool, standings: readonly Standing[]): Pick<PoolStatus, 'draining'> {
  if (standings.length === 0 && status?.draining === undefined) return {};
  const counts = REASONS.map(([state, reason]) => ({
    reason,
    vms: standings.filter((standing) => standing.state === state).length,
  }));
  return { draining: counts.filter(({ vms }) => vms > 0) };
}

/** Says which VMs are to leave which nodes, and how far each is; VMs of which the same is true share a sentence. */
export function drainingMessage(standings: readonly Standing[]): string {
  const nodes = formatNames([...new Set(standings.map(({ node }) => node))]);
  const count = standings.length === 1 ? '1 VM is' : `${standings.length} VMs are`;
  const alike = new Map<string, string[]>();
  for (const { vm, words } of standings) alike.set(words, [...(alike.get(words) ?? []), vm]);
  const sentences = [...alike].map(([words, vms]) => `${formatNames(vms)}: ${words}`);
  return inOneMessage([`${count} to leave ${nodes}`, ...sentences], MESSAGE_LENGTH);
}
