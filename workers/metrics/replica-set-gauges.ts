import { Gauge, type Registry } from 'prom-client';
import type { Condition } from '../../api/pool/status.ts';
import type { ConditionType } from '../../api/reasons.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';

/** What the gauges need of a set, of either kind. */
export interface MeasuredSet {
  kind: string;
  metadata: { namespace: string; name: string };
  spec: { replicas: number };
  status?: Partial<ReplicaSetStatus>;
}

const LABELS = ['namespace', 'kind', 'set'] as const;
type Labels = (typeof LABELS)[number];

/** State of replica sets, from their spec and status; every worker reports all of them. */
export class ReplicaSetGauges {
  readonly #counts: Record<'desired' | 'current' | 'ready' | 'available', Gauge<Labels>>;
  readonly #problems: Gauge<Labels | 'type' | 'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string): Gauge<Labels> =>
      new Gauge({ name: `drover_replica_set_${name}_replicas`, help, labelNames: LABELS, registers });
    this.#counts = {
      desired: gauge('desired', 'Replicas that the spec of a set asks for. Every worker reports all sets.'),
      current: gauge('current', 'Replicas that a set has.'),
      ready: gauge('ready', 'Replicas of a set that are ready.'),
      available: gauge('available', 'Replicas of a set that have been ready for minReadySeconds.'),
    };
    this.#problems = new Gauge({
      name: 'drover_replica_set_problem',
      help: '1 for each condition of a set that reports a problem: HousekeepingFailure, ReplicaFailure, Stalled.',
      labelNames: [...LABELS, 'type', 'reason'],
      registers,
    });
  }

  look(sets: Iterable<MeasuredSet>): void {
    for (const gauge of [...Object.values(this.#counts), this.#problems]) gauge.reset();
    for (const { kind, metadata, spec, status = {} } of sets) {
      const labels = { namespace: metadata.namespace, kind, set: metadata.name };
      const { replicas = 0, readyReplicas = 0, availableReplicas = 0, conditions = [] } = status;
      this.#counts.desired.set(labels, spec.replicas);
      this.#counts.current.set(labels, replicas);
      this.#counts.ready.set(labels, readyReplicas);
      this.#counts.available.set(labels, availableReplicas);
      for (const { type, reason = 'Unknown' } of conditions.filter(isProblem))
        this.#problems.set({ ...labels, type, reason }, 1);
    }
  }
}

const PROBLEMS: ReadonlySet<string> = new Set<ConditionType>(['HousekeepingFailure', 'ReplicaFailure', 'Stalled']);
const isProblem = ({ type, status }: Condition): boolean => status === 'True' && PROBLEMS.has(type);
