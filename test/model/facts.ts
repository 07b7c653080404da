import { asyncLocalStorage } from '@temporalio/activity';
import type { Beginning } from '../../activities/operations/operations.ts';
import { REMOVE_VMS_ANNOTATION, REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../api/pool/pool.ts';
import { field } from '../../decisions/lib/json.ts';
import type { RunInput, TransitionRunInput } from '../../decisions/operations/run-input.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';
import type { CarriedRun } from '../../workflows/operations/operation.ts';
import type { Call } from './world/model-client.ts';
import type { Run } from './world/temporal/run.ts';

export type Pool = Stored & { spec: PoolSpec; status?: PoolStatus };

/** Type of the activity that runs now; null outside of activities. */
export const activityNow = (): string | null => asyncLocalStorage.getStore()?.info.activityType ?? null;
/** Id of the workflow whose activity runs now. */
export const runNow = (): string | undefined => asyncLocalStorage.getStore()?.info.workflowExecution?.workflowId;
export const isByWorker = (call: Call | null): boolean => call?.process.name.startsWith('worker') === true;
export const isGoing = ({ metadata }: Stored): boolean => metadata.deletionTimestamp !== undefined;
/** Reports whether this write begins or makes the object's end. */
export const isDeletion = (before: Stored, after: Stored | undefined): boolean =>
  !isGoing(before) && (after === undefined || isGoing(after));
/** Reports whether the labels of a VM say that it is one of its pool's replicas. */
export const isRegular = ({ metadata }: Stored): boolean => roleOf(metadata.labels) === null;
export const isRemoved = ({ metadata }: Stored): boolean => metadata.annotations?.[REMOVING_ANNOTATION] !== undefined;
export const isActive = (vm: Stored): boolean => !isGoing(vm) && !isRemoved(vm);
const namedIn = (pool: Stored): unknown[] =>
  Object.values(JSON.parse(pool.metadata.annotations?.[REMOVE_VMS_ANNOTATION] ?? '{}') as object);

/** Reports whether users want this VM deleted by its pool, by name. */
export const isToBeDeleted = (pool: Stored, { metadata }: Stored): boolean => namedIn(pool).includes(metadata.uid);

/** Reports whether users want this VM out of its pool by name, deleted or kept. */
export const isNamed = (pool: Stored, vm: Stored): boolean =>
  isToBeDeleted(pool, vm) || namedIn(pool).some((one) => field(one, 'uid') === vm.metadata.uid);
export const runStrategyOf = (vm: Stored): string | undefined => (vm['spec'] as { runStrategy?: string }).runStrategy;
export const runs = (vm: Stored): boolean => runStrategyOf(vm) === 'Always';

/** Reports whether the VMI runs and KubeVirt calls it ready. */
export const isReady = (vmi: Stored<VirtualMachineInstance> | undefined): boolean =>
  vmi !== undefined &&
  !isGoing(vmi) &&
  vmi.status?.phase === 'Running' &&
  vmi.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

/** The disk template of the pool's VMs, if they have one. */
export const diskOf = ({ spec }: Pool): { disk?: string } => {
  const disk = spec.template.spec.dataVolumeTemplates?.[0]?.metadata.name;
  return disk === undefined ? {} : { disk };
};

/** Reports whether the pool's status says that VMs are not created since others have their disks. */
export const lacksDisks = (pool: Pool | undefined): boolean =>
  (pool?.status?.conditions ?? []).some(
    ({ type, message = '' }) => type === 'ReplicaFailure' && message.includes('is not created: '),
  );

/** The cores that the spec of a VM asks for. */
export const coresOf = (vm: Stored | undefined): unknown =>
  field(vm?.['spec'], 'template', 'spec', 'domain', 'cpu', 'cores');

type SeenRun = Pick<Run, 'type' | 'args'> & Partial<Pick<Run, 'beginnings'>>;

/** What an operation does; undefined if the workflow is not one's that has begun. */
export function inputOf({ type, args, beginnings = [] }: SeenRun): RunInput | undefined {
  if (type !== 'operation') return undefined;
  const begun = (beginnings as Beginning[]).findLast(({ is }) => is === 'run');
  return (begun as CarriedRun | undefined)?.input ?? (args[1] as CarriedRun | undefined)?.input;
}

/** What an operation does that changes machine types; undefined if the workflow is not one's. */
export function transitionInputOf(run: SeenRun): TransitionRunInput | undefined {
  const input = inputOf(run);
  return input?.action === 'MachineType' ? input : undefined;
}
