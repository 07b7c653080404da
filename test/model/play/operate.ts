import { digestsOf } from '../../../activities/operations/chosen-vms.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { VirtualMachineOperations } from '../../../api/resources.ts';
import { operationResource } from '../../../decisions/operations/ref.ts';
import type { PowerRunInput } from '../../../decisions/operations/run-input.ts';
import { operationIdOf, type OperationKey } from '../../../workflows/lib/messages.ts';
import { NAMESPACE, refOf } from '../world/names.ts';
import type { World } from '../world/world.ts';

/** `chosen`: see `chooseVms`. */
export interface PowerGiven extends Omit<PowerRunInput, 'operation' | 'chosen' | 'ended' | 'asOf'> {
  chosen: Record<string, Record<string, string>>;
}

/**
 * Makes an operation, as `drover vm start|stop|restart` does, and starts its workflow as if it had chosen these VMs.
 * Returns the id of the workflow.
 */
export function operate(
  world: World,
  input: PowerGiven,
  spec: Pick<OperationSpec, 'patch' | 'pastBudgets'> = {},
  labels: Record<string, string> = {},
): string {
  const { action, chosen, atOnce, maxFailures, deadlineMs } = input;
  const { metadata } = world.server.create(VirtualMachineOperations, {
    metadata: { namespace: NAMESPACE, generateName: 'op-', labels },
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
  const key = { ...refOf(metadata.name), uid: metadata.uid };
  const id = operationIdOf(key);
  const vms = new Map(world.vms.map(({ metadata: vm }) => [`${NAMESPACE}/${vm.name}`, vm]));
  const begun = { ...input, chosen: digestsOf(vms, chosen), ended: '', asOf: {}, operation };
  world.temporal.start('operation', id, [key, { input: begun, state: null }]);
  return id;
}

/** Pauses, resumes or aborts an operation. In most stories, the watch does not tell its workflow. */
export function steer(world: World, id: string, what: 'pause' | 'resume' | 'abort'): void {
  const { namespace, name } = world.temporal.runs.get(id)!.args[0] as OperationKey;
  const change = what === 'abort' ? { aborted: true } : { paused: what === 'pause' };
  world.server.write(operationResource({ namespace }), { namespace, name }, (before) => ({
    ...before,
    spec: { ...(before['spec'] as object), ...change },
  }));
  world.temporal.signal(id, 'changed', []);
}
