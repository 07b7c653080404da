import { API_VERSION } from '../../api/labels-and-annotations.ts';
import { cronFault, timeZoneFault } from '../../api/lib/cron.ts';
import { durationMs } from '../../api/lib/duration.ts';
import type { AnyOperation, OperationSpec } from '../../api/operations/operation.ts';
import type { MaintenanceWindow } from '../../api/pool/pool.ts';
import { OPERATION_LABELS } from '../../decisions/operations/operation-labels.ts';
import { operationResource } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { labelSelectorOf } from '../cli/label-selector.ts';
import { type DryRun, parseFlag } from '../cli/parse-values.ts';
import { print, printObjects, type DataFormat } from '../cli/print.ts';
import type { NamedOwner } from '../cli/targets.ts';
import { usernameIn } from '../session/requester.ts';
import type { Session } from '../session/session.ts';
import { followOperation, type FollowOptions } from './follow.ts';
import { nameOf } from './print-operations.ts';

/** How long operations that commands make are kept after their end: a week. */
export const KEPT_SECONDS = 7 * 86_400;

export interface MakingFlags {
  maxFailures: number;
  window?: string[] | undefined;
  deadline: number;
  wait: boolean;
  reason?: string | undefined;
  dryRun: DryRun;
  output?: DataFormat;
}

/** What a command asks for, besides its flags. */
interface OperationRequest extends Pick<OperationSpec, 'action' | 'vms' | 'patch' | 'machineType'> {
  /** Undefined for all namespaces. */
  namespace: string | undefined;
  atOnce: number | string;
}

/** An operation that a command is to make. `what`: how many VMs it is about, in words. */
interface ToMake {
  operation: AnyOperation;
  what: string;
  /** Tells what it would do, in a dry run. */
  printDryRun: () => void | Promise<void>;
  /** Tells what may be done with it, once it is made. */
  printMade?: (made: StoredOperation) => void;
  /** How it is followed. */
  follow?: FollowOptions;
}

/** Makes the operation, or prints it or what it would do, as the flags say, and follows it. */
export async function makeAndFollow(
  session: Session,
  { operation, what, printDryRun, printMade, follow }: ToMake,
  { dryRun, output, wait }: Pick<MakingFlags, 'dryRun' | 'output' | 'wait'>,
): Promise<void> {
  if (output !== undefined) return printObjects([operation], output, { isOne: true });
  const kube = await session.kube();
  const made = await makeOperation(kube, operation, dryRun === 'server');
  if (dryRun !== 'none') return printDryRun();
  print(`operation ${nameOf(made)} started: ${what}`);
  printMade?.(made);
  if (wait) await followOperation(session, made, follow);
}

/**
 * Returns the operation that is asked for, in the name of the user whom the API server knows. Throws `UsageError` for a
 * window that never opens.
 */
export async function operationFor(
  session: Session,
  request: OperationRequest & Pick<MakingFlags, 'maxFailures' | 'window' | 'deadline' | 'reason'>,
): Promise<AnyOperation> {
  const { namespace, action, vms, patch, machineType, maxFailures, reason, atOnce, window = [], deadline } = request;
  const windows = windowsOf(window);
  const requestedBy = await usernameIn(() => session.kube());
  return operationOf(namespace, {
    action,
    vms,
    ...(patch === undefined ? {} : { patch }),
    ...(machineType === undefined ? {} : { machineType }),
    atOnce,
    maxFailures,
    ...(windows.length === 0 ? {} : { windows }),
    deadline: durationText(deadline),
    ...(reason === undefined || reason === '' ? {} : { reason }),
    ...(requestedBy === undefined ? {} : { requestedBy }),
  });
}

/** Returns an operation of the namespace, or a cluster-wide one if that is undefined, as commands make them. */
export function operationOf(namespace: string | undefined, given: OperationSpec): AnyOperation {
  const generateName = given.patch?.undo === undefined ? `${OPERATION_LABELS[given.action].verb}-` : 'undo-';
  const spec = { ...given, ttlSecondsAfterFinished: KEPT_SECONDS };
  const apiVersion = API_VERSION;
  return namespace === undefined
    ? { apiVersion, kind: 'ClusterVirtualMachineOperation', metadata: { generateName }, spec }
    : { apiVersion, kind: 'VirtualMachineOperation', metadata: { namespace, generateName }, spec };
}

interface Selection {
  /** Empty if VMs are chosen otherwise. */
  names: readonly string[];
  /** Empty for all VMs. */
  selector?: string | undefined;
  owner?: NamedOwner | undefined;
  pending?: boolean;
  outdated?: boolean;
}

/** Throws `UsageError` for a selector that objects can't hold. */
export function selectionOf({ names, selector, owner, pending, outdated }: Selection): OperationSpec['vms'] {
  if (names.length > 0) return { names: [...names] };
  return {
    ...(selector === undefined
      ? {}
      : { selector: selector === '' ? {} : parseFlag('--selector', selector, labelSelectorOf) }),
    ...(owner === undefined ? {} : { owner: ownerReference(owner) }),
    ...(pending === true ? { restartRequired: true as const } : {}),
    ...(outdated === true ? { launcherOutdated: true as const } : {}),
  };
}

function ownerReference({ kind: { resource }, name }: NamedOwner): NonNullable<OperationSpec['vms']['owner']> {
  return { kind: resource.kind as 'VirtualMachinePool' | 'VirtualMachineReplicaSet', name };
}

export const durationText = (ms: number): string => {
  const units = [
    [3_600_000, 'h'],
    [60_000, 'm'],
    [1_000, 's'],
  ] as const;
  const [each, unit] = units.find(([size]) => ms % size === 0) ?? [1, 'ms'];
  return `${ms / each}${unit}`;
};

/** Makes the operation. With `dryRun`, only asks whether the API server would take it. */
async function makeOperation(kube: KubeClient, operation: AnyOperation, dryRun: boolean): Promise<StoredOperation> {
  const resource = operationResource(operation.metadata);
  return kube.create<StoredOperation>(resource, operation, { strict: true, dryRun });
}

/** Returns the windows that `--window` gives. Throws `UsageError` for a window that can't be read, or never opens. */
const windowsOf = (texts: readonly string[]): MaintenanceWindow[] =>
  texts.map((text) => parseFlag('--window', text, windowOf));

function windowOf(text: string): MaintenanceWindow {
  const fields = text.trim().split(/ +/);
  const [cron, duration, timeZone] = [fields.slice(0, 5).join(' '), fields[5], fields[6]];
  if (duration === undefined || fields.length > 7) {
    throw new RangeError(
      `${JSON.stringify(text)} is not a valid window: write the five fields of a cron, a duration and perhaps a time zone, as in "0 2 * * * 4h UTC"`,
    );
  }
  const fault =
    cronFault(cron) ?? (durationMs(duration) === 0 ? 'it must be greater than 0' : timeZone && timeZoneFault(timeZone));
  if (fault) throw new RangeError(`${JSON.stringify(text)} is not a valid window: ${fault}`);
  return { cron, duration, ...(timeZone === undefined ? {} : { timeZone }) };
}
