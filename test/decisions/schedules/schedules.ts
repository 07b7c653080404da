import type { ScheduleSpec } from '../../../api/schedules/schedule.ts';
import { operationOf } from '../../../decisions/schedules/operation.ts';
import { planSchedule, type SchedulePlan } from '../../../decisions/schedules/plan.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';

export const at = (time: string): number => Date.parse(time);
const rfc = (time: number): string => new Date(Math.floor(time / 1_000) * 1_000).toISOString().replace('.000', '');

/** A schedule `stop` that was made at this time (RFC 3339). */
export const aSchedule = (made: string, spec: Partial<ScheduleSpec> = {}): StoredSchedule => ({
  metadata: {
    namespace: 'shop',
    name: 'stop',
    uid: 'uid-of-stop',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: made,
  },
  spec: {
    schedule: '0 20 * * *',
    operationTemplate: { spec: { action: 'Stop', vms: { selector: {} } } },
    ...spec,
  },
});

/** A schedule, its operations and its workflow's memory, over time, as they are for a worker that looks at it. */
export class Life {
  schedule: StoredSchedule;
  operations: StoredOperation[] = [];
  ranUntil: number | null = null;
  /** The times for which operations were made. */
  readonly made: number[] = [];

  constructor(schedule: StoredSchedule) {
    this.schedule = schedule;
  }

  /** A worker looks at it. `refusal`: what the API server says to the operation, if it refuses it. */
  look(now: number | string, refusal: string | null = null): SchedulePlan {
    const time = typeof now === 'string' ? at(now) : now;
    const input = { schedule: this.schedule, ranUntil: this.ranUntil, now: time };
    let plan = planSchedule({ ...input, operations: this.operations, refusal: null });
    if (plan.run !== null && refusal === null) {
      this.made.push(plan.run);
      this.operations.push(this.#made(plan.run, time));
      plan = planSchedule({ ...input, operations: this.operations, refusal: null });
    } else if (plan.run !== null) plan = planSchedule({ ...input, operations: this.operations, refusal });
    for (const operation of plan.abort) operation.spec = { ...operation.spec, aborted: true };
    this.schedule = { ...this.schedule, status: plan.status };
    this.ranUntil = plan.last ?? this.ranUntil;
    this.operations = this.operations.filter((one) => !plan.surplus.includes(one));
    return plan;
  }

  #made(time: number, now: number): StoredOperation {
    const { metadata, ...rest } = operationOf(this.schedule, time);
    const stored = { uid: `uid-${metadata.name}`, resourceVersion: '1', creationTimestamp: rfc(now) };
    return { ...rest, metadata: { ...metadata, ...stored } };
  }

  /** A user changes its spec. */
  change(now: string, spec: Partial<ScheduleSpec>): void {
    const { metadata } = this.schedule;
    const managedFields = [{ time: now, operation: 'Update' }];
    this.schedule = {
      ...this.schedule,
      metadata: { ...metadata, generation: metadata.generation! + 1, managedFields },
      spec: { ...this.schedule.spec, ...spec },
    };
  }

  /** All of its operations end so. */
  end(now: string, reason: 'Complete' | 'VmsFailed' = 'Complete'): void {
    const type = reason === 'Complete' ? 'Complete' : 'Failed';
    for (const operation of this.operations)
      operation.status ??= { completionTime: now, conditions: [{ type, status: 'True', reason, message: 'said' }] };
  }

  /** A worker looks at it as often as its workflow does, until this time. */
  pass(from: number, until: number): void {
    for (let now = from; now <= until;) {
      const { lookAt } = this.look(now);
      this.end(rfc(now));
      now = Math.max(now + 1, lookAt ?? until + 1);
    }
  }
}

export const inWords = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString());
