import type { RunStrategy, StateChangeRequest, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { isDeleting, isFinal, phaseOf } from '../objects/vmi.ts';

/** The action that a VM's run strategy asks for now. */
export type Step =
  | { do: 'nothing' }
  | { do: 'start' }
  | { do: 'stop' }
  /** A start held back by earlier failures; `until` in milliseconds since the epoch. */
  | { do: 'wait'; until: number }
  /** Record that a start must follow, before the failed VMI is deleted. */
  | { do: 'request-start' }
  /** A halted VM was asked to start paused: its strategy becomes Always. */
  | { do: 'become-always' };

const NOTHING: Step = { do: 'nothing' };
const START: Step = { do: 'start' };
const STOP: Step = { do: 'stop' };

/** `running` is the older way to say Always or Halted. */
export function runStrategyOf({ spec }: VirtualMachine): RunStrategy {
  return spec.runStrategy ?? (spec.running === true ? 'Always' : 'Halted');
}

/** Only the first request counts: later ones wait for it. */
const isStartRequested = (vm: VirtualMachine): boolean => vm.status?.stateChangeRequests?.[0]?.action === 'Start';

function isStopRequested(vm: VirtualMachine, vmi: VirtualMachineInstance): boolean {
  const first = vm.status?.stateChangeRequests?.[0];
  return first?.action === 'Stop' && first.uid === vmi.metadata.uid;
}

/** Reports whether the requested start should leave the VMI paused. */
export const isPausedStartRequested = (vm: VirtualMachine): boolean =>
  isStartRequested(vm) && vm.status?.stateChangeRequests?.[0]?.data?.['paused'] === 'true';

export function nextStep(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined, now: number): Step {
  const strategy = runStrategyOf(vm);
  switch (strategy) {
    case 'Always':
      if (vmi === undefined) return startUnlessBackingOff(vm, now);
      return isStopRequested(vm, vmi) || isFinal(vmi) ? stop(vmi) : NOTHING;
    case 'RerunOnFailure':
      return vmi === undefined ? rerun(vm, now) : rerunOver(vm, vmi);
    case 'Once':
      return vmi === undefined ? START : NOTHING;
    case 'Manual':
      if (vmi === undefined) return isStartRequested(vm) ? START : NOTHING;
      return isStopRequested(vm, vmi) ? stop(vmi) : NOTHING;
    case 'Halted':
      if (vmi !== undefined) return stop(vmi);
      return isStartRequested(vm) ? { do: 'become-always' } : NOTHING;
    case 'WaitAsReceiver':
      return NOTHING;
  }
}

/** Returns the VM's requests, starting with the first that isn't done. */
export function outstandingRequests(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): StateChangeRequest[] {
  const requests = vm.status?.stateChangeRequests ?? [];
  const first = requests.findIndex((request) => !isDone(request, vmi));
  return first === -1 ? [] : requests.slice(first);
}

function isDone({ action, uid }: StateChangeRequest, vmi: VirtualMachineInstance | undefined): boolean {
  if (action === 'Stop') return vmi === undefined || uid === undefined || uid !== vmi.metadata.uid;
  return vmi !== undefined && !isDeleting(vmi) && !isFinal(vmi);
}

const stop = (vmi: VirtualMachineInstance): Step => (isDeleting(vmi) ? NOTHING : STOP);

function startUnlessBackingOff(vm: VirtualMachine, now: number): Step {
  const retryAfter = vm.status?.startFailure?.retryAfterTimestamp;
  const until = retryAfter === undefined ? 0 : Date.parse(retryAfter);
  return until > now ? { do: 'wait', until } : START;
}

/** Without a VMI, a rerun needs a request, or a run strategy that has just changed to RerunOnFailure. */
function rerun(vm: VirtualMachine, now: number): Step {
  if (!isStartRequested(vm) && vm.status?.runStrategy === 'RerunOnFailure') return NOTHING;
  return startUnlessBackingOff(vm, now);
}

function rerunOver(vm: VirtualMachine, vmi: VirtualMachineInstance): Step {
  if (isDeleting(vmi)) return NOTHING;
  if (phaseOf(vmi) === 'Failed')
    return isStartRequested(vm) || isStopRequested(vm, vmi) ? STOP : { do: 'request-start' };
  return isStopRequested(vm, vmi) || isFinal(vmi) ? STOP : NOTHING;
}
