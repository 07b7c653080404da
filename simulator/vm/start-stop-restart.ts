import type { StateChangeRequest, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { isFinal, isPaused, phaseOf } from '../objects/vmi.ts';
import { runStrategyOf } from './run-strategy.ts';

/** The changes that a subresource call makes, as merge patches. A refused call throws `Refusal` instead. */
export interface Answer {
  /** Patch of the VM's spec. */
  spec?: Record<string, unknown>;
  /** Patch of the VM's status. */
  status?: Record<string, unknown>;
  /** Patch of the VMI's spec. */
  vmiSpec?: Record<string, unknown>;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: number;
  readonly reason: string;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
    this.reason = REASONS[code] ?? 'InternalError';
  }
}

const REASONS: Record<number, string> = { 400: 'BadRequest', 403: 'Forbidden', 404: 'NotFound', 409: 'Conflict' };

interface Body {
  paused?: unknown;
  gracePeriod?: unknown;
  gracePeriodSeconds?: unknown;
}

export function start(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, body: Body): Answer {
  if (vmi !== undefined && !isFinal(vmi) && phaseOf(vmi) !== undefined) throw new Refusal(409, 'VM is already running');
  const data = body.paused === true ? { data: { paused: 'true' } } : {};
  const request: StateChangeRequest = { action: 'Start', ...data };
  const strategy = runStrategyOf(vm);
  switch (strategy) {
    case 'Halted':
      return body.paused === true ? requested(vm, [request]) : switched(vm, true);
    case 'RerunOnFailure':
    case 'Manual': {
      if (strategy === 'RerunOnFailure' && vmi !== undefined && phaseOf(vmi) === 'Failed') {
        throw new Refusal(409, 'RerunOnFailure does not support starting VM from failed state');
      }
      return requested(vm, [...(vmi === undefined || !isFinal(vmi) ? [] : [stopOf(vmi)]), request]);
    }
    case 'Always':
    case 'Once':
      throw new Refusal(409, `${strategy} does not support manual start requests`);
    case 'WaitAsReceiver':
      return {};
  }
}

export function stop(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, body: Body): Answer {
  const running = vmi !== undefined && !isFinal(vmi);
  const grace = typeof body.gracePeriod === 'number' ? body.gracePeriod : undefined;
  const vmiSpec = running && grace !== undefined ? { vmiSpec: { terminationGracePeriodSeconds: grace } } : {};
  const strategy = runStrategyOf(vm);
  switch (strategy) {
    case 'Halted': {
      if (!running) throw new Refusal(409, 'VM is not running');
      const before = vmi.spec.terminationGracePeriodSeconds;
      if (grace === undefined || (before !== undefined && grace >= before)) {
        throw new Refusal(409, 'Halted only supports manual stop requests with a shorter graceperiod');
      }
      return { ...requested(vm, [stopOf(vmi)]), ...vmiSpec };
    }
    case 'RerunOnFailure':
    case 'Manual':
      if (!running) throw new Refusal(409, 'VM is not running');
      return { ...requested(vm, [stopOf(vmi)]), ...vmiSpec };
    case 'Always':
    case 'Once':
      return { ...switched(vm, false), ...vmiSpec };
    case 'WaitAsReceiver':
      return {};
  }
}

export function restart(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, body: Body): Answer {
  const grace = body.gracePeriodSeconds;
  if (typeof grace === 'number' && grace > 0)
    throw new Refusal(400, 'For force restart, only gracePeriod=0 is supported for now');
  if (typeof grace === 'number' && grace < 0) throw new Refusal(400, 'gracePeriod has to be greater or equal to 0');
  const strategy = runStrategyOf(vm);
  if (strategy === 'Halted' || strategy === 'Once')
    throw new Refusal(409, `RunStategy ${strategy} does not support manual restart requests`);
  if (vmi === undefined) throw new Refusal(409, 'VM is not running: Halted');
  // One second is the shortest grace period for an orderly shutdown of the VMI.
  const vmiSpec = grace === 0 ? { vmiSpec: { terminationGracePeriodSeconds: 1 } } : {};
  return { ...requested(vm, [stopOf(vmi), { action: 'Start' }]), ...vmiSpec };
}

/** Throws `Refusal` if the VMI's state doesn't allow the action. */
export function checkVmi(action: string, vmi: VirtualMachineInstance): void {
  if (phaseOf(vmi) !== 'Running')
    throw new Refusal(409, action === 'unpause' ? 'VMI is not running' : 'VM is not running');
  if (action === 'pause' && isPaused(vmi)) throw new Refusal(409, 'VMI is already paused');
  if (action === 'unpause' && !isPaused(vmi)) throw new Refusal(409, 'VMI is not paused');
}

const stopOf = (vmi: VirtualMachineInstance): StateChangeRequest => ({
  action: 'Stop',
  ...(vmi.metadata.uid === undefined ? {} : { uid: vmi.metadata.uid }),
});

/** Only a lone stop replaces pending requests. A manual request also clears the start backoff. */
function requested(vm: VirtualMachine, changes: StateChangeRequest[]): Answer {
  const under = vm.status?.stateChangeRequests ?? [];
  if (under.length > 0 && !(changes.length === 1 && changes[0]!.action === 'Stop')) {
    throw new Refusal(500, 'unable to complete request: stop/start already underway');
  }
  return {
    status: { stateChangeRequests: changes, ...(vm.status?.startFailure == null ? {} : { startFailure: null }) },
  };
}

/** KubeVirt's admission also applies to virt-api's own writes. The caller sees its refusal as an internal error. */
function switched({ spec, status }: VirtualMachine, on: boolean): Answer {
  const { snapshotInProgress, restoreInProgress } = status ?? {};
  const denied = 'admission webhook "virtualmachine-validator.kubevirt.io" denied the request: Cannot update';
  if (restoreInProgress !== undefined)
    throw new Refusal(500, `${denied} VM runStrategy until restore "${restoreInProgress}" completes`);
  if (snapshotInProgress !== undefined)
    throw new Refusal(500, `${denied} vm running state until snapshot "${snapshotInProgress}" completes`);
  return { spec: spec.runStrategy === undefined ? { running: on } : { runStrategy: on ? 'Always' : 'Halted' } };
}
