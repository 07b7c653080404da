import { expect } from 'vitest';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachineOperations, VirtualMachineOperationSchedules } from '../../../api/resources.ts';
import type { ScheduleSpec } from '../../../api/schedules/schedule.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { changed, scheduleIdOf, type OperationKey } from '../../../workflows/lib/messages.ts';
import { until, type TestFleet } from '../fleet.ts';

const MINUTE_MS = 60_000;

type Made = Partial<ScheduleSpec> & Pick<ScheduleSpec, 'operationTemplate'>;

/** A schedule in a cluster, as a user sees it with kubectl. */
export class TestSchedule {
  readonly key: OperationKey;
  readonly #fleet: TestFleet;

  private constructor(fleet: TestFleet, cluster: string, { namespace, name, uid }: Stored['metadata']) {
    this.#fleet = fleet;
    this.key = { cluster, namespace, name, uid };
  }

  /** `cluster`: the name of the workers that serve the namespace. */
  static async make(fleet: TestFleet, namespace: string, spec: Made, cluster = 'default') {
    const schedule = { metadata: { namespace, name: 'night' }, spec: { schedule: '0 0 1 1 *', ...spec } };
    const { metadata } = await fleet.kube.create(VirtualMachineOperationSchedules, schedule, { strict: true });
    return new TestSchedule(fleet, cluster, metadata);
  }

  async read(): Promise<StoredSchedule> {
    return this.#fleet.kube.get<StoredSchedule>(VirtualMachineOperationSchedules, this.key);
  }

  async set(spec: Partial<ScheduleSpec>, as: KubeClient = this.#fleet.kube): Promise<void> {
    await as.patch(VirtualMachineOperationSchedules, this.key, 'merge', { spec });
  }

  async delete(): Promise<void> {
    await this.#fleet.kube.delete(VirtualMachineOperationSchedules, this.key);
  }

  /** Its operations, the oldest first. */
  async operations(): Promise<StoredOperation[]> {
    const { namespace, uid } = this.key;
    const { items } = await this.#fleet.kube.list<StoredOperation>(VirtualMachineOperations, { namespace });
    return items
      .filter((operation) => controllerOf(operation)?.uid === uid)
      .toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  }

  /** Resolves when its status is like this. */
  async until(wanted: object): Promise<void> {
    await until(async () => expect((await this.read()).status).toMatchObject(wanted));
  }

  /**
   * Gives it one time a day, which was so many minutes ago, as if it had been there a minute before that while no
   * worker ran, and has a worker look at it. Both times follow from one reading of the clock.
   */
  async wasDue(minutes: number): Promise<void> {
    const due = new Date(Date.now() - minutes * MINUTE_MS);
    await this.set({ schedule: `${due.getUTCMinutes()} ${due.getUTCHours()} * * *` });
    const { metadata } = await this.read();
    await this.until({ observedGeneration: metadata.generation });
    const effectiveSince = new Date(due.setUTCSeconds(0, 0) - MINUTE_MS).toISOString();
    await this.#fleet.kube.patch(
      VirtualMachineOperationSchedules,
      this.key,
      'merge',
      { status: { effectiveSince } },
      { subresource: 'status' },
    );
    await this.look();
  }

  /** Has its workflow look at it again. */
  async look(): Promise<void> {
    await this.#fleet.temporal.client.workflow.getHandle(scheduleIdOf(this.key)).signal(changed);
  }

  /** Has Temporal lose what it knows of it. */
  async lose(): Promise<void> {
    const { client, namespace } = this.#fleet.temporal;
    const workflowExecution = { workflowId: scheduleIdOf(this.key) };
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
  }
}
