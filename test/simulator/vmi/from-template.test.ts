import { describe, expect, test } from 'vitest';
import { defaultMachineType, resolveMachineType } from '../../../simulator/vm/machine-type.ts';
import { vmiOf } from '../../../simulator/vmi/from-template.ts';
import { at, vmiSpec, aVm, NOW } from '../simulated.ts';

describe('machine types', () => {
  const configured = { metadata: { name: 'kubevirt', annotations: { 'sim.drover.dev/q35': 'pc-q35-rhel9.8.0' } } };

  test("are the cluster's if the VM names none", () => {
    expect(defaultMachineType(undefined)).toBe('q35');
    const spec = { configuration: { architectureConfiguration: { amd64: { machineType: 'pc-q35-rhel9.4.0' } } } };
    expect(defaultMachineType({ ...configured, spec })).toBe('pc-q35-rhel9.4.0');
  });

  test('are resolved by the cluster from an alias', () => {
    expect(resolveMachineType('q35', undefined)).toBe('pc-q35-rhel9.6.0');
    expect(resolveMachineType('q35', configured)).toBe('pc-q35-rhel9.8.0');
    expect(resolveMachineType('pc-q35-rhel8.6.0', configured)).toBe('pc-q35-rhel8.6.0');
  });
});

test('a VMI is made from its VM: name, owner, labels, annotations, finalizers', () => {
  const template = {
    metadata: { labels: { app: 'web' }, annotations: { note: 'kept' } },
    spec: vmiSpec({ hostname: 'web' }),
  };
  const made = vmiOf(aVm({ runStrategy: 'Always', template }), undefined, NOW);
  expect(made.metadata).toMatchObject({
    name: 'web-1',
    namespace: 'default',
    labels: { app: 'web' },
    annotations: { note: 'kept', 'kubevirt.io/vm-generation': '3' },
    ownerReferences: [
      { kind: 'VirtualMachine', name: 'web-1', uid: 'vm-uid', controller: true, blockOwnerDeletion: true },
    ],
    finalizers: ['kubevirt.io/virtualMachineControllerFinalize', 'kubevirt.io/foregroundDeleteVirtualMachine'],
  });
  expect(made.spec).toMatchObject({ hostname: 'web', domain: { firmware: { uuid: 'f-1' } } });
  expect(made.status).toMatchObject({
    phase: 'Pending',
    phaseTransitionTimestamps: [{ phase: 'Pending', phaseTransitionTimestamp: at(0) }],
  });
});
