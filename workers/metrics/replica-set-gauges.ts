import type { Registry } from 'prom-client';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { urgencyOf } from '../../decisions/notices/urgency.ts';
import { StatusGauges, type Measure } from './status-gauges.ts';

/** What the gauges need of a set, of either kind. */
export interface MeasuredSet {
  kind: string;
  metadata: { namespace: string; name: string };
  spec: { replicas: number };
  status?: Partial<ReplicaSetStatus>;
}

const count = (name: string, help: string, read: (set: MeasuredSet) => number | undefined): Measure<MeasuredSet> => ({
  name: `drover_replica_set_${name}_replicas`,
  help,
  read: (set) => [[read(set) ?? 0]],
});

const MEASURES: readonly Measure<MeasuredSet>[] = [
  count('desired', 'Replicas that the spec of a set asks for.', ({ spec }) => spec.replicas),
  count('current', 'Replicas that a set has.', ({ status }) => status?.replicas),
  count('ready', 'Replicas of a set that are ready.', ({ status }) => status?.readyReplicas),
  count(
    'available',
    'Replicas of a set that have been ready for minReadySeconds.',
    ({ status }) => status?.availableReplicas,
  ),
  {
    name: 'drover_replica_set_problem',
    help: '1 for each condition of a set that reports a problem: HousekeepingFailure, Overlapping, ReplicaFailure, Stalled.',
    by: ['type', 'reason'],
    read: ({ status: { conditions = [] } = {} }) =>
      conditions
        .filter(
          ({ type, status }) => status === 'True' && (urgencyOf(type) === 'bad' || type === 'HousekeepingFailure'),
        )
        .map(({ type, reason = 'Unknown' }) => [1, { type, reason }]),
  },
];

/** State of replica sets. */
export const replicaSetGauges = (registry: Registry): StatusGauges<MeasuredSet> =>
  new StatusGauges(registry, MEASURES, ['namespace', 'kind', 'set'], ({ kind, metadata: { namespace, name } }) => ({
    namespace,
    kind,
    set: name,
  }));
