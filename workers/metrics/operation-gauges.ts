import { Gauge, type Registry } from 'prom-client';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';

const VMS = { done: 'Done', failed: 'Failed', inProgress: 'InProgress', open: 'Open', excluded: 'Excluded' } as const;

/** State of operations and their schedules, from their status; every worker reports all of them. */
export class OperationGauges {
  readonly #operations: Gauge<'namespace' | 'action' | 'state'>;
  readonly #vms: Gauge<'namespace' | 'action' | 'state'>;
  readonly #problems: Gauge<'namespace' | 'schedule' | 'type' | 'reason'>;
  readonly #successes: Gauge<'namespace' | 'schedule'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['namespace', 'action', 'state'] as const;
    this.#operations = new Gauge({
      name: 'drover_operations',
      help: 'Operations that exist, by their state: the reason of the condition Progressing. Every worker reports all.',
      labelNames,
      registers,
    });
    this.#vms = new Gauge({
      name: 'drover_operation_vms',
      help: 'VMs of running operations, by their outcome so far: Done, Failed, InProgress, Open, Excluded.',
      labelNames,
      registers,
    });
    this.#problems = new Gauge({
      name: 'drover_schedule_problem',
      help: '1 for a schedule that makes no operation (Stalled), or whose last one failed or was missed (Succeeded).',
      labelNames: ['namespace', 'schedule', 'type', 'reason'],
      registers,
    });
    this.#successes = new Gauge({
      name: 'drover_schedule_last_success_timestamp_seconds',
      help: 'When an operation of a schedule last ended as Complete.',
      labelNames: ['namespace', 'schedule'],
      registers,
    });
  }

  look(operations: Iterable<StoredOperation>, schedules: Iterable<StoredSchedule>): void {
    for (const gauge of [this.#operations, this.#vms, this.#problems, this.#successes]) gauge.reset();
    for (const operation of operations) this.#lookAtOperation(operation);
    for (const schedule of schedules) this.#lookAtSchedule(schedule);
  }

  #lookAtOperation({ metadata: { namespace = '' }, spec: { action }, status = {} }: StoredOperation): void {
    const { conditions = [], vms, completionTime } = status;
    const state = conditions.find(({ type }) => type === 'Progressing')?.reason ?? 'Pending';
    this.#operations.inc({ namespace, action, state });
    if (vms === undefined || completionTime !== undefined) return;
    for (const [count, outcome] of Object.entries(VMS) as [keyof typeof VMS, string][])
      this.#vms.inc({ namespace, action, state: outcome }, vms[count]);
  }

  #lookAtSchedule({ metadata: { namespace, name: schedule }, status = {} }: StoredSchedule): void {
    const { conditions = [], lastSuccessfulTime } = status;
    for (const { type, status: is, reason = 'Unknown' } of conditions)
      if ((type === 'Stalled' && is === 'True') || (type === 'Succeeded' && is === 'False'))
        this.#problems.set({ namespace, schedule, type, reason }, 1);
    if (lastSuccessfulTime !== undefined)
      this.#successes.set({ namespace, schedule }, Date.parse(lastSuccessfulTime) / 1_000);
  }
}
