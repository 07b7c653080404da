import type { RunStrategy, StateChangeRequest, VirtualMachine, VirtualMachineInstance } from '../types.ts';
import { isDeleting, isFinal, phaseOf } from '../vmi/vmi.ts';

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
export const asksToStart = (machine: VirtualMachine): boolean =>
  machine.status?.stateChangeRequests?.[0]?.action === 'Start';

export function asksToStop(machine: VirtualMachine, instance: VirtualMachineInstance): boolean {
  const first = machine.status?.stateChangeRequests?.[0];
  return first?.action === 'Stop' && first.uid === instance.metadata.uid;
}

/** Reports whether the requested start should leave the guest paused. */
export const asksToStartPaused = (machine: VirtualMachine): boolean =>
  asksToStart(machine) && machine.status?.stateChangeRequests?.[0]?.data?.['paused'] === 'true';

export function nextStep(machine: VirtualMachine, instance: VirtualMachineInstance | undefined, now: number): Step {
  const strategy = runStrategyOf(machine);
  switch (strategy) {
    case 'Always':
      if (instance === undefined) return startUnlessHeldBack(machine, now);
      return asksToStop(machine, instance) || isFinal(instance) ? stop(instance) : NOTHING;
    case 'RerunOnFailure':
      return instance === undefined ? rerun(machine, now) : rerunOver(machine, instance);
    case 'Once':
      return instance === undefined ? START : NOTHING;
    case 'Manual':
      if (instance === undefined) return asksToStart(machine) ? START : NOTHING;
      return asksToStop(machine, instance) ? stop(instance) : NOTHING;
    case 'Halted':
      if (instance !== undefined) return stop(instance);
      return asksToStart(machine) ? { do: 'become-always' } : NOTHING;
    case 'WaitAsReceiver':
      return NOTHING;
  }
}

/** Returns the VM's requests, starting with the first that isn't done. */
export function outstandingRequests(
  machine: VirtualMachine,
  instance: VirtualMachineInstance | undefined,
): StateChangeRequest[] {
  const requests = machine.status?.stateChangeRequests ?? [];
  const first = requests.findIndex((request) => !isDone(request, instance));
  return first === -1 ? [] : requests.slice(first);
}

function isDone({ action, uid }: StateChangeRequest, instance: VirtualMachineInstance | undefined): boolean {
  if (action === 'Stop') return instance === undefined || uid === undefined || uid !== instance.metadata.uid;
  return instance !== undefined && !isDeleting(instance) && !isFinal(instance);
}

const stop = (instance: VirtualMachineInstance): Step => (isDeleting(instance) ? NOTHING : STOP);

function startUnlessHeldBack(machine: VirtualMachine, now: number): Step {
  const retryAfter = machine.status?.startFailure?.retryAfterTimestamp;
  const until = retryAfter === undefined ? 0 : Date.parse(retryAfter);
  return until > now ? { do: 'wait', until } : START;
}

/** Without a VMI, a rerun needs a request, or a run strategy that has just changed to RerunOnFailure. */
function rerun(machine: VirtualMachine, now: number): Step {
  if (!asksToStart(machine) && machine.status?.runStrategy === 'RerunOnFailure') return NOTHING;
  return startUnlessHeldBack(machine, now);
}

function rerunOver(machine: VirtualMachine, instance: VirtualMachineInstance): Step {
  if (isDeleting(instance)) return NOTHING;
  if (phaseOf(instance) === 'Failed')
    return asksToStart(machine) || asksToStop(machine, instance) ? STOP : { do: 'request-start' };
  return asksToStop(machine, instance) || isFinal(instance) ? STOP : NOTHING;
}
