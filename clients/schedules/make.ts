import { API_VERSION, SCHEDULE_LABEL } from '../../api/labels-and-annotations.ts';
import { cronFault, cronOf, timeZoneFault } from '../../api/lib/cron.ts';
import type { AnyOperation } from '../../api/operations/operation.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import { DEFAULT_TIME_ZONE } from '../../api/rules/pool-defaults.ts';
import type { VirtualMachineOperationSchedule } from '../../api/schedules/schedule.ts';
import { OPERATION_LABELS } from '../../decisions/operations/operation-labels.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { UsageError } from '../cli/failure.ts';
import { print, serialize, dryRunSuffix } from '../cli/print.ts';
import { KEPT_SECONDS, makeAndFollow, type MakingFlags } from '../operations/make.ts';
import { usernameIn } from '../session/requester.ts';
import type { Session, Work } from '../session/session.ts';
import { readSchedule } from './read-schedules.ts';

/** When operations are to be made. */
export interface When {
  schedule: string;
  timeZone: string | undefined;
}

/** Throws `UsageError` for an invalid cron or time zone. */
export function checkWhen({ schedule, timeZone }: When): void {
  const cron = cronFault(schedule);
  if (cron !== undefined) throw new UsageError(`--schedule ${JSON.stringify(schedule)}: ${cron}`);
  const zone = timeZone === undefined ? undefined : timeZoneFault(timeZone);
  if (zone !== undefined) throw new UsageError(`--time-zone: ${zone}`);
}

/**
 * Makes the schedule of an operation, or prints it, as the flags say. `name`: by default, the API server gives it one.
 */
export async function makeOne(
  session: Session,
  operation: AnyOperation,
  { when, name }: { when: When; name: string | undefined },
  { dryRun, output }: Pick<MakingFlags, 'dryRun' | 'output'>,
): Promise<void> {
  const schedule = scheduleFor(operation, when, name);
  if (output !== undefined) return print(await serialize(schedule, output));
  const isToTry = dryRun === 'server';
  const made = dryRun === 'client' ? schedule : await create(await session.kube(), schedule, isToTry);
  const { verb } = OPERATION_LABELS[operation.spec.action];
  const { schedule: cron, timeZone = DEFAULT_TIME_ZONE } = when;
  const next = cronOf(cron, timeZone).nextRun()?.toISOString().replace('.000Z', 'Z') ?? 'no time';
  print(
    `schedule ${schedule.metadata.namespace}/${made.metadata.name ?? `${verb}-`} made${dryRunSuffix(dryRun)}: ` +
      `${verb} at ${cron} (${timeZone}), the next time at ${next}`,
  );
}

function scheduleFor(
  { metadata, spec }: AnyOperation,
  { schedule, timeZone }: When,
  name: string | undefined,
): VirtualMachineOperationSchedule {
  const { requestedBy, paused: _, aborted: __, ttlSecondsAfterFinished: ___, ...template } = spec;
  const { namespace, generateName } = metadata;
  return {
    apiVersion: API_VERSION,
    kind: 'VirtualMachineOperationSchedule',
    metadata: { namespace: namespace!, ...(name === undefined ? { generateName: generateName! } : { name }) },
    spec: {
      schedule,
      ...(timeZone === undefined ? {} : { timeZone }),
      ...(requestedBy === undefined ? {} : { requestedBy }),
      operationTemplate: { spec: template },
    },
  };
}

async function create(
  kube: KubeClient,
  schedule: VirtualMachineOperationSchedule,
  dryRun: boolean,
): Promise<StoredSchedule> {
  const resource = VirtualMachineOperationSchedules;
  return kube.create<StoredSchedule>(resource, schedule, { strict: true, dryRun });
}

/** Makes the operation of a schedule now, and follows it. */
export const runSchedule: Work<{ wait: boolean }> = async (session, { wait }, name) => {
  const [, schedule] = await readSchedule(session, name);
  const operation = operationNow(schedule, await usernameIn(() => session.kube()));
  const what = `${schedule.spec.operationTemplate.spec.action}, from schedule ${name}`;
  await makeAndFollow(session, { operation, what, printDryRun: () => {} }, { dryRun: 'none', wait });
};

/**
 * Returns the operation that the schedule would make, for the user who runs it now: it is theirs, and needs their
 * rights. It does not count as the schedule's.
 */
function operationNow(schedule: StoredSchedule, requestedBy: string | undefined): AnyOperation {
  const { namespace, name } = schedule.metadata;
  return {
    apiVersion: API_VERSION,
    kind: 'VirtualMachineOperation',
    metadata: { namespace, generateName: `${name}-`, labels: { [SCHEDULE_LABEL]: name } },
    spec: {
      ...schedule.spec.operationTemplate.spec,
      ...(requestedBy === undefined ? {} : { requestedBy }),
      ttlSecondsAfterFinished: KEPT_SECONDS,
    },
  };
}
