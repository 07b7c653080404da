import type { TransitionRecord } from '../../decisions/views/annotations/transition-record.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { recordVmEvent } from '../lib/events.ts';

const ACTION = 'ChangeMachineType';

/** Records an Event on the VM: what a transition has changed, and whether a restart must follow. */
export function recordTypeChange(
  client: KubeClient,
  vm: VmView,
  { from, to, vmiType }: TransitionRecord,
  requestedBy: string,
): Promise<void> {
  const what =
    from === to
      ? `Its VMI has the machine type ${vmiType}, and would now get another`
      : `Changed its machine type from ${from} to ${to}`;
  const waits = vmiType === null ? '' : '; its VMI takes it when it is restarted';
  return recordVmEvent(client, vm, {
    type: 'Normal',
    reason: 'MachineTypeChanged',
    action: ACTION,
    note: `${what}, requested by ${requestedBy}${waits}`,
  });
}
