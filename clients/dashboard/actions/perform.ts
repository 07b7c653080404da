import { stripVTControlCharacters } from 'node:util';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { operationName, operationResource } from '../../../decisions/operations/ref.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { throwAll, UsageError } from '../../cli/failure.ts';
import { labelOf } from '../../cli/print.ts';
import { cancelDrain } from '../../drain/cancel.ts';
import { startDrain } from '../../drain/start.ts';
import { requestCycles, type CycleAction } from '../../healing/cycles.ts';
import { Healing, pause as pauseHealing, resume as resumeHealing } from '../../healing/pause-and-resume.ts';
import { steer } from '../../operations/find-operation.ts';
import { controlPool, type Control, type Controlled } from '../../pool/control.ts';
import { abort, pause, promote, resume, Rollout } from '../../rollout/pause-and-promote.ts';
import { undoRollout } from '../../rollout/undo.ts';
import { suspended } from '../../schedules/read-schedules.ts';
import type { Session } from '../../session/session.ts';
import type { ActionRequest, ActionResult } from '../contract/requests.ts';

type Done = Extract<ActionResult, { ok: true }>;

/**
 * Does what the command of this name does, by the same functions, as the user of the kubeconfig. Throws what the
 * command would print.
 */
export async function perform(session: Session, request: ActionRequest): Promise<Done> {
  const { action, about } = request;
  const kube = await session.kube();
  if (action === 'operation.pause' || action === 'operation.resume' || action === 'operation.abort')
    return steerOperation(kube, request, STEERED[action]);
  const { namespace, name } = about;
  if (action === 'drain.start')
    return {
      ok: true,
      ...(await startDrain(kube, name, { reason: request.reason, shutDown: request.shutDown, dryRun: 'none' })),
    };
  if (action === 'drain.cancel') return { ok: true, ...(await cancelDrain(kube, name, 'none')) };
  if (namespace === null) throw new UsageError(`in which namespace is ${name}?`);
  if (action === 'schedule.suspend' || action === 'schedule.resume')
    return {
      ok: true,
      sentence: await suspended(kube, { namespace, name }, action === 'schedule.suspend', request.reason),
      notes: [],
    };
  const pool = await kube.get<Pool>(VirtualMachinePools, { namespace, name });
  switch (action) {
    case 'rollout.pause':
      return steerPool(session, pool, Rollout, pause, request);
    case 'rollout.resume':
      return steerPool(session, pool, Rollout, resume, request);
    case 'rollout.promote':
      return steerPool(session, pool, Rollout, promote(request.full === true), request);
    case 'rollout.abort':
      return steerPool(session, pool, Rollout, abort, request);
    case 'rollout.undo':
      return {
        ok: true,
        ...(await undoRollout(kube, pool, { toRevision: request.revision, reason: request.reason, dryRun: 'none' })),
      };
    case 'heal.pause':
      return steerPool(session, pool, Healing, pauseHealing, request);
    case 'heal.resume':
      return steerPool(session, pool, Healing, resumeHealing, request);
    case 'heal.now':
      return steerCycles(session, pool, 'now', request);
    case 'heal.skip':
      return steerCycles(session, pool, 'skip', request);
  }
}

async function steerPool<View>(
  session: Session,
  pool: Stored<Pool>,
  controlled: Controlled<View>,
  control: Control<View>,
  { reason }: ActionRequest,
): Promise<Done> {
  const after = await controlPool(session, pool, controlled, control, { reason, dryRun: 'none' });
  control.checkAfter?.(after);
  const notes = await controlled.linesOf(after, await session.kube());
  const sentence = `${labelOf(VirtualMachinePools, pool.metadata.name)} ${control.done}`;
  return { ok: true, sentence, notes: notes.map(stripVTControlCharacters) };
}

async function steerCycles(
  session: Session,
  pool: Stored<Pool>,
  verb: CycleAction,
  { vms = [], reason }: ActionRequest,
): Promise<Done> {
  if (vms.length === 0) throw new UsageError(`which VMs of pool ${pool.metadata.name}? Give their names`);
  const { done, failures } = await requestCycles(session, pool, verb, vms, { reason, dryRun: 'none' });
  if (done.size === 0) throwAll(failures);
  return {
    ok: true,
    sentence: [...done].map(([vm, outcome]) => `${labelOf(VirtualMachines, vm)} ${outcome}`).join('; '),
    notes: failures.map((failure) => (failure instanceof Error ? failure.message : String(failure))),
  };
}

const STEERED = {
  'operation.pause': { spec: { paused: true }, done: 'paused' },
  'operation.resume': { spec: { paused: false }, done: 'resumed' },
  'operation.abort': { spec: { aborted: true }, done: 'aborted' },
} as const;

async function steerOperation(
  kube: KubeClient,
  { about, reason }: ActionRequest,
  { spec, done }: (typeof STEERED)[keyof typeof STEERED],
): Promise<Done> {
  const key = { namespace: about.namespace ?? undefined, name: about.name };
  const operation = await kube.get<StoredOperation>(operationResource(key), key);
  await steer(kube, operation, spec, reason);
  return { ok: true, sentence: `operation ${operationName(operation.metadata)} ${done}`, notes: [] };
}
