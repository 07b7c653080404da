import type { Registry } from 'prom-client';
import { DRAINING_REASONS } from '../../api/pool/status.ts';
import { maxUnavailableOf } from '../../decisions/disruption-budget/unavailability.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { StatusGauges, type Measure } from './status-gauges.ts';

const count = (name: string, help: string, read: (pool: StoredPool) => number | undefined): Measure<StoredPool> => ({
  name: `drover_pool_${name}_vms`,
  help,
  read: (pool) => [[read(pool) ?? 0]],
});

const availableIn = ({ status }: StoredPool): number => status?.availableReplicas ?? status?.readyReplicas ?? 0;

/** Returns 1 for the reason of a condition, if the pool has it. */
const reasonOf = (
  { status }: StoredPool,
  type: string,
  label: 'reason' | 'state',
): [number, Record<string, string>][] =>
  (status?.conditions ?? [])
    .filter((one) => one.type === type && (type === 'Progressing' || one.status === 'True'))
    .map(({ reason = 'Unknown' }) => [1, { [label]: reason }]);

// A pool without drained nodes, or that heals nothing now, reports zero, so that an alert can tell it from a deleted
// pool.
const MEASURES: readonly Measure<StoredPool>[] = [
  count('desired', 'VMs that the spec of a pool asks for.', ({ spec }) => spec.replicas),
  count('current', 'VMs that a pool has.', ({ status }) => status?.replicas),
  count('ready', 'VMs of a pool whose VMIs are ready.', ({ status }) => status?.readyReplicas),
  count('updated', 'VMs of a pool that carry its newest revision.', ({ status }) => status?.updatedReplicas),
  count('available', 'VMs of a pool that have been ready for minReadySeconds.', availableIn),
  count(
    'standby',
    'Standby VMs that a pool has, in addition to its replicas.',
    ({ status }) => status?.standbyReplicas,
  ),
  count(
    'standby_ready',
    'Standby VMs of a pool that are ready to become replicas.',
    ({ status }) => status?.readyStandbyReplicas,
  ),
  count(
    'max_unavailable',
    'VMs of a pool that may be unavailable at once, by its disruption budget.',
    maxUnavailableOf,
  ),
  count(
    'claimed',
    'VMs of a pool for which a place in its disruption budget is claimed.',
    ({ status }) => status?.disruptedVMs?.length,
  ),
  count('unavailable', 'VMs that the spec of a pool asks for and that are not available.', (pool) =>
    Math.max(0, pool.spec.replicas - availableIn(pool)),
  ),
  {
    name: 'drover_pool_rollout',
    help: "1 for the state of a pool's rollout: the reason of its condition Progressing.",
    by: ['state'],
    read: (pool) => reasonOf(pool, 'Progressing', 'state'),
  },
  {
    name: 'drover_pool_rollout_started_timestamp_seconds',
    help: 'When the rollout of a pool began that has not completed.',
    read: ({ status: { rollout } = {} }) =>
      rollout === undefined || rollout.completedAt !== undefined ? [] : [[Date.parse(rollout.startedAt) / 1_000]],
  },
  {
    name: 'drover_pool_stalled',
    help: '1 for a pool that cannot continue without a user, by the reason of its condition Stalled.',
    by: ['reason'],
    read: (pool) => reasonOf(pool, 'Stalled', 'reason'),
  },
  {
    name: 'drover_pool_draining_vms',
    help: 'VMs of a pool that are to leave nodes that are drained, by what they wait for.',
    by: ['reason'],
    read: ({ spec, status: { draining } = {} }) =>
      spec.drain === undefined && draining === undefined
        ? []
        : DRAINING_REASONS.map((reason) => [draining?.find((one) => one.reason === reason)?.vms ?? 0, { reason }]),
  },
  {
    name: 'drover_healing_cycles',
    help: 'VMs that are being replaced, by the phase of their cycle.',
    by: ['phase'],
    read: ({ status: { healing } = {} }) =>
      healing === undefined
        ? []
        : ['Removing', 'Waiting', 'Provisioning'].map((phase) => [
            healing.cycles.filter((one) => one.phase === phase).length,
            { phase },
          ]),
  },
  {
    name: 'drover_healing_given_up',
    help: 'VMs that are unhealthy, and left so after maxAttempts until a user asks.',
    read: ({ status: { healing } = {} }) =>
      healing === undefined ? [] : [[healing.finished.filter(({ end }) => end === 'GivenUp').length]],
  },
  {
    name: 'drover_healing_suspended',
    help: '1 for a pool whose unhealthy VMs are left as they are, by the reason of its condition HealingSuspended.',
    by: ['reason'],
    read: (pool) => (pool.status?.healing === undefined ? [] : reasonOf(pool, 'HealingSuspended', 'reason')),
  },
];

/** State of pools: their VMs, rollouts, drains and healing. */
export const poolGauges = (registry: Registry): StatusGauges<StoredPool> =>
  new StatusGauges(registry, MEASURES, ['namespace', 'pool'], ({ metadata: { namespace, name } }) => ({
    namespace,
    pool: name,
  }));
