import { describe, expect, test } from 'vitest';
import { admitInstance, admitMachine, answered } from '../../dev/simulator/admission.ts';
import { instance, machine } from './simulated.ts';

const review = (operation: string, object: unknown, oldObject?: unknown) => ({
  request: { uid: 'review-uid', operation, object, oldObject },
});

describe('admission', () => {
  const bare = { ...machine(), spec: { runStrategy: 'Always' as const, template: { spec: { domain: { devices: {} } } } } };

  test('fills in what a new VM leaves open', () => {
    expect(admitMachine(review('CREATE', bare), undefined)).toEqual([
      { op: 'add', path: '/spec/template/spec/domain/machine', value: { type: 'q35' } },
      { op: 'add', path: '/spec/template/metadata', value: { annotations: { 'kubevirt.io/pci-topology-version': 'v3' } } },
      {
        op: 'add',
        path: '/spec/template/spec/domain/firmware',
        value: { uuid: expect.stringMatching(/^[0-9a-f-]{36}$/), serial: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
      { op: 'add', path: '/metadata/finalizers', value: ['kubevirt.io/virtualMachineControllerFinalize'] },
    ]);
  });

  test('fills in a machine type that was taken away', () => {
    expect(admitMachine(review('UPDATE', bare, machine()), undefined)).toEqual([
      { op: 'add', path: '/spec/template/spec/domain/machine', value: { type: 'q35' } },
    ]);
  });

  test("drops what others say of a VMI's state", () => {
    expect(admitInstance(review('UPDATE', instance('Failed'), instance('Running')))).toEqual([
      { op: 'add', path: '/status', value: { phase: 'Running' } },
    ]);
  });

  test('answers by the review', () => {
    const answer = answered(review('UPDATE', bare), [{ op: 'remove', path: '/status' }]);
    const { response } = answer as { response: { uid: string; allowed: boolean; patch: string } };
    expect(response).toMatchObject({ uid: 'review-uid', allowed: true });
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toEqual([{ op: 'remove', path: '/status' }]);
  });
});
