import { API_VERSION } from '../../api/labels-and-annotations.ts';
import type { AnyOperation, OperationSpec } from '../../api/operations/operation.ts';
import { OPERATION_LABELS } from '../../decisions/operations/operation-labels.ts';
import { operationResource } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { DataFormat } from '../cli/data.ts';
import { UsageError } from '../cli/failure.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { print } from '../cli/print.ts';
import type { NamedOwner } from '../cli/targets.ts';
import type { Session } from '../session/session.ts';
import type { FollowOptions } from './follow.ts';
import { windowsOf } from './windows.ts';

/** How long operations that commands make are kept after their end: a week. */
export const KEPT_SECONDS = 7 * 86_400;

/** What a command asks for. */
export interface Asked extends Pick<OperationSpec, 'action' | 'maxFailures' | 'reason' | 'patch'> {
  atOnce: number | string;
  /** As `--window` gives them. */
  window?: readonly string[] | undefined;
  deadlineMs: number;
  /** Names of VMs; empty if VMs are chosen otherwise. */
  names: readonly string[];
  /** Empty for all VMs. */
  selector?: string | undefined;
  owner?: NamedOwner | undefined;
  pending?: boolean;
  outdated?: boolean;
  /** The requester, as the API server knows them; undefined if it does not say. */
  requestedBy: string | undefined;
}

/** Flags of all commands that make operations. */
export interface MakingFlags {
  maxFailures: number;
  window?: string[];
  deadline: number;
  wait: boolean;
  reason?: string;
  dryRun: DryRun;
  output?: DataFormat;
}

/** An operation that a command is to make. `what`: how many VMs it is about, in words. */
interface ToMake {
  operation: AnyOperation;
  what: string;
  /** Tells what it would do, in a dry run. */
  tellDryRun: () => void | Promise<void>;
  /** Tells what may be done with it, once it is made. */
  tell?: (made: StoredOperation) => void;
  /** How it is followed. */
  follow?: FollowOptions;
}

/** Makes the operation, or prints it or what it would do, as the flags say, and follows it. */
export async function makeAndFollow(
  session: Session,
  { operation, what, tellDryRun, tell, follow }: ToMake,
  { dryRun, output, wait }: Pick<MakingFlags, 'dryRun' | 'output' | 'wait'>,
): Promise<void> {
  const { nameOf, printObjects } = await import('./print-operations.ts');
  if (output !== undefined) return printObjects([operation], output, { isOne: true });
  const kube = await session.kube();
  const made = await makeOperation(kube, operation, dryRun === 'server');
  if (dryRun !== 'none') return tellDryRun();
  print(`operation ${nameOf(made)} started: ${what}`);
  tell?.(made);
  if (wait) await (await import('./follow.ts')).followOperation(kube, made, follow);
}

/**
 * Returns the operation for VMs of one namespace, or of all if that is undefined. Throws `UsageError` for a selector
 * that objects can't hold, or for a window.
 */
export async function operationFor(namespace: string | undefined, asked: Asked): Promise<AnyOperation> {
  const { action, maxFailures, reason, atOnce, window = [], deadlineMs, requestedBy, patch } = asked;
  const windows = await windowsOf(window);
  return operationOf(namespace, {
    action,
    vms: await selectionOf(asked),
    ...(patch === undefined ? {} : { patch }),
    atOnce,
    maxFailures: maxFailures ?? 0,
    ...(windows.length === 0 ? {} : { windows }),
    deadline: durationText(deadlineMs),
    ...(reason === undefined || reason === '' ? {} : { reason }),
    ...(requestedBy === undefined ? {} : { requestedBy }),
  });
}

/** Returns an operation of the namespace, or a cluster-wide one if that is undefined, as commands make them. */
export function operationOf(namespace: string | undefined, asked: OperationSpec): AnyOperation {
  const generateName = asked.patch?.undo === undefined ? `${OPERATION_LABELS[asked.action].verb}-` : 'undo-';
  const spec = { ...asked, ttlSecondsAfterFinished: KEPT_SECONDS };
  const apiVersion = API_VERSION;
  return namespace === undefined
    ? { apiVersion, kind: 'ClusterVirtualMachineOperation', metadata: { generateName }, spec }
    : { apiVersion, kind: 'VirtualMachineOperation', metadata: { namespace, generateName }, spec };
}

async function selectionOf({
  names,
  selector,
  owner,
  pending = false,
  outdated = false,
}: Asked): Promise<OperationSpec['vms']> {
  if (names.length > 0) return { names: [...names] };
  return {
    ...(selector === undefined ? {} : { selector: await labelSelector(selector) }),
    ...(owner === undefined ? {} : { owner: ownerReference(owner) }),
    ...(pending ? { restartRequired: true as const } : {}),
    ...(outdated ? { launcherOutdated: true as const } : {}),
  };
}

async function labelSelector(text: string): Promise<NonNullable<OperationSpec['vms']['selector']>> {
  if (text === '') return {};
  const { labelSelectorOf } = await import('../cli/label-selector.ts');
  try {
    return labelSelectorOf(text);
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  }
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
  const object = operation as unknown as StoredOperation;
  const resource = operationResource(object.metadata);
  return ofKnownKind(resource, kube.create<StoredOperation>(resource, object, { strict: true, dryRun }));
}
