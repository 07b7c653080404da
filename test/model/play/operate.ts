import type { OperationSpec } from '../../../api/operations/operation.ts';
import { VirtualMachineOperations } from '../../../api/resources.ts';
import { operationRunIdOf } from '../../../workflows/lib/messages.ts';
import type { PowerVmsInput } from '../../../workflows/power/power-vms.ts';
import { NAMESPACE, refOf } from '../world/names.ts';
import type { World } from '../world/world.ts';

/**
 * Makes an operation, as `drover vm start|stop|restart` does, and starts its run with these VMs. In the model, the
 * workflow of the operation does not run: signals steer the run. Returns the id of the run's workflow.
 */
export function operate(
  world: World,
  input: Omit<PowerVmsInput, 'operation'>,
  spec: Pick<OperationSpec, 'patch'> = {},
): string {
  const { action, chosen, atOnce, maxFailures, deadlineMs } = input;
  const { metadata } = world.server.create(VirtualMachineOperations, {
    metadata: { namespace: NAMESPACE, generateName: 'op-' },
    spec: {
      action,
      ...spec,
      vms: { names: Object.keys(chosen[NAMESPACE] ?? {}) },
      atOnce,
      maxFailures,
      deadline: `${deadlineMs}ms`,
    },
  });
  const operation = { namespace: NAMESPACE, name: metadata.name, uid: metadata.uid };
  const id = operationRunIdOf({ ...refOf(metadata.name), uid: metadata.uid });
  world.temporal.start('powerVms', id, [{ ...input, operation }]);
  return id;
}
